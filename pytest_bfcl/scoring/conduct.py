"""What a server did, entry by entry, that is known without ground truth: calls and their form, silence, endings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

from pytest_bfcl.runs.result_line import CallForm, ResultLine
from pytest_bfcl.runs.summary_types import ConductSummary

FAULTS = ("unknown", "broken", "invalid")
"""What can be wrong with a call's form, as a line's ``call_form`` counts it."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """One line. ``form`` is ``None`` if the calls were not checked: verdict lines of ``score``.

    ``called``: the first reply has a call, native or in text; later ones depend on what came before. ``empty``: some
    reply has neither call nor text nor reasoning; ``reasoning_only``: some has reasoning alone; ``retried``: some came
    only when it was asked for again. ``passed`` is ``None`` for an entry that ended in an error, of which nothing else
    counts either.
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
        """Whether some call has this fault of `FAULTS`; ``None`` if not checked."""
        return None if self.form is None else bool(self.form.get(fault))


def conduct_of(record: ResultLine, form: CallForm | None = None) -> Conduct:
    """What one line shows; ``form`` is what stands for a missing ``call_form`` of a line with native calls."""
    key = (str(record["id"]), str(record.get("category")))
    if record.get("outcome") not in ("passed", "failed"):
        return Conduct(*key, None)
    output: Any = record.get("output")
    in_turns = isinstance(output, list) and bool(output) and not isinstance(output[0], dict)
    outputs = [step for turn in output if isinstance(turn, list) for step in turn] if in_turns else [output]
    thoughts, words = record.get("reasoning"), record.get("finish_reasons")
    reasoning = _leaves(thoughts) if isinstance(thoughts, list) else [thoughts]
    figures: list[float | None] = []
    for name, of in _FIGURES:
        value: Any = record.get(name)
        if isinstance(value, list):
            value = _total(_leaves(value), of)
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
"""Figures of replies, and how those of several make one of the conversation."""


def _first_decoded(calls: Any) -> bool:
    """Whether the first reply was read as calls: of one reply objects or texts, of conversations turns → steps."""
    while isinstance(calls, list) and calls and isinstance(calls[0], list):
        calls = calls[0]
    return isinstance(calls, list) and bool(calls)


def _leaves(value: Any) -> list[Any]:
    """What the server reported of the replies of turns and steps."""
    if not isinstance(value, list):
        return [value]
    return [leaf for part in value for leaf in _leaves(part)]


def _endings(words: list[Any]) -> list[str]:
    return [word for word in _leaves(words) if word and isinstance(word, str)]


def _total(values: list[Any], of: Callable[[list[float]], float]) -> float | None:
    """The figure of all replies, ``None`` where none has one."""
    found = [figure for figure in values if isinstance(figure, int | float)]
    return of(found) if found else None


@dataclass(slots=True)
class ConductTally:
    """Conducts counted: entries by what they did, calls by their form."""

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
        """Share of calls without fault; ``None`` without calls."""
        calls = self.calls["calls"]
        return 1 - sum(self.calls[fault] for fault in FAULTS) / calls if calls else None

    def to_dict(self) -> ConductSummary | None:
        """As in ``summary.json``; ``None`` where no entry was judged."""
        if not self.entries["entries"]:
            return None
        return {
            "entries": self.entries["entries"],
            "called": self.entries["called"],
            "reasoning_only": self.entries["reasoning_only"],
            "empty": self.entries["empty"],
            "calls": self.calls["calls"],
            "unknown": self.calls["unknown"],
            "broken": self.calls["broken"],
            "invalid": self.calls["invalid"],
            "valid_share": self.valid_share,
        }


def conduct_line(found: Mapping[str, Any]) -> str:
    """A summary's ``conduct`` in one line for people; empty where there was no native call."""
    if not found["calls"]:
        return ""
    faults = {"unknown": "with unknown names", "broken": "with broken JSON", "invalid": "invalid by their schema"}
    told = [f"{found[name]} {words}" for name, words in faults.items() if found[name]]
    silent = [f"{found[name]} {words}" for name, words in _SILENT.items() if found[name]]
    where = f"in {found['called']} of {found['entries']} entries"
    return f"native calls: {found['calls']} {where}; " + ", ".join([*(told or ["all valid by their schema"]), *silent])


_SILENT = {"reasoning_only": "replies with reasoning only", "empty": "empty replies"}
