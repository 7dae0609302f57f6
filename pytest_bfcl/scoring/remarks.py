"""What a reader must know before believing a model's numbers: other models that answered, repeated ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.runs.result_line import ResultLine

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


class BothReadings:
    """Counts of two readings of one model's replies, where its calls contradict the reference's table."""

    def __init__(self) -> None:
        self.entries = 0
        self._right: dict[str, int] = {"leaderboard": 0, "evidence": 0}
        self._followed: set[str] = set()

    def add(self, passed: bool, other: Fields | None, other_passed: bool) -> None:
        """Count one judged entry; ``other`` is its line's ``other_reading``."""
        if other is None or (by := other.get("by")) not in self._right:
            return
        self.entries += 1
        followed = "evidence" if by == "leaderboard" else "leaderboard"
        self._right[by] += other_passed
        self._right[followed] += passed
        self._followed.add(followed)

    def __str__(self) -> str:
        """Both scores and which one counts, in a sentence; empty where nothing is read in two ways."""
        if not self.entries:
            return ""
        says = [f"the {by} says {100 * right / self.entries:.1f} % ({right} of {self.entries})"
                for by, right in self._right.items()]  # fmt: skip
        return f"{', '.join(says)}; these verdicts follow the {' or the '.join(sorted(self._followed))}"


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


_VENDOR = re.compile(r"^(?:[a-z]+\.)+(?=[a-z])")
_SNAPSHOT = re.compile(r"[-@:_](?:latest|v?(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{3,4}))(?:-v\d+(?::\d+)?)?$")
_NAMES_SHOWN = 5
_NAMES_KEPT = 50
"""Other names that are counted apart; a server that answers with a new one each time has one more, ``others``."""


class ServedTally:
    """Counts over result lines: ``others`` name → replies, ``repeated`` replies whose id had come before."""

    def __init__(self) -> None:
        self.others: Counter[str] = Counter()
        self.repeated = 0
        self._ids: set[int] = set()

    def add(self, record: ResultLine) -> None:
        """Count the replies of one line."""
        asked = name_of(record.get("model") or "")
        for served in _replies(record.get("served")):
            name, reply_id = served.get("model"), served.get("id")
            if isinstance(name, str) and not is_same_model(asked, name):
                known = name in self.others or len(self.others) < _NAMES_KEPT
                self.others[name if known else "others"] += 1
            if isinstance(reply_id, str):
                sign = hash(reply_id)
                self.repeated += sign in self._ids
                self._ids.add(sign)

    def sentences(self) -> Iterator[str]:
        """What is odd about who answered; nothing most of the time."""
        if self.others:
            first = self.others.most_common(_NAMES_SHOWN)
            more = f" and {len(self.others) - len(first)} more" if len(self.others) > len(first) else ""
            names = ", ".join(f"{cut(clean(name), 80)} {count}" for name, count in first)
            yield f"replies of another model than asked: {names}{more}"
        if self.repeated:
            made_up = "a cache between, or a server that makes up its ids"
            yield f"replies with the id of an earlier one: {self.repeated} ({made_up})"


def name_of(spec: str) -> str:
    """The model's name in a spec ``provider:name@mode``."""
    return (spec.rpartition("@")[0] or spec).partition(":")[2] or spec


def is_same_model(asked: str, served: str) -> bool:
    """Whether a provider that calls its model ``served`` answered for ``asked``."""
    wanted, found = _base(asked), _base(served)
    if wanted == found:
        return True
    return _SNAPSHOT.sub("", found) == (wanted.removesuffix("-latest").removesuffix(":latest"))


def _base(name: str) -> str:
    return _VENDOR.sub("", name.strip().lower().rpartition("/")[2])


def _replies(served: object) -> Iterator[Fields]:
    """What the server reported of each reply of a line: one, or turns → steps → one."""
    if isinstance(served, dict):
        yield served
    elif isinstance(served, list):
        for part in served:
            yield from _replies(part)
