"""Why a run lost entries, and why a score fell: proved causes, unexplained entries, what to try next."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.collector import fewer_collections
from pytest_bfcl.dataset.categories import is_write_stage
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.extensions.causes.cause import KINDS, NEXT
from pytest_bfcl.extensions.causes.mistakes import mistake_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.table import find_decoder, guessed_decoder
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.scoring.statistics import PairTally, cluster_of, interval, spread_of, wilson

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.extensions.causes.cause import Cause
    from pytest_bfcl.runs.fingerprint import ModelFingerprint

EXAMPLES = 2
_OF_REPLIES = frozenset((
    "call_in_text", "empty", "error_text", "foreign", "repeating", "mixed_up", "doubled", "refused", "wrapped",
))  # fmt: skip
SOME_REPLICAS = 0.08, 0.55
"""Causes of whole replies, besides those of names and texts of arguments; the shares of places that one of several
servers may have.
"""
UNEXPLAINED = "unexplained"

Find = Callable[[str], "Entry | None"]
Trial = tuple[str, str, int]
"""Category, id, repeat."""


class Named(NamedTuple):
    """One row of a diagnosis: a cause, or the unexplained entries. ``name`` selects it on the command line; ``proof``
    is the result of undoing it.
    """

    name: str
    whose: str
    title: str
    lines: list[Fields]
    proof: str = ""
    next: str = ""

    @property
    def ids(self) -> list[str]:
        """The entries, in the run's order."""
        return list(dict.fromkeys(str(line["id"]) for line in self.lines))

    @property
    def examples(self) -> list[tuple[str, str]]:
        """Ids and sentences of some entries."""
        return [(str(line["id"]), headline(line) or str(line.get("reason"))) for line in self.lines[:EXAMPLES]]


@dataclass
class Diagnosis:
    """One model's run by causes; `rows` has those that occur, unexplained entries last.

    ``why_not`` is the reason if nothing could be undone and judged again.
    """

    model: str
    judged: int = 0
    passed: int = 0
    keys: dict[Trial, str] = field(default_factory=dict)
    """Trial → name of its row, empty for passed ones; unexplained ones by their kind of failure."""
    rows: list[Named] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    why_not: str = ""
    asked: bool = False
    """Whether the run has the settings for new requests."""
    one_of_several: bool = False
    """Whether the run has several models."""
    not_judged: Counter[str] = field(default_factory=Counter)
    """Entries without a verdict, by what is said of them."""
    unfinished: str = ""
    """Why the run ended before its last entry, empty for a finished one."""

    @property
    def failed(self) -> int:
        """Entries judged and not passed."""
        return self.judged - self.passed

    @property
    def judged_entries(self) -> str:
        """The judged entries in words; with repeats their trials."""
        entries = len({(category, entry_id) for category, entry_id, _ in self.keys})
        return f"{self.judged} trials of {entries} entries" if entries < self.judged else f"{self.judged} entries"

    def lines(self, run: str = "RUN", data: str = "auto") -> Iterator[str]:
        """For a terminal: one line a cause, then its examples and the advice. ``data``: as it was named."""
        yield f"{clean(self.model)}: {self.failed} of {self.judged_entries} failed"
        if self.unfinished:
            yield f"not finished: {clean(self.unfinished)}"
        for told, number in self.not_judged.most_common(EXAMPLES):
            yield clean(f"{number:5} not judged: {cut(told, 140)}")
        for row in self.rows:
            yield clean(
                f"{len(row.lines):5} {row.whose}: {row.title}{self._undone(row)}" if row.whose else self._left(row)
            )
            for entry_id, sentence in row.examples:
                yield f"        {clean(entry_id)}: {clean(cut(sentence, 110))}"
        if self.why_not:
            yield f"not looked for causes: {clean(self.why_not)}"
        for row in self.rows[: 3 if self.asked else 1]:
            yield f"next, {row.name}: {clean(self.command(row, run, data))}"

    def _undone(self, row: Named) -> str:
        low, high = wilson(len(row.lines), self.judged)
        points = 100 * len(row.lines) / self.judged
        return f": undone, +{points:.1f} points (95 %: {100 * low:.1f} to {100 * high:.1f}); {row.proof}"

    def _left(self, row: Named) -> str:
        share = 100 * len(row.lines) / self.failed
        return f"{len(row.lines):5} {row.title}, {share:.0f} % of the loss; {row.proof}"

    def command(self, row: Named, run: str = "RUN", data: str = "auto") -> str:
        """The next experiment: these entries again, with one thing changed. A file does not say which model it was."""
        named = shlex.quote(f"{run}#{self.model}" if self.one_of_several and "#" not in run else run)
        of = f" --data {shlex.quote(data)}" if data != "auto" else ""
        if self.asked:
            return f"pytest-bfcl explain {named} --recheck {row.name} {row.next}{of}"
        ids = f"pytest-bfcl explain {named} --cause {row.name}{of} > ids.txt"
        return f"{ids}; pytest-bfcl run --model PROVIDER:MODEL --ids ids.txt {row.next}{of}"

    def row(self, name: str) -> Named | None:
        """The row of a name."""
        return next((each for each in self.rows if each.name == name), None)

    def to_json(self) -> Parsed:
        """For programs: every cause with its interval, ids and command."""
        return {
            "model": self.model,
            "judged": self.judged,
            "failed": self.failed,
            "causes": [
                {
                    "cause": row.name,
                    "whose": row.whose or "unknown",
                    "title": row.title,
                    "proof": row.proof,
                    "failed": len(row.lines),
                    "share": len(row.lines) / self.failed,
                    "points": len(row.lines) / self.judged,
                    "interval95": list(wilson(len(row.lines), self.judged)),
                    "ids": row.ids,
                    "next": self.command(row),
                }
                for row in self.rows
            ],
            **({"not_judged": dict(self.not_judged)} if self.not_judged else {}),
            **({"unfinished": self.unfinished} if self.unfinished else {}),
            **({"why_not": self.why_not} if self.why_not else {}),
        }


