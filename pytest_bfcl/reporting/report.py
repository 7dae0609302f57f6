"""The report of a run: ``index.html`` and the pages of entries, written from the run directory alone.

Failed entries have their own pages, which can be linked to and read without scripts. Pages of other entries are packed
(`packing`), and ``index.html`` shows them. The folder works without server and network, also zipped and mailed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pytest_bfcl.dataset.verified import known_issues
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import overview, rendering
from pytest_bfcl.reporting.listing import Listing
from pytest_bfcl.reporting.markdown import append_step_summary
from pytest_bfcl.reporting.packing import PAGES_A_SHARD, Shards
from pytest_bfcl.reporting.pages import (
    EntryResult,
    Neighbours,
    PageContext,
    beginning,
    entry_page,
    made_or_problem,
    packed_values,
    stored_of,
)
from pytest_bfcl.reporting.rendering import ENTRIES, is_packed, models_apart, page_name
from pytest_bfcl.reporting.sources import Data, Questions, questions, sections_of, tell_listeners
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.summary_types import Summary
from pytest_bfcl.runs.transcripts import Transcripts
from pytest_bfcl.scoring.summary import summarise
from pytest_bfcl.settings import Level, level_for

INDEX = "index.html"


def write_report(
    run_dir: Path | RunDirectory,
    *,
    data: Data | None = None,
    level: Level = "full",
    within_s: float | None = None,
    ahead: PagesAhead | None = None,
) -> Path:
    """Write the report of a run directory; returns the path of ``index.html``.

    ``data``: the data set of the run, for questions and expected answers; by default the bundled or fetched set, if it
    is the measured one. ``ahead`` are pages that the run has packed. Raises `UsageError` if there is no run,
    `TimeoutError` after ``within_s``.
    """
    run = run_dir if isinstance(run_dir, RunDirectory) else RunDirectory.open(run_dir)
    until = time.monotonic() + within_s if within_s is not None else None
    found = questions(data, run.fingerprint.to_dict()["dataset"])
    summary = summary_of(run)
    lines: list[Fields] = list(_in_time(run.records(), until))
    models = models_apart(Counter(str(line.get("model") or "") for line in lines), run.fingerprint.models)
    context = PageContext.of(run, found.data)
    full = level == "full"
    pages = _Pages(run.path / ENTRIES, context, lines, models, ahead) if full else None
    listing = Listing(models, context.known_issues, pages=full, shard=PAGES_A_SHARD)
    for line in _in_time(lines, until):
        if not full and line["id"] in listing:  # the list shows what the first of an entry's records asked
            listing.add(line, "")
            continue
        if pages is not None and (asked := pages.packed(line)) is not None:
            listing.add(line, asked)
            continue
        entry = found(str(line["id"]))
        stored = stored_of(run.transcripts, line) if full or entry is None else None
        told = EntryResult.of(line, entry, stored)
        listing.add(line, beginning(told.asked[0]))
        if pages is not None:
            pages.add(told)
    if pages is not None:
        pages.close()
    page = run.path / INDEX
    values = overview.content(summary, run, found, listing, sections_of(run, lines))
    rendering.write_page(page, rendering.render("index.html.jinja", data=listing.embedded(), **values))
    return page


def _in_time(lines: Iterable[Fields], until: float | None) -> Iterator[Fields]:
    """The lines. Raises `TimeoutError` when it is late."""
    for line in lines:
        if until is not None and time.monotonic() > until:
            raise TimeoutError
        yield line


def hand_out(
    run: RunDirectory,
    summary: Summary,
    asked: str | None,
    data: Data,
    within_s: float | None = None,
    ahead: PagesAhead | None = None,
) -> tuple[Path | None, list[str]]:
    """Give a finished run to its readers: listeners of other packages, the selected extent of a report, a job's page.

    Returns the report's path and notes for the user. Never raises, because an error here must not hide the results.
    ``asked`` is the value of ``--bfcl-report``, ``ahead`` what `PagesAhead` has packed.
    """
    notes = list(tell_listeners(run.path, summary))
    written = None
    command = f"pytest-bfcl export report {run.path} writes"
    results = sum(found["total"] for model in summary["models"].values() for found in model["categories"].values())
    level = level_for(asked, results)
    try:
        if level != "none":
            written = write_report(run, data=data, level=level, within_s=within_s, ahead=ahead)
    except TimeoutError:
        notes.append(f"no report yet, it would take longer than {within_s:g} s: {command} it")
    except Exception as error:
        notes.append(f"the report could not be written: {type(error).__name__}: {error}")
    if written is not None and level == "index" and asked is None:
        notes.append(f"the report has no pages of its {results:,} entries: {command} them")
    if trouble := append_step_summary(summary, os.environ):
        notes.append(trouble)
    return written, notes


def summary_of(run: RunDirectory) -> Summary:
    """The summary of a run, recomputed from its results if it is missing or damaged."""
    try:
        if found := run.summary():
            return found
    except UsageError:  # damaged: everything in it can be made again
        pass
    issues = known_issues(run.fingerprint.dataset_version)
    return summarise(run.records(), fingerprint=run.fingerprint.to_dict(), known_issues=issues)


def _pack(shards: Shards, name: str, told: EntryResult, context: PageContext) -> None:
    values = made_or_problem(lambda found: packed_values(found, context), told)
    shards.add(name.removesuffix(".html"), values, told.functions)


AT_ONCE = 16
"""Lines of which pages are packed together, a few milliseconds' work."""


