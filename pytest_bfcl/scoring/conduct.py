"""What a server did, entry by entry, that can be told without ground truth: calls and their form, silence, endings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_bfcl.runs.result_line import CallForm, ResultLine
from pytest_bfcl.runs.summary_types import ConductSummary

FAULTS = ("unknown", "broken", "invalid")
"""What can be wrong with a call's form, as a line's ``call_form`` counts it."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """One line. ``form`` is ``None`` where nobody looked at the calls: verdict lines of ``score``.

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
        """Whether some call has this fault of `FAULTS`; ``None`` where nobody looked."""
        return None if self.form is None else bool(self.form.get(fault))


def conduct_of(record: ResultLine, form: CallForm | None = None) -> Conduct:
    """What one line tells; ``form`` is what stands for a missing ``call_form`` of a line with native calls."""
    key = (str(record["id"]), str(record.get("category")))
    if record.get("outcome") not in ("passed", "failed"):
        return Conduct(*key, None)
    outputs = _replies(record.get("output"))
    reasoning = _leaves(record.get("reasoning"))
    reasoning += [None] * (len(outputs) - len(reasoning))
    silent = [bool(thought) for output, thought in zip(outputs, reasoning, strict=False) if not output]
    native = [output for output in outputs if output and isinstance(output, list)]
    return Conduct(
        *key,
        record["outcome"] == "passed",
        called=(isinstance(outputs[0], list) and bool(outputs[0])) or _first_decoded(record.get("calls")),
        form=record.get("call_form") or (form if native else {"calls": 0}),
        lost=bool((record.get("detail") or {}).get("lost_call")),
        reasoning_only=any(silent),
        empty=not all(silent),
        retried=max(_figures(record.get("attempts")), default=1) > 1,
        finish=frozenset([word for word in _leaves(record.get("finish_reasons")) if word and isinstance(word, str)]),
        latency_s=_total(record.get("latency_s")),
        output_tokens=_total(record.get("output_tokens")),
    )


def _replies(output: Any) -> list[Any]:
    """The replies of a line: one, or turns → steps → one; at least one, if an empty one."""
    if not isinstance(output, list) or not output or isinstance(output[0], dict):
        return [output]
    return [step for turn in output if isinstance(turn, list) for step in turn] or [None]


def _first_decoded(calls: Any) -> bool:
    """Whether the first reply was read as calls: of one reply objects or texts, of conversations turns → steps."""
    while isinstance(calls, list) and calls and isinstance(calls[0], list):
        calls = calls[0]
    return isinstance(calls, list) and bool(calls)


def _leaves(value: Any) -> list[Any]:
    """What is told of one reply, or of those of turns and steps."""
    if not isinstance(value, list):
        return [value]
    return [leaf for part in value for leaf in _leaves(part)]


def _figures(value: Any) -> list[float]:
    if isinstance(value, list):
        return [figure for figure in _leaves(value) if isinstance(figure, int | float)]
    return [value] if isinstance(value, int | float) else []


def _total(value: Any) -> float | None:
    """The sum over all replies, ``None`` where none has a figure."""
    found = _figures(value)
    return sum(found) if found else None


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
        """As it stands in ``summary.json``; ``None`` where no entry was judged."""
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
    faults = {"unknown": "of unknown names", "broken": "with broken JSON", "invalid": "invalid under their schema"}
    told = [f"{found[name]} {words}" for name, words in faults.items() if found[name]]
    silent = [f"{found[name]} answers {words}" for name, words in _SILENT.items() if found[name]]
    answered = f"{found['called']} of {found['entries']} entries are answered with a call"
    return f"native calls: {found['calls']}, {answered}; " + ", ".join(
        [*(told or ["all valid under their schema"]), *silent]
    )


_SILENT = {"reasoning_only": "of reasoning only", "empty": "empty"}
