"""The data behind pages: the runs, their summaries, opened runs and the questions of their data sets.

Shared by all pages and threads; caches are limited.
"""

from __future__ import annotations

import contextlib
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.dataset.transforms import is_transformed
from pytest_bfcl.extensions.boards.published import PublishedBoard, read_board
from pytest_bfcl.extensions.view.index import Row, RunIndex, Stamp
from pytest_bfcl.extensions.view.runs import ListedRun, Refused, Runs, RunSummary, data_of, open_runs, summarised
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.listing import Listing
from pytest_bfcl.reporting.pages import Neighbours, PageContext, beginning, request_of
from pytest_bfcl.reporting.rendering import models_apart, page_name, safe_id
from pytest_bfcl.reporting.sources import Questions, questions
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.lines import damage
from pytest_bfcl.scoring.measurements import Judged, Key, Measurement, by_model

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from pytest_bfcl.dataset.loading import DataSet

OPENED = 12
"""Runs whose pages are cached by name."""
TABLES = 8


class Chain(NamedTuple):
    """Names at positions of an order, to go from one to the next."""

    places: list[int]
    names: list[str]

    @classmethod
    def of(cls, found: Iterable[tuple[int, str]]) -> Chain:
        """From places in order."""
        pairs = list(found)
        return cls([place for place, _ in pairs], [name for _, name in pairs])

    def around(self, place: int) -> tuple[str | None, str | None]:
        """The names before and after a position."""
        before, after = bisect_left(self.places, place) - 1, bisect_right(self.places, place)
        return (self.names[before] if before >= 0 else None, self.names[after] if after < len(self.names) else None)


class OutcomeTable:
    """The outcomes of every entry in some runs: all entries in order, those that differ, those that failed.

    Entries of one id in several data sets are only listed together; their outcomes may differ.
    """

    def __init__(self, outcomes: Mapping[str, Mapping[str, set[str]]]) -> None:
        self.places = {name: place for place, name in enumerate(outcomes)}
        self.all = Chain.of(enumerate(outcomes))
        sets = [(self.places[name], name, found.values()) for name, found in outcomes.items()]
        self.different = Chain.of((place, name) for place, name, found in sets if any(len(each) > 1 for each in found))
        self.failed = Chain.of((place, name) for place, name, found in sets if any("failed" in each for each in found))


class OpenedRun:
    """A run at one moment: its lines by page, its pages' order, and common values."""

    def __init__(self, listed: ListedRun, run: RunDirectory, index: RunIndex, found: Questions) -> None:
        self.name = listed.name
        self.run = run
        self.index = index
        self.questions = found
        self.models = listed.kept(models_of)
        self.rows: dict[str, Row] = {page_of(row, self.models): row for row in index.rows()}
        self._chains: dict[tuple[str, str], Chain] = {}
        self.context = PageContext.of(run, found.data)

    def neighbours(self, page: str) -> Neighbours:
        """The pages before and after one with its outcome."""
        before, after = self.chain("outcome", self.rows[page].outcome).around(self.places[page])
        return Neighbours(before or "", after or "")

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Page → its position in the run's order."""
        return {page: place for place, page in enumerate(self.rows)}

    def chain(self, column: str, value: str) -> Chain:
        """The pages of one outcome or reason, in order; computed once."""
        found = self._chains.get((column, value))
        if found is None:
            rows = enumerate(self.rows.items())
            fits = ((place, page) for place, (page, row) in rows if getattr(row, column) == value)
            found = self._chains[column, value] = Chain.of(fits)
        return found

    def listing(self, request: Callable[[Row], str], place: str) -> Listing:
        """The list of entries for the run's page."""
        made = Listing(self.models, self.context.known_issues, place=place)
        for row, text in self.index.listed():
            made.add(row.as_line(), "" if row.id in made else request(row), text)
        return made


def _data_of(listed: ListedRun) -> str:
    return data_of(listed.run.fingerprint)


def models_of(listed: ListedRun) -> list[str]:
    """The models whose pages need distinct names, as in a run's own report."""
    return models_apart(listed.index.models(), listed.run.fingerprint.models)


def page_of(row: Row, models: Sequence[str]) -> str:
    """File name of a line's page."""
    return page_name({"id": row.id, "model": row.model, "repeat": row.repeat}, models)


