"""Pages over several runs: leaderboard, history, stability, findings; and a run in progress."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_bfcl.extensions.boards import dated_runs
from pytest_bfcl.extensions.boards import leaderboard_page as ranking
from pytest_bfcl.extensions.boards.ranking import published_values
from pytest_bfcl.extensions.boards.stability import repeat_notes, stability
from pytest_bfcl.extensions.boards.stability_verb import TEMPLATE as STABILITY
from pytest_bfcl.extensions.boards.stability_verb import stability_values
from pytest_bfcl.extensions.boards.standings import Contestant, contestants, with_distinct_names
from pytest_bfcl.extensions.lab import pages as audits_of
from pytest_bfcl.extensions.lab.rules import Defect
from pytest_bfcl.extensions.lab.run_rules import Attempt, Attempts, run_defects
from pytest_bfcl.extensions.view import frame
from pytest_bfcl.extensions.view.frame import Links
from pytest_bfcl.extensions.view.live import LiveRun
from pytest_bfcl.extensions.view.runs import ListedAudit, ListedRun, RunSummary, summary_now
from pytest_bfcl.extensions.view.store import Store
from pytest_bfcl.extensions.wire import outcome as servers_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.tables import Cell
from pytest_bfcl.runs.paths import below
from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.tally import VERDICTS

MOST_RANKED = 60
"""Most models on one leaderboard: the newest finished run of each."""
MOST_STABLE = 30
MOST_DATED = 120
MOST_NEVER = 400
FEWEST = 2


class Choice(NamedTuple):
    """A page to select: its address, words, and whether it is shown."""

    href: str
    words: str
    chosen: bool


class OverviewPages:
    """Makes the pages; slow parts are cached while a run's files stay unchanged."""

    def __init__(self, store: Store, links: Links) -> None:
        self.store = store
        self.links = links

    def _page(self, template: str, place: str, here: str = "", **values: Any) -> bytes:
        return frame.page(template, place, here, static=self.links.static, **values)

    # Leaderboard.

    def leaderboard(self, data: str = "") -> bytes:
        """The newest finished run of each model, of one data set."""
        by_data = self._by_data()
        chosen = _chosen(data, by_data)
        if chosen is None:
            return self._nothing("leaderboard", "Leaderboard", "There is no run to rank.")
        found: list[Contestant] = []
        notes: list[str] = []
        runs = self._newest(by_data[chosen])
        for listed in runs:
            try:
                notes += ranking.comparable_notes([runs[0].run, listed.run])
                found += listed.kept(_contestants)
            except (UsageError, OSError) as error:
                notes.append(f"{listed.path.name} is left out: {error}")
        if not found:
            return self._nothing("leaderboard", "Leaderboard", "No run has results to rank.")
        found = with_distinct_names(found)
        names = {listed.path: listed.name for listed in runs}
        made = ranking.boards(found)
        values = ranking.board_values(made, runs[0].run, lambda run: self.links.run(names[run]))
        values["notices"] = [*values["notices"], *notes]
        if (board := self.store.board) is not None:
            values["published"] = published_values(ranking.beside_board(board, found))
        choices = self._choices("leaderboard", by_data, chosen)
        return self._page(ranking.TEMPLATE, "leaderboard.html", "leaderboard", choices=choices, **values)

    def _newest(self, summaries: Sequence[RunSummary]) -> list[ListedRun]:
        """The newest run of each set of models, preferably a finished one."""
        best: dict[tuple[tuple[str, str], ...], RunSummary] = {}
        for summary in sorted(summaries, key=lambda summary: (summary.state == "finished", summary.started)):
            if summary.models:
                best[tuple((model.model, model.mode) for model in summary.models)] = summary
        newest = sorted(best.values(), key=lambda summary: summary.started, reverse=True)[:MOST_RANKED]
        return [summary.run for summary in newest]

    def _by_data(self) -> dict[str, list[RunSummary]]:
        """Runs by measurement, so that only comparable ones share a table."""
        summaries, _ = self.store.summaries()
        found: dict[str, list[RunSummary]] = defaultdict(list)
        for summary in summaries:
            found[summary.measured].append(summary)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def _choices(self, page: str, by_data: Iterable[str], chosen: str) -> list[Choice]:
        named = enumerate(by_data)
        return [Choice(self.links.choice(page, number, data=name), name, name == chosen) for number, name in named]

    def all_pages(self) -> Iterator[tuple[str, bytes]]:
        """Every page of every selection, for a static site: path and page."""
        for number, data in enumerate(self._by_data()):
            yield self.links.choice("leaderboard", number, data=data), self.leaderboard(data)
            yield self.links.choice("history", number, data=data), self.history(data)
        for number, (data, model) in enumerate(self._stable()):
            yield self.links.choice("stability", number, data=data, model=model), self.stability(model, data)
        if not self._stable():
            yield "stability.html", self.stability()
        yield "findings.html", self.findings()
        for audit in self.store.runs.audits:
            yield self.links.audit(audit.name), self.audit(audit)

    # History.

    def history(self, data: str = "") -> bytes:
        """A line for each category over the dated runs of each model."""
        by_data = self._by_data()
        chosen = _chosen(data, by_data)
        if chosen is None:
            return self._nothing("history", "History", "There is no run yet.")
        runs = [
            dated_runs.ReadRun(summary.run.path, summary.run.run.fingerprint, summary_now(summary.run)[0])
            for summary in by_data[chosen]
            if summary.state == "finished" and summary.models
        ]
        if not runs:
            return self._nothing("history", "History", "No run has finished yet.")
        found = dated_runs.histories_of(runs[:MOST_DATED])
        if len(runs) > MOST_DATED:
            found = replace(found, notes=(f"only the newest {MOST_DATED} of {len(runs)} runs are shown", *found.notes))
        choices, values = self._choices("history", by_data, chosen), dated_runs.histories_values(found)
        return self._page(dated_runs.TEMPLATE, "history.html", "history", choices=choices, **values)

    # Stability.

    def stability(self, model: str = "", data: str = "") -> bytes:
        """The stability of one model's runs: always, flaky, never."""
        able = self._stable()
        if not able:
            return self._nothing("stability", "Stability", "It takes two runs of one model, or one with repeats.")
        chosen = next((key for key in able if key == (data, model)), next(iter(able)))
        runs, notes = self._of_one_test(able[chosen][:MOST_STABLE], chosen[1])
        if len(runs) == 1 and not _repeated(runs[0]):
            return self._nothing("stability", "Stability", "; ".join(notes))
        choices = [
            Choice(self.links.choice("stability", n, data=key[0], model=key[1]), f"{key[1]} · {key[0]}", key == chosen)
            for n, key in enumerate(able)
        ]
        try:
            found = stability(dict(self._verdicts(runs, chosen[1])), notes)
        except UsageError as error:
            return self._nothing("stability", "Stability", str(error))
        names = [summary.name for summary in runs]
        values = stability_values(found, link=lambda entry_id: self.links.beside(entry_id, names))
        return self._page(STABILITY, "stability.html", "stability", choices=choices, **values)

    def _stable(self) -> dict[tuple[str, str], list[RunSummary]]:
        """Data and model → runs, if there are two or more, or repeats; most runs first."""
        groups: dict[tuple[str, str], list[RunSummary]] = defaultdict(list)
        for summary in self.store.summaries()[0]:
            for each in summary.models:
                groups[summary.measured, each.model].append(summary)
        able = {key: runs for key, runs in groups.items() if len(runs) > 1 or _repeated(runs[0])}
        return dict(sorted(able.items(), key=lambda item: -len(item[1])))

    def _of_one_test(self, runs: Sequence[RunSummary], model: str) -> tuple[list[RunSummary], list[str]]:
        """The newest run and other runs of the same model on the same test, with notes to print."""
        first, *others = runs
        kept, notes = [first], []
        for summary in others:
            try:
                notes += repeat_notes([(each.label, model, each.run.run.fingerprint) for each in (first, summary)])
                kept.append(summary)
            except UsageError as error:
                notes.append(f"{summary.label} is left out: {error}")
        return kept, notes

    def _verdicts(self, summaries: Sequence[RunSummary], model: str) -> Iterator[tuple[str, dict[Key, Judged]]]:
        labels = Counter(summary.label for summary in summaries)
        for summary in summaries:
            if found := self.store.measurement(summary.run).models().get(model):
                yield summary.label if labels[summary.label] == 1 else summary.name, found

    # Findings.

    def wire(self, listed: ListedRun) -> bytes:
        """The results of the checks of a run's server."""
        below(listed.root, listed.path / servers_of.LINES_FILE)
        found = servers_of.servers(servers_of.read_lines(listed.path))
        place = f"run/{listed.name}/wire.html"
        if not found:
            raise UsageError(f"{listed.path.name} has no checks of a server: `pytest --model … -m wire` makes them")
        return self._page(servers_of.TEMPLATE, place, "findings", **servers_of.wire_values(found))

    def has_wire(self, listed: ListedRun) -> bool:
        """Whether a run has checks of its server."""
        return (listed.path / servers_of.LINES_FILE).is_file()

    def findings(self) -> bytes:
        """What may not be the models' fault: servers checked, data audited, entries that no run passed."""
        never = [
            (Cell(each.id, href=self.links.beside(each.id)), each.rule_name.replace("_", " "), each.message)
            for each in self._never()
        ]
        counted = Counter(rule for _, rule, _ in never)
        return self._page(
            "findings.html.jinja", "findings.html", "findings", servers=list(self._servers()), never=never[:MOST_NEVER],
            counted=", ".join(f"{rule}: {count}" for rule, count in counted.items()), audits=list(self._audits()),
            left_out=max(len(never) - MOST_NEVER, 0),
            servers_head=("run", "model", "API", *(state.replace("_", " ") for state in servers_of.ORDER)),
        )  # fmt: skip

    def audit(self, audit: ListedAudit) -> bytes:
        """The findings of an audit, each with its proof and a link to the entry in all runs."""
        kept = audits_of.read_audit(audit.lines)
        found = [(each, self._entry_of(each.id)) for each in kept.findings]
        values = audits_of.audit_values(found, kept.data, proofs=True, damaged=kept.damaged)
        return self._page(audits_of.TEMPLATE, self.links.audit(audit.name), "findings", **values)

    def _entry_of(self, entry_id: str) -> str:
        """The link from an audit to an entry; in a static site only to one that a run has."""
        if self.links.static and not any(self.store.rows_of(entry_id)):
            return ""
        return "../" + self.links.beside(entry_id)

    def _audits(self) -> Iterator[Sequence[str | Cell]]:
        """Of each audit where its page is, its folder, the data, and how many findings of each level."""
        for audit in self.store.runs.audits:
            with contextlib.suppress(UsageError, OSError):  # its page says why
                kept = audits_of.read_audit(audit.lines)
                counted = Counter(each.level for each in kept.findings)
                folder = Cell(audit.path.name, href=self.links.audit(audit.name))
                yield folder, kept.data, str(counted["defect"]), str(counted["reading"])

    def _servers(self) -> Iterator[Sequence[str | Cell]]:
        """Of each server a run has checked: the run, the model, the API, and how many checks have which state."""
        for listed in self.store.runs.listed:
            if self.has_wire(listed):
                for server in servers_of.servers(servers_of.read_lines(listed.path)):
                    counts = (str(server.counts[state] or "") for state in servers_of.ORDER)
                    yield Cell(listed.path.name, href=self.links.wire(listed.name)), server.model, server.api, *counts

    def _never(self) -> Iterator[Defect]:
        """Entries that failed in every attempt of two or more runs, with their common answer."""
        for summaries in self._by_data().values():
            if len(summaries) < FEWEST:
                continue
            outcomes: dict[str, list[str]] = defaultdict(list)
            for summary in summaries:
                for row in summary.run.index.rows():
                    outcome = row.official_outcome or row.outcome
                    if outcome in VERDICTS:
                        outcomes[row.id].append(outcome)
            ids = {name for name, found in outcomes.items() if "passed" not in found and len(found) >= FEWEST}
            yield from run_defects([_attempts(each.run, ids) for each in summaries], ids, fewest_families=1)

    # Live.

    def live_page(self, listed: ListedRun) -> bytes:
        """A run in progress; events update the figures."""
        place = f"run/{listed.name}/live.html"
        found = LiveRun(self.store, listed, self.links).look()
        return self._page("live.html.jinja", place, "index", run=listed.path.name, found=found)

    def _nothing(self, here: str, title: str, why: str) -> bytes:
        return self._page("nothing.html.jinja", f"{here}.html", here, title=title, why=why)


def _contestants(listed: ListedRun) -> list[Contestant]:
    return contestants(listed.run, {})


def _repeated(summary: RunSummary) -> bool:
    return int(summary.run.run.fingerprint.conditions.get("repeat") or 1) > 1


def _attempts(listed: ListedRun, ids: set[str]) -> Attempts:
    by_id: dict[str, list[Attempt]] = {}
    for row in listed.index.rows():
        if row.id in ids and (row.official_outcome or row.outcome) == "failed":
            line: Fields = listed.index.line(row)
            made = line.get("calls") or line.get("output")
            by_id.setdefault(row.id, []).append(Attempt(False, row.official_reason or row.reason, made, row.model))
    return Attempts(listed.path.name, by_id)


def _chosen(data: str, by_data: dict[str, list[RunSummary]]) -> str | None:
    return data if data in by_data else next(iter(by_data), None)
