"""The report of a run: ``index.html`` and a page for every entry, written from the run directory alone.

Nothing in it needs a server or the network; the folder can be zipped, mailed and opened from disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pytest_bfcl.dataset import known_issues
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean, shortened
from pytest_bfcl.reporting import overview, rendering
from pytest_bfcl.reporting.links import ENTRIES, page_name
from pytest_bfcl.reporting.listing import Listing
from pytest_bfcl.reporting.pages import Neighbours, PageContext, entry_page, request_of
from pytest_bfcl.reporting.sources import EntrySource, Questions, questions
from pytest_bfcl.runs import EntryKey, RunDirectory, Summary, TranscriptStore, record_key
from pytest_bfcl.scoring import summarise

INDEX = "index.html"
REQUEST = 140
HEAD = ("id", "model", "repeat", "outcome")


def write_report(run_dir: Path | str | RunDirectory, *, entry_source: EntrySource | None = None) -> Path:
    """Write the report of a run directory; returns the path of ``index.html``.

    ``entry_source``: the data set of the run (or a function from entry id to entry), for questions and expected
    answers; without it the bundled or fetched set is opened if it is the one measured. Raises `UsageError` when
    there is no run.
    """
    run = run_dir if isinstance(run_dir, RunDirectory) else RunDirectory.open(Path(run_dir))
    found = questions(entry_source, run.fingerprint.to_dict()["dataset"])
    writer = _Writer(run, found)
    listing = writer.write_pages()
    summary = summary_of(run)
    values = overview.content(summary, run, found, listing)
    rendering.write_page(run.path / INDEX, rendering.render("index.html.jinja", **values))
    return run.path / INDEX


def summary_of(run: RunDirectory) -> Summary:
    """The summary of a run, made from its results when there is none to be read (interrupted hard, damaged)."""
    try:
        if found := run.summary():
            return found
    except UsageError:  # damaged: everything in it can be made again
        pass
    issues = known_issues(run.fingerprint.dataset_version)
    return summarise(run.records(), fingerprint=run.fingerprint.to_dict(), known_issues=issues)


class _Writer:
    """Writes the pages of one run and collects the rows of its list."""

    def __init__(self, run: RunDirectory, found: Questions) -> None:
        self.run = run
        self.questions = found
        self.heads = [{name: record.get(name) for name in HEAD} for record in run.records()]
        self.models = _models(self.heads, len(run.fingerprint.models))
        self.folder = run.path / ENTRIES
        self.known: dict[tuple[str, str], str] = {
            (issue.id, mode): f"{issue.kind.replace('_', ' ')}: {issue.why}"
            for issue in known_issues(run.fingerprint.dataset_version)
            for mode in issue.modes
        }
        self.context = PageContext(
            data=f"{run.fingerprint.dataset} {run.fingerprint.dataset_version}".strip(),
            choice=found.data,
            models=run.fingerprint.models,
            known_issues=self.known,
        )

    def write_pages(self) -> Listing:
        """One page a record; the list of all of them."""
        self.folder.mkdir(exist_ok=True)
        listing = Listing(self.models, self.known)
        neighbours = self._neighbours()
        for record in self.run.records():
            name = page_name(record, self.models)
            entry = self.questions(str(record["id"]))
            stored = _stored(self.run.transcripts, record_key(record))
            messages = (stored or {}).get("messages") or ()
            request = request_of(record, entry, messages)[: 4 * REQUEST]
            try:
                page = entry_page(record, entry, stored, self.context, neighbours[name])
            except Exception as error:  # a line edited by hand: it must not cost the others their pages
                record = {**record, "detail": {"error": f"the details on this line cannot be shown: {error!r}"}}
                page = entry_page(record, entry, stored, self.context, neighbours[name])
            listing.add(record, shortened(clean(request.replace("\n", " ")), REQUEST))
            rendering.write_page(self.folder / name, page)
        return listing

    def _neighbours(self) -> dict[str, Neighbours]:
        """Page → the pages before and after it with the same outcome."""
        chains: dict[str, list[str]] = {}
        for record in self.heads:
            chains.setdefault(str(record.get("outcome")), []).append(page_name(record, self.models))
        return {
            name: Neighbours(chain[number - 1] if number else "", chain[number + 1] if number + 1 < len(chain) else "")
            for chain in chains.values()
            for number, name in enumerate(chain)
        }


def _models(heads: Iterable[Fields], asked: int) -> list[str]:
    """The models whose pages need telling apart.

    Results may name a model otherwise than the run was asked for (a replay names the recorded one, a run may have been
    switched to prompting): with one model asked for, the one with most results has the plain names.
    """
    counts = Counter(str(record.get("model") or "") for record in heads)
    return [model for model, _ in counts.most_common(1)] if asked <= 1 else list(counts)


def _stored(store: TranscriptStore, key: EntryKey) -> Fields | None:
    """One stored transcript; a damaged one is simply not shown."""
    try:
        return store.load(key)
    except HarnessError:
        return None