class Store:
    """``data``: the data set of runs of own data (`DataSet`); other data sets are found automatically. ``board`` is
    a published table for runs of the official data.
    """

    def __init__(self, runs: Runs, data: DataSet | None = None, board: PublishedBoard | None = None) -> None:
        self.runs = runs
        self.board = board
        self._data = data
        self._questions: dict[str, Questions] = {}
        self._requests: dict[tuple[str, str], str] = {}
        self._lock = threading.RLock()
        self._opened = lru_cache(OPENED)(self._open)
        self._tables = lru_cache(TABLES)(lambda indexes: OutcomeTable(_table(indexes)))
        self._changed = lru_cache(OPENED)(_changed)

    def summaries(self) -> tuple[list[RunSummary], list[Refused]]:
        """The runs, newest first, and the folders that could not be shown."""
        made = [run.kept(summarised) for run in self.runs.look().values()]
        usable = [found for found in made if isinstance(found, RunSummary)]
        refused = [found for found in made if isinstance(found, Refused)]
        return sorted(usable, key=lambda found: found.started, reverse=True), [*self.runs.refused, *refused]

    def open(self, listed: ListedRun) -> OpenedRun:
        """A run with its pages. Raises `UsageError`, `OSError` if its files cannot be used."""
        index = listed.index
        return self._opened(listed, index, index.stamp, listed.run.fingerprint.state)

    def _open(self, listed: ListedRun, index: RunIndex, stamp: Stamp | None, state: str) -> OpenedRun:
        return OpenedRun(listed, listed.run, index, self.questions_of(listed.run))

    def questions_of(self, run: RunDirectory) -> Questions:
        """The questions of a run's data set, opened once for all runs of it."""
        measured = run.fingerprint.to_dict()["dataset"]
        key = f"{measured.get('name')} {measured.get('sha256')}"
        with self._lock:
            if key not in self._questions:
                own = measured.get("name") not in ("official", "bundled")
                self._questions[key] = questions(self._data if own else None, measured)
            return self._questions[key]

    def requests_of(self, opened: OpenedRun) -> Callable[[Row], str]:
        """The beginning of the user's request, by line; computed once for all runs of a data set."""
        prints = opened.run.fingerprint
        data = f"{prints.dataset} {prints.dataset_sha256}"

        def request(row: Row) -> str:
            key = (data, row.id)
            if key not in self._requests:
                self._requests[key] = beginning(request_of(row.as_line(), opened.questions(row.id))[0])
            return self._requests[key]

        return request

    def measurement(self, listed: ListedRun) -> Measurement:
        """A run as one side of a comparison, read from its index alone."""
        run, index = listed.run, listed.index
        names = run.fingerprint.conditions.get("transforms") or ()
        rows = [row for row in index.rows() if not is_transformed(row.id, names)]

        def read(rules: str) -> dict[str, dict[Key, Judged]]:
            return by_model((row.as_line() for row in rows), rules)

        def lines(ids: Container[str]) -> Iterator[Fields]:
            return (index.line(row) for row in rows if row.id in ids)

        def gaps() -> list[str]:
            state = run.fingerprint.state
            unfinished = [] if state == "finished" else [f"{run.path.name} is not finished ({state})"]
            return [*gaps_in(index, rows, run), *unfinished]

        return Measurement(listed.name, read, run.fingerprint, gaps, lines=lines, folder=run.path)

    def data_of(self, listed: ListedRun) -> str:
        """The data set of a run in words, equal for runs with the same entries."""
        return listed.kept(_data_of)

    def page_of(self, listed: ListedRun, row: Row) -> str:
        """File name of a line's page in its run."""
        return page_of(row, listed.kept(models_of))

    def rows_of(
        self, entry_id: str, only: Container[str] | None = None, *, at_once: bool = False
    ) -> Iterator[tuple[ListedRun, Row]]:
        """The readable lines of one entry in all runs (or the named ones), in the order of the folders.

        ``at_once``: only of runs whose index is available.
        """
        for listed in self.runs.listed:
            if (only is None or listed.name in only) and (listed.indexed or not at_once):
                rows: Iterable[Row] = ()
                with contextlib.suppress(UsageError, OSError):  # its summary says what is wrong with it
                    rows = listed.index.of_entry(entry_id)
                yield from ((listed, row) for row in rows)

    def entry_of(self, name: str) -> str | None:
        """The id of an entry by the name of its page (`safe_id`)."""
        for listed in self.runs.listed:
            with contextlib.suppress(UsageError, OSError):
                index = listed.index
                if index.of_entry(name) and safe_id(name) == name:
                    return name
                if (found := next((each for each in index.ids() if safe_id(each) == name), None)) is not None:
                    return found
        return None

    def changed(self, opened: OpenedRun, earlier: ListedRun) -> Chain:
        """Pages of entries with another outcome in an earlier run, preferably of the same model."""
        index = earlier.index
        return self._changed(opened, index, index.stamp)

    def outcomes(self, only: tuple[str, ...]) -> OutcomeTable:
        """The outcomes in some runs (all, when none are named), entries in the order of the first."""
        indexes: list[tuple[str, RunIndex, Stamp | None]] = []
        for listed in self.runs.listed:
            if not only or listed.name in only:
                with contextlib.suppress(UsageError, OSError):
                    index = listed.index
                    indexes.append((self.data_of(listed), index, index.stamp))
        return self._tables(tuple(indexes))

    def earlier(self, opened: OpenedRun) -> ListedRun | None:
        """The last earlier run of the same data with one of its models."""
        here = opened.run.fingerprint
        models = {model.model for model in here.models}
        best: tuple[str, ListedRun] | None = None
        for listed in self.runs.listed:
            summary = listed.kept(summarised)
            if isinstance(summary, Refused) or listed.name == opened.name or summary.started > here.started_at:
                continue
            same = summary.measures(data_of(here)) and models & {model.model for model in summary.models}
            if same and (best is None or summary.started >= best[0]):
                best = (summary.started, listed)
        return best[1] if best is not None else None

    def pairs(self, summaries: Iterable[RunSummary]) -> Iterator[tuple[RunSummary, RunSummary]]:
        """Each run with the one before it, of the same data and preferably of the same model."""
        ordered = sorted((summary for summary in summaries if summary.models), key=lambda summary: summary.started)
        for place, after in reversed(list(enumerate(ordered))):
            same = [summary for summary in ordered[:place] if summary.measures(after.measured)]
            models = {model.model for model in after.models}
            before = [summary for summary in same if models & {model.model for model in summary.models}] or same
            if before:
                yield before[-1], after


