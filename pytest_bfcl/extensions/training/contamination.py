"""A benchmark as something to be found: its questions, calls, tools and results, and what of a row is like them.

How a question is found in a text of a training row, the strictest first:

- *equal*: the same words in the same order, whatever is between them, alone or within a longer text;
- *n-gram*: at least half of the question's runs of `RUN` words stand in the text;
- *near*: MinHash (`datasketch`) puts the Jaccard similarity of their runs of three words at `ALIKE` or more, and the
  exact similarity confirms it.

Calls are found when a row holds every call that an entry expects, and these say enough (`SAYING` arguments). Tools
(name and parameters) and long results are told beside that: many who never saw the benchmark have them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_bfcl.decoding import DecodeError, decode
from pytest_bfcl.extensions.training.content import call_key, document_key, sayings_of, turns_of, words
from pytest_bfcl.extensions.training.splits import entries_of
from pytest_bfcl.extras import require

if TYPE_CHECKING:
    from pytest_bfcl.dataset import DataSet, Entry
    from pytest_bfcl.extensions.training.training_rows import Row

Kind = Literal["question", "calls", "tools", "results"]
How = Literal["equal", "n-gram", "near"]

RUN = 8
SHORTEST = 5
"""Words of a question that is looked for: shorter ones are everybody's."""
SHARE = 0.5
ALIKE = 0.7
SAYING = 3
LONG_RESULT = 12
"""Words of a result that is looked for."""
_PERMUTATIONS = 128
_MOST_CALLS = 5_000
"""Spellings of one entry's calls that are looked for."""


class Finding(NamedTuple):
    """One entry found in one row."""

    entry_id: str
    kind: Kind
    how: How
    similarity: float
    place: str


class Passage(NamedTuple):
    """Something the user of an entry says: a message, a turn, or all turns."""

    entry_id: str
    spoken: tuple[str, ...]


class Benchmark:
    """The entries of a data set, ready to be found in rows."""

    def __init__(self, data: DataSet) -> None:
        require("contamination", "looking for near-duplicates")
        from datasketch import MinHashLSH

        self.sizes: dict[str, int] = defaultdict(int)
        self._passages: list[Passage] = []
        self._equal: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._runs: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._lengths: set[int] = set()
        self._near: Any = MinHashLSH(threshold=ALIKE - 0.1, num_perm=_PERMUTATIONS)
        self._calls: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
        self._tools: dict[str, list[str]] = defaultdict(list)
        self._results: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for entry in entries_of(data):
            self.sizes[entry.category] += 1
            self._note_question(entry)
            self._note_calls(entry)
            for document in entry.all_functions if not entry.row.stateful else ():
                self._tools[document_key(document)].append(entry.id)
            for text in results_of(entry):
                if len(spoken := words(text)) >= LONG_RESULT:
                    self._results[spoken].append(entry.id)

    def _note_question(self, entry: Entry) -> None:
        turns = turns_of(entry)
        texts = {words(text) for text in (*sayings_of(entry), *turns, "\n".join(turns))}
        for spoken in texts:
            if len(spoken) < SHORTEST:
                continue
            place = len(self._passages)
            self._passages.append(Passage(entry.id, spoken))
            self._equal[spoken].append(place)
            self._lengths.add(len(spoken))
            for run in runs(spoken, RUN):
                self._runs[run].append(place)
            self._near.insert(place, hashed(spoken))

    def _note_calls(self, entry: Entry) -> None:
        for calls in expected_calls(entry):
            told = frozenset(calls)
            if sum(call.count("=") for call in told) >= SAYING:
                self._calls[min(told, key=len)].append((entry.id, told))

    def findings_in(self, row: Row) -> Iterator[Finding]:
        """Every entry that a row holds something of; of several ways to find its question the strictest."""
        best: dict[str, Finding] = {}
        spoken_texts = [spoken for text in row.texts if len(spoken := words(text)) >= SHORTEST]
        for spoken in spoken_texts:
            for found in self._questions_in(spoken, row.place):
                if found.entry_id not in best or found.similarity > best[found.entry_id].similarity:
                    best[found.entry_id] = found
        yield from best.values()
        for call in row.calls:
            for entry_id, told in self._calls.get(call, ()):
                if told <= row.calls:
                    yield Finding(entry_id, "calls", "equal", 1.0, row.place)
        for spoken in spoken_texts:
            yield from (Finding(each, "results", "equal", 1.0, row.place) for each in self._results.get(spoken, ()))
        for tool in row.tools:
            yield from (Finding(each, "tools", "equal", 1.0, row.place) for each in self._tools.get(tool, ()))

    def _questions_in(self, spoken: tuple[str, ...], place: str) -> Iterator[Finding]:
        for each in self._equal.get(spoken, ()):
            yield Finding(self._passages[each].entry_id, "question", "equal", 1.0, place)
        shared: dict[int, int] = defaultdict(int)
        for run in set(runs(spoken, RUN)):
            for each in self._runs.get(run, ()):
                shared[each] += 1
        for each, count in shared.items():
            passage = self._passages[each]
            share = count / len(set(runs(passage.spoken, RUN)))
            if share == 1.0 and within(passage.spoken, spoken):
                yield Finding(passage.entry_id, "question", "equal", 1.0, place)
            elif share >= SHARE:
                yield Finding(passage.entry_id, "question", "n-gram", min(share, 0.999), place)
        for each in self._near.query(hashed(spoken)):
            alike = jaccard(spoken, self._passages[each].spoken)
            if alike >= ALIKE:
                yield Finding(self._passages[each].entry_id, "question", "near", min(alike, 0.999), place)


