"""The result of a conversation: right, wrong, or not judged, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Literal

from pytest_bfcl.failures import BenchmarkError, FailureTag, Verdict
from pytest_bfcl.json_types import Fields, Parsed

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

Outcome = Literal["right", "wrong", "not judged"]
_OUTCOMES: Mapping[str, Outcome] = {"passed": "right", "failed": "wrong"}


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of one conversation under the official rules, the corrected rules and the corrected data.

    ``tag``, ``reason``, ``sentence`` and ``detail`` say why it is not right; ``turn`` is the zero-based turn that
    decided. ``corrected`` is the outcome under corrected rules, ``verified`` the one by the entry's corrected answer
    (``None`` without one). ``not judged`` is never the model's mistake: infrastructure or data failed.
    """

    id: str
    category: str
    outcome: Outcome
    tag: str | None = None
    reason: str | None = None
    sentence: str = ""
    detail: Parsed = field(default_factory=dict)
    corrected: Outcome = "not judged"
    verified: Outcome | None = None
    turn: int | None = None

    @property
    def right(self) -> bool:
        """Whether the official rules accept it."""
        return self.outcome == "right"

    def to_json(self) -> Parsed:
        """JSON-able fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Fields) -> Judgement:
        """The judgement again; unknown fields are ignored."""
        return cls(**{name.name: given[name.name] for name in fields(cls) if name.name in given})


def judgement_of(entry: Entry, transcript: Transcript) -> Judgement:
    """The judgement of a conversation that has ended."""
    from pytest_bfcl.checkers.judge import judge, judge_under

    official, corrected = judge_under(entry, transcript, "official", "corrected")
    verified = None
    if entry.verified not in (None, "excluded") and official.outcome in _OUTCOMES:
        verified = _OUTCOMES.get(judge(entry.verified, transcript).outcome, "not judged")
    return _of(entry.id, entry.category, official, _OUTCOMES.get(corrected.outcome, "not judged"), verified)


def not_judged(task_id: str, category: str, error: BenchmarkError) -> Judgement:
    """The judgement if infrastructure, data or this package failed: it counts nowhere."""
    return _of(task_id, category, error.verdict, "not judged", None)


def _of(entry_id: str, category: str, verdict: Verdict, corrected: Outcome, verified: Outcome | None) -> Judgement:
    return Judgement(
        entry_id,
        category,
        _OUTCOMES.get(verdict.outcome, "not judged"),
        verdict.tag.value if verdict.tag else None,
        verdict.reason,
        sentence_of(verdict),
        dict(verdict.detail),
        corrected,
        verified,
        verdict.detail.get("turn"),
    )


def sentence_of(verdict: Verdict) -> str:
    """One sentence with the reason of a failed verdict; empty for a passed one."""
    if verdict.valid or verdict.tag is None:
        return ""
    from pytest_bfcl.checkers.reasons import reason_named

    known = reason_named(verdict.reason)
    error = verdict.detail.get("error")
    if verdict.tag in (FailureTag.ADAPTER_ERROR, FailureTag.HARNESS_ERROR) and isinstance(error, str):
        return error
    return known.rule if known is not None else str(verdict.reason)
