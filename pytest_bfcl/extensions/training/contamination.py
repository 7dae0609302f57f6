"""Finds a benchmark in training data: its questions, calls, tools and results.

Ways to find a question in a text of a training row, the strictest first:

- *equal*: the same words in the same order, ignoring other characters, alone or within a longer text;
- *n-gram*: at least half of the question's runs of `RUN` words are in the text;
- *near*: MinHash (`datasketch`) puts the Jaccard similarity of their runs of three words at `ALIKE` or more, and the
  exact similarity confirms it.

Questions of fewer than `RUN` words are found *equal* only. Calls are found if a row has every expected call of an entry
with acceptable values, and they are specific enough (`SAYING`). They are *near* if one of at least `MANY` is missing.
Tools (name and parameters) and long results are reported separately, because much unrelated data has them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_bfcl.decoding.ground_truth import acceptable_arguments, ground_truth_calls, turn_ground_truth_calls
from pytest_bfcl.extensions.training.splits import entries_of
from pytest_bfcl.extensions.training.training_rows import (
    calls_in,
    document_key,
    name_key,
    sayings_of,
    tools_in,
    turns_of,
    value_key,
    words,
)
from pytest_bfcl.extras import require
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.selection.splits import Part, Split

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.extensions.training.training_rows import Row
    from pytest_bfcl.transcript import Call

Kind = Literal["question", "calls", "tools", "results"]
How = Literal["equal", "n-gram", "near"]

GRAVE: tuple[Kind, ...] = ("question", "calls")
"""Kinds that mean training on an entry; tools and results may have other sources."""
RUN = 8
SHORTEST = 5
"""Least words of a question that is searched: shorter ones are common."""
SHARE = 0.5
ALIKE = 0.7
SAYING = 4
"""Least information in calls: arguments, words of names after the first, words of values outside `PLAIN`."""
MANY = 4
"""Number of calls of an entry from which one may be missing, if the others have twice `SAYING`."""
PLAIN = frozenset(("", "true", "false", "none", "10", "20", "50", "100", *map(str, range(6))))
"""Common values without information."""
LONG_RESULT = 12
"""Least words of a result that is searched."""
SHOWN = 10
_PERMUTATIONS = 128


class Finding(NamedTuple):
    """One entry found in one row."""

    entry_id: str
    kind: Kind
    how: How
    similarity: float
    place: str


class Passage(NamedTuple):
    """A text of an entry's user: a message, a turn, or all turns."""

    entry_id: str
    spoken: tuple[str, ...]


