"""Cost and latency of a model, by the reference's rules (scoring spec §7).

Every step of a multi-turn conversation is one sample; zeros and missing values are not samples. Nothing is rounded
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_bfcl.runs.result_line import ReplayLine, ResultLine

SERVER_PARALLEL = 100
"""Parallel requests that the reference assumes on a server paid by the hour."""


def samples(value: Any) -> Iterator[int | float]:
    """The numbers in a result line's field: one non-zero number, or those of a list of lists."""
    if isinstance(value, list):
        if all(isinstance(item, list) for item in value):
            for item in value:
                yield from (number for number in item if _counts(number))
    elif _counts(value):
        yield value


def _counts(value: object) -> bool:
    return isinstance(value, (int, float)) and value != 0


@dataclass(slots=True)
class Usage:
    """Samples of one model: seconds and tokens, each list independent of the others."""

    latencies: list[int | float] = field(default_factory=list)
    input_tokens: list[int | float] = field(default_factory=list)
    output_tokens: list[int | float] = field(default_factory=list)
    reasoning_tokens: list[int | float] = field(default_factory=list)
    first_tokens: list[int | float] = field(default_factory=list)

    def add(self, line: ResultLine | ReplayLine) -> None:
        """Collect the values of a result line's `_FIELDS`; the reasoning is a part of the output."""
        for name, told in _FIELDS:
            if (value := line.get(told)) is not None:
                getattr(self, name).extend(samples(value))

    def extend(self, other: Usage) -> None:
        """Append the samples of another collection."""
        for name, _ in _FIELDS:
            getattr(self, name).extend(getattr(other, name))


_FIELDS = (
    ("latencies", "latency_s"),
    ("input_tokens", "input_tokens"),
    ("output_tokens", "output_tokens"),
    ("reasoning_tokens", "reasoning_tokens"),
    ("first_tokens", "first_token_s"),
)


def cost_usd(
    usage: Usage, input_price: float | None, output_price: float | None, server_price: float | None = None
) -> float | None:
    """USD at prices per million tokens; with a price missing, by latency at the server's hourly price.

    ``None`` if a needed number is missing; the first rule never falls back to the second.
    """
    if input_price is not None and output_price is not None:
        if not usage.input_tokens or not usage.output_tokens:
            return None
        return sum(usage.input_tokens) * input_price / 1e6 + sum(usage.output_tokens) * output_price / 1e6
    if not usage.latencies or server_price is None:
        return None
    return sum(usage.latencies) / 3600 * server_price / SERVER_PARALLEL


def mean(values: Iterable[int | float]) -> int | float | None:
    """Arithmetic mean, exact before the one conversion to double; whole means of integers stay integers."""
    import statistics

    numbers = list(values)
    return statistics.mean(numbers) if numbers else None


def deviation(values: Iterable[int | float]) -> float | None:
    """Sample standard deviation (n−1), exact before the conversion; ``None`` below two samples."""
    import statistics

    numbers = list(values)
    return statistics.stdev(numbers) if len(numbers) > 1 else None


def percentile95(values: Iterable[int | float]) -> float | None:
    """95th percentile: linear interpolation at position 0.95·(n−1) of the sorted samples."""
    ordered = sorted(values)
    if not ordered:
        return None
    position = 0.95 * (len(ordered) - 1)
    below = math.floor(position)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    fraction = position - below
    # Two forms, as the reference's numerical library: they differ in the last bit.
    if fraction < 0.5:
        return low + (high - low) * fraction
    return high - (high - low) * (1 - fraction)
