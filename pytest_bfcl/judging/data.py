"""A data set as tasks, and the score of their judgements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.judging.conversation import Task
from pytest_bfcl.judging.entries import SETS, opened
from pytest_bfcl.judging.judgement import Judgement

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import DataFacts, GroupSummary, ModelSummary

_OUTCOMES = {"right": "passed", "wrong": "failed", "not judged": "error"}


@dataclass(frozen=True, slots=True)
class Group:
    """One group's score: the share of passed entries by the leaderboard's formula, with its 95 % interval. ``accuracy``
    is ``None`` if nothing was judged; ``missing`` names the categories of its formula without judgements.
    """

    accuracy: float | None
    interval95: tuple[float, float] | None
    right: int
    judged: int
    not_judged: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overall:
    """The leaderboard's overall score (non-live 10 %, live 10 %, irrelevance 10 %, multi-turn 30 %, agentic 40 %).

    ``value`` is ``None`` unless ``claimed``: every scored entry of the official data judged, and no more than 2 % of
    them not judged. ``why_not`` is the reason.
    """

    value: float | None
    interval95: tuple[float, float] | None
    claimed: bool
    why_not: str
    groups: dict[str, Group]


class Data:
    """A data set: ``auto``, ``official``, ``verified``, ``bundled``, a folder, or a ``.jsonl`` of own entries.

    Iteration gives the tasks of all scored categories, in their order. Raises `UsageError` if the data set is not
    installed; the message names the command that fetches it.
    """

    def __init__(self, name: str | Path = "auto") -> None:
        self._data: DataSet = opened(str(name))

    @property
    def name(self) -> str:
        """The name of the set; for own entries the file's name."""
        return self._data.name

    @property
    def version(self) -> str:
        """The version of the set; empty for own entries."""
        return self._data.version

    @property
    def sha256(self) -> str:
        """The digest of all entries and expected answers."""
        return self._data.sha256

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories with entries."""
        return tuple(self._data.categories())

    def ids(self, category: str) -> list[str]:
        """Ids of a category's entries, in order. Raises `UsageError` for an unknown category."""
        return [ref.id for ref in self._data.index(category)]

    def task(self, entry_id: str) -> Task:
        """The task with this id. Raises `UnknownEntry`."""
        word = self._data.name if self._data.name in SETS else ""
        return Task(self._data.entry(entry_id), word, self._data.sha256 if word else "")

    def __iter__(self) -> Iterator[Task]:
        for category in self.categories:
            if CATEGORIES[category].scored:
                yield from (self.task(entry_id) for entry_id in self.ids(category))

    def overall(self, judgements: Iterable[Judgement]) -> Overall:
        """The score of these judgements, one a task."""
        from pytest_bfcl.dataset.verified import known_issues
        from pytest_bfcl.scoring.summary import full_sizes, sizes_of, summarise

        facts: DataFacts = {"name": self.name, "version": self.version, "sha256": self.sha256}
        summary = summarise(
            map(_line, judgements),
            fingerprint={"dataset": facts, "state": "finished"},
            known_issues=known_issues(self.version),
            sizes=sizes_of(self._data),
            full_sizes=full_sizes(self._data),
        )
        return _overall(next(iter(summary["models"].values()), None))


def _line(judgement: Judgement) -> ResultLine:
    """The parts of a result line that count for a score."""
    return cast(
        "ResultLine",
        {
            "id": judgement.id, "category": judgement.category, "model": "judge", "mode": "fc",
            "outcome": _OUTCOMES[judgement.outcome], "corrected_outcome": _OUTCOMES[judgement.corrected],
            "tag": judgement.tag, "reason": judgement.reason, "detail": judgement.detail,
            **({"verified_outcome": _OUTCOMES[judgement.verified]} if judgement.verified else {}),
        },
    )  # fmt: skip


def _overall(model: ModelSummary | None) -> Overall:
    if model is None:
        return Overall(None, None, False, "nothing was judged", {})
    groups = {name: _group(each) for name, each in model["groups"].items()}
    found = model["overall"]
    claimed = found["value"] is not None
    why = "" if claimed else found["why"]
    return Overall(found["value"], _pair(found.get("interval95")), claimed, why, groups)


def _group(group: GroupSummary) -> Group:
    return Group(
        group["accuracy"], _pair(group["interval95"]), group["passed"], group["passed"] + group["failed"],
        group["errors"], tuple(group["missing"]),
    )  # fmt: skip


def _pair(interval: object) -> tuple[float, float] | None:
    low, high = interval if isinstance(interval, tuple | list) else (None, None)
    return None if low is None or high is None else (low, high)