class _Shared(NamedTuple):
    """What the pages of a run have in common."""

    found: Questions
    context: PageContext
    models: Sequence[str]
    transcripts: Transcripts


class PagesAhead:
    """Packs pages during a run, which has time while it awaits replies. At its end the user waits.

    ``requests`` has the beginning of the request of each packed page by its name, in order. Everything is packed again
    from the run's files if these are not the run's first pages in the end (`held_for`). ``path``: the run's folder,
    which exists with the first line, and has the whole conversation of every line that is taken; ``asked``: the value
    of ``--bfcl-report``.
    """

    def __init__(self, path: Path, data: Data, asked: str | None) -> None:
        self.requests: dict[str, str] = {}
        self.shards = Shards(path / ENTRIES)
        self._run = path
        self._data = data
        self._level = asked
        self._waiting: list[Fields] = []
        self._ended = False

    @cached_property
    def _shared(self) -> _Shared | None:
        """What pages need, after the first line is stored; ``None`` for a run without pages, or with earlier lines."""
        run = RunDirectory.open(self._run)
        prints = run.fingerprint
        if level_for(self._level, prints.planned) != "full" or len(list(islice(run.records(), AT_ONCE + 1))) > AT_ONCE:
            return None
        found = questions(self._data, prints.to_dict()["dataset"])
        models = models_apart({each.model: 1 for each in prints.models}, prints.models)
        return _Shared(found, PageContext.of(run, found.data), models, run.transcripts)

    def take(self, line: Fields, text: str | None = None) -> None:
        """One more stored line, as a listener of the run. Pages of failed entries name their neighbours: they are
        written at the end.
        """
        if self._ended:
            return
        self._waiting.append(line)
        if len(self._waiting) == AT_ONCE:
            waiting, self._waiting = self._waiting, []
            requests, self.requests, self._ended = self.requests, {}, True  # Ctrl-C in between: nothing is half packed
            try:
                if self._shared is not None:
                    self._ended = not self._pack(waiting, self._shared, requests)
                    self.requests = requests
            except Exception:  # the report at the end meets the same trouble and tells it
                return

    def _pack(self, lines: Sequence[Fields], shared: _Shared, requests: dict[str, str]) -> bool:
        """Whether the pages of all lines could be packed; ``requests`` gets them."""
        shared.transcripts.catch_up()
        for line in lines:
            if not is_packed(line.get("outcome")):
                continue
            name, stored = page_name(line, shared.models), stored_of(shared.transcripts, line)
            if stored is None and line.get("outcome") != "skipped":  # on another machine, perhaps
                return False
            if name in requests:  # it replaces a line of which there is a page
                requests.clear()
                return False
            told = EntryResult.of(line, shared.found(str(line["id"])), stored)
            _pack(self.shards, name, told, shared.context)
            requests[name] = beginning(told.asked[0])
        return True

    def held_for(self, names: Sequence[str], context: PageContext) -> Mapping[str, str]:
        """The packed pages, if the run's packed pages begin with them; otherwise none."""
        if not self.requests or self._shared is None or names[: len(self.requests)] != list(self.requests):
            return {}
        known = self._shared.context
        same = (known.data, known.choice, known.models) == (context.data, context.choice, context.models)
        return self.requests if same else {}


class _Pages:
    """Writes the pages of a run's entries; ``lines`` are its results, ``ahead`` may have packed some."""

    def __init__(
        self,
        folder: Path,
        context: PageContext,
        lines: Sequence[Fields],
        models: Sequence[str],
        ahead: PagesAhead | None = None,
    ) -> None:
        self._folder = folder
        self._context = context
        self._models = models
        names = [page_name(line, models) for line in lines if is_packed(line.get("outcome"))]
        self._packed = ahead.held_for(names, context) if ahead is not None else {}
        self._shards = ahead.shards if ahead is not None and self._packed else Shards(folder)
        self._beside: dict[str, Neighbours] = {}
        for outcome in {str(line.get("outcome")) for line in lines if not is_packed(line.get("outcome"))}:
            names = [page_name(line, models) for line in lines if line.get("outcome") == outcome]
            self._beside |= dict(zip(names, map(Neighbours, ["", *names], [*names[1:], ""]), strict=True))
        if self._beside:
            folder.mkdir(exist_ok=True)

    def packed(self, line: Fields) -> str | None:
        """The beginning of the request of a line whose page is packed already; otherwise ``None``."""
        return self._packed.get(page_name(line, self._models)) if is_packed(line.get("outcome")) else None

    def add(self, told: EntryResult) -> None:
        """Write the page of a result, or keep it for its shard."""
        name = page_name(told.record, self._models)
        if is_packed(told.record.get("outcome")):
            _pack(self._shards, name, told, self._context)
        else:
            beside = self._beside[name]
            page = made_or_problem(lambda found: entry_page(found, self._context, beside), told)
            rendering.write_page(self._folder / name, page)

    def close(self) -> None:
        """Write what waits; remove pages of an earlier report, for instance of entries that pass now."""
        self._shards.write()
        kept = self._beside.keys() | self._shards.names
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path.suffix in (".html", ".js") and path.name not in kept:
                path.unlink(missing_ok=True)
