"""Retries, the breaker, redaction: the parts without a server."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext

import pytest

from pytest_bfcl.endpoints.breaker import Breaker, Suspicion
from pytest_bfcl.endpoints.faults import EndpointUnreachable
from pytest_bfcl.endpoints.retrying import Caller, RetryPolicy, Stopwatch, _pause
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply
from tests.models.loopback import run


def caller(policy, **settings):
    return Caller(Settings(**settings), "here", policy)


def asked_for(errors, policy):
    """What comes of a request whose attempts fail with these errors in turn, and how many attempts there were."""
    left, calls = list(errors), []

    async def attempt():
        calls.append(1)
        if left:
            raise left.pop(0)
        return Reply(text="ok")

    try:
        return run(caller(policy).call(attempt)), len(calls)
    except AdapterError as error:
        return error, len(calls)


BAD = AdapterError("bad_request", "no 'a' in line 7", status=404)
BUSY = AdapterError("server", "busy", status=503, retryable=True)
SLOW_DOWN = AdapterError("server", "busy", retryable=True, retry_after_s=7.4)
QUOTA = AdapterError("quota", "pay", status=429, retryable=True)


@pytest.mark.parametrize(
    ("errors", "retries", "limit_s", "calls", "told"),
    [
        ([BUSY] * 3, 5, 10, 4, None), ([BUSY] * 99, 2, 10, 3, "busy"), ([BUSY] * 9, 5, 10, 6, "busy"),
        ([BUSY] * 9, 0, 10, 1, "busy"), ([BAD], 5, 10, 1, BAD.message),  # no retry is wanted, or would help
        ([BUSY] * 9, 3, 0.0, 1, "busy"), ([BUSY] * 9, 3, 0.9, 4, "busy"),  # none begins after the deadline
        ([QUOTA] * 9, 5, 10, 2, "pay"), ([BUSY, QUOTA, BUSY, QUOTA], 5, 10, 4, "pay"),  # believed the second time
        ([SLOW_DOWN] * 9, 5, 5.0, 1, "busy (it asks to wait 7 s, a request may take 5 s in all)"),
    ],
)  # fmt: skip
def test_attempts_are_counted_and_bounded(errors, retries, limit_s, calls, told):
    found, count = asked_for(errors, RetryPolicy(retries, limit_s, 0.001, 0.002))
    assert count == calls
    assert (found.attempts == calls) if told is None else (str(found) == told)


def test_cancelling_stops_at_once():
    async def work():
        calls = []

        async def attempt():
            calls.append(1)
            raise AdapterError("server", "x", retryable=True, retry_after_s=30)

        task = asyncio.create_task(caller(RetryPolicy(5)).call(attempt))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(calls)

    assert run(work()) == 1


@pytest.mark.parametrize(
    ("error", "answered", "needed"),
    [
        (AdapterError("auth", "x", status=403), True, 3),
        (EndpointUnreachable("x"), False, 2),
        (EndpointUnreachable("x"), True, 5),
        (AdapterError("connection", "x"), True, 10),
        (AdapterError("connection", "x"), False, 10),
        (AdapterError("timeout", "x"), True, 20),
        (AdapterError("quota", "x", status=429), True, 3),
    ],
)
def test_breaker_thresholds(error, answered, needed):
    breaker = Breaker("here")
    if answered:
        breaker.success()
    for _ in range(needed - 1):
        breaker.failure(error)
    assert breaker.suspicion is None
    breaker.check()
    breaker.failure(error)
    assert not breaker.open  # a harmless question decides
    assert "here" in breaker.trouble
    breaker.give_up(breaker.suspicion.error)
    assert "here" in breaker.reason
    with pytest.raises(AdapterError) as caught:
        breaker.check()
    assert caught.value.kind == "circuit_open"


def test_what_does_not_count():
    """A success in between, answers of a living server, and requests that are older than the last success."""
    breaker = Breaker()
    for _ in range(30):
        breaker.failure(EndpointUnreachable("x"))
        breaker.success()
        for kind in ("server", "bad_request", "rate_limit", "malformed_body", "circuit_open"):
            breaker.failure(AdapterError(kind, "x", status=500))
        breaker.failure(AdapterError("connection", "x"), time.monotonic() - 1)
    assert breaker.suspicion is None
    for number in range(10):
        assert (breaker.suspicion is None) or number == 10
        breaker.failure(AdapterError("connection", "x"), time.monotonic())
    assert breaker.suspicion.what == "drops every connection (10 requests in a row)"
    breaker.give_up(breaker.suspicion.error)
    breaker.failure(AdapterError("auth", "y", status=401))
    assert breaker.reason == "the endpoint drops every connection (10 requests in a row): x"
    other = Breaker("there")
    other.give_up(AdapterError("server", "z"))
    assert other.reason == "there does not answer: z"


@pytest.mark.parametrize(("began", "counted"), [(None, True), (99.9, False), (100.0, True), (100.1, True)])
def test_requests_that_began_before_the_last_success_do_not_count(monkeypatch, began, counted):
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    breaker = Breaker()
    breaker.success()
    for _ in range(10):
        breaker.failure(AdapterError("connection", "x"), began)
    assert (breaker.suspicion is not None) is counted


@pytest.mark.parametrize(
    ("errors", "answered", "suspected"),
    [
        ([BAD] * 4, False, False), ([BAD] * 5, False, True), ([BAD] * 5, True, False),
        ([AdapterError("bad_request", "x", status=400)] * 5, False, True),
        ([AdapterError("bad_request", f"no {text!r} in line {n}", status=404) for n, text in enumerate("abcde")],
         False, True),
        ([*[BAD] * 4, AdapterError("bad_request", "another", status=404), *[BAD] * 4], False, False),
        ([*[BAD] * 4, AdapterError("bad_request", BAD.message, status=405), *[BAD] * 4], False, False),
        ([*[BAD] * 4, None, *[BAD] * 4], False, False),
        ([*[BAD] * 4, AdapterError("circuit_open", BAD.message, status=404), BAD], False, True),
        *(([AdapterError(kind, "x", status=500)] * 9, False, False) for kind in (
            "server", "rate_limit", "timeout", "connection", "quota")),
        ([EndpointUnreachable("x")] * 9, False, False),
        *(([AdapterError("bad_request", "x", status=status)] * 30, True, False) for status in (400, 413, 422)),
    ],
)  # fmt: skip
def test_nothing_but_the_same_error_is_suspicious(errors, answered, suspected):
    breaker = Breaker()
    if answered:
        breaker.success()
    for error in errors:
        assert breaker.suspicion is None
        breaker.attempt(error)
    assert (breaker.suspicion is not None) is suspected
    if suspected:
        error, what, passing = breaker.suspicion
        assert (error, what, passing) == (errors[-1], "gave the same error 5 times and no answer", False)
        breaker.recovered(answered=False)
        assert (breaker.suspicion, breaker.answered) == (None, False)
        for _ in range(9):  # twice as many are needed now
            breaker.attempt(BAD)
        assert breaker.suspicion is None
        breaker.attempt(BAD)
        assert breaker.suspicion.what == "gave the same error 10 times and no answer"
        breaker.recovered(answered=True)
        assert breaker.answered


@pytest.mark.parametrize(
    ("good", "bad", "suspected"),
    [(0, 19, False), (0, 20, True), (1, 19, True), (2, 18, False), (5, 94, False), (5, 95, True)],
)  # fmt: skip
def test_a_rate_of_failures_is_suspicious(good, bad, suspected):
    breaker = Breaker()
    breaker.success()
    for error in [None] * good + [BUSY] * bad:
        assert breaker.suspicion is None
        breaker.attempt(error)
    assert (breaker.suspicion is not None) is suspected
    if suspected:
        assert breaker.suspicion == (BUSY, f"fails every request ({bad} of the last {good + bad})", True)
        assert breaker.trouble == "the endpoint fails every request, trying again: busy"
        breaker.recovered(answered=True)
        for _ in range(19):
            breaker.attempt(BUSY)
        assert breaker.suspicion is None
        breaker.attempt(BUSY)
        assert breaker.suspicion is not None


@pytest.mark.parametrize(("pause", "suspected"), [(60.0, True), (60.1, False)])
def test_only_the_last_minute_counts(monkeypatch, pause, suspected):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    breaker = Breaker()
    breaker.success()
    for _ in range(10):
        breaker.attempt(BUSY)
    now[0] += pause
    for _ in range(10):
        breaker.attempt(BUSY)
    assert (breaker.suspicion is not None) is suspected
    now[0] += 61.0
    breaker.recovered(answered=True)
    for error in [None] * 5 + [BUSY] * 15:
        breaker.attempt(error)
    now[0] += 61.0
    for _ in range(19):
        breaker.attempt(BUSY)
    assert breaker.suspicion is None


def test_trouble_is_told_while_it_lasts():
    breaker = Breaker("here")
    told = []
    for error in (BUSY, BUSY, None, BUSY, BUSY, BAD, BUSY, AdapterError("odd", "x", retryable=True)):
        breaker.attempt(error)
        told.append(breaker.trouble)
    busy = "here fails every request, trying again: busy"
    assert told == [None, busy, None, None, busy, None, None, "here fails, trying again: x"]
    breaker.give_up(BUSY)
    assert breaker.trouble is None


@pytest.mark.parametrize(
    ("retries", "limit_s", "kind", "passing", "pauses"),
    [
        (5, 300, "server", False, [0.0]),
        (3, 300, "server", True, [1, 2, 4, 5]),
        (5, 10, "server", True, [1, 2, 4, 5]),
        (5, 3, "server", True, [1, 2]),
        (1, 300, "rate_limit", True, [1, 2, 4, 5, 5, 5]),
        (0, 300, "rate_limit", True, [1]),
        (1, 12, "rate_limit", True, [1, 2]),
    ],
)
def test_pauses_before_harmless_questions(retries, limit_s, kind, passing, pauses):
    suspicion = Suspicion(AdapterError(kind, "x"), "fails", passing)
    assert caller(RetryPolicy(retries, limit_s, 1.0, 10.0))._pauses(suspicion) == pauses


@pytest.mark.parametrize(
    ("failed", "asked", "left", "least", "most"),
    [(1, None, 99, 0.5, 1.0), (3, None, 99, 2.0, 4.0), (200, None, 99, 5.0, 10.0),
     (1, 7.0, 99, 7.0, 7.0), (1, 7.0, 3, 3, 3)],
)  # fmt: skip
def test_the_pause_doubles_with_jitter(failed, asked, left, least, most):
    error = AdapterError("server", "x", retry_after_s=asked)
    pauses = [_pause(RetryPolicy(5, 300, 1.0, 10.0), error, failed, left) for _ in range(50)]
    assert least <= min(pauses) <= max(pauses) <= most
    assert (max(pauses) > min(pauses)) is (most > least)


def test_who_waits_at_the_gate_asks_no_more_once_the_breaker_is_open():
    async def main():
        asking = Caller(Settings(concurrency=1, paced=True), "here", RetryPolicy(0))
        asked = []

        async def attempt():
            asked.append(1)
            await asyncio.sleep(0.02)
            asking.breaker.give_up(BUSY)
            return Reply("ok")

        found = await asyncio.gather(asking.call(attempt), asking.call(attempt), return_exceptions=True)
        assert [getattr(each, "kind", "reply") for each in found] == ["reply", "circuit_open"]
        assert (len(asked), asking.gate.inside) == (1, 0)

    run(main())


def answering(found):
    """A harmless question with this outcome."""

    async def probe():
        if isinstance(found, Exception):
            raise found
        return found

    return found and probe


HELLO = Reply("hello")
STILL = AdapterError("server", "still", status=503, retryable=True)


@pytest.mark.parametrize(
    ("found", "passing", "wished", "is_open", "reason", "advice"),
    [
        (None, True, None, False, None, ""), (None, False, None, True, "here fails: busy", "wait"),
        (HELLO, True, None, False, None, ""), (HELLO, False, None, False, None, ""),
        (STILL, True, None, True, "here fails: still", "wait"), (STILL, False, None, True, "here fails: still", "wait"),
        (AdapterError("server", "still", status=503, retryable=True, advice="look"), False, None, True,
         "here fails: still", "look"),
        (AdapterError("bad_request", "no", status=400), False, None, False, None, ""),  # refused in another way
        (HELLO, True, 99.0, True, "here fails: busy", "wait"),  # a longer pause than a request may take
    ],
)  # fmt: skip
def test_a_suspicion_is_examined(found, passing, wished, is_open, reason, advice):
    asking = Caller(Settings(), "here", RetryPolicy(2, 5.0, 0.001, 0.002), probe=answering(found))
    error = AdapterError("server", "busy", status=503, retryable=True, retry_after_s=wished, advice="wait")
    asking.breaker.suspicion = Suspicion(error, "fails", passing)
    run(asking._examined())
    assert (asking.breaker.open, asking.breaker.reason, asking.breaker.suspicion) == (is_open, reason, None)
    assert asking.breaker.advice == advice
    assert asking.breaker.answered is (found is HELLO and not is_open)


@pytest.mark.parametrize(("blocked", "late"), [(0.0, True), (0.3, False)])
def test_the_stopwatch_counts_running_time_only(blocked: float, late: bool) -> None:
    """What the loop did not run, a debugger's pause for one, is not the provider's."""

    async def work() -> float:
        watch = Stopwatch(0.1, tick_s=0.01)
        with pytest.raises(TimeoutError) if late else nullcontext():
            async with watch.limit():
                time.sleep(blocked)
                await asyncio.sleep(5 if late else 0.02)
        return watch.stalled_s

    assert (run(work()) > 0.2) is not late


def test_latency_is_that_of_the_successful_attempt() -> None:
    calls = []

    async def attempt() -> Reply:
        calls.append(1)
        if len(calls) == 1:
            await asyncio.sleep(0.3)
            raise BUSY
        await asyncio.sleep(0.02)
        return Reply("ok")

    asking = caller(RetryPolicy(1, 10, 0.001, 0.002))
    reply = run(asking.call(attempt))
    assert 0.02 <= reply.latency_s < 0.25
    assert asking.breaker.answered


def test_closing_ends_an_examination() -> None:
    async def probe() -> Reply:
        await asyncio.sleep(60)
        raise AssertionError

    async def main() -> None:
        asking = Caller(Settings(), "here", RetryPolicy(0), probe=probe)
        await asking.aclose()  # nothing goes on
        await asking._examined()  # nor is there anything to find out
        await asking.aclose()
        asking.breaker.suspicion = Suspicion(BAD, "fails", False)
        waits = asyncio.ensure_future(asking._examined())
        await asyncio.sleep(0.01)
        await asking.aclose()
        with pytest.raises(asyncio.CancelledError):
            await waits

    run(main())


def test_the_policy_and_limits_of_a_runs_settings():
    asking = Caller(Settings(retries=7, retry_limit_s=8.0, request_limit_s=9.0), "here")
    assert asking.policy == RetryPolicy(7, 8.0, 0.5, 60.0)
    assert (asking.stopwatch.limit_s, asking.stopwatch.tick_s, asking.gate) == (9.0, 0.9, None)
    assert Stopwatch(600).tick_s == 1.0
    assert Stopwatch(0.05).tick_s == 0.01
    paced = Caller(Settings(concurrency=256, paced=True), "here").gate
    assert (paced.pace.most, paced.pace.limit) == (256, 32)
