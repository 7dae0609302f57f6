"""A circuit breaker: when the endpoint is down or refuses the key, stop asking instead of failing 5,000 times."""

from __future__ import annotations

import time

from pytest_bfcl.failures import AdapterError

_AT_ONCE = "auth"
_THRESHOLDS = {"unreachable": 5, "connection": 10, "timeout": 20, "quota": 3}
_UNREACHABLE_AT_START = 2


class EndpointUnreachable(AdapterError):
    """No connection could be made at all: nobody listens, unknown host, no route."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__("connection", message, advice=advice, retryable=True)


class Breaker:
    """Counts requests that failed for good, with no success in between, and opens when asking on is pointless.

    A refused key opens at once. An endpoint that cannot be reached opens after 2 distinct requests (5 once it has
    answered before), dropped connections after 10, timeouts after 20, an exhausted quota after 3. Each of these
    requests has already used up its retries. Once open it stays open: ``reason`` is the one message for people.
    """

    def __init__(self, endpoint: str = "") -> None:
        self.endpoint = endpoint
        self.reason: str | None = None
        self.advice = ""
        self.answered = False
        self._counts: dict[str, int] = {}
        self._last_success: float | None = None

    @property
    def open(self) -> bool:
        """Whether requests are refused without being sent."""
        return self.reason is not None

    def check(self) -> None:
        """Raise `AdapterError` ``circuit_open`` when open."""
        if self.reason is not None:
            raise AdapterError("circuit_open", f"not asked: {self.reason}", advice=self.advice)

    def success(self) -> None:
        """An answer arrived (also an error answer of a living server)."""
        self.answered = True
        self._last_success = time.monotonic()
        self._counts.clear()

    def failure(self, error: AdapterError, started: float | None = None) -> None:
        """One request failed for good; ``started`` is its begin on the monotonic clock.

        A request that began before the last success says nothing about the endpoint's health now: entries that
        always fail would otherwise look like a series, because they fail last.
        """
        if self.reason is not None or error.kind == "circuit_open":
            return
        if error.kind == _AT_ONCE:
            self._open(error, "refused the key")
            return
        if started is not None and self._last_success is not None and started < self._last_success:
            return
        kind = "unreachable" if isinstance(error, EndpointUnreachable) else error.kind
        if kind not in _THRESHOLDS:
            if error.status is not None:
                self.success()
            return
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        threshold = _THRESHOLDS[kind]
        if kind == "unreachable" and not self.answered:
            threshold = _UNREACHABLE_AT_START
        if count >= threshold:
            words = {
                "unreachable": "cannot be reached",
                "connection": "drops every connection",
                "timeout": "no longer answers in time",
                "quota": "reports an exhausted quota",
            }
            self._open(error, f"{words[kind]} ({count} requests in a row)")

    def _open(self, error: AdapterError, what: str) -> None:
        self.reason = f"{self.endpoint or 'the endpoint'} {what}: {error.message}"
        self.advice = error.advice


def stop_reason(model: object) -> str | None:
    """Why the whole run should stop because of this model's endpoint, or ``None``."""
    breaker = getattr(model, "breaker", None)
    return breaker.reason if isinstance(breaker, Breaker) else None
