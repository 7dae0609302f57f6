"""What a server did, known without ground truth: calls and their form, silence, endings; other models that answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, cast

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.json_types import Fields, leaves
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.runs.result_line import CallForm, ResultLine
from pytest_bfcl.runs.summary_types import ConductSummary
from pytest_bfcl.scoring.statistics import Share

FEWEST = 2
"""Replies with a call after which it is remarkable that none held two."""


class BothReadings:
    """Counts of two readings of one model's replies, where its calls contradict the reference's table."""

    def __init__(self) -> None:
        self.entries = 0
        self._right: dict[str, int] = {"leaderboard": 0, "evidence": 0}
        self._followed: set[str] = set()

    def add(self, passed: bool, other: Fields | None, other_passed: bool) -> None:
        """Count one judged entry; ``other`` is its line's ``other_reading``."""
        if other is None or (by := other.get("by")) not in self._right:
            return
        self.entries += 1
        followed = "evidence" if by == "leaderboard" else "leaderboard"
        self._right[by] += other_passed
        self._right[followed] += passed
        self._followed.add(followed)

    def __str__(self) -> str:
        """Both scores and which one counts, in a sentence; empty where nothing is read in two ways."""
        if not self.entries:
            return ""
        says = [f"the {by} says {100 * right / self.entries:.1f} % ({right} of {self.entries})"
                for by, right in self._right.items()]  # fmt: skip
        return f"{', '.join(says)}; these verdicts follow the {' or the '.join(sorted(self._followed))}"


@dataclass(slots=True)
class Remarks:
    """What is counted for the remarks on one model."""

    parallel: dict[str, Share] = field(default_factory=dict)
    """Categories that ask for several calls at once: replies with a call, and how many of them have two or more."""
    both: BothReadings = field(default_factory=BothReadings)

    def add(self, record: ResultLine, category: str) -> None:
        """Count one result line."""
        outcome = record.get("outcome")
        if outcome not in ("passed", "failed"):
            return
        row = CATEGORIES.get(category)
        if row is not None and row.checker == "ast" and row.rule == "parallel":
            count = max(_length(record.get("calls")), _length(record.get("output")))
            self.parallel.setdefault(category, Share()).add(count >= 2, count >= 1)
        if (other := record.get("other_reading")) is not None:
            self.both.add(outcome == "passed", other, other.get("outcome") == "passed")

    def sentences(self, model: str) -> Iterator[str]:
        """The remarks; none most of the time."""
        single = {name: found for name, found in self.parallel.items() if not found.passed and found.total >= FEWEST}
        if single:
            replies = sum(found.total for found in single.values())
            yield (
                f"{', '.join(single)}: none of {replies} replies with a call held two: this model, or its server, "
                f"never makes two calls; the wire check calls_unstreamed tells which: pytest --model {model} -m wire "
                "-k calls_unstreamed"
            )
        if told := str(self.both):
            yield f"the calls contradict the benchmark's table of models: {told}"


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


_VENDOR = re.compile(r"^(?:[a-z]+\.)+(?=[a-z])")
_SNAPSHOT = re.compile(r"[-@:_](?:latest|v?(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{3,4}))(?:-v\d+(?::\d+)?)?$")
_NAMES_SHOWN = 5
_NAMES_KEPT = 50
"""Other names that are counted apart; a server that answers with a new one each time has one more, ``others``."""


class ServedTally:
    """Counts over result lines: ``others`` name → replies, ``repeated`` replies whose id had come before."""

    def __init__(self) -> None:
        self.others: Counter[str] = Counter()
        self.repeated = 0
        self._ids: set[int] = set()

    def add(self, record: ResultLine) -> None:
        """Count the replies of one line."""
        asked = name_of(record.get("model") or "")
        for served in (leaf for leaf in leaves(record.get("served")) if isinstance(leaf, dict)):
            name, reply_id = served.get("model"), served.get("id")
            if isinstance(name, str) and not is_same_model(asked, name):
                known = name in self.others or len(self.others) < _NAMES_KEPT
                self.others[name if known else "others"] += 1
            if isinstance(reply_id, str):
                sign = hash(reply_id)
                self.repeated += sign in self._ids
                self._ids.add(sign)

    def sentences(self) -> Iterator[str]:
        """What is odd about who answered; nothing most of the time."""
        if self.others:
            first = self.others.most_common(_NAMES_SHOWN)
            more = f" and {len(self.others) - len(first)} more" if len(self.others) > len(first) else ""
            names = ", ".join(f"{cut(clean(name), 80)} {count}" for name, count in first)
            yield f"replies of another model than asked: {names}{more}"
        if self.repeated:
            made_up = "a cache between, or a server that makes up its ids"
            yield f"replies with the id of an earlier one: {self.repeated} ({made_up})"


def name_of(spec: str) -> str:
    """The model's name in a spec ``provider:name@mode``."""
    return (spec.rpartition("@")[0] or spec).partition(":")[2] or spec


def is_same_model(asked: str, served: str) -> bool:
    """Whether a provider that calls its model ``served`` answered for ``asked``."""
    wanted, found = _base(asked), _base(served)
    if wanted == found:
        return True
    return _SNAPSHOT.sub("", found) == (wanted.removesuffix("-latest").removesuffix(":latest"))


def _base(name: str) -> str:
    return _VENDOR.sub("", name.strip().lower().rpartition("/")[2])


