"""A circuit breaker: stops sending when the endpoint is down or refuses the key, instead of failing 5,000 times."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from typing import NamedTuple

from pytest_bfcl.endpoints.faults import EndpointUnreachable
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.troubles import AdapterTrouble

ALIKE_AT_START = 5
"""Equal lasting failures that raise a suspicion if nothing was ever answered."""

WINDOW_S = 60.0
WINDOW_LEAST = 20
"""Attempts within the window that are needed to judge their rate."""
WINDOW_RATE = 0.95

_TOLD_AFTER = 2
"""Failed attempts in a row before the terminal reports them."""

_THRESHOLDS = {
    "unreachable": 5, AdapterTrouble.CONNECTION: 10, AdapterTrouble.TIMEOUT: 20, AdapterTrouble.QUOTA: 3,
    AdapterTrouble.AUTH: 3,
}  # fmt: skip
_UNREACHABLE_AT_START = 2
_REFUSED_AT_START = 3
"""Attempts that this machine refused before the first answer: no server listens."""
_PASSING = frozenset(
    (
        AdapterTrouble.SERVER,
        AdapterTrouble.RATE_LIMIT,
        AdapterTrouble.TIMEOUT,
        AdapterTrouble.CONNECTION,
        "unreachable",
        AdapterTrouble.QUOTA,
    )
)
_WORDS = {
    "unreachable": "cannot be reached",
    AdapterTrouble.CONNECTION: "drops every connection",
    AdapterTrouble.TIMEOUT: "no longer answers in time",
    AdapterTrouble.QUOTA: "reports an exhausted quota",
    AdapterTrouble.AUTH: "refuses the key",
    AdapterTrouble.RATE_LIMIT: "limits the rate of every request",
    AdapterTrouble.SERVER: "fails every request",
    AdapterTrouble.ENDING: "ends replies in a way that is not normal",
}


class Suspicion(NamedTuple):
    """Why requests wait for a harmless test request.

    ``passing``: the problem may be temporary, so several requests are sent with pauses; otherwise one decides.
    """

    error: AdapterError
    what: str
    passing: bool


class Breaker:
    """Closed, suspicious or open.

    Suspicion arises when nothing was ever answered and 5 attempts failed alike; when 95 % of the last minute's attempts
    (at least 20) failed; or when requests failed for good in a row, with no success in between. The last means 2 that
    could not reach the endpoint (5 after earlier answers), 10 dropped connections, 20 timeouts, 3 with an exhausted
    quota or a refused key. Then requests wait while one harmless request is sent (half-open). An answer clears all
    counts, so entries that always fail cannot stop a run. Otherwise `give_up` opens the breaker for good, and
    ``reason`` is the message for the user. A key that is missing or refused before the first answer opens it at once.
    """

    def __init__(self, endpoint: str = "") -> None:
        self.endpoint = endpoint
        self.reason: str | None = None
        self.advice = ""
        self.answered = False
        self.suspicion: Suspicion | None = None
        self._counts: Counter[str] = Counter()
        self._attempts: deque[tuple[float, bool]] = deque()
        self._failed = 0
        self._alike = 0
        self._alike_needed = ALIKE_AT_START
        self._last_sign = ""
        self._last_success: float | None = None
        self._failing: AdapterError | None = None
        self._failing_times = 0

    def is_absent(self, error: AdapterError) -> bool:
        """Whether no server listens on this machine, and none did since the run began."""
        return not self.answered and isinstance(error, EndpointUnreachable) and error.refused

    @property
    def open(self) -> bool:
        """Whether requests are refused without sending them."""
        return self.reason is not None

    @property
    def trouble(self) -> str | None:
        """The current problem while requests wait or are retried, for the terminal; else ``None``."""
        if self.reason is not None:
            return None
        place = self.endpoint or "the endpoint"
        if self.suspicion is not None and self.is_absent(self.suspicion.error):
            return f"{self.suspicion.error.message}, trying again"
        if self.suspicion is not None:
            what = self.suspicion.what.partition(" (")[0]
            return f"{place} {what}, trying again: {self.suspicion.error.message}"
        error = self._failing
        if self._failing_times < _TOLD_AFTER:
            return None
        assert error is not None
        return f"{place} {_WORDS.get(kind_of(error), 'fails')}, trying again: {error.message}"

    def check(self) -> None:
        """Raise `AdapterError` ``circuit_open`` when open."""
        if self.reason is not None:
            raise AdapterError(AdapterTrouble.CIRCUIT_OPEN, f"not sent: {self.reason}", advice=self.advice)

    def success(self) -> None:
        """An answer arrived (also an error from a living server)."""
        self.answered = True
        self._last_success = time.monotonic()
        self._counts.clear()

    def attempt(self, error: AdapterError | None) -> None:
        """One attempt has ended, whether or not another follows."""
        self._failing = error if error is not None and error.retryable else None
        self._failing_times = self._failing_times + 1 if self._failing is not None else 0
        if error is not None and (error.kind == AdapterTrouble.CIRCUIT_OPEN or error.status in (400, 413, 422)):
            if error.kind != AdapterTrouble.CIRCUIT_OPEN and not self.answered:
                self._count_alike(error)
            return
        now = time.monotonic()
        self._attempts.append((now, error is not None))
        self._failed += error is not None
        while self._attempts[0][0] < now - WINDOW_S:
            self._failed -= self._attempts.popleft()[1]
        if error is None:
            self._alike = 0
            return
        if not self.answered and kind_of(error) not in _PASSING:
            self._count_alike(error)
        if self.is_absent(error) and len(self._attempts) >= _REFUSED_AT_START:
            self._suspect(error, "refuses connections", passing=True)
        if len(self._attempts) >= WINDOW_LEAST and self._failed >= WINDOW_RATE * len(self._attempts):
            what = _WORDS.get(kind_of(error), "fails every request")
            self._suspect(error, f"{what} ({self._failed} of the last {len(self._attempts)})", passing=True)

    def _count_alike(self, error: AdapterError) -> None:
        sign = sign_of(error)
        self._alike = self._alike + 1 if sign == self._last_sign else 1
        self._last_sign = sign
        if self._alike >= self._alike_needed:
            self._suspect(error, f"gave the same error {self._alike} times and no answer", passing=False)

    def failure(self, error: AdapterError, started: float | None = None) -> None:
        """One request failed for good; ``started`` is its begin on the monotonic clock.

        A request from before the last success does not count. Otherwise entries that always fail, and fail last, would
        look like a series.
        """
        if self.reason is not None:
            return
        if error.kind == AdapterTrouble.AUTH and not self.answered and error.status != 403:
            self.give_up(error, "refused the key")
            return
        if started is not None and self._last_success is not None and started < self._last_success:
            return
        kind = kind_of(error)
        if kind not in _THRESHOLDS:
            return
        self._counts[kind] += 1
        threshold = _THRESHOLDS[kind]
        if kind == "unreachable" and not self.answered:
            threshold = _UNREACHABLE_AT_START
        if self._counts[kind] >= threshold:
            self._suspect(error, f"{_WORDS[kind]} ({self._counts[kind]} requests in a row)", passing=False)

    def recovered(self, *, answered: bool) -> None:
        """The test request was answered (or refused in another way): the failures belong to the entries."""
        self.suspicion = None
        self._counts.clear()
        self._attempts.clear()
        self._failed = self._alike = 0
        self._alike_needed *= 2
        if answered:
            self.success()

    def give_up(self, error: AdapterError, what: str | None = None) -> None:
        """Open for good."""
        what = what or (self.suspicion.what if self.suspicion else "does not answer")
        named = not self.endpoint or self.endpoint in error.message
        where = "the endpoint" if named else self.endpoint
        self.reason = error.message if self.is_absent(error) else f"{where} {what}: {error.message}"
        self.advice = error.advice
        self.suspicion = None

    def _suspect(self, error: AdapterError, what: str, *, passing: bool) -> None:
        if self.reason is None and self.suspicion is None:
            self.suspicion = Suspicion(error, what, passing)


def kind_of(error: AdapterError) -> str:
    """The error's kind; unreachable endpoints and broken connections are distinct."""
    return "unreachable" if isinstance(error, EndpointUnreachable) else error.kind


def sign_of(error: AdapterError) -> str:
    """The key of equal failures: kind, status and text without numbers and quoted words."""
    text = re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "", error.message[:300])
    return f"{kind_of(error)} {error.status} {text[:80]}"


def trouble(model: object) -> str | None:
    """The problem of this model's endpoint while requests are retried; else ``None``."""
    breaker = getattr(model, "breaker", None)
    return breaker.trouble if isinstance(breaker, Breaker) else None


def stop_reason(model: object) -> str | None:
    """Why the whole run should stop because of this model's endpoint, or ``None``."""
    breaker = getattr(model, "breaker", None)
    if not isinstance(breaker, Breaker) or breaker.reason is None:
        return None
    return f"{breaker.reason}; {breaker.advice}" if breaker.advice else breaker.reason