def runs(spoken: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Every run of so many words."""
    return (tuple(spoken[start : start + length]) for start in range(len(spoken) - length + 1))


def within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether the words stand in the others, one after the other."""
    return " " + " ".join(part) + " " in " " + " ".join(whole) + " "


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


def expected_calls(entry: Entry) -> Iterator[list[str]]:
    """The calls of the ground truth in one spelling, a list for each combination of acceptable values (bounded)."""
    answer = entry.possible_answer
    if not answer:
        return
    if entry.row.checker == "state":
        calls = [call for turn in answer for text in turn for call in _decoded(str(text))]
        if calls:
            yield calls
    elif entry.row.checker == "ast":
        spellings = [list(_spellings(call)) for call in answer if isinstance(call, Mapping)]
        longest = max(map(len, spellings), default=0)
        for number in range(min(longest, _MOST_CALLS)):
            yield [each[number % len(each)] for each in spellings if each]


def _spellings(call: Mapping[str, Any]) -> Iterator[str]:
    """A call with each acceptable value of one parameter, the others at their first; ``""`` means left out."""
    (name, parameters), *_ = call.items()
    if not isinstance(parameters, Mapping):
        return
    allowed = {key: values if isinstance(values, list) and values else [values] for key, values in parameters.items()}
    first = {key: values[0] for key, values in allowed.items()}
    seen: set[str] = set()
    for key, values in allowed.items() or [("", [""])]:
        for value in values:
            chosen = {each: given for each, given in {**first, **({key: value} if key else {})}.items() if given != ""}
            spelled = call_key(name, chosen)
            if spelled not in seen:
                seen.add(spelled)
                yield spelled


def _decoded(text: str) -> list[str]:
    try:
        return [call_key(call.name, call.arguments) for call in decode(f"[{text}]")]
    except DecodeError:
        return []


def results_of(entry: Entry) -> Iterable[str]:
    """What the expected calls of a conversation return."""
    from pytest_bfcl.checkers.state import executor_of
    from pytest_bfcl.failures import BenchmarkError

    if entry.row.checker != "state" or "WebSearchAPI" in entry.involved_classes:
        return ()
    try:
        executor = executor_of(entry)
        return [result for turn in entry.possible_answer or () for result in executor.execute_all(map(str, turn))]
    except BenchmarkError:
        return ()
