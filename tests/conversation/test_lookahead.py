"""The look-ahead: order, window, dependencies, failures, cancellation."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_bfcl.conversation.lookahead import LookAhead, RunStopped
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.session.trial import expected_requests
from pytest_bfcl.transcript import Transcript
from tests.patience import patience


@dataclass(frozen=True)
class Job:
    key: Any
    payload: Any = None
    needs: tuple[Any, ...] = ()
    cost: float = 1.0

    def demands(self) -> tuple[tuple[Any, ...], float]:
        return self.needs, self.cost


class Held:
    """Conversations that take a given time; notes what was started when, and how many went on at once."""

    def __init__(self, seconds=0.0, **failing):
        self.seconds, self.failing = seconds, failing
        self.started, self.ended = [], []
        self.going = self.most = 0

    async def __call__(self, job):
        self.started.append(job.key)
        self.going += 1
        self.most = max(self.most, self.going)
        try:
            await asyncio.sleep(job.payload if job.payload is not None else self.seconds)
            if str(job.key) in self.failing:
                raise self.failing[str(job.key)]
            self.ended.append(job.key)
            return Transcript(str(job.key), "simple_python")
        finally:
            self.going -= 1


def jobs(count, **fields):
    return [Job(number, **fields) for number in range(count)]


def in_flight(ahead):
    return len(ahead._running)


def held_ready(ahead):
    """Transcripts that wait for their items."""
    return sum(slot.future is not None and slot.future.done() for slot in ahead._slots.values())


async def take_all(ahead, keys):
    return [(await ahead.transcript(Job(key))).entry_id for key in keys]


async def settled():
    for _ in range(50):
        await asyncio.sleep(0)


def held_in(work, plan, seconds=0.0, failing=None, **options):
    """What ``work`` with a look-ahead gives, and the conversations it held."""
    held = Held(seconds, **(failing or {}))

    async def main():
        ahead = LookAhead(held, **({"concurrency": 2} | options))
        ahead.plan(plan)
        return await work(ahead)

    return asyncio.run(main()), held


@pytest.mark.parametrize(
    ("window", "taken", "waiting", "started"),
    [(10, [0], 10, range(11)), (10, [], 10, range(10)), (1, [], 2, range(2)), (None, [], 32, range(32)),
     (4, [20], 4, range(25)), (4, [1, 20, 3], 4, range(25))],
)  # fmt: skip
def test_the_window_bounds_what_waits_for_its_item(window, taken, waiting, started):
    """Items that never ask do not fill it."""

    async def work(ahead):
        await settled()
        first = held_ready(ahead)
        for key in taken:
            await ahead.transcript(Job(key))
            await settled()
        return first

    found, held = held_in(work, jobs(100), window=window)
    assert (found, sorted(held.started)) == (waiting, list(started))


def chain(*keys, **fields):
    return [Job(key, None, tuple(keys[:position]), **fields) for position, key in enumerate(keys)]


@pytest.mark.parametrize(
    ("plan", "asked", "discarded", "concurrency", "started"),
    [
        # dependencies first, in order, whoever asks
        ([Job("q", None, ("w0", "w1")), *chain("w0", "w1"), Job("x")], ["q", "x"], [], 8, ["w0", "x", "w1", "q"]),
        ([*jobs(4), *chain("w", "q")], ["q"], [], 1, [0, "w", "q"]),
        # with one place items come strictly in order
        ([*jobs(3), Job("w", cost=30.0), *chain("w", "q")[1:]], [0, 1, 2, "q"], [], 1, [0, 1, 2, "w", "q"]),
        # what is discarded never starts, unless others depend on it
        (jobs(6), [0, 1, 2, 4, 5], [3], 1, [0, 1, 2, 4, 5]),
        ([Job("w"), Job("q", None, ("w", "elsewhere", "q")), Job("x")], ["q"], ["w", "x", "nobody"], 1, ["w", "q"]),
        # long chains start early on half of the places; of the last jobs the longest come first on all of them
        ([*jobs(99), *chain("a", "b", "c", cost=5.0), *chain("d", "e", cost=9.0)], [0], [], 4, ["d", "a", 0, 1]),
        ([Job(n, cost=2.0 + n) for n in range(8)], [7], [], 4, [7, 6, 5, 4]),
    ],
)
def test_what_is_started(plan, asked, discarded, concurrency, started):
    async def work(ahead):
        for key in discarded:
            ahead.discard(key)
        await take_all(ahead, asked)
        await asyncio.sleep(0)

    _, held = held_in(work, plan, 0.001, concurrency=concurrency)
    assert held.started[: len(started)] == started
    assert not discarded or len(held.started) == len(started)


WENT_ON = "continue the run: what was answered is not asked again"


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (AdapterError("server", "gone", advice="wait", status=503), "wait"),
        (HarnessError("storage", "gone"), WENT_ON), (RuntimeError("ours"), None),
    ],
)  # fmt: skip
def test_a_failed_write_stage_is_no_failure_of_the_model_at_the_question(error, advice):
    """A defect of ours stops no question."""

    async def work(ahead):
        await ahead.transcript(Job("q"))

    plan = chain("w", "q")
    if advice is None:
        assert held_in(work, plan, failing={"w": error})[1].started == ["w", "q"]
        return
    with pytest.raises(type(error)) as caught:
        held_in(work, plan, failing={"w": error})
    assert caught.value.message == "q: w, which must come first, could not be run: gone"
    assert (caught.value.kind, caught.value.advice) == (error.kind, advice)
    assert getattr(caught.value, "status", None) == getattr(error, "status", None)


def test_on_demand():
    async def work(ahead):
        for _ in range(2):
            assert (await ahead.transcript(Job("later", None, ("w",)))).entry_id == "later"

    _, held = held_in(work, [*jobs(2), Job("w")])
    assert Counter(held.started) == {0: 1, 1: 1, "w": 1, "later": 2}
    assert held.started.index("w") < held.started.index("later")


def test_a_loop_that_stands_still_starts_what_is_asked_for_when_it_goes_on():
    held, loop = Held(), asyncio.new_event_loop()
    ahead = LookAhead(held, concurrency=1, window=1)
    ahead.plan(jobs(3))
    loop.run_until_complete(ahead.transcript(Job(0)))
    promise = ahead.ask(Job(2))  # nothing runs now
    assert loop.run_until_complete(promise).entry_id == ahead.take(2).entry_id == "2"
    loop.run_until_complete(ahead.aclose())
    loop.close()


def test_stopping_refuses_what_has_not_started():
    spent = []

    async def work(ahead):
        await ahead.transcript(Job(0))
        spent.append("x")
        return await asyncio.gather(*map(ahead.transcript, jobs(7)[1:]), return_exceptions=True)

    found, held = held_in(work, jobs(10), stop_reason=lambda: "budget reached" if spent else None)
    assert [getattr(each, "entry_id", str(each)) for each in found] == ["1", "2", "3", *["budget reached"] * 3]
    assert all(isinstance(each, RunStopped) for each in found[3:])
    assert held.started == held.ended == [0, 1, 2, 3]


ORDERS: dict[tuple[int, int, int | None], str] = {
    (1, 1, None): (
        "0 1.0 1 1.0 2 3 1.1 a0 4 1.2 5 1.2 6 1.2 7 8 1.3 b1 9 1.4 10 1.4 11 a2 1.5 12 1.5 13 14 1.6 b2 15 1.7 16 "
        "1.7 17 1.7 18 1.7 19 20 1.8 21 1.8 a1 1.8 22 1.8 b0 23 0.9"
    ),
    (2, 4, None): (
        "a0 3 0 1 4.1 4.0 2 4 5 7 6 8 4.4 4.3 9 4.3 10 4.4 b0 19 4.5 a1 11 21 23 12 4.7 4.6 a2 4.5 13 b1 22 4.7 14 "
        "b2 15 16 17 4.12 4.11 4.10 18 20 3.11 1.11 1.9 0.9 0.8 0.7 0.5"
    ),
    (3, 4, 4): (
        "0 2 1 3 4.0 4 a0 b1 5 3.3 4.1 6 4.3 7 8 9 3.4 4.3 10 11 12 3.4 a2 13 3.5 4.4 14 b2 15 1.8 2.7 4.6 4.4 16 "
        "17 18 19 4.4 20 21 2.6 3.5 22 a1 4.5 b0 23 2.7 2.6 2.5 0.4"
    ),
    (4, 8, 12): (
        "a0 b0 7 1 4 0 2 3 5 b1 6 8 a1 8.6 8.5 8.3 9 10 15 b2 11 12 13 a2 14 4.13 4.12 4.11 7.9 16 17 18 19 5.13 "
        "6.12 8.10 8.9 8.8 8.6 8.5 8.4 20 21 22 23 5.5 5.4 3.8 3.7 3.6 3.4"
    ),
    (5, 3, 3): (
        "a0 0 1 b0 3.2 a1 b2 3.4 2 3 4 5 1.5 2.4 2.3 3.2 6 a2 7 8 3.5 3.4 9 10 2.5 11 12 3.5 13 14 1.6 b1 15 1.8 "
        "2.6 3.5 3.4 16 17 18 19 2.5 20 3.4 21 22 1.7 2.6 2.5 23 0.4"
    ),
}
"""Seed, places and window → jobs as they are started, and ``in flight.waiting`` whenever a transcript was taken."""


@pytest.mark.parametrize(("seed", "concurrency", "window"), ORDERS)
def test_the_order_is_what_it_was(seed: int, concurrency: int, window: int | None) -> None:
    """Costs, chains, discarded jobs, items that never ask: whoever changes the order writes these anew."""
    rng = random.Random(seed)
    planned = [Job(n, rng.randint(1, 9), cost=float(rng.choice((1, 1, 1, 4, 9)))) for n in range(24)]
    for chain in "ab":
        before: tuple[str, ...] = ()
        for link in range(3):
            planned.insert(rng.randrange(len(planned)), Job(f"{chain}{link}", rng.randint(1, 5), before, 3.0))
            before = (*before, f"{chain}{link}")
    order: list[str] = []

    async def hold(job: Job) -> Transcript:
        order.append(str(job.key))
        for _ in range(job.payload):
            await asyncio.sleep(0)
        return Transcript(str(job.key), "simple_python")

    async def main() -> None:
        ahead = LookAhead(hold, concurrency=concurrency, window=window)
        ahead.plan(planned[:20])
        ahead.plan(planned)
        for position, job in enumerate(planned):
            if position % 5 == 3:
                ahead.discard(job.key)
            elif position % 7 != 2:
                await ahead.transcript(job)
                order.append(f"{in_flight(ahead)}.{held_ready(ahead)}")
        await ahead.aclose()

    asyncio.run(main())
    assert " ".join(order) == ORDERS[seed, concurrency, window]


@pytest.mark.parametrize(("drain_s", "ended"), [(0.0, []), (0.2, [0])])
def test_closing_drains_what_is_in_flight_so_long_and_waits_for_the_rest(drain_s, ended):
    cleaned, done = [], []

    async def hold(job):
        try:
            await asyncio.sleep(0.02 if job.key == 0 else 60)
            done.append(job.key)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(job.key)
        return Transcript(str(job.key), "simple_python")

    async def main():
        ahead = LookAhead(hold, concurrency=2)
        ahead.plan(jobs(5))
        asked = asyncio.ensure_future(ahead.transcript(Job(4)))
        await asyncio.sleep(0)
        await ahead.aclose(drain_s)
        assert sorted(cleaned)[:2] == [0, 1]
        with pytest.raises(asyncio.CancelledError):
            await asked
        ahead.plan([Job("late")])
        await settled()
        return in_flight(ahead), held_ready(ahead)

    started = time.monotonic()
    assert asyncio.run(main()) == (0, 0)
    assert (done, time.monotonic() - started < patience(1)) == (ended, True)


def test_hurry_cancels_what_is_in_flight():
    async def main():
        ahead = LookAhead(Held(60), concurrency=2)
        ahead.hurry()  # before there is a loop
        ahead.plan(jobs(2))
        asked = asyncio.ensure_future(ahead.transcript(Job(0)))
        await settled()
        ahead.hurry()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert in_flight(ahead) == 0
        ahead.plan([Job("q", 0, (1,))])  # what was cancelled is waited for by nobody
        return (await ahead.transcript(Job("q"))).entry_id

    assert asyncio.run(main()) == "q"


@pytest.mark.parametrize(
    ("category", "turns", "requests"),
    [("multi_turn_base", 2, 6.0), ("multi_turn_base", None, 12.0), ("multi_turn_base", 0, 12.0),
     ("multi_turn_composite", None, 12.0), ("web_search_base", 3, 10.0), ("memory_kv", 1, 4.0),
     ("memory_kv_prereq", None, 25.0), ("simple_python", 9, 1.0), ("no_such", 9, 1.0)],
)  # fmt: skip
def test_requests_that_entries_take(category, turns, requests):
    assert expected_requests(category, turns) == requests
