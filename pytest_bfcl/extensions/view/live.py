"""A run in progress: rate, time left, cost, errors by kind, the score so far, the latest failures.

Read only from the run's files, without its knowledge. Each look indexes the added lines. The pause between looks
depends on their cost, so that they use a small share of one core.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.extensions.view.frame import Links
from pytest_bfcl.extensions.view.index import Row, RunIndex
from pytest_bfcl.extensions.view.runs import ListedRun, ModelFigures, figures_of, tallies_of
from pytest_bfcl.extensions.view.store import Store
from pytest_bfcl.reporting.rendering import percent, span
from pytest_bfcl.reporting.tables import Cell
from pytest_bfcl.runs.directory import RunDirectory

EVERY_S, AT_LEAST_EVERY_S = 2.0, 30.0
SHARE = 0.02
"""Share of a core for looks."""
WINDOW_S = 30.0
"""Seconds for the rate."""
FAILURES = 12
"""Latest failures, and kinds of errors, that are shown."""
SILENT_S = 120.0
"""Seconds without a line after which a run in progress counts as silent."""


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """The state of a run. ``rate`` is in entries a second, ``left_s`` in seconds; ``None`` if unknown."""

    state: str
    done: int
    planned: int
    rate: float | None
    left_s: float | None
    cost: float | None
    silent_s: float | None
    models: tuple[ModelFigures, ...]
    errors: list[tuple[str, str]]
    failures: list[Sequence[str | Cell]]

    @property
    def left_text(self) -> str:
        """The remaining time in words."""
        if self.left_s is None:
            return "–"
        minutes, seconds = divmod(round(self.left_s), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"

    @property
    def model_rows(self) -> list[Sequence[str | Cell]]:
        """The lines of the table of models."""
        return [_model_row(each) for each in self.models]

    @property
    def running(self) -> bool:
        """Whether the run is marked as in progress."""
        return self.state == "running"


def _model_row(each: ModelFigures) -> Sequence[str | Cell]:
    score = Cell(percent(each.score), below=[span(each.interval)] if each.interval else [])
    return each.model, score, each.over, f"{each.passed:,}", f"{each.failed:,}", str(each.errors or "")


class _Counted:
    """The results of a run's lines; added lines are counted alone, unless one replaces an earlier one."""

    def __init__(self, run: RunDirectory, index: RunIndex) -> None:
        self.index = index
        self.tallies = tallies_of(run)
        self.done = 0
        self.costs: list[float] = []
        self.errors: Counter[str] = Counter()
        self._lines = 0
        self._entries = 0

    def catch_up(self) -> bool:
        """Count what is new; whether that could be done: otherwise all has to be counted again."""
        rows = list(self.index.rows(after=self._entries))
        if self.index.count - self._lines != len(rows) and self._lines:
            return False
        for row in rows:
            self._add(row)
        self._lines, self._entries = self.index.count, self._entries + len(rows)
        return True

    def _add(self, row: Row) -> None:
        self.tallies.add(row.as_line())
        if row.cost_usd is not None:
            self.costs.append(row.cost_usd)
        if not _is_stage(row):
            self.done += 1
            if row.outcome == "error":
                self.errors[row.reason or "error"] += 1


@dataclass
class LiveRun:
    """Reads one run repeatedly. ``pause_s`` is the wait before the next look."""

    store: Store
    listed: ListedRun
    links: Links
    pause_s: float = EVERY_S
    _counted: _Counted | None = None
    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def look(self) -> LiveFigures:
        """The present figures. Raises `UsageError`, `OSError` if the run's files cannot be used."""
        began = time.process_time()
        run, index = self.listed.run, self.listed.index
        found = self._figures(run, index)
        self.pause_s = min(max(EVERY_S, (time.process_time() - began) / SHARE), AT_LEAST_EVERY_S)
        return found

    def _count(self, run: RunDirectory, index: RunIndex) -> _Counted:
        counted = self._counted
        if counted is None or counted.index is not index or not counted.catch_up():
            counted = self._counted = _Counted(run, index)
            counted.catch_up()
        return counted

    def _figures(self, run: RunDirectory, index: RunIndex) -> LiveFigures:
        counted = self._count(run, index)
        state, planned, done = run.fingerprint.state, run.fingerprint.planned, counted.done
        rate = self._rate(done)
        summary = counted.tallies.summary(run.fingerprint.to_dict())
        silent = self._silent(index) if state == "running" else None
        going_on = state == "running" and silent is None
        left = (planned - done) / rate if rate and planned > done else None
        return LiveFigures(
            state,
            done,
            planned,
            rate if going_on else None,
            left if going_on else None,
            math.fsum(counted.costs) if counted.costs else None,
            silent,
            tuple(figures_of(model, running=state == "running") for model in summary["models"].values()),
            [(kind, str(count)) for kind, count in counted.errors.most_common(FAILURES)],
            list(self._failures(index)),
        )

    def _rate(self, done: int) -> float | None:
        """Entries a second over the last half minute; at first since the run began."""
        now = time.monotonic()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()
        then, before = self._seen[0]
        if now - then >= EVERY_S and done > before:
            return (done - before) / (now - then)
        elapsed = _since(self.listed.run.fingerprint.started_at)
        return done / elapsed if elapsed and done else None

    def _silent(self, index: RunIndex) -> float | None:
        if index.stamp is None:
            return None
        silent = time.time() - index.stamp.mtime_ns / 1e9
        return silent if silent > SILENT_S else None

    def _failures(self, index: RunIndex) -> Iterator[Sequence[str | Cell]]:
        for row in index.newest(FAILURES):
            href = "../../" + self.links.entry(self.listed.name, self.store.page_of(self.listed, row))
            yield (
                Cell(row.id, href=href),
                Cell(row.outcome, chip=row.outcome),
                headline(index.line(row)) or row.reason or "",
            )


def _is_stage(row: Row) -> bool:
    known = CATEGORIES.get(row.category)
    return known is not None and known.group == "memory_prereq"


def _since(moment: str) -> float | None:
    try:
        began = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return max((datetime.now(UTC) - began).total_seconds(), 0.001) if began.tzinfo is not None else None
