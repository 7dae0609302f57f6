"""The report of a run: ``index.html`` and the pages of entries, written from the run directory alone.

Failed entries have their own pages, which can be linked to and read without scripts. Pages of other entries are packed
(`packing`), and ``index.html`` shows them. The folder works without server and network, also zipped and mailed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from pytest_bfcl.dataset.verified import known_issues
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import overview, rendering
from pytest_bfcl.reporting.links import ENTRIES, is_packed, page_name
from pytest_bfcl.reporting.listing import Listing
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
from pytest_bfcl.reporting.sources import EntrySource, Questions, questions
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.summary_types import Summary
from pytest_bfcl.scoring.summary import summarise
from pytest_bfcl.settings import Level, level_for

INDEX = "index.html"


def write_report(
    run_dir: Path | str | RunDirectory,
    *,
    entry_source: EntrySource | None = None,
    level: Level = "full",
    within_s: float | None = None,
) -> Path:
    """Write the report of a run directory; returns the path of ``index.html``.

    ``entry_source``: the data set of the run (or a function from entry id to entry), for questions and expected
    answers; by default the bundled or fetched set, if it is the measured one. Raises `UsageError` if there is no run,
    `TimeoutError` after ``within_s``.
    """
    run = run_dir if isinstance(run_dir, RunDirectory) else RunDirectory.open(Path(run_dir))
    path = run.path / INDEX
    if level == "none":
        return path
    found = questions(entry_source, run.fingerprint.to_dict()["dataset"])
    summary = summary_of(run)
    until = None if within_s is None else time.monotonic() + within_s
    report = _Report(run, found, models_of(summary, run), level)
    listing = report.listed(until)
    values = overview.content(summary, run, found, listing, lines=report.lines)
    rendering.write_page(path, rendering.render("index.html.jinja", **values))
    return path


def write_report_and_say(
    run: RunDirectory, asked: str | None, source: EntrySource, within_s: float | None = None
) -> tuple[Path | None, str]:
    """Write the selected extent of a report; returns its path and notes for the user. Never raises, because an error
    here must not hide the results. ``asked`` is the value of ``--bfcl-report``.
    """
    command = f"pytest-bfcl export report {run.path} writes"
    try:
        categories = (found for model in summary_of(run)["models"].values() for found in model["categories"].values())
        results = sum(found["total"] for found in categories)
        level = level_for(asked, results)
        if level == "none":
            return None, ""
        written = write_report(run.path, entry_source=source, level=level, within_s=within_s)
    except TimeoutError:
        return None, f"no report yet, it would take longer than {within_s:g} s: {command} it"
    except Exception as error:
        return None, f"the report could not be written: {type(error).__name__}: {error}"
    if level == "index" and asked is None:
        return written, f"the report has no pages of its {results:,} entries: {command} them"
    return written, ""


def summary_of(run: RunDirectory) -> Summary:
    """The summary of a run, recomputed from its results if it is missing or damaged."""
    try:
        if found := run.summary():
            return found
    except UsageError:  # damaged: everything in it can be made again
        pass
    issues = known_issues(run.fingerprint.dataset_version)
    return summarise(run.records(), fingerprint=run.fingerprint.to_dict(), known_issues=issues)


def models_of(summary: Summary, run: RunDirectory) -> list[str]:
    """The models whose pages need distinct names. Results may name another model than the run's spec: a replay names
    the recorded one, and a run may have changed to prompting. In a run of one model, the one with most results has
    plain names.
    """
    counts = {
        str(model["model"] or ""): sum(score["total"] for score in model["categories"].values())
        for model in summary["models"].values()
    }
    if len(run.fingerprint.models) > 1:
        return list(counts)
    return [max(counts, key=lambda name: counts[name])] if counts else []


class _Waiting(NamedTuple):
    """A result whose page waits for the name of the next page with its outcome."""

    name: str
    told: EntryResult
    previous: str


class _Report:
    """Reads the results of a run once and writes their pages; ``lines`` are those it read."""

    def __init__(self, run: RunDirectory, found: Questions, models: list[str], level: Level) -> None:
        self._run = run
        self._questions = found
        self._models = models
        self._full = level == "full"
        self._folder = run.path / ENTRIES
        self._context = PageContext.of(run, found.data)
        self._waiting: dict[str, _Waiting] = {}
        self._written: set[str] = set()
        self.lines: list[Fields] = []

    def listed(self, until: float | None) -> Listing:
        """The list of all results."""
        shards = Shards(self._folder)
        listing = Listing(self._models, self._context.known_issues, pages=self._full, shard=PAGES_A_SHARD)
        for record in self._run.records():
            if until is not None and time.monotonic() > until:
                raise TimeoutError
            self.lines.append(record)
            if not self._full and record["id"] in listing:  # the list shows what the first of an entry's records asked
                listing.add(record, "")
                continue
            told = self._told(record)
            listing.add(record, beginning(told.asked[0]))
            if not self._full:
                continue
            name = page_name(record, self._models)
            if is_packed(record.get("outcome")):
                values = made_or_problem(lambda found: packed_values(found, self._context), told)
                shards.add(name.removesuffix(".html"), values, told.functions)
            else:
                self._chain(name, told)
        if self._full:
            for waiting in self._waiting.values():
                self._write(waiting, "")
            shards.write()
            self._remove_others(self._written | shards.names)
        return listing

    def _told(self, record: Fields) -> EntryResult:
        """A result with its entry and its conversation; a list needs the latter only if the entry is missing."""
        entry = self._questions(str(record["id"]))
        stored = stored_of(self._run.transcripts, record) if self._full or entry is None else None
        return EntryResult.of(record, entry, stored)

    def _chain(self, name: str, told: EntryResult) -> None:
        """Write the previous page with this outcome, now that it can link to this one."""
        outcome = str(told.record.get("outcome"))
        before = self._waiting.get(outcome)
        if before is not None:
            self._write(before, name)
        self._waiting[outcome] = _Waiting(name, told, before.name if before is not None else "")

    def _write(self, waiting: _Waiting, following: str) -> None:
        beside = Neighbours(waiting.previous, following)
        page = made_or_problem(lambda found: entry_page(found, self._context, beside), waiting.told)
        if not self._written:
            self._folder.mkdir(exist_ok=True)
        rendering.write_page(self._folder / waiting.name, page)
        self._written.add(waiting.name)

    def _remove_others(self, kept: set[str]) -> None:
        """Remove pages of an earlier report, for instance of entries that pass now."""
        if self._folder.is_dir():
            for path in self._folder.iterdir():
                if path.suffix in (".html", ".js") and path.name not in kept:
                    path.unlink(missing_ok=True)
