"""One score for all outputs: the value with all that a reader needs to judge it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.json_types import Fields, JsonObject
from pytest_bfcl.plain_text import counted
from pytest_bfcl.runs.comparability import entries_text, published_comparability
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.statistics import Interval


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """A category's, a group's or the overall score; shares in [0, 1], entries counted with their repeats.

    ``judged`` is the denominator: ``passed`` and failed entries, without ``errors``. ``planned``: planned entries of
    the run; ``full``: entries of the whole data set, ``None`` if unknown. ``chosen``: the selection in words, ``all``
    without one. ``why``: why the score is not claimed, or cannot be shown with a published one; else empty.
    """

    name: str
    value: float
    interval95: Interval | None
    judged: int
    passed: int
    errors: int
    planned: int
    full: int | None
    chosen: str
    why: str

    @property
    def is_whole(self) -> bool:
        """Whether every entry of the data set was judged."""
        return not self.errors and self.judged >= max(self.planned, self.full or 0)

    @property
    def basis(self) -> str:
        """The basis in words: of how many entries, of how many in all, and what was left out."""
        of = f" of {self.planned:,}" if self.planned != self.judged else ""
        errors = f", {counted(self.errors, 'error')} left out" if self.errors else ""
        chosen = "" if self.chosen == "all" else f", {self.chosen}"
        full = f", {self.full:,} in the data set" if self.full and self.full != self.planned else ""
        return f"n = {self.judged:,}{of}{errors}{chosen}{full}"

    @property
    def note(self) -> str:
        """`basis`, and why it is no published score."""
        return f"{self.basis}; {self.why}" if self.why else self.basis

    @classmethod
    def from_dict(cls, found: Fields) -> ScoreRecord:
        """The record of a copy that `to_dict` made."""
        return cls(**{**found, "interval95": _pair(found["interval95"])})

    def to_dict(self) -> JsonObject:
        """A JSON-able copy."""
        found: Any = asdict(self)
        return {**found, "interval95": list(self.interval95) if self.interval95 else None}


def records_by_name(model: Fields, fingerprint: Fields) -> dict[str, ScoreRecord]:
    """`score_records` by name: a category comes before a group of the same name."""
    found: dict[str, ScoreRecord] = {}
    for record in score_records(model, fingerprint):
        found.setdefault(record.name, record)
    return found


def score_records(model: Fields, fingerprint: Fields) -> Iterator[ScoreRecord]:
    """The scores of one model's summary: categories, groups, and the overall score if claimed."""
    run = Fingerprint.from_dict(fingerprint)
    measured = published_comparability(run)
    why = measured.sentence if measured.refused else ""
    categories: Mapping[str, Fields] = model["categories"]
    overall = model["overall"]
    reader = _Reader(categories, run, why, repeat=int(run.conditions.get("repeat") or 1))
    for name, found in categories.items():
        if found.get("accuracy") is not None:
            yield reader.record(name, found, (name,))
    for name, found in model["groups"].items():
        if found.get("accuracy") is not None:
            yield reader.record(name, found, _members(name), "" if found["complete"] else _lack(found))
    if overall.get("value") is not None:
        found = {"accuracy": overall["value"], "interval95": overall.get("interval95")}
        yield reader.record("overall", found, tuple(aggregate.categories_in(aggregate.OVERALL)))


def _members(group: str) -> tuple[str, ...]:
    return tuple(aggregate.categories_in(aggregate.formula(group)))


def _lack(found: Fields) -> str:
    missing = found.get("missing") or ()
    return f"{counted(len(missing), 'category', 'categories')} not run" if missing else "the run was stopped"


@dataclass(frozen=True, slots=True)
class _Reader:
    """The common values of all records of a model."""

    categories: Mapping[str, Fields]
    run: Fingerprint
    why: str
    repeat: int

    def record(self, name: str, found: Fields, members: Sequence[str], lack: str = "") -> ScoreRecord:
        had = [self.categories[each] for each in members if each in self.categories]
        counts = {what: sum(each[what] for each in had) for what in ("total", "passed", "failed", "errors")}
        official = self.run.dataset == "official"
        sizes = [CATEGORIES[each].official_size for each in members if each in CATEGORIES]
        return ScoreRecord(
            name,
            float(found["accuracy"]),
            _pair(found.get("interval95")),
            counts["passed"] + counts["failed"],
            counts["passed"],
            counts["errors"],
            sum(int(each.get("planned") or 0) * self.repeat or int(each["total"]) for each in had),
            sum(sizes) * self.repeat if official and sizes else None,
            entries_text(self.run),
            "; ".join(filter(None, (lack, self.why))),
        )


def headline_record(records: Iterable[ScoreRecord]) -> ScoreRecord | None:
    """The score on a badge: the overall one if claimed, else that of all entries."""
    known = {each.name: each for each in records}
    return next((known[name] for name in ("overall", "all", "all_scoring") if name in known), None)


def _pair(found: Any) -> Interval | None:
    return (float(found[0]), float(found[1])) if found else None
