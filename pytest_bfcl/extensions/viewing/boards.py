"""The pages that put runs together: leaderboard, history, stability, findings; and a run that goes on."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_bfcl.extensions.lab.auditing import pages as audits_of
from pytest_bfcl.extensions.lab.auditing.defect import Defect
from pytest_bfcl.extensions.lab.auditing.run_rules import Attempt, Attempts, run_defects
from pytest_bfcl.extensions.viewing import frame
from pytest_bfcl.extensions.viewing.cards import Card, summary_now
from pytest_bfcl.extensions.viewing.index import Stamp
from pytest_bfcl.extensions.viewing.library import Library
from pytest_bfcl.extensions.viewing.links import Links
from pytest_bfcl.extensions.viewing.live import LiveFigures, LiveRun
from pytest_bfcl.extensions.viewing.shelf import ShelvedAudit, ShelvedRun
from pytest_bfcl.extensions.wire import page as servers_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import leaderboard as ranking
from pytest_bfcl.reporting.contestants import Contestant, contestants, told_apart
from pytest_bfcl.reporting.history import history_charts
from pytest_bfcl.reporting.published import published_values
from pytest_bfcl.reporting.stability import stability_values
from pytest_bfcl.runs.paths import below
from pytest_bfcl.scoring.history import DatedRun, history
from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.published import OFFICIAL
from pytest_bfcl.scoring.stability import stability

MOST_RANKED = 60
"""Models on one leaderboard: the newest finished run of each."""
MOST_STABLE = 30
MOST_DATED = 120
MOST_NEVER = 400
FEWEST = 2


class Choice(NamedTuple):
    """A page one can choose: its address, words, and whether it is the one shown."""

    href: str
    words: str
    chosen: bool


class Boards:
    """Makes the pages; what is slow to read is kept as long as a run's files stay the same."""

    def __init__(self, library: Library, links: Links) -> None:
        self.library = library
        self.links = links
        self._contestants: dict[str, tuple[tuple[Stamp | None, ...], list[Contestant]]] = {}

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
        for shelved in runs:
            try:
                found += self._contestants_of(shelved)
            except (UsageError, OSError) as error:
                notes.append(f"{shelved.path.name} is left out: {error}")
        if not found:
            return self._nothing("leaderboard", "Leaderboard", "No run has results to rank.")
        found = told_apart(found)
        places = {each.info.name: each.run for each in found}
        names = {shelved.path: shelved.name for shelved in runs}
        made = [
            replace(board, places=tuple(
                replace(place, report=self.links.run(names[places[place.name]])) for place in board.places))
            for board in ranking.boards(found)
        ]  # fmt: skip
        values = ranking.board_values(made, found, runs[0].run)
        values["notices"] = [*values["notices"], *notes]
        if self.library.board is not None and runs[0].run.fingerprint.dataset in OFFICIAL:
            beside = ranking.beside_board(self.library.board, found, runs[0].run)
            values["published"] = published_values(self.library.board, beside)
        choices = self._choices("leaderboard", by_data, chosen)
        return self._page("board.html.jinja", "leaderboard.html", "leaderboard", choices=choices, **values)

    def _contestants_of(self, shelved: ShelvedRun) -> list[Contestant]:
        kept = self._contestants.get(shelved.name)
        stamps = shelved.stamps
        if kept is not None and kept[0] == stamps:
            return kept[1]
        made = contestants(shelved.run, {})
        self._contestants[shelved.name] = (stamps, made)
        return made

    def _newest(self, cards: Sequence[Card]) -> list[ShelvedRun]:
        """The newest run of each set of models, finished ones first choice."""
        best: dict[tuple[tuple[str, str], ...], Card] = {}
        for card in sorted(cards, key=lambda card: (card.state == "finished", card.started)):
            if card.models:
                best[tuple((model.model, model.mode) for model in card.models)] = card
        newest = sorted(best.values(), key=lambda card: card.started, reverse=True)[:MOST_RANKED]
        return [run for card in newest if (run := self.library.shelf.get(card.name)) is not None]

    def _by_data(self) -> dict[str, list[Card]]:
        """Cards by what was measured, so that only what may be compared stands together."""
        cards, _ = self.library.cards()
        found: dict[str, list[Card]] = defaultdict(list)
        for card in cards:
            found[card.measured].append(card)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def _choices(self, page: str, by_data: Iterable[str], chosen: str) -> list[Choice]:
        named = enumerate(by_data)
        return [Choice(self.links.choice(page, number, data=name), name, name == chosen) for number, name in named]

    def all_pages(self) -> Iterator[tuple[str, bytes]]:
        """Every page of every choice, for a static site: place and page."""
        for number, data in enumerate(self._by_data()):
            yield self.links.choice("leaderboard", number, data=data), self.leaderboard(data)
            yield self.links.choice("history", number, data=data), self.history(data)
        for number, (data, model) in enumerate(self._stable()):
            yield self.links.choice("stability", number, data=data, model=model), self.stability(model, data)
        if not self._stable():
            yield "stability.html", self.stability()
        yield "findings.html", self.findings()
        for audit in self.library.shelf.audits:
            yield self.links.audit(audit.name), self.audit(audit)

    # History.

    def history(self, data: str = "") -> bytes:
        """A line for each category over the dated runs of each model."""
        by_data = self._by_data()
        chosen = _chosen(data, by_data)
        if chosen is None:
            return self._nothing("history", "History", "There is no run yet.")
        models = [
            (model, history_charts(history(runs)), sorted(runs, key=lambda run: run.date))
            for model, runs in self._dated(by_data[chosen]).items()
        ]
        models.sort(key=lambda found: -len(found[2]))
        choices = self._choices("history", by_data, chosen)
        return self._page(
            "histories.html.jinja", "history.html", "history", choices=choices, models=models, most=MOST_DATED
        )

    def _dated(self, cards: Sequence[Card]) -> dict[str, list[DatedRun]]:
        found: dict[str, list[DatedRun]] = defaultdict(list)
        for card in cards:
            shelved = self.library.shelf.get(card.name)
            if shelved is None or card.state != "finished":
                continue
            summary, _ = summary_now(shelved)
            for name, model in summary["models"].items():
                if len(found[name]) < MOST_DATED:
                    found[name].append(DatedRun(card.started, card.label, card.version, model))
        return {name: runs for name, runs in found.items() if runs}

    # Stability.

    def stability(self, model: str = "", data: str = "") -> bytes:
        """What the runs of one model say: always, flaky, never."""
        able = self._stable()
        if not able:
            return self._nothing("stability", "Stability", "It takes two runs of one model, or one with repeats.")
        chosen = next((key for key in able if key == (data, model)), next(iter(able)))
        verdicts = dict(self._verdicts(able[chosen][:MOST_STABLE], chosen[1]))
        choices = [
            Choice(self.links.choice("stability", n, data=key[0], model=key[1]), f"{key[1]} · {key[0]}", key == chosen)
            for n, key in enumerate(able)
        ]
        try:
            found = stability(verdicts)
        except UsageError as error:
            return self._nothing("stability", "Stability", str(error))
        runs = [card.name for card in able[chosen][:MOST_STABLE]]
        values = stability_values(found, link=lambda entry_id: self.links.beside(entry_id, runs))
        values["choices"] = choices
        return self._page("stable.html.jinja", "stability.html", "stability", **values)

    def _stable(self) -> dict[tuple[str, str], list[Card]]:
        """Data and model → runs, where there are two or more, or repeats; most runs first."""
        groups: dict[tuple[str, str], list[Card]] = defaultdict(list)
        for card in self.library.cards()[0]:
            for each in card.models:
                groups[card.measured, each.model].append(card)
        able = {key: cards for key, cards in groups.items() if len(cards) > 1 or self._repeated(cards[0])}
        return dict(sorted(able.items(), key=lambda item: -len(item[1])))

    def _repeated(self, card: Card) -> bool:
        shelved = self.library.shelf.get(card.name)
        return shelved is not None and int(shelved.run.fingerprint.conditions.get("repeat") or 1) > 1

    def _verdicts(self, cards: Sequence[Card], model: str) -> Iterator[tuple[str, dict[Key, Judged]]]:
        labels = Counter(card.label for card in cards)
        for card in cards:
            shelved = self.library.shelf.get(card.name)
            if shelved is not None:
                found = self.library.measurement(shelved).models().get(model)
                if found:
                    yield card.label if labels[card.label] == 1 else card.name, found

    # Findings.

    def wire(self, shelved: ShelvedRun) -> bytes:
        """What the checks of a run's server came to."""
        below(shelved.root, shelved.path / servers_of.LINES_FILE)
        found = servers_of.servers(servers_of.read_lines(shelved.path))
        place = f"run/{shelved.name}/wire.html"
        if not found:
            raise UsageError(f"{shelved.path.name} has no checks of a server: `pytest --model … -m wire` makes them")
        return self._page(servers_of.TEMPLATE, place, "findings", **servers_of.wire_values(found))

    def has_wire(self, shelved: ShelvedRun) -> bool:
        """Whether a run has checks of its server."""
        return (shelved.path / servers_of.LINES_FILE).is_file()

    def findings(self) -> bytes:
        """What may not be the models' fault: servers checked, data audited, entries that no run passed."""
        servers = list(self._servers())
        never = [(defect, self.links.beside(defect.id)) for defect in self._never()]
        counted = Counter(defect.rule_name for defect, _ in never)
        return self._page(
            "findings.html.jinja", "findings.html", "findings",
            servers=servers, never=never[:MOST_NEVER], counted=counted, left_out=max(len(never) - MOST_NEVER, 0),
            order=servers_of.ORDER, audits=list(self._audits()),
        )  # fmt: skip

    def audit(self, audit: ShelvedAudit) -> bytes:
        """What an audit of data found, each finding with its proof and the way to the entry in all runs."""
        kept = audits_of.read_audit(audit.lines)
        found = [(each, self._entry_of(each.id)) for each in kept.findings]
        values = audits_of.audit_values(found, kept.data, proofs=True, damaged=kept.damaged)
        return self._page(audits_of.TEMPLATE, self.links.audit(audit.name), "findings", **values)

    def _entry_of(self, entry_id: str) -> str:
        """The way from an audit to an entry; in files only to one that a run has."""
        if self.links.static and not self.library.rows_of(entry_id):
            return ""
        return "../" + self.links.beside(entry_id)

    def _audits(self) -> Iterator[tuple[str, str, str, Counter[str]]]:
        """Of each audit where its page is, its folder, the data, and how many findings of each level."""
        for audit in self.library.shelf.audits:
            with contextlib.suppress(UsageError, OSError):  # its page says why
                kept = audits_of.read_audit(audit.lines)
                counted = Counter(each.level for each in kept.findings)
                yield self.links.audit(audit.name), audit.path.name, kept.data, counted

    def _servers(self) -> Iterator[tuple[str, str, servers_of.Server]]:
        for shelved in self.library.shelf.runs:
            if self.has_wire(shelved):
                for server in servers_of.servers(servers_of.read_lines(shelved.path)):
                    yield self.links.wire(shelved.name), shelved.path.name, server

    def _never(self) -> Iterator[Defect]:
        """Entries that failed in every attempt of two or more runs, with what they agree on."""
        for cards in self._by_data().values():
            runs = [run for card in cards if (run := self.library.shelf.get(card.name)) is not None]
            if len(runs) < FEWEST:
                continue
            outcomes: dict[str, set[str]] = defaultdict(set)
            tries: Counter[str] = Counter()
            for shelved in runs:
                for row in shelved.index.rows():
                    outcome = row.official_outcome or row.outcome
                    if outcome in ("passed", "failed"):
                        outcomes[row.id].add(outcome)
                        tries[row.id] += 1
            ids = {name for name, found in outcomes.items() if found == {"failed"} and tries[name] >= FEWEST}
            yield from run_defects([_attempts(shelved, ids) for shelved in runs], ids, fewest_families=1)

    # Live.

    def live_page(self, shelved: ShelvedRun) -> bytes:
        """A run that goes on; the figures come as events from then on."""
        place = f"run/{shelved.name}/live.html"
        found = LiveRun(self.library, shelved, self.links).look()
        return self._page("live.html.jinja", place, "index", run=shelved.path.name, found=found)

    def live_part(self, found: LiveFigures) -> str:
        """The figures as a part of the page."""
        return str(frame.part("live_parts.html.jinja", "figures", found=found))

    def live_trouble(self, why: str) -> str:
        """Why there are no figures now."""
        return str(frame.part("live_parts.html.jinja", "trouble", why=why))

    def _nothing(self, here: str, title: str, why: str) -> bytes:
        return self._page("nothing.html.jinja", f"{here}.html", here, title=title, why=why)


def _attempts(shelved: ShelvedRun, ids: set[str]) -> Attempts:
    by_id: dict[str, list[Attempt]] = {}
    for row in shelved.index.rows():
        if row.id in ids and (row.official_outcome or row.outcome) == "failed":
            line: Fields = shelved.index.line(row)
            made = line.get("calls") or line.get("output")
            by_id.setdefault(row.id, []).append(Attempt(False, row.official_reason or row.reason, made, row.model))
    return Attempts(shelved.path.name, by_id)


def _chosen(data: str, by_data: dict[str, list[Card]]) -> str | None:
    return data if data in by_data else next(iter(by_data), None)