class Change(NamedTuple):
    """A cause's part in a changed score; all numbers are shares of the entries judged in both runs."""

    title: str
    before: int
    after: int
    points: float
    interval95: tuple[float, float]
    new: tuple[str, ...]
    """Ids that fail for this cause now and passed before."""

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval excludes zero."""
        return self.interval95[0] > 0 or self.interval95[1] < 0


def diagnose(
    lines: Iterable[Fields], find: Find | None = None, *, why_not: str = "", asked: Iterable[ModelFingerprint] = ()
) -> list[Diagnosis]:
    """The models of a run, in the order of their first lines; unjudged lines are ignored.

    ``find`` gives entries: without it nothing is undone (see ``why_not``), and every failure is unexplained. ``asked``
    has the settings of the models, so that the advice differs from them.
    """
    held: dict[str, list[Fields]] = defaultdict(list)
    others: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        if is_write_stage(str(line.get("category"))):
            continue
        if line.get("outcome") in ("passed", "failed"):
            held[str(line.get("model"))].append(line)
        elif line.get("outcome") == "error":
            others[str(line.get("model"))][headline(line) or str(line.get("reason"))] += 1
    known = {each.model: each for each in asked if can_be_sent(each.model)}
    diagnoses = [_of_model(model, found, find, why_not, known.get(model)) for model, found in held.items()]
    for each in diagnoses:
        each.one_of_several = len(diagnoses) > 1
        each.not_judged = others[each.model]
    return diagnoses


FROM_FILES = ("replay", "oracle", "scripted")


def can_be_sent(model: str) -> bool:
    """Whether a run's model answers requests: recorded replies, and names without a provider, do not."""
    provider, known, _ = model.partition(":")
    return bool(known) and provider not in FROM_FILES


def _of_model(
    model: str, lines: list[Fields], find: Find | None, why_not: str, asked: ModelFingerprint | None
) -> Diagnosis:
    passed = sum(line["outcome"] == "passed" for line in lines)
    found = Diagnosis(model, len(lines), passed, why_not=why_not, asked=asked is not None)
    found.keys = {_trial(line): "" for line in lines if line["outcome"] == "passed"}
    left = [line for line in lines if line["outcome"] != "passed"]
    mode = str(lines[0].get("mode"))
    for cause in _causes(lines, find) if left and find is not None else []:
        taken = [case.line for case in cause.entries or cause.together]
        name = cause.key
        same = sum(row.name.partition("-")[0] == name for row in found.rows)
        name += f"-{same + 1}" if same else ""
        found.rows.append(
            Named(name, cause.whose, cause.title, taken, _proof(cause), _advice(cause.next, asked, cause.told, mode))
        )
        found.titles[name] = f"{cause.whose}: {cause.title}"
        if cause.entries:
            found.keys |= {_trial(line): name for line in taken}
    rest = [line for line in left if _trial(line) not in found.keys]
    did = Counter[str]()
    for line in rest:
        mistake = mistake_of(line)
        did[mistake] += 1
        found.keys[_trial(line)] = mistake
        found.titles[mistake] = mistake
    if rest:
        told = ", ".join(f"{mistake} {number}" for mistake, number in did.most_common(6))
        title = KINDS[UNEXPLAINED].title
        found.rows.append(Named(UNEXPLAINED, "", title, rest, told, _advice("again", asked, mode=mode)))
    return found


def _causes(lines: list[Fields], find: Find | None) -> list[Cause]:
    from pytest_bfcl.extensions.causes.cases import cases_of
    from pytest_bfcl.extensions.causes.search import causes_of

    assert find is not None
    with fewer_collections():  # places of all entries live until the end
        return causes_of(cases_of(lines, find))[0]