class Expected(NamedTuple):
    """An expected call: parameter → the acceptable values in one spelling; ``""`` makes it optional."""

    entry_id: str
    number: int
    allowed: Mapping[str, frozenset[str]]
    says: int

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call of this name has only acceptable values."""
        given = {str(key): value_key(value) for key, value in arguments.items()}
        return all(given.get(key, "") in values for key, values in self.allowed.items()) and given.keys() <= (
            self.allowed.keys()
        )


class Names:
    """The names of all expected calls, in any spelling."""

    def __init__(self, keys: Container[str]) -> None:
        self._keys = keys

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name_key(name) in self._keys


class Benchmark:
    """The entries of a data set, prepared for the search in rows."""

    def __init__(self, data: DataSet) -> None:
        require("contamination", "looking for near-duplicates")
        from datasketch import MinHashLSH

        self.entries = 0
        self._passages: list[Passage] = []
        self._runs: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._near: Any = MinHashLSH(threshold=ALIKE - 0.1, num_perm=_PERMUTATIONS)
        self._begins: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._calls: dict[str, list[Expected]] = defaultdict(list)
        self._counts: Counter[str] = Counter()
        self._tools: dict[str, list[str]] = defaultdict(list)
        self._results: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for entry in entries_of(data):
            self.entries += 1
            self._note_question(entry)
            self._note_calls(entry)
            for document in entry.all_functions if not entry.row.multi_step else ():
                self._tools[document_key(document)].append(entry.id)
            for text in results_of(entry):
                if len(spoken := words(text)) >= LONG_RESULT:
                    self._results[spoken].append(entry.id)

    def _note_question(self, entry: Entry) -> None:
        turns = turns_of(entry)
        for spoken in {words(text) for text in (*sayings_of(entry), *turns, "\n".join(turns))}:
            if len(spoken) < SHORTEST:
                continue
            place = len(self._passages)
            self._passages.append(Passage(entry.id, spoken))
            self._begins[spoken[:SHORTEST]].append(place)
            for run in runs(spoken, RUN):
                self._runs[run].append(place)
            self._near.insert(place, hashed(spoken))

    def _note_calls(self, entry: Entry) -> None:
        expected = [(name_key(name), _expected(entry, n, name, parameters))
                    for n, (name, parameters) in enumerate(_accepted_calls(entry))]  # fmt: skip
        if sum(each.says for _, each in expected) >= SAYING:
            self._counts[entry.id] = len(expected)
            for name, each in expected:
                self._calls[name].append(each)

    def findings_in(self, row: Row) -> Iterator[Finding]:
        """Every entry of which a row has a part; of several ways to find its question the strictest."""
        best: dict[str, Finding] = {}
        spoken_texts = [spoken for text in row.texts if len(spoken := words(text)) >= SHORTEST]
        for spoken in spoken_texts:
            for place, how, similarity in self._questions_in(spoken):
                entry_id = self._passages[place].entry_id
                if entry_id not in best or similarity > best[entry_id].similarity:
                    best[entry_id] = Finding(entry_id, "question", how, similarity, row.place)
        yield from best.values()
        yield from self._calls_in(row)
        for spoken in spoken_texts:
            yield from (Finding(each, "results", "equal", 1.0, row.place) for each in self._results.get(spoken, ()))
        for tool in tools_in(row):
            yield from (Finding(each, "tools", "equal", 1.0, row.place) for each in self._tools.get(tool, ()))

    def _calls_in(self, row: Row) -> Iterator[Finding]:
        """The entries whose calls a row has, or all but one of them."""
        made: dict[str, dict[int, int]] = defaultdict(dict)
        for call in calls_in(row, Names(self._calls)):
            for expected in self._calls.get(name_key(call.name), ()):
                if expected.number not in made[expected.entry_id] and expected.fits(call.arguments):
                    made[expected.entry_id][expected.number] = expected.says
        for entry_id, found in made.items():
            count = self._counts[entry_id]
            if len(found) == count:
                yield Finding(entry_id, "calls", "equal", 1.0, row.place)
            elif len(found) == count - 1 and count >= MANY and sum(found.values()) >= 2 * SAYING:
                yield Finding(entry_id, "calls", "near", len(found) / count, row.place)

    def _questions_in(self, spoken: tuple[str, ...]) -> Iterator[tuple[int, How, float]]:
        """Passages in a text: place, way and similarity."""
        for start, run in enumerate(runs(spoken, SHORTEST)):
            for each in self._begins.get(run, ()):
                passage = self._passages[each].spoken
                if spoken[start : start + len(passage)] == passage:
                    yield each, "equal", 1.0
        shared = Counter(each for run in set(runs(spoken, RUN)) for each in self._runs.get(run, ()))
        for each, count in shared.items():
            share = count / len(set(runs(self._passages[each].spoken, RUN)))
            if share >= SHARE:
                yield each, "n-gram", min(share, 0.999)
        for each in self._near.query(hashed(spoken)):
            alike = jaccard(spoken, self._passages[each].spoken)
            if alike >= ALIKE:
                yield each, "near", min(alike, 0.999)


def runs(spoken: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Every sequence of this number of words."""
    return (tuple(spoken[start : start + length]) for start in range(len(spoken) - length + 1))


def jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Runs of three words that both have, of those that either has."""
    mine, theirs = set(runs(one, 3)), set(runs(other, 3))
    return len(mine & theirs) / (len(mine | theirs) or 1)


def hashed(spoken: Sequence[str]) -> Any:
    """The MinHash of the runs of three words; the same in every process."""
    from datasketch import MinHash

    made = MinHash(num_perm=_PERMUTATIONS, seed=1)
    made.update_batch([" ".join(run).encode() for run in runs(spoken, 3)])
    return made


def expected_calls(entry: Entry) -> list[Call]:
    """The calls of the ground truth; of a conversation those of all turns."""
    if entry.row.checker == "state":
        return [call for turn in range(len(entry.question)) for call in turn_ground_truth_calls(entry, turn)]
    return list(ground_truth_calls(entry))


def _accepted_calls(entry: Entry) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The expected calls, each with all its acceptable values."""
    answer = entry.possible_answer or ()
    if entry.row.checker == "ast" and all(isinstance(each, Mapping) for each in answer):
        yield from (pair for call in answer for pair in call.items() if isinstance(pair[1], Mapping))
    else:
        for call in expected_calls(entry):
            yield call.name, {key: [value] for key, value in call.arguments.items()}


