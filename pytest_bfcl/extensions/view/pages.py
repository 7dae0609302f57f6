"""The pages of runs: the table of all, a run, an entry, an entry in all runs, two runs compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.extensions.boards.changed import Changed, Places
from pytest_bfcl.extensions.boards.comparison_text import comparison_values
from pytest_bfcl.extensions.boards.ranking import section_of
from pytest_bfcl.extensions.boards.side_by_side import Answer, SideBySide, side_by_side
from pytest_bfcl.extensions.view import frame
from pytest_bfcl.extensions.view.exchanges import exchanges
from pytest_bfcl.extensions.view.frame import Links
from pytest_bfcl.extensions.view.index import Row
from pytest_bfcl.extensions.view.runs import ListedRun, ModelFigures, RunSummary, summary_now
from pytest_bfcl.extensions.view.store import Chain, OpenedRun, Store, gaps_in, models_of, page_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import shortened
from pytest_bfcl.reporting import overview
from pytest_bfcl.reporting.packing import packed
from pytest_bfcl.reporting.pages import EntryResult, Neighbours, entry_values, made_or_problem, stored_of
from pytest_bfcl.reporting.rendering import embedded_json, page_name
from pytest_bfcl.reporting.sources import sections_of
from pytest_bfcl.reporting.tables import Cell
from pytest_bfcl.scoring.comparison import compare_measurements

if TYPE_CHECKING:
    from markupsafe import Markup

SITE_REQUEST = 60
"""Characters of a request in a list of a static site, which has many lists."""
MOST_BESIDE = 60
"""Most answers of one entry side by side."""


class NavLink(NamedTuple):
    """A link with a keyboard shortcut."""

    href: str
    key: str
    words: str


def _keys(chains: Iterable[tuple[str, str, Chain]], place: int, link: Callable[[str], str]) -> list[NavLink]:
    """The links from a place to the next and previous name of each chain, with its key and words."""
    found = []
    for key, words, chain in chains:
        before, after = chain.around(place)
        back = "k" if key == "j" else key.upper()
        for name, letter, which in ((after, key, "next"), (before, back, "previous")):
            if name is not None:
                found.append(NavLink(link(name), letter, f"{which} {words}"))
    return found


class Missing(Exception):
    """The page does not exist."""


class _OfOneData(NamedTuple):
    """The answers to one entry of one data set."""

    found: SideBySide
    data: str
    notes: Sequence[str]


class Pages:
    """Makes pages of a store's content; ``links`` gives their addresses."""

    def __init__(self, store: Store, links: Links) -> None:
        self.store = store
        self.links = links

    def runs(self) -> bytes:
        """The table of all runs."""
        summaries, refused = self.store.summaries()
        rows: list[tuple[RunSummary, ModelFigures | None]] = [
            (summary, model) for summary in summaries for model in summary.models or (None,)
        ]
        entries = sum(model.judged for _, model in rows if model is not None)
        words = f"{len(summaries)} runs, {entries:,} judged entries, the newest first. Intervals are 95 %."
        return self._page(
            "runs.html.jinja",
            "index.html",
            "index",
            words=words,
            rows=rows,
            links=self.links,
            left_out=refused,
            datas=sorted({summary.data for summary in summaries}),
            models=sorted({model.model for _, model in rows if model is not None}),
            states=sorted({summary.state.partition(":")[0] for summary in summaries}),
        )

    def run(self, listed: ListedRun) -> bytes:
        """A run's report, with this package's additions to its notices."""
        opened = self.store.open(listed)
        summary, notes = summary_now(listed)
        request = self.store.requests_of(opened)
        width = SITE_REQUEST if self.links.static else None
        place = self.links.entries_from_run(listed.name)
        listing = opened.listing(lambda row: shortened(request(row), width) if width else request(row), place)
        sections = list(sections_of(opened.run, list(opened.run.records())))
        sections += [section_of(self.store.board, opened.run)] if self.store.board is not None else []
        values = overview.content(summary, opened.run, opened.questions, listing, sections)
        gaps = gaps_in(opened.index, list(opened.index.rows()), opened.run)
        told = values["run"]["notices"]  # the report's own name damaged lines, too
        told += [note for note in (f"{each}." for each in (*notes, *gaps)) if note not in told]
        packing = embedded_json(packed(listing.content())) if self.links.static else ""
        values |= {"data": "" if packing else listing.embedded(), "packed": packing}
        return self._page("index.html.jinja", f"run/{listed.name}/index.html", **values)

    def _page(self, template: str, place: str, here: str = "", **values: Any) -> bytes:
        return frame.page(template, place, here, static=self.links.static, **values)

    # One entry.

    def entry(self, listed: ListedRun, page: str, against: str = "") -> bytes:
        """An entry of one run."""
        title, body = self.entry_parts(listed, page, against)
        place = f"run/{listed.name}/entries/x"
        return self._page("plain.html.jinja", place, kind="entry", title=title, body=body)

    def entry_parts(
        self,
        listed: ListedRun,
        page: str,
        against: str = "",
        opened: OpenedRun | None = None,
    ) -> tuple[str, Markup]:
        """Title and body of an entry's page."""
        opened = opened or self.store.open(listed)
        row = opened.rows.get(page)
        if row is None:
            raise Missing(f"{listed.name} has no entry {page}")
        line = opened.index.line(row)
        entry, stored = opened.questions(row.id), stored_of(opened.run.transcripts, line)
        beside = self._beside_in_run(opened, page)
        told = EntryResult.of(line, entry, stored)
        title, values = made_or_problem(lambda found: entry_values(found, opened.context, beside), told)
        asked = next((model for model in opened.context.models if model.model == row.model), None)
        asked = asked or (opened.context.models[0] if len(opened.context.models) == 1 else None)
        sent = exchanges(line, stored, entry, asked)
        if self.links.static:
            sent = sent.shortened()
        more = frame.part(
            "entry_parts.html.jinja",
            "more",
            nav=self._entry_keys(opened, page, row, against),
            others=[] if self.links.static else self._others(listed, row),
            most=MOST_BESIDE,
            static=self.links.static,
            beside=self.links.up_from_entry + self.links.beside(row.id),
            exchanges=sent,
        )
        up = self.links.run_from_entry(listed.name)
        return title, frame.part("entry.html.jinja", "body", more=more, up=up, **values)

    def _beside_in_run(self, opened: OpenedRun, page: str) -> Neighbours:
        """The previous and next page with the same outcome, as links."""
        found = opened.neighbours(page)
        if not self.links.static:
            return found
        return Neighbours(*(self.links.entry(opened.name, name) if name else "" for name in found))

    def _others(self, listed: ListedRun, row: Row) -> Sequence[Sequence[str | Cell]]:
        """The same entry in other runs of this data, and in this one by other models or repeats."""
        found: list[Sequence[str | Cell]] = []
        data = self.store.data_of(listed)
        for other, there in self.store.rows_of(row.id, at_once=True):
            if len(found) == MOST_BESIDE:  # said below the list
                break
            if (other is listed and there.number == row.number) or self.store.data_of(other) != data:
                continue
            page = self.store.page_of(other, there)
            href = self.links.up_from_entry + self.links.entry(other.name, page, listed.name)
            repeat = f" (repeat {there.repeat})" if there.repeat > 1 else ""
            outcome = Cell(there.outcome, chip=there.outcome)
            found.append((Cell(other.path.name, href=href), there.model + repeat, outcome, there.reason or ""))
        return found

    def _entry_keys(self, opened: OpenedRun, page: str, row: Row, against: str) -> list[NavLink]:
        """Next and previous: failed, changed, with the same reason."""
        chosen = against if against in {run.name for run in self.store.runs.listed} else ""
        earlier = self.store.runs.get(chosen) if chosen else self.store.earlier(opened)
        chains = [("f", "failed", opened.chain("outcome", "failed"))]
        if earlier is not None and earlier.name != opened.name:
            chains.append(("c", f"changed since {earlier.path.name}", self.store.changed(opened, earlier)))
        if row.reason:
            chains.append(("r", "with the same reason", opened.chain("reason", row.reason)))
        up = self.links.up_from_entry
        return _keys(chains, opened.places[page], lambda name: up + self.links.entry(opened.name, name, chosen))

    # One entry in all runs.

    def beside(self, name: str, only: Sequence[str] = ()) -> bytes:
        """An entry, by the name of its page, in all runs or in the named ones."""
        entry_id = self.store.entry_of(name)
        if entry_id is None:
            raise Missing(f"no run has an entry {name}")
        title, body = self.beside_part(entry_id, only)
        return self._page("plain.html.jinja", f"entry/{name}.html", kind="comparison", title=title, body=body)

    def beside_part(self, entry_id: str, only: Sequence[str] = ()) -> tuple[str, Markup]:
        """Title and body of an entry in all runs or in the named ones."""
        rows = list(self.store.rows_of(entry_id, set(only) or None))
        notes = [f"{len(rows) - MOST_BESIDE} more answers are not shown"] if len(rows) > MOST_BESIDE else []
        rows = (sorted(rows, key=lambda found: only.index(found[0].name)) if only else rows)[:MOST_BESIDE]
        by_data: dict[str, list[tuple[ListedRun, Row]]] = {}
        for run, row in rows:
            by_data.setdefault(self.store.data_of(run), []).append((run, row))
        if len(by_data) > 1:
            notes.append("Several data sets have an entry of this id. They are not the same entry, and stand apart.")
        parts = [self._answers(entry_id, data, shown) for data, shown in by_data.items()]
        nav = self._beside_keys(entry_id, only)
        body = frame.part("beside.html.jinja", "beside", answers=parts, notes=notes, nav=nav)
        return f"{entry_id} in {len(rows)} answers", body

    def _answers(self, entry_id: str, data: str, shown: Sequence[tuple[ListedRun, Row]]) -> _OfOneData:
        """The answers of one data set's runs to its entry, and how many are not shown."""
        answers = [
            Answer(
                self._label(run, row, shown),
                run.index.line(row),
                self.links.up_from_beside + self.links.entry(run.name, self.store.page_of(run, row)),
            )
            for run, row in shown
        ]
        questions = self.store.questions_of(shown[0][0].run)
        entry = questions(entry_id)
        return _OfOneData(side_by_side(entry, answers), data, questions.notices if entry is None else ())

    def _label(self, run: ListedRun, row: Row, shown: Sequence[tuple[ListedRun, Row]]) -> str:
        several = sum(each is run for each, _ in shown) > 1
        repeat = f" (repeat {row.repeat})" if row.repeat > 1 else ""
        return f"{run.path.name}{' · ' + row.model if several else ''}{repeat}"

    def _beside_keys(self, entry_id: str, only: Sequence[str]) -> list[NavLink]:
        """The next and previous entry, one with different outcomes, one with a failed answer."""
        table = self.store.outcomes(tuple(only))
        chains = (
            ("j", "entry", table.all),
            ("c", "with different outcomes", table.different),
            ("f", "failed somewhere", table.failed),
        )
        up = self.links.up_from_beside
        return _keys(chains, table.places.get(entry_id, -1), lambda name: up + self.links.beside(name, only))

    # Two runs.

    def choose(self, pairs: Sequence[tuple[RunSummary, RunSummary]] | None = None) -> bytes:
        """The selection of two runs; ``pairs`` are the available ones, by default each run with the one before it."""
        summaries = [summary for summary in self.store.summaries()[0] if summary.has_scores]
        pairs = list(self.store.pairs(summaries)) if pairs is None else pairs
        up = "../"  # the page lies in a folder
        rows = [
            (after.data, before.label, after.label,
             Cell("compare", href=up + self.links.compare(before.name, after.name)))
            for before, after in pairs
        ]  # fmt: skip
        return self._page("choose.html.jinja", "compare/index.html", "compare", summaries=summaries, pairs=rows)

    def compare(self, before: ListedRun, after: ListedRun, rules: str = "official") -> bytes:
        """Two runs compared; each changed entry opens side by side."""
        place = f"compare/{before.name}/x.html"
        first, second = self.store.measurement(before), self.store.measurement(after)
        found = compare_measurements(first, second, rules, allow_missing=True)
        for comparison in found:
            comparison.before_run, comparison.after_run = before.path.name, after.path.name
        places = self._places((before, after))
        changed = [replace(Changed.of(each, first, second, rules), places=places) for each in found]
        questions = self.store.questions_of(after.run)
        values = comparison_values(changed, questions, most=0)
        return self._page("comparison.html.jinja", place, "compare", **values)

    def _places(self, runs: tuple[ListedRun, ListedRun]) -> Places:
        """The addresses of a comparison's links; in a static site a line's page is left out, which saves many bytes."""
        models = [run.kept(models_of) for run in runs]

        def page(side: int, record: Fields) -> str:
            entry = self.links.entry(runs[side].name, page_name(record, models[side]), runs[1 - side].name)
            return "" if self.links.static else f"../../{entry}"

        names = [run.name for run in runs]
        return Places(page, lambda change: "../../" + self.links.beside(change.id, names))

    # For a static site.

    def plain_lists(self, listed: ListedRun, size: int) -> Iterator[tuple[str, bytes]]:
        """The entries of a run as plain tables, ``size`` rows a page: path and page."""
        opened = self.store.open(listed)
        all_rows = list(opened.index.listed())
        pages = max(-(-len(all_rows) // size), 1)
        for number in range(pages):
            rows = [
                (row, text, self.links.entry(listed.name, page_of(row, opened.models)))
                for row, text in all_rows[number * size : (number + 1) * size]
            ]
            place = f"run/{listed.name}/list-{number + 1}.html"
            label = listed.path.name
            yield place, self._page("list.html.jinja", place, label=label, rows=rows, number=number + 1, pages=pages)

    def unpacking(self, about: Fields) -> bytes:
        """The page that unpacks entries."""
        data = embedded_json(about)
        return self._page("unpack.html.jinja", "entry.html", data=data)

    def problem(self, title: str, why: str, place: str = "x.html") -> bytes:
        """A page with an error."""
        return self._page("nothing.html.jinja", place, title=title, why=why)
