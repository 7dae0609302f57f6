"""What a reader must know of a whole model's results before believing their numbers, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.scoring.both_readings import BothReadings

FEWEST = 2
"""Replies with a call after which it is remarkable that none held two."""


@dataclass(slots=True)
class ParallelCalls:
    """Replies of one category that asks for several calls at once: with a call, and with two or more."""

    called: int = 0
    several: int = 0

    def add(self, record: ResultLine) -> None:
        """Count one judged reply."""
        count = max(_length(record.get("calls")), _length(record.get("output")))
        self.called += count >= 1
        self.several += count >= 2


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


@dataclass(slots=True)
class Remarks:
    """What is counted for the remarks on one model."""

    parallel: dict[str, ParallelCalls] = field(default_factory=dict)
    both: BothReadings = field(default_factory=BothReadings)

    def add(self, record: ResultLine, category: str) -> None:
        """Count one result line."""
        outcome = record.get("outcome")
        if outcome not in ("passed", "failed"):
            return
        row = CATEGORIES.get(category)
        if row is not None and row.checker == "ast" and row.rule == "parallel":
            self.parallel.setdefault(category, ParallelCalls()).add(record)
        if (other := record.get("other_reading")) is not None:
            self.both.add(outcome == "passed", other, other.get("outcome") == "passed")

    def sentences(self, model: str) -> Iterator[str]:
        """The remarks; none most of the time."""
        single = {name: found for name, found in self.parallel.items() if not found.several and found.called >= FEWEST}
        if single:
            replies = sum(found.called for found in single.values())
            yield (
                f"{', '.join(single)}: none of {replies} replies with a call held two: this model, or its server, "
                f"never makes two calls; the wire check calls_unstreamed tells which: pytest --model {model} -m wire "
                "-k calls_unstreamed"
            )
        if told := str(self.both):
            yield f"the calls contradict the benchmark's table of models: {told}"