def open_store(folders: Iterable[Path], data: str | None, board: Path | None) -> Store:
    """The runs below folders, with the data set and the published table that options name. Raises `UsageError`."""
    from pytest_bfcl.rescoring import open_data

    return Store(open_runs(folders), open_data(data) if data else None, read_board(board) if board else None)


def _changed(opened: OpenedRun, earlier: RunIndex, stamp: Stamp | None) -> Chain:
    verdicts = earlier.verdicts()
    shared = {model for model, _, _, _ in verdicts} & {row.model for row in opened.rows.values()}
    then = {(model if shared else "", entry, repeat): outcome for model, entry, repeat, outcome in verdicts}
    fits = (
        (place, page)
        for place, (page, row) in enumerate(opened.rows.items())
        if then.get((row.model if shared else "", row.id, row.repeat), row.outcome) != row.outcome
    )
    return Chain.of(fits)


def _table(indexes: Iterable[tuple[str, RunIndex, Stamp | None]]) -> dict[str, dict[str, set[str]]]:
    """Entry → data set → outcomes."""
    table: dict[str, dict[str, set[str]]] = {}
    for data, index, _ in indexes:
        for _, entry_id, _, outcome in index.verdicts():
            table.setdefault(entry_id, {}).setdefault(data, set()).add(outcome)
    return table


def gaps_in(index: RunIndex, rows: list[Row], run: RunDirectory) -> list[str]:
    """What the results lack, from the index: damaged lines, an incomplete line, lines of the last summary."""
    told = []
    if index.damaged_count > run.fingerprint.left_out:
        told.append(damage(index.damaged_count, index.damaged[0]))
    if index.torn and run.fingerprint.state != "running":
        told.append("the last line of the results is cut off")
    here = Counter((row.model, row.category) for row in rows)
    for model, counts in run.fingerprint.counted.items():
        for category, count in counts.items():
            if here[model, category] < count:
                told.append(f"{here[model, category]} of {count} lines of {category} are there ({model})")
    return told