FAULTS = ("unknown", "broken", "invalid")
"""Faults of a call's form, as counted in a line's ``call_form``."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """One line. ``form`` is ``None`` if the calls were not checked: verdict lines of ``score``.

    ``called``: the first reply has a call, native or in text; later replies depend on earlier ones. ``empty``: some
    reply has neither call nor text nor reasoning; ``reasoning_only``: some has reasoning alone; ``retried``: some came
    only after a retry. ``passed`` is ``None`` for an entry with an error, and nothing else of it counts.
    """

    id: str
    category: str
    passed: bool | None
    called: bool = False
    form: CallForm | None = None
    lost: bool = False
    reasoning_only: bool = False
    empty: bool = False
    retried: bool = False
    finish: frozenset[str] = frozenset()
    latency_s: float | None = None
    output_tokens: float | None = None

    def has(self, fault: str) -> bool | None:
        """Whether some call has this fault (of `FAULTS`); ``None`` if not checked."""
        return None if self.form is None else bool(self.form.get(fault))


def conduct_of(record: ResultLine, form: CallForm | None = None) -> Conduct:
    """The conduct of one line; ``form`` replaces a missing ``call_form`` of a line with native calls."""
    key = (str(record["id"]), str(record.get("category")))
    if record.get("outcome") not in ("passed", "failed"):
        return Conduct(*key, None)
    output: Any = record.get("output")
    in_turns = isinstance(output, list) and bool(output) and not isinstance(output[0], dict)
    outputs = [step for turn in output if isinstance(turn, list) for step in turn] if in_turns else [output]
    thoughts, words = record.get("reasoning"), record.get("finish_reasons")
    reasoning = _replies(thoughts) if isinstance(thoughts, list) else [thoughts]
    figures: list[float | None] = []
    for name, of in _FIGURES:
        value: Any = record.get(name)
        if isinstance(value, list):
            value = _figure(value, of)
        figures.append(value if isinstance(value, int | float) else None)
    attempts, latency, tokens = figures
    reasoning_only = empty = native = False
    for said, thought in zip(outputs or [None], chain(reasoning, repeat(None)), strict=False):
        native = native or (isinstance(said, list) and bool(said))
        reasoning_only = reasoning_only or (not said and bool(thought))
        empty = empty or not (said or thought)
    return Conduct(
        *key,
        record["outcome"] == "passed",
        called=(bool(outputs) and isinstance(outputs[0], list) and bool(outputs[0]))
        or _first_decoded(record.get("calls")),
        form=record.get("call_form") or (form if native else {"calls": 0}),
        lost=bool((record.get("detail") or {}).get("lost_call")),
        reasoning_only=reasoning_only,
        empty=empty,
        retried=(attempts or 1) > 1,
        finish=frozenset(
            _endings(words) if isinstance(words, list) else [words] if words and isinstance(words, str) else ()
        ),
        latency_s=latency,
        output_tokens=tokens,
    )


_FIGURES: tuple[tuple[str, Callable[[list[float]], float]], ...] = (
    ("attempts", max),
    ("latency_s", sum),
    ("output_tokens", sum),
)
"""Figures of replies, and how several replies are combined for a conversation."""


def _first_decoded(calls: Any) -> bool:
    """Whether the first reply was read as calls: for one reply objects or texts, for conversations turns → steps."""
    while isinstance(calls, list) and calls and isinstance(calls[0], list):
        calls = calls[0]
    return isinstance(calls, list) and bool(calls)


def _replies(value: Any) -> list[Any]:
    """The value of each reply of turns and steps, ``None`` for a reply without one."""
    return [leaf for part in value for leaf in _replies(part)] if isinstance(value, list) else [value]


def _endings(words: list[Any]) -> list[str]:
    return [word for word in leaves(words) if word and isinstance(word, str)]


def _figure(value: list[Any], of: Callable[[list[float]], float]) -> float | None:
    """The figure over all replies; ``None`` if no reply has it."""
    found = [figure for figure in leaves(value) if isinstance(figure, int | float)]
    return of(found) if found else None


@dataclass(slots=True)
class ConductTally:
    """Counted conducts: entries by behaviour, calls by form."""

    entries: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    finish: Counter[str] = field(default_factory=Counter)

    def add(self, found: Conduct) -> None:
        """Count one entry."""
        if found.passed is None:
            self.entries["errors"] += 1
            return
        self.entries["entries"] += 1
        for name in ("called", "reasoning_only", "empty"):
            self.entries[name] += getattr(found, name)
        self.calls.update(found.form or {})
        self.finish.update(found.finish)

    @property
    def valid_share(self) -> float | None:
        """Share of calls without a fault; ``None`` without calls."""
        calls = self.calls["calls"]
        return 1 - sum(self.calls[fault] for fault in FAULTS) / calls if calls else None

    def to_dict(self) -> ConductSummary | None:
        """As in ``summary.json``; ``None`` if no entry was judged."""
        if not self.entries["entries"]:
            return None
        entries = {name: self.entries[name] for name in ("entries", "called", "reasoning_only", "empty")}
        calls = {name: self.calls[name] for name in ("calls", *FAULTS)}
        return cast(ConductSummary, {**entries, **calls, "valid_share": self.valid_share})


def conduct_line(found: Mapping[str, Any]) -> str:
    """A summary's ``conduct`` in one line; empty without native calls."""
    if not found["calls"]:
        return ""
    faults = {"unknown": "with unknown names", "broken": "with broken JSON", "invalid": "invalid by their schema"}
    told = [f"{found[name]} {words}" for name, words in faults.items() if found[name]]
    silent = [f"{found[name]} {words}" for name, words in _SILENT.items() if found[name]]
    where = f"in {found['called']} of {found['entries']} entries"
    return f"native calls: {found['calls']} {where}; " + ", ".join([*(told or ["all valid by their schema"]), *silent])


_SILENT = {"reasoning_only": "replies with reasoning only", "empty": "empty replies"}
