"""How many requests are in flight when nobody says so: the control law in virtual time, the gate in a real loop."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pytest_bfcl.endpoints.pacing import Gate, Pace
from pytest_bfcl.failures import AdapterError, HarnessError
from tests.endpoints.servers import (
    Bucket,
    Queue,
    Restarted,
    Server,
    Shared,
    Slots,
    Window,
    beyond,
    constant,
    in_a_batch,
    noisy,
    tokens,
)

BOUND = 256


class Fixed(Pace):
    """A number somebody gave."""

    def answered(self, now: float, latency_s: float, *, wanted: bool) -> None:
        pass

    def refused_at(self, now: float, retry_after_s: float | None = None) -> None:
        pass


class Gradient2(Pace):
    """The law that Netflix's concurrency-limits calls gradient2, with its defaults: short against long latency.

    It knows no refusals; they keep their places here as with every other law.
    """

    queue, smoothing, tolerance, window = 4, 0.2, 1.5, 600

    def __init__(self, most: int, start: int = 20) -> None:
        super().__init__(most, start)
        self._estimate, self._long, self._count = float(start), 0.0, 0

    def answered(self, now: float, latency_s: float, *, wanted: bool) -> None:
        self._count += 1
        share = 1 / self._count if self._count <= 10 else 2 / (self.window + 1)
        self._long += share * (latency_s - self._long)
        if self._long / latency_s > 2:
            self._long *= 0.95
        if not wanted:
            return
        gradient = max(0.5, min(1.0, self.tolerance * self._long / latency_s))
        aimed = self._estimate * gradient + self.queue
        self._estimate = max(1.0, min(self.most, self._estimate * (1 - self.smoothing) + aimed * self.smoothing))
        self.limit = int(self._estimate)

    def refused_at(self, now: float, retry_after_s: float | None = None) -> None:
        self.refused += 1


@dataclass
class Run:
    """Requests asked as the gate lets them through, each at most six times, in virtual time."""

    pace: Pace
    server: Server
    requests: int
    seed: int
    answered: int = 0
    lost: int = 0
    now: float = 0.0
    limits: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng, serial = random.Random(self.seed), itertools.count()
        again: list[int] = []
        fresh = inside = 0
        events: list[tuple[float, int, str, float | None, float, int]] = []
        while self.answered + self.lost < self.requests:
            while inside < self.pace.limit and (again or fresh < self.requests):
                if self.now < self.pace.closed_until:
                    heapq.heappush(events, (self.pace.closed_until, next(serial), "opened", None, 0.0, 0))
                    break
                tries = again.pop(0) if again else 0
                fresh += not tries
                answer = self.server.ask(self.now, rng)
                inside += 1
                kind = "answer" if answer.good else "refusal"
                heapq.heappush(events, (answer.at, next(serial), kind, answer.retry_after_s, self.now, tries))
            self.now, _, kind, wished, asked, tries = heapq.heappop(events)
            if kind == "opened":
                continue
            if kind == "again":
                again.append(tries)
            elif kind == "free":
                inside -= 1
            elif kind == "answer":
                inside -= 1
                self.answered += 1
                self.pace.answered(self.now, self.now - asked, wanted=bool(again) or fresh < self.requests)
            else:
                self.pace.refused_at(self.now, wished)
                heapq.heappush(events, (self.now + self.pace.hold_s(), next(serial), "free", None, 0.0, 0))
                self.lost += tries >= 5
                if tries < 5:
                    pause = max(0.5 * 2**tries * rng.uniform(0.5, 1.0), wished or 0.0)
                    heapq.heappush(events, (self.now + pause, next(serial), "again", None, 0.0, tries + 1))
            self.limits.append(self.pace.limit)

    @property
    def rate(self) -> float:
        return self.answered / self.now


FIXED = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 100, 128, 192, 256)


def drifting(now: float) -> float:
    return 100 if now < 15 else 25 if now < 40 else 120


EIGHT_KINDS = [
    pytest.param(lambda: Slots(40, noisy(0.4, 0.4)), id="40 slots, 503"),
    pytest.param(lambda: Bucket(20, noisy(0.3, 0.3)), id="20 a second"),
    pytest.param(lambda: Window(100, 5, noisy(0.4, 0.3)), id="100 in 5 s, Retry-After"),
    pytest.param(lambda: Shared(noisy(0.44, 0.2), beyond(48, 1)), id="linear beyond 48"),
    pytest.param(lambda: Shared(noisy(0.436, 0.2), beyond(48, 2)), id="square beyond 48"),
    pytest.param(lambda: Shared(tokens, in_a_batch(200)), id="a batch that slows down"),
    pytest.param(lambda: Shared(noisy(0.5, 0.3), beyond(drifting, 1)), id="drifting"),
    pytest.param(lambda: Restarted(Queue(100, noisy(0.5, 0.3)), 10, 4), id="restart"),
]
OTHERS = [
    pytest.param(lambda: Slots(8, noisy(0.4, 0.4)), id="8 slots, 503"),
    pytest.param(lambda: Slots(100, noisy(1.0, 0.5)), id="100 slots, 503"),
    pytest.param(lambda: Bucket(20, noisy(2.0, 0.3)), id="20 a second, 2 s"),
    pytest.param(lambda: Bucket(100, noisy(1.0, 0.5)), id="100 a second, 1 s"),
    pytest.param(lambda: Window(1000, 60, noisy(1.0, 0.3)), id="1,000 a minute, Retry-After"),
    pytest.param(lambda: Shared(noisy(0.05, 0.2), beyond(1, 1)), id="linear from 1"),
    pytest.param(lambda: Shared(constant(0.436), beyond(48, 2)), id="square beyond 48, exactly"),
    pytest.param(lambda: Shared(noisy(2.0, 0.3), beyond(48, 2)), id="square beyond 48, slow"),
    pytest.param(lambda: Shared(noisy(0.3, 0.3), beyond(12, 2)), id="square beyond 12"),
    pytest.param(lambda: Shared(noisy(0.6, 0.3), beyond(110, 2)), id="square beyond 110"),
    pytest.param(lambda: Shared(tokens, in_a_batch(64)), id="a batch that slows down much"),
    pytest.param(lambda: Shared(noisy(0.5, 0.3), beyond(drifting, 2)), id="square, drifting"),
    pytest.param(lambda: Restarted(Shared(noisy(0.436, 0.2), beyond(48, 2)), 12, 5), id="square, restart"),
    pytest.param(lambda: Restarted(Shared(tokens, in_a_batch(200)), 20, 6), id="a batch, restart"),
    pytest.param(lambda: Restarted(Slots(60, noisy(0.5, 0.3)), 12, 3), id="60 slots, 503, restart"),
    pytest.param(lambda: Queue(100, noisy(1.0, 0.8)), id="100 slots, long tails"),
    pytest.param(lambda: Queue(8, noisy(0.5, 0.5)), id="8 slots"),
    pytest.param(lambda: Shared(tokens), id="50 ms a token"),
]
REQUESTS = 4_000


def best_rate(server: Callable[[], Server]) -> float:
    """Of the fixed numbers that lose no request."""
    return max(run.rate for limit in FIXED if not (run := Run(Fixed(BOUND, limit), server(), REQUESTS, 1)).lost)


def shares_of_the_best(server: Callable[[], Server], seeds: int) -> list[float]:
    """Rates of the law beside the best fixed number, the ramp included; no request may be lost."""
    best = best_rate(server)
    runs = [Run(Pace(BOUND), server(), REQUESTS, seed) for seed in range(seeds)]
    assert not any(run.lost for run in runs)
    assert all(1 <= limit <= BOUND for run in runs for limit in run.limits)
    return sorted(run.rate / best for run in runs)


@pytest.mark.slow
@pytest.mark.parametrize("server", [*EIGHT_KINDS, *OTHERS])
def test_most_seeds_reach_it(server: Callable[[], Server]) -> None:
    shares = shares_of_the_best(server, 15)
    assert shares[7] >= 0.85, shares
    assert shares[0] >= 0.6, shares


@pytest.mark.slow
def test_a_server_that_asks_for_longer_pauses_than_it_needs_costs_a_quarter() -> None:
    """It frees a place every 50 ms, and asks for a second: whoever believes it waits too long."""
    assert shares_of_the_best(lambda: Bucket(20, noisy(0.3, 0.3), 1.0), 15)[7] >= 0.7


TRAJECTORIES: dict[str, tuple[float, list[int]]] = {
    "40 slots, 503": (20.562, [32, 30, 47, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44]),
    "20 a second": (101.654, [32, 20, 9, 7, 7, 5, 6, 7, 5, 7, 7, 7, 7, 8, 7, 7]),
    "100 in 5 s, Retry-After": (102.191, [32, 37, 10, 16, 18, 12, 14, 18, 17, 12, 7, 8]),
    "linear beyond 48": (18.825, [32, 119, 120, 120, 160, 160, 120, 120, 103, 103]),
    "square beyond 48": (21.694, [32, 31, 35, 46, 46, 46, 52, 46, 40, 52]),
    "a batch that slows down": (36.306, [32, 121, 193, 250, 256, 256, 256, 256, 256, 256]),
    "drifting": (10.955, [32, 135, 243, 256, 98, 98, 112, 128, 128, 112]),
    "restart": (17.713, [32, 134, 234, 238, 238, 238, 238, 256, 256, 256, 254, 254, 254, 254, 254, 254, 254, 127, 127]),
    "60 slots, 503, restart": (21.575, [32, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 16, 39, 64, 64, 64]),
}  # fmt: skip
"""Seconds that 2,000 requests take, and the limit after every 200 events: whoever changes the law runs the slow tier,
and writes these anew."""


@pytest.mark.parametrize("server", [each for each in (*EIGHT_KINDS, *OTHERS) if each.id in TRAJECTORIES])
def test_the_law_is_what_it_was(server: Callable[[], Server], request: pytest.FixtureRequest) -> None:
    run = Run(Pace(BOUND), server(), 2_000, 7)
    assert (round(run.now, 3), run.limits[::200]) == TRAJECTORIES[request.node.callspec.id]


def test_a_bound_holds_and_a_small_one_too() -> None:
    for most in (1, 5, 40):
        run = Run(Pace(most), Shared(noisy(0.2, 0.5)), 2_000, 1)
        assert max(run.limits) == run.pace.limit == most


def test_the_gate_keeps_order_and_number_and_a_cancelled_request_its_place_for_others() -> None:
    async def main() -> list[int]:
        gate, order, most = Gate(Pace(3, 3)), [], 0

        async def ask(number: int) -> None:
            nonlocal most
            async with gate:
                most = max(most, gate.inside)
                order.append(number)
                await asyncio.sleep(0.01)

        tasks = [asyncio.create_task(ask(number)) for number in range(12)]
        await asyncio.sleep(0.005)
        tasks[4].cancel()  # waits
        tasks[0].cancel()  # is inside
        await asyncio.gather(*tasks, return_exceptions=True)
        assert most == gate.highest == 3
        assert gate.inside == 0
        return order

    assert asyncio.run(main()) == [number for number in range(12) if number != 4]


def test_who_is_let_through_and_cancelled_at_once_gives_the_place_back() -> None:
    async def main() -> None:
        gate = Gate(Pace(1, 1))

        async def ask() -> None:
            async with gate:
                pass

        async with gate:
            waits = asyncio.ensure_future(ask())
            await asyncio.sleep(0)
        waits.cancel()  # it was let through, and has not gone on yet
        await asyncio.wait([waits])
        assert (waits.cancelled(), gate.inside) == (True, 0)

    asyncio.run(main())


def test_nothing_that_waits_is_sent_once_there_is_a_reason_to_stop() -> None:
    async def main() -> None:
        gate, sent = Gate(Pace(2, 2)), []
        gate.stop_reason = lambda: "budget spent" if len(sent) >= 4 else None

        async def ask(number: int) -> None:
            async with gate:
                sent.append(number)
                await asyncio.sleep(0.001)

        ended = await asyncio.gather(*map(ask, range(9)), return_exceptions=True)
        assert sent == [0, 1, 2, 3]
        assert [str(error) for error in ended[4:] if isinstance(error, HarnessError)] == ["budget spent"] * 5
        assert gate.inside == 0

    asyncio.run(main())


def refusal(retry_after_s: float) -> AdapterError:
    return AdapterError("rate_limit", "429", status=429, retryable=True, retry_after_s=retry_after_s)


def test_several_wishes_to_wait_close_the_gate_for_everyone_until_then() -> None:
    async def main() -> None:
        gate, loop = Gate(Pace(3, 3)), asyncio.get_running_loop()
        gate.pace.usual_s = 0.001
        began = loop.time()
        for _ in range(3):
            with pytest.raises(AdapterError):
                async with gate:
                    raise refusal(0.1)
        entered = []

        async def ask() -> None:
            async with gate:
                entered.append(loop.time() - began)

        await asyncio.gather(*(ask() for _ in range(5)))
        assert min(entered) >= 0.1
        assert gate.inside == 0

    asyncio.run(main())


def test_an_answer_that_was_sent_after_the_first_refusal_ends_their_row() -> None:
    for sent_at, closed in ((1.3, False), (0.9, True)):
        pace = Pace(8, 8)
        for now in (1.0, 2.0):
            pace.refused_at(now, 5.0)
        pace.answered(2.5, 2.5 - sent_at, wanted=True)
        pace.refused_at(3.0, 5.0)
        assert (pace.closed_until == 8.0) is closed


@pytest.mark.parametrize(
    ("error", "kept"),
    [(AdapterError("rate_limit", "x"), True), (AdapterError("timeout", "x"), True),
    (AdapterError("server", "x", status=503), True),
     (AdapterError("server", "x", status=504), False), (ValueError("x"), False)],
)  # fmt: skip
def test_which_failures_keep_their_place(error: Exception, kept: bool) -> None:
    async def main() -> None:
        gate = Gate(Pace(1, 1))
        assert (gate.inside, gate.highest) == (0, 0)
        with pytest.raises(type(error)):
            async with gate:
                raise error
        assert (gate.inside, gate.pace.refused) == (int(kept), int(kept))

    asyncio.run(main())


def table() -> None:
    """The table of docs/running.md: `python -m tests.endpoints.test_pacing`."""
    print(
        "| server | `auto`, median | worst | gradient2, median | worst | requests it lost |\n|---|---|---|---|---|---|"
    )
    for case in [*EIGHT_KINDS, *OTHERS]:
        server, best = case.values[0], best_rate(case.values[0])
        ours = sorted(Run(Pace(BOUND), server(), REQUESTS, seed).rate / best for seed in range(15))
        theirs = [Run(Gradient2(BOUND), server(), REQUESTS, seed) for seed in range(15)]
        rates, lost = sorted(run.rate / best for run in theirs), sorted(run.lost for run in theirs)[7]
        told = " | ".join(f"{100 * share:.0f} %" for share in (ours[7], ours[0], rates[7], rates[0]))
        print(f"| {case.id} | {told} | {lost} |", flush=True)


if __name__ == "__main__":
    table()