def _proof(cause: Cause) -> str:
    if cause.evidence:
        return cause.evidence
    told = f"{cause.shown} of {cause.exposed} places" if cause.exposed else "judged by the corrected data or rule"
    share = cause.shown / max(1, cause.exposed)
    whole = cause.key in _OF_REPLIES or cause.key.startswith(("name_", "json_", "raw_"))
    whole = whole and not (cause.key == "mixed_up" and cause.told)  # which of them is told already
    if cause.where is None and whole and SOME_REPLICAS[0] <= share <= SOME_REPLICAS[1]:
        told += f", about one in {round(1 / share)}"
    return f"{told}; {len(cause.together)} entries more, with another cause" if cause.together else told


def _advice(kind: str, asked: ModelFingerprint | None, told: str = "", mode: str = "") -> str:
    """What to change: the first advice that the run did not have; of lines without a run only the ``mode`` is known."""
    options = NEXT[kind]
    if asked is None:
        options = (f"--decoder {_decoder(told)}",) if kind == "decoder" and _decoder(told) else options
        options = tuple(option for option in options if option != "--decoder auto")
        return next((each for each in options if each not in (f"--mode {mode}", *_STREAMED)), "--repeat 3")
    name = asked.model.partition(":")[2].rpartition("@")[0]
    if told and kind == "decoder" and (found := _decoder(told)) not in (None, asked.decoder):
        return f"--decoder {found}"
    if guessed_decoder(name) is None:
        options = tuple(option for option in options if option != "--decoder auto")
    had = {
        "--mode": asked.mode, "--decoder": asked.decoder, "--think": asked.think,
        "--temperature": _temperature(asked.parameters.get("temperature")),
        "--max-tokens": _plain(asked.parameters.get("max_tokens")),
    }  # fmt: skip
    for option in options:
        name, _, value = option.partition(" ")
        if name == "--param":
            parameter, _, value = value.strip("'").partition("=")
            had[name] = str(asked.parameters.get(parameter)).lower()
        if had.get(name) != value and _STREAMED.get(name) != asked.stream:
            return option
    return "--repeat 3"  # the run had all of them: whether it happens again


_STREAMED = {"--stream": True, "--no-stream": False}
"""Option and the run for which it changes nothing."""


def _decoder(notation: str) -> str | None:
    """The decoder of that name, if there is one."""
    try:
        return find_decoder(notation).name
    except UsageError:
        return None


def _temperature(value: object) -> str:
    """As typed; next to 0 is 0."""
    return "0" if isinstance(value, int | float) and value < 0.01 else _plain(value)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else ""


def changes(before: Diagnosis, after: Diagnosis) -> list[Change]:
    """Causes of failures in either run over the entries judged in both, the largest loss first."""
    shared = [key for key in before.keys if key in after.keys]
    titles = {**before.titles, **after.titles}
    found = []
    for name in dict.fromkeys([*before.titles, *after.titles]):
        tally = PairTally()
        new = []
        for key in shared:
            category, entry_id, _ = key
            was, now = before.keys[key] == name, after.keys[key] == name
            tally.add(cluster_of(entry_id, category), was, now, entry_id)
            if now and not before.keys[key]:
                new.append(entry_id)
        first, second = (sum(each.keys[key] == name for key in shared) for each in (before, after))
        if first or second:
            spread = spread_of({"all": 1.0}, {"all": tally})
            bounds = interval(tally.mean, spread, -1.0, 1.0)
            found.append(Change(titles[name], first, second, tally.mean, bounds, tuple(dict.fromkeys(new))))
    return sorted(found, key=lambda change: -change.points)


def change_lines(before: Diagnosis, after: Diagnosis) -> Iterator[str]:
    """Why a score fell or rose, for a terminal: the answer first."""
    shared = sum(key in after.keys for key in before.keys)
    rows = changes(before, after)
    if not shared:
        yield "no entry was judged in both"
        return
    yield answer(before, after)
    for change in rows:
        low, high = change.interval95
        mark = "" if change.beyond_chance else "  (may be chance)"
        yield clean(
            f"{change.before:5} → {change.after:<5} {change.title}: {-100 * change.points:+.2f} points "
            f"({-100 * high:+.2f} to {-100 * low:+.2f}){mark}"
        )
        if change.new and change.beyond_chance and change.points > 0:
            yield f"        new: {clean(', '.join(change.new[:EXAMPLES]))}"


def answer(before: Diagnosis, after: Diagnosis) -> str:
    """One sentence: the change of the score and its parts."""
    shared = [key for key in before.keys if key in after.keys]
    moved = sum((not after.keys[key]) - (not before.keys[key]) for key in shared)
    points = 100 * moved / len(shared)
    word = "fell" if points < 0 else "rose" if points > 0 else "stayed the same"
    rows = [change for change in changes(before, after) if change.beyond_chance and change.points * points < 0]
    rows.sort(key=lambda change: -abs(change.points))
    made_of = ", ".join(f"{change.title} {-100 * change.points:+.1f}" for change in rows[:3])
    told = f"The score {word} by {abs(points):.1f} points over {len(shared)} entries" if points else f"The score {word}"
    return f"{told}: {made_of}." if made_of else f"{told}; no cause stands out beyond chance."


def _trial(line: Fields) -> Trial:
    return str(line.get("category")), str(line.get("id")), int(line.get("repeat") or 1)
