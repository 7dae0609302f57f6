"""How many requests are in flight when nobody says so: the control law in virtual time, the gate in a real loop."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import pytest

from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.models.pacing import Gate, Pace

BOUND = 256
Latency = Callable[[random.Random], float]


def noisy(mean_s: float, spread: float) -> Latency:
    """Long-tailed latencies of this mean."""
    return lambda rng: mean_s * rng.lognormvariate(-spread * spread / 2, spread)


def constant(seconds: float) -> Latency:
    return lambda rng: seconds


def tokens(rng: random.Random) -> float:
    """5 to 60 tokens of 50 ms."""
    return 0.05 * rng.randint(5, 60)


class Server(Protocol):
    def ask(self, now: float, rng: random.Random) -> tuple[float, bool]:
        """When the answer is there, and whether it is one."""
        ...


class Slots:
    """Works on so many requests at a time; the others wait in line."""

    def __init__(self, slots: int, latency: Latency) -> None:
        self.free, self.latency = [0.0] * slots, latency

    def ask(self, now: float, rng: random.Random) -> tuple[float, bool]:
        end = max(now, heapq.heappop(self.free)) + self.latency(rng)
        heapq.heappush(self.free, end)
        return end, True


class Batch:
    """Takes all there are, each slower by what the others take: the rate grows with ever less."""

    def __init__(self, latency: Latency, half: int) -> None:
        self.latency, self.half, self.ends = latency, half, [0.0]

    def ask(self, now: float, rng: random.Random) -> tuple[float, bool]:
        self.ends = [end for end in self.ends if end > now]
        end = now + self.latency(rng) * (1 + len(self.ends) / self.half)
        self.ends.append(end)
        return end, True


class Unlimited:
    def __init__(self, latency: Latency) -> None:
        self.latency = latency

    def ask(self, now: float, rng: random.Random) -> tuple[float, bool]:
        return now + self.latency(rng), True


class Rate:
    """So many requests a second; what is beyond is refused at once."""

    def __init__(self, rate: float, latency: Latency) -> None:
        self.rate, self.latency, self.left, self.at = rate, latency, rate / 4, 0.0

    def ask(self, now: float, rng: random.Random) -> tuple[float, bool]:
        self.left, self.at = min(self.rate / 4, self.left + (now - self.at) * self.rate), now
        if self.left < 1:
            return now + 0.01, False
        self.left -= 1
        return now + self.latency(rng), True


class Fixed(Pace):
    """A number somebody gave."""

    def answered(self, now: float, latency_s: float, *, wanted: bool) -> None:
        pass

    def refused_at(self, now: float) -> None:
        pass


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
        events: list[tuple[float, int, str, float, int]] = []
        while self.answered + self.lost < self.requests:
            while inside < self.pace.limit and (again or fresh < self.requests):
                tries = again.pop(0) if again else 0
                fresh += not tries
                end, good = self.server.ask(self.now, rng)
                inside += 1
                heapq.heappush(events, (end, next(serial), "answer" if good else "refusal", self.now, tries))
            self.now, _, kind, asked, tries = heapq.heappop(events)
            if kind == "again":
                again.append(tries)
            elif kind == "free":
                inside -= 1
            elif kind == "answer":
                inside -= 1
                self.answered += 1
                self.pace.answered(self.now, self.now - asked, wanted=bool(again) or fresh < self.requests)
            else:
                self.pace.refused_at(self.now)
                heapq.heappush(events, (self.now + self.pace.kept_s(), next(serial), "free", 0.0, 0))
                self.lost += tries >= 5
                if tries < 5:
                    pause = 0.5 * 2**tries * rng.uniform(0.5, 1.0)
                    heapq.heappush(events, (self.now + pause, next(serial), "again", 0.0, tries + 1))
            self.limits.append(self.pace.limit)

    @property
    def rate(self) -> float:
        return self.answered / self.now


FIXED = (1, 2, 3, 4, 6, 8, 16, 24, 32, 40, 64, 100, 128, 192, 256)


@pytest.mark.parametrize(
    ("server", "requests"),
    [
        pytest.param(lambda: Slots(100, constant(0.3)), 5_000, id="100 slots"),
        pytest.param(lambda: Slots(100, noisy(0.3, 0.5)), 5_000, id="100 slots, noisy"),
        pytest.param(lambda: Slots(100, noisy(1.0, 0.8)), 5_000, id="100 slots, long tails"),
        pytest.param(lambda: Slots(8, noisy(0.5, 0.5)), 1_500, id="8 slots"),
        pytest.param(lambda: Rate(20, noisy(0.1, 0.3)), 1_500, id="20 a second, 0.1 s"),
        pytest.param(lambda: Rate(20, noisy(0.3, 0.3)), 1_500, id="20 a second, 0.3 s"),
        pytest.param(lambda: Rate(20, noisy(2.0, 0.3)), 1_500, id="20 a second, 2 s"),
        pytest.param(lambda: Rate(20, constant(2.0)), 1_500, id="20 a second, 2 s exactly"),
        pytest.param(lambda: Rate(100, noisy(1.0, 0.5)), 4_000, id="100 a second, 1 s"),
        pytest.param(lambda: Unlimited(tokens), 8_000, id="50 ms a token"),
        pytest.param(lambda: Batch(tokens, 200), 8_000, id="a batch that slows down"),
    ],
)
def test_it_reaches_nine_tenths_of_the_best_fixed_number(server: Callable[[], Server], requests: int) -> None:
    fixed = [Run(Fixed(BOUND, limit), server(), requests, 1) for limit in FIXED]
    best = max(run.rate for run in fixed if not run.lost)
    runs = [Run(Pace(BOUND), server(), requests, seed) for seed in range(5)]
    rates = sorted(run.rate / best for run in runs)
    assert rates[len(rates) // 2] >= 0.9, rates
    assert rates[0] >= 0.7, rates
    assert not any(run.lost for run in runs)
    assert all(1 <= limit <= BOUND for run in runs for limit in run.limits)


def test_a_bound_holds_and_a_small_one_too() -> None:
    for most in (1, 5, 40):
        run = Run(Pace(most), Unlimited(noisy(0.2, 0.5)), 2_000, 1)
        assert max(run.limits) == run.pace.limit == most


def test_latency_that_rises_without_a_gain_is_backed_off_from() -> None:
    run = Run(Pace(BOUND), Slots(8, constant(0.5)), 6_000, 1)
    assert run.limits[-1] < 45 < max(run.limits)


def test_requests_that_nobody_waits_for_say_nothing() -> None:
    pace = Pace(BOUND)
    for number in range(500):  # one after the other: memory chains, the end of a run
        pace.answered(float(number), 0.5, wanted=False)
    assert pace.limit == 32


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


def test_a_refusal_keeps_its_place_for_as_long_as_an_answer_takes() -> None:
    async def main() -> None:
        gate = Gate(Pace(1, 1))
        gate.pace.usual_s = 0.05
        with pytest.raises(AdapterError):
            async with gate:
                raise AdapterError("rate_limit", "429", status=429, retryable=True)
        assert gate.inside == 1
        before = asyncio.get_running_loop().time()
        async with gate:
            assert asyncio.get_running_loop().time() - before >= 0.04
        with pytest.raises(AdapterError):
            async with gate:
                raise AdapterError("bad_request", "400", status=400)
        assert gate.inside == 0

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