def _expected(entry: Entry, number: int, name: str, parameters: Mapping[str, Any]) -> Expected:
    listed = {key: values if isinstance(values, list) and values else [values] for key, values in parameters.items()}
    first = {key: value_key(value) for key, value in acceptable_arguments(listed).items()}
    values = sum(0 if value in PLAIN else min(4, len(value.split())) for value in first.values())
    says = len(first) + min(2, len(words(name)) - 1) + values
    allowed = {key: frozenset(map(value_key, each)) for key, each in listed.items()}
    return Expected(entry.id, number, allowed, says)


def results_of(entry: Entry) -> Iterable[str]:
    """The results of a conversation's expected calls."""
    from pytest_bfcl.checkers.state import executor_of

    if entry.row.checker != "state" or "WebSearchAPI" in entry.involved_classes:
        return ()
    try:
        executor = executor_of(entry)
        return [result for turn in entry.possible_answer or () for result in executor.execute_all(map(str, turn))]
    except BenchmarkError:
        return ()


@dataclass
class Report:
    """Findings over all rows: of each entry and kind the nearest. ``entries``: the number of searched ones."""

    entries: int
    rows: int = 0
    best: dict[tuple[str, str], Finding] = field(default_factory=dict)
    rows_with: Counter[str] = field(default_factory=Counter)

    def take(self, findings: Iterable[Finding]) -> None:
        """The findings of one row."""
        self.rows += 1
        kinds = set()
        for found in findings:
            kinds.add(found.kind)
            key = found.entry_id, found.kind
            if key not in self.best or found.similarity > self.best[key].similarity:
                self.best[key] = found
        self.rows_with.update(kinds)

    def contaminated(self) -> list[str]:
        """Ids of entries whose question or calls were found, in order."""
        return sorted({entry_id for entry_id, kind in self.best if kind in GRAVE})

    def lines(self) -> Iterator[str]:
        """The report in words."""
        yield f"{self.rows} rows against {self.entries} entries"
        for kind in ("question", "calls", "results", "tools"):
            if counts := Counter(found.how for found in self.best.values() if found.kind == kind):
                told = ", ".join(f"{how} {counts[how]}" for how in ("equal", "n-gram", "near") if counts[how])
                yield f"{kind}: {counts.total()} entries ({told}), in {self.rows_with[kind]} rows"
        grave = self.contaminated()
        if not grave:
            yield "no entry's question or calls are in these rows"
            return
        yield f"contaminated: {len(grave)} of {self.entries} entries ({100 * len(grave) / self.entries:.1f} %)"
        ways = [[self.best[each, kind] for kind in GRAVE if (each, kind) in self.best] for each in grave]
        nearest = [max(found, key=lambda each: each.similarity) for found in ways]
        for found in sorted(nearest, key=lambda each: -each.similarity)[:SHOWN]:
            yield f"  {found.entry_id}: {found.kind} {found.how} {found.similarity:.2f}, {found.place}"
        if len(grave) > SHOWN:
            yield f"  and {len(grave) - SHOWN} more (--json FILE lists all)"

    def to_json(self) -> Parsed:
        """All findings, for programs."""
        return {
            "rows": self.rows,
            "entries": self.entries,
            "contaminated": self.contaminated(),
            "findings": [found._asdict() for found in sorted(self.best.values())],
        }

    def as_split(self, data: DataSet) -> Split | None:
        """The contaminated entries as the training part of a split (``--bfcl-split trained-on=``); ``None``: none."""
        grave = set(self.contaminated())
        parts: dict[Part, dict[str, list[str]]] = {"train": {}, "test": {}}
        for entry in entries_of(data):
            parts["train" if entry.id in grave else "test"].setdefault(entry.category, []).append(entry.id)
        if not grave:
            return None
        share = min(max(len(grave) / self.entries, 1e-6), 1 - 1e-6)
        return Split(data.name, data.version, data.sha256, "content", 0, share, self.entries, parts)
