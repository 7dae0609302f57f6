"""Facts about a model that the leaderboard shows besides its scores (``--bfcl-model-info FILE``).

TOML, one table per model spec under ``models``; a spec without mode means both modes::

    [models."openai:gpt-4o@fc"]
    name = "GPT-4o (FC)"
    link = "https://…"
    organisation = "OpenAI"
    licence = "Proprietary"
    input_price = 2.5       # USD per million tokens
    output_price = 10.0
    gpu_hour = 23.92        # USD per hour of the server, for models without a price
    api = "chat"            # request settings; these override the options of the same name
    stream = true
    reasoning = "keep"
    parameters = { top_p = 0.95 }
    headers = { X-Team = "a" }
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.settings import (
    APIS,
    REASONING_POLICIES,
    THINK,
    Price,
    Settings,
    check_header,
    check_parameter,
)
from pytest_bfcl.spread_json import toml_file

if TYPE_CHECKING:
    from pytest_bfcl.runs.result_line import ReplayLine, ResultLine


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model's display name, link, organisation, licence; prices in USD per million tokens and per server hour.

    ``gpu_hour`` ``None``: no cost by time, but in the reference's own arithmetic (``export --official``).
    """

    name: str
    link: str = ""
    organisation: str = ""
    licence: str = ""
    input_price: float | None = None
    output_price: float | None = None
    gpu_hour: float | None = None


_NUMBERS = ("input_price", "output_price", "gpu_hour")


def parse_model_info(values: Fields, source: str = "model info") -> dict[str, ModelInfo]:
    """Model spec → information, from the parsed file. Raises `UsageError` with the invalid field."""
    return {spec: _info(spec, table, f"{source}: {spec}") for spec, table in _tables(values, source)}


def _tables(values: Fields, source: str) -> Iterator[tuple[str, Fields]]:
    """Model specs with their tables. Raises `UsageError` for a file of another shape."""
    models = values.get("models", {})
    if not isinstance(models, Mapping) or (values and not models):
        raise UsageError(f'{source}: write one table per model, for instance [models."openai:gpt-4o@fc"]')
    for spec, table in models.items():
        if not isinstance(table, Mapping):
            raise UsageError(f"{source}: {spec}: not a table")
        yield spec, table


def _info(spec: str, table: Fields, where: str) -> ModelInfo:
    known = {field.name for field in fields(ModelInfo)}
    unknown = sorted(set(table) - known - _ASKING.keys())
    if unknown:
        names = sorted(known | _ASKING.keys())
        raise UsageError(f"{where}: unknown field {unknown[0]!r}; {instead_of(unknown[0], names)}")
    table = {name: value for name, value in table.items() if name not in _ASKING}
    for name, value in table.items():
        wanted: Any = (int, float) if name in _NUMBERS else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise UsageError(f"{where}: {name} must be a {'number' if name in _NUMBERS else 'text'}, not {value!r}")
    return ModelInfo(**{"name": spec, **table})


_ASKING: dict[str, type] = {
    "api": str,
    "stream": bool,
    "reasoning": str,
    "parameters": dict,
    "headers": dict,
    "decoder": str,
    "think": str,
    "template": str,
}
"""Fields of a model's table that set its requests, with their TOML types: fields of `Settings`."""


def described(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of the parsed file that a run's files keep: descriptions of models, no request settings (headers)."""
    return {
        spec: {name: value for name, value in table.items() if name not in _ASKING}
        for spec, table in _tables(values, "model info")
    }


def settings_by_model(values: Fields, source: str = "model info") -> dict[str, Parsed]:
    """Model spec → its settings, if its table has any. Raises `UsageError`; never shows a header's value."""
    found: dict[str, Parsed] = {}
    for spec, table in _tables(values, source):
        asking = {name: table[name] for name in _ASKING if name in table}
        for name, value in asking.items():
            _check_asking(f"{source}: {spec}", name, value)
        if asking:
            found[spec] = asking
    return found


def _check_asking(where: str, name: str, value: object) -> None:
    if not isinstance(value, _ASKING[name]):
        kinds = {str: "a text", bool: "true or false", dict: "a table"}
        raise UsageError(f"{where}: {name} must be {kinds[_ASKING[name]]}")
    known = {"api": APIS, "reasoning": REASONING_POLICIES, "think": THINK}.get(name)
    if known is not None and value not in known:
        raise UsageError(f"{where}: {name} {value!r} is not one of {', '.join(known)}")
    try:
        for key, each in value.items() if isinstance(value, Mapping) else ():
            if name == "parameters":
                check_parameter(key)
            else:
                check_header(key, each if isinstance(each, str) else "")
                if not isinstance(each, str):
                    raise ValueError(f"the value of the header {key} must be a text")
    except ValueError as error:
        raise UsageError(f"{where}: {name}: {error}") from None


def own_price(infos: Mapping[str, ModelInfo], settings: Settings, *names: str) -> Price | None:
    """The price of a model of these names: it overrides the list's, and the option overrides it."""
    if settings.price.input is not None:
        return None
    for name in names:
        info = infos.get(name)
        if info is not None and info.input_price is not None:
            return Price(info.input_price, info.output_price)
    return None


def find_info(infos: Mapping[str, ModelInfo], model: str) -> ModelInfo | None:
    """The information on a model by its spec, else by its spec without mode; then the mode is added to the name."""
    if model in infos:
        return infos[model]
    base, _, mode = model.rpartition("@")
    found = infos.get(base)
    if found is None or mode not in _MODES:
        return None
    return replace(found, name=f"{found.name} ({_MODES[mode]})")


_MODES = {"fc": "FC", "prompt": "Prompt"}


def read_model_info(path: Path) -> dict[str, ModelInfo]:
    """`parse_model_info` of a TOML file. Raises `UsageError` if it cannot be read."""
    return parse_model_info(toml_file(path), str(path))


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
