"""Retries: which failures, how often, after which wait, when to stop; and the time limit of one request."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bfcl.endpoints.breaker import Breaker, Suspicion, sign_of
from pytest_bfcl.endpoints.pacing import Gate, Pace
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.transcript import Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from types import TracebackType

    from pytest_bfcl.settings import Settings

Attempt = Callable[[], Awaitable[Reply]]

_PATIENCE_S = 18.0  # for limits of a rate, times the retries: most are counted by the minute
_PROBE_S = 30.0  # for one harmless question


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``retries`` further attempts, waits doubling from ``first_s`` with jitter up to ``longest_s`` seconds.

    No attempt starts later than ``limit_s`` after the first. A server's ``Retry-After`` is obeyed up to that limit.
    """

    retries: int = 5
    limit_s: float = 300.0
    first_s: float = 0.5
    longest_s: float = 60.0

    @classmethod
    def of(cls, settings: Settings) -> RetryPolicy:
        """The policy of a run's settings."""
        return cls(retries=settings.retries, limit_s=settings.retry_limit_s)


class _Limited:
    """Code that `Stopwatch` may end."""

    def __init__(self, scopes: dict[asyncio.Timeout, float], started: float) -> None:
        self._scopes = scopes
        self._started = started
        self._scope = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        self._scopes[self._scope] = self._started
        await self._scope.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._scopes.pop(self._scope, None)
        await self._scope.__aexit__(kind, error, traceback)


