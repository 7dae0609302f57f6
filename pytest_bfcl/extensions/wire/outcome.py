"""What came of a check: attempts, how often it held, and the exchanges that prove a fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_bfcl.extensions.wire.exchange import Exchange
from pytest_bfcl.extensions.wire.row import Check
from pytest_bfcl.failures import BenchmarkError

STATES = {
    "held": "the rule held",
    "broke": "the server broke the rule",
    "not_called": "the model did not call as it was plainly asked; nothing is said about the server",
    "refused": "the server says that it does not offer this",
    "blocked": "not judged, because a rule it builds on is broken",
    "error": "the endpoint could not be asked",
}
"""State of a check → what it means."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a check; ``called`` tells whether the model called at all."""

    state: str
    why: str = ""
    exchanges: tuple[Exchange, ...] = ()
    proof: bytes = b""
    certain: bool = True
    suspected: bool = False
    called: bool = False
    error: BenchmarkError | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    cells: tuple[str, ...] = ()
    blocked_by: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check's attempts taken together. ``counts``: state → attempts; ``called``: those in which the model called."""

    check: Check
    state: str
    counts: Mapping[str, int]
    why: str = ""
    exchanges: tuple[Exchange, ...] = ()
    proof: bytes = b""
    certain: bool = True
    suspected: bool = False
    called: int = 0
    blocked_by: str = ""
    error: BenchmarkError | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    cells: tuple[str, ...] = ()

    def blocked(self, by: str) -> Outcome:
        """The same, not judged because another check is broken."""
        return replace(self, state="blocked", blocked_by=by, why=f"not judged: {by} is broken ({self.why})")

    def unconfirmed(self) -> Outcome:
        """The same, when a suspicion was not seen again: nothing is said about the server."""
        counts = Counter(self.counts)
        counts["not_called"] += counts.pop("broke", 0)
        return replace(self, state="not_called", counts=dict(counts), why=f"{self.why}; not seen again")

    @property
    def held_text(self) -> str:
        """How often the rule held: ``3 of 5``."""
        return f"{self.counts.get('held', 0)} of {sum(self.counts.values())}"


def summed(check: Check, attempts: Sequence[Attempt]) -> Outcome:
    """One fault is a fault; then an error, a rule that held, a refusal, and last a model that never called."""
    counts = Counter(attempt.state for attempt in attempts)
    state = next(name for name in ("broke", "error", "held", "blocked", "refused", "not_called") if counts[name])
    first = next(attempt for attempt in attempts if attempt.state == state)
    names = {name for attempt in attempts for name in attempt.figures}
    figures = {name: _mean([a.figures[name] for a in attempts if name in a.figures]) for name in sorted(names)}
    return Outcome(
        check, state, dict(counts), first.why, first.exchanges, first.proof, first.certain, first.suspected,
        sum(attempt.called for attempt in attempts),
        first.blocked_by, first.error, figures, first.cells,
    )  # fmt: skip


def _mean(values: Sequence[float | None]) -> float | None:
    """Of the attempts in which there was one."""
    told = [value for value in values if value is not None]
    return sum(told) / len(told) if told else None


JUDGED = ("held", "broke", "not_called")
"""States of attempts in which a call was due."""


def share_called(found: Iterable[tuple[int, Mapping[str, int]]]) -> float | None:
    """The trigger rate from (attempts with a call, state → attempts) of checks; ``None`` when nothing was asked."""
    pairs = [(called, sum(counts.get(state, 0) for state in JUDGED)) for called, counts in found]
    asked = sum(count for _, count in pairs)
    return sum(min(called, count) for called, count in pairs) / asked if asked else None