class Stopwatch:
    """Ends requests that exceed a time limit; counts only time in which the event loop ran.

    The session's loop stops while a test runs (or a debugger waits), and a plain timeout would count such seconds. One
    timer ticks while requests are in flight. A tick that is late by more than a tick length counts as one tick, the
    rest as ``stalled_s``.
    """

    def __init__(self, limit_s: float, tick_s: float = 1.0) -> None:
        self.limit_s = limit_s
        self.tick_s = min(tick_s, max(limit_s / 10, 0.01))
        self.running_s = 0.0
        self.stalled_s = 0.0
        self._scopes: dict[asyncio.Timeout, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last = 0.0

    def limit(self) -> _Limited:
        """An asynchronous context; `TimeoutError` is raised in its body when the limit passes."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # a new session loop: the old timer died with its loop
            self._loop, self._timer = loop, None
            self._scopes.clear()
        if self._timer is None:
            self._last = loop.time()
            self._timer = loop.call_later(self.tick_s, self._tick)
        return _Limited(self._scopes, self.running_s)

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        elapsed, self._last = now - self._last, now
        counted = elapsed if elapsed < 2 * self.tick_s else self.tick_s
        self.running_s += counted
        self.stalled_s += elapsed - counted
        for scope, started in list(self._scopes.items()):
            if self.running_s - started >= self.limit_s:
                del self._scopes[scope]
                scope.reschedule(now)
        self._timer = loop.call_later(self.tick_s, self._tick) if self._scopes else None


class Caller:
    """Sends one adapter's requests with retries, waits, the time limit and the breaker."""

    def __init__(
        self, settings: Settings, endpoint: str, policy: RetryPolicy | None = None, *, probe: Attempt | None = None
    ) -> None:
        self.policy = policy or RetryPolicy.of(settings)
        self.breaker = Breaker(endpoint)
        self.stopwatch = Stopwatch(settings.request_limit_s)
        self._probe = probe
        self._examination: asyncio.Task[None] | None = None
        self.gate = Gate(Pace(settings.concurrency, settings.first_concurrency)) if settings.paced else None

    async def call(self, attempt: Attempt) -> Reply:
        """The first successful attempt's reply, with its own latency and the number of attempts.

        Raises the last attempt's `AdapterError`, or ``circuit_open`` if the breaker stopped the run meanwhile. Requests
        wait while the breaker suspects the endpoint and ``probe``, a harmless request, tests it.
        """
        started = time.monotonic()
        try:
            try:
                reply = await self._attempt(attempt, 1)
            except AdapterError as error:
                if not error.retryable:
                    raise
                reply = await self._again(attempt, error)
        except AdapterError as error:
            self.breaker.failure(error, started)
            if self.breaker.suspicion is not None and not self.breaker.suspicion.passing:
                await self._examined()
            raise
        self.breaker.success()
        return reply

    async def aclose(self) -> None:
        """Stop the test requests."""
        examination, self._examination = self._examination, None
        if examination is not None:
            with contextlib.suppress(RuntimeError):  # its loop may be closed already
                examination.cancel()

    async def _examined(self) -> None:
        """Wait until the suspicion is confirmed or disproved; all waiting requests share one test."""
        loop = asyncio.get_running_loop()
        task = self._examination
        if task is None or task.done() or task.get_loop() is not loop:
            task = self._examination = loop.create_task(self._examine())
        await asyncio.shield(task)

    async def _examine(self) -> None:
        suspicion = self.breaker.suspicion
        if suspicion is None:
            return
        if self._probe is None:  # nobody to ask: what failed for good counts, a rate does not
            if suspicion.passing:
                self.breaker.recovered(answered=False)
            else:
                self.breaker.give_up(suspicion.error)
            return
        error = suspicion.error
        for pause in self._pauses(suspicion):
            wished = error.retry_after_s or 0.0
            if wished > self.policy.limit_s:
                break
            await asyncio.sleep(max(pause, wished if suspicion.passing else 0.0))
            found = await self._probe_trouble(self._probe)
            if found is None or (found.status in (400, 413, 422) and sign_of(found) != sign_of(suspicion.error)):
                self.breaker.recovered(answered=found is None)
                return
            error = found
        error.advice = error.advice or suspicion.error.advice
        self.breaker.give_up(error)

    def _pauses(self, suspicion: Suspicion) -> list[float]:
        """Wait before each test request: one at once, or several over the time of a temporary problem."""
        policy = self.policy
        if not suspicion.passing:
            return [0.0]
        if self.breaker.is_absent(suspicion.error):
            return [policy.first_s, 2 * policy.first_s]
        most = min(
            policy.limit_s,
            _PATIENCE_S * policy.retries if suspicion.error.kind == AdapterTrouble.RATE_LIMIT else math.inf,
        )
        pauses, number = [policy.first_s], 1
        while sum(pauses) < most and (number <= policy.retries or most < policy.limit_s):
            pauses.append(min(policy.first_s * 2**number, policy.longest_s / 2))
            number += 1
        return pauses

    async def _probe_trouble(self, probe: Attempt) -> AdapterError | None:
        try:
            async with asyncio.timeout(min(_PROBE_S, self.stopwatch.limit_s)):
                await probe()
        except TimeoutError:
            return AdapterError(AdapterTrouble.TIMEOUT, "no answer to a harmless question either")
        except AdapterError as error:
            return error
        return None

    async def _attempt(self, attempt: Attempt, number: int) -> Reply:
        while self.breaker.suspicion is not None and not self.breaker.open:
            await self._examined()
        self.breaker.check()
        try:
            reply = await (self._timed(attempt, number) if self.gate is None else self._paced(attempt, number))
        except AdapterError as error:
            self.breaker.attempt(error)
            raise
        self.breaker.attempt(None)
        return reply

    async def _paced(self, attempt: Attempt, number: int) -> Reply:
        """Wait until one more may be in flight; this wait does not count in the request's time."""
        assert self.gate is not None
        async with self.gate:
            self.breaker.check()
            reply = await self._timed(attempt, number)
            self.gate.answered(reply.latency_s or 0.0)
        return reply

    async def _timed(self, attempt: Attempt, number: int) -> Reply:
        start, stalled = time.perf_counter(), self.stopwatch.stalled_s
        try:
            async with self.stopwatch.limit():
                reply = await attempt()
        except TimeoutError:
            limit = f"{self.stopwatch.limit_s:g} s"
            raise AdapterError(
                AdapterTrouble.TIMEOUT,
                f"no complete answer within {limit}",
                advice="raise the total request limit, or lower --bfcl-max-tokens",
                retryable=True,
            ) from None
        latency = time.perf_counter() - start - (self.stopwatch.stalled_s - stalled)
        return reply.timed(round(max(latency, 0.0), 6), number)

    async def _again(self, attempt: Attempt, error: AdapterError) -> Reply:
        """Further attempts after the error of the first."""
        policy, started = self.policy, time.monotonic()
        quotas = int(error.kind == AdapterTrouble.QUOTA)
        for failed in range(1, policy.retries + 1):
            left = policy.limit_s - (time.monotonic() - started)
            if left <= 0 or _asks_too_much(error, policy, left):
                break
            await asyncio.sleep(_pause(policy, error, failed, left))
            try:
                return await self._attempt(attempt, failed + 1)
            except AdapterError as again:
                quotas += again.kind == AdapterTrouble.QUOTA
                if not again.retryable or quotas > 1:
                    raise  # a quota, said again after the pause it asked for: now it is believed
                error = again
        raise error


def _pause(policy: RetryPolicy, error: AdapterError, failed: int, left_s: float) -> float:
    """Seconds before the next attempt: doubling, with jitter, at least what the server asks for."""
    doubled = min(policy.first_s * 2.0 ** min(failed - 1, 60), policy.longest_s)
    return min(max(doubled * random.uniform(0.5, 1.0), error.retry_after_s or 0.0), left_s)


def _asks_too_much(error: AdapterError, policy: RetryPolicy, left_s: float) -> bool:
    """Whether the server asks for a longer pause than a request may take; the error then reports this."""
    wished = error.retry_after_s
    if wished is None or wished <= left_s:
        return False
    error.message += f" (it asks to wait {wished:.0f} s, a request may take {policy.limit_s:g} s in all)"
    error.args = (error.message,)
    return True
