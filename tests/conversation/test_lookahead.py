"""The look-ahead: order, window, dependencies, failures, cancellation."""

import asyncio
import gc
import random
import time
from collections import Counter

import pytest

from pytest_bfcl.conversation import Job, LookAhead, RunStopped
from pytest_bfcl.conversation.planning import expected_requests
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.transcript import Transcript
from tests.patience import patience


class Held:
    """Conversations that take a given time; notes what was started when, and how many went on at once."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.started = []
        self.going = 0
        self.most = 0
        self.failing = {}

    async def __call__(self, job):
        self.started.append(job.key)
        self.going += 1
        self.most = max(self.most, self.going)
        try:
            await asyncio.sleep(job.payload if job.payload is not None else self.seconds)
            if job.key in self.failing:
                raise self.failing[job.key]
            return Transcript(str(job.key), "simple_python")
        finally:
            self.going -= 1


def jobs(count, **fields):
    return [Job(number, **fields) for number in range(count)]


async def take_all(ahead, count):
    return [(await ahead.transcript(number)).entry_id for number in range(count)]


def test_transcripts_come_in_item_order_with_bounded_concurrency():
    held = Held(0.005)

    async def main():
        ahead = LookAhead(held, concurrency=8)
        ahead.plan(jobs(100))
        taken = await take_all(ahead, 100)
        assert ahead.waiting == 0
        await ahead.aclose()
        return taken

    started = time.perf_counter()
    assert asyncio.run(main()) == [str(n) for n in range(100)]
    assert held.most == 8
    assert sorted(held.started) == list(range(100))
    assert time.perf_counter() - started < patience(0.5)  # 100 times 5 ms in eight at once, not one after the other


def test_planned_before_a_loop_runs():
    held = Held()
    ahead = LookAhead(held, concurrency=2)
    ahead.plan(jobs(5))
    assert held.started == []
    assert asyncio.run(take_all(ahead, 5)) == list("01234")


def test_window_bounds_what_waits_for_its_item():
    held = Held()

    async def main():
        ahead = LookAhead(held, concurrency=2, window=10)
        ahead.plan(jobs(100))
        for _ in range(50):
            await asyncio.sleep(0)
        waiting = ahead.waiting
        await ahead.transcript(0)
        for _ in range(50):
            await asyncio.sleep(0)
        return waiting, len(held.started)

    assert asyncio.run(main()) == (10, 11)


def test_items_that_never_ask_do_not_fill_the_window():
    held = Held()

    async def main():
        ahead = LookAhead(held, concurrency=2, window=4)
        ahead.plan(jobs(40))
        await ahead.transcript(20)
        for _ in range(50):
            await asyncio.sleep(0)
        return set(held.started)

    assert asyncio.run(main()) >= {20, 21, 22, 23, 24}


def test_one_slow_conversation_does_not_hold_up_the_others():
    held = Held()

    async def main():
        ahead = LookAhead(held, concurrency=4)
        ahead.plan([Job(0, payload=0.1), *(Job(n, payload=0) for n in range(1, 64))])
        await ahead.transcript(0)
        return ahead.waiting

    assert asyncio.run(main()) == 63


def test_dependencies_run_first_and_in_order():
    held = Held(0.001)

    async def main():
        ahead = LookAhead(held, concurrency=8)
        chain = [Job(f"write-{n}", depends_on=tuple(f"write-{m}" for m in range(n))) for n in range(4)]
        question = Job("question", depends_on=tuple(job.key for job in chain))
        ahead.plan([question, *chain, Job("other")])
        await ahead.transcript("question")
        await ahead.transcript("other")
        for job in chain:
            ahead.discard(job.key)
        return ahead.waiting

    assert asyncio.run(main()) == 0
    order = [key for key in held.started if key != "other"]
    assert order == ["write-0", "write-1", "write-2", "write-3", "question"]


def test_long_chains_start_early_on_at_most_half_of_the_places():
    held = Held(0.001)

    async def main():
        ahead = LookAhead(held, concurrency=4, window=4)
        chains = [Job(f"c{c}-{n}", None, (f"c{c}-{n - 1}",) if n else (), 5.0) for c in range(6) for n in range(3)]
        ahead.plan([*jobs(200), *chains])
        await ahead.transcript(0)
        return list(held.started[:4])

    first = asyncio.run(main())
    assert sum(str(key).startswith("c") for key in first) == 2
    assert 0 in first


def test_with_one_place_items_come_strictly_in_order():
    held = Held()

    async def main():
        ahead = LookAhead(held, concurrency=1)
        ahead.plan([*jobs(5), Job("write", cost=30.0), Job("q", depends_on=("write",))])
        await take_all(ahead, 5)
        await ahead.transcript("q")

    asyncio.run(main())
    assert held.started == [0, 1, 2, 3, 4, "write", "q"]


def test_a_failure_concerns_its_own_item_only():
    held = Held()
    held.failing[3] = AdapterError("timeout", "no answer")

    async def main():
        ahead = LookAhead(held, concurrency=4)
        ahead.plan(jobs(8))
        outcome = []
        for number in range(8):
            try:
                outcome.append((await ahead.transcript(number)).entry_id)
            except AdapterError as error:
                outcome.append(error.kind)
        return outcome

    assert asyncio.run(main()) == ["0", "1", "2", "timeout", "4", "5", "6", "7"]


def test_a_failed_write_stage_is_no_failure_of_the_model_at_the_question():
    held = Held()
    held.failing["write"] = AdapterError("server", "status 503")

    async def main():
        ahead = LookAhead(held, concurrency=4)
        ahead.plan([Job("write"), Job("question", depends_on=("write",))])
        await ahead.transcript("question")

    with pytest.raises(AdapterError, match="write, which must come first"):
        asyncio.run(main())


def test_failures_nobody_asks_for_are_silent():
    held = Held()
    held.failing[1] = RuntimeError("unexpected")
    complaints = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        ahead = LookAhead(held, concurrency=4)
        ahead.plan(jobs(3))
        await ahead.transcript(0)
        await asyncio.sleep(0.01)
        await ahead.aclose()

    asyncio.run(main())
    gc.collect()
    assert complaints == []


def test_on_demand_and_unknown_keys():
    held = Held()

    async def main():
        ahead = LookAhead(held, concurrency=2)
        assert (await ahead.transcript("later", lambda: Job("later"))).entry_id == "later"
        assert (await ahead.transcript("later", lambda: Job("later"))).entry_id == "later"
        with pytest.raises(HarnessError, match="no conversation is planned"):
            await ahead.transcript("nobody")

    asyncio.run(main())
    assert Counter(held.started) == {"later": 2}


def test_a_transcript_is_forgotten_once_taken():
    async def main():
        ahead = LookAhead(Held(), concurrency=2)
        ahead.plan(jobs(3))
        await ahead.transcript(0)
        await asyncio.sleep(0.01)
        gc.collect()
        return sum(thing.entry_id == "0" for thing in gc.get_objects() if type(thing) is Transcript)

    assert asyncio.run(main()) == 0


def test_stopping_refuses_what_has_not_started():
    held = Held(0.01)
    spent = []

    async def main():
        ahead = LookAhead(held, concurrency=2, stop_reason=lambda: "budget reached" if len(spent) >= 2 else None)
        ahead.plan(jobs(10))
        first = [await ahead.transcript(0)]
        spent.extend("xx")
        first.append(await ahead.transcript(1))
        with pytest.raises(RunStopped, match="budget reached"):
            for number in range(2, 10):
                await ahead.transcript(number)
        return first

    assert len(asyncio.run(main())) == 2
    assert len(held.started) < 10


def test_closing_cancels_everything_within_a_second():
    held = Held(60)

    async def main():
        ahead = LookAhead(held, concurrency=32)
        ahead.plan(jobs(100))
        asked = asyncio.ensure_future(ahead.transcript(0))
        await asyncio.sleep(0.01)
        started = time.perf_counter()
        await ahead.aclose()
        took = time.perf_counter() - started
        with pytest.raises(asyncio.CancelledError):
            await asked
        return took, ahead.in_flight

    took, in_flight = asyncio.run(main())
    assert took < patience(1)
    assert in_flight == 0
    assert held.going == 0


def test_discarded_jobs_never_start():
    held = Held()

    async def main():
        ahead = LookAhead(held, concurrency=1, window=1)
        ahead.plan(jobs(6))
        ahead.discard(3)
        for number in (0, 1, 2, 4, 5):
            await ahead.transcript(number)

    asyncio.run(main())
    assert held.started == [0, 1, 2, 4, 5]


def test_the_longest_conversations_of_the_last_ones_come_first():
    """Of jobs that all fit beside each other twice, no long one may be left for the end."""
    held = Held(0.001)

    async def main():
        ahead = LookAhead(held, concurrency=8)
        ahead.plan([Job(number, cost=float(2 + number)) for number in range(16)])
        await take_all(ahead, 16)
        await ahead.aclose()

    asyncio.run(main())
    assert set(held.started[:8]) == set(range(8, 16))


def test_turns_tell_how_long_a_conversation_is():
    short, long = (expected_requests("multi_turn_base", turns) for turns in (1, 8))
    assert long == 8 * short > 1
    assert expected_requests("simple_python", 3) == 1
    assert expected_requests("multi_turn_base") > 1


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
                await ahead.transcript(job.key)
                order.append(f"{ahead.in_flight}.{ahead.waiting}")
        await ahead.aclose()

    asyncio.run(main())
    assert " ".join(order) == ORDERS[seed, concurrency, window]


def test_callers_that_run_the_loop_ask_and_take():
    held = Held(0.01)
    held.failing["bad"] = AdapterError("server", "gone", advice="wait", status=503)

    async def main():
        ahead = LookAhead(held, concurrency=1)
        ahead.plan([Job("a"), Job("bad"), Job("after", depends_on=("bad",))])
        promise = ahead.ask("a")
        assert ahead.take("a") is None  # not over yet
        assert (ahead.in_flight, ahead.waiting) == (1, 0)
        await asyncio.wait([promise])
        assert ahead.waiting == 1
        assert ahead.take("a").entry_id == "a"
        assert ahead.take("a") is ahead.take("nobody") is None
        for key, told in (("bad", "gone"), ("after", "after: bad, which must come first, could not be run: gone")):
            await asyncio.wait([ahead.ask(key)])
            with pytest.raises(AdapterError) as caught:
                ahead.take(key)
            assert (caught.value.message, caught.value.status, caught.value.advice) == (told, 503, "wait")
        with pytest.raises(HarnessError, match="no conversation is planned for 'nobody'"):
            ahead.ask("nobody")
        await ahead.aclose()

    asyncio.run(main())
    assert held.started == ["a", "bad"]


def test_a_write_stage_that_broke_by_a_defect_stops_no_question():
    held = Held()
    held.failing["write"] = RuntimeError("ours")

    async def main():
        ahead = LookAhead(held, concurrency=1)
        ahead.plan([Job("write"), Job("question", depends_on=("write",))])
        return (await ahead.transcript("question")).entry_id

    assert asyncio.run(main()) == "question"
    harness = Held()
    harness.failing["write"] = HarnessError("storage", "full")

    async def other():
        ahead = LookAhead(harness, concurrency=1)
        ahead.plan([Job("write"), Job("question", depends_on=("write",))])
        await ahead.transcript("question")

    with pytest.raises(HarnessError, match="write, which must come first") as caught:
        asyncio.run(other())
    assert (caught.value.kind, caught.value.advice) == (
        "storage",
        "continue the run: what was answered is not asked again",
    )


@pytest.mark.parametrize(("drain_s", "ended"), [(0.0, []), (0.2, ["0"])])
def test_what_is_in_flight_is_drained_so_long(drain_s, ended):
    done = []

    async def hold(job):
        await asyncio.sleep(0.05 if job.key == 0 else 60)
        done.append(str(job.key))
        return Transcript(str(job.key), "simple_python")

    async def main():
        ahead = LookAhead(hold, concurrency=2)
        ahead.plan(jobs(5))
        await asyncio.sleep(0)
        await ahead.aclose(drain_s)
        ahead.plan([Job("late")])
        await asyncio.sleep(0.01)
        return ahead.in_flight, ahead.waiting

    assert asyncio.run(main()) == (0, 0)
    assert done == ended


def test_hurry_cancels_what_is_in_flight():
    async def main():
        ahead = LookAhead(Held(60), concurrency=2)
        ahead.hurry()  # before there is a loop
        ahead.plan(jobs(2))
        asked = asyncio.ensure_future(ahead.transcript(0))
        await asyncio.sleep(0.01)
        ahead.hurry()
        with pytest.raises(asyncio.CancelledError):
            await asked
        return ahead.in_flight

    assert asyncio.run(main()) == 0


def test_discarded_links_of_chains_still_run():
    held = Held(0.001)

    async def main():
        ahead = LookAhead(held, concurrency=1)
        ahead.plan([Job("write"), Job("question", depends_on=("write", "elsewhere", "question")), Job("other")])
        ahead.discard("write")
        ahead.discard("other")
        ahead.discard("nobody")
        await ahead.transcript("question")
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert held.started == ["write", "question"]


@pytest.mark.parametrize(
    ("category", "turns", "requests"),
    [("multi_turn_base", 2, 6.0), ("multi_turn_base", None, 12.0), ("multi_turn_base", 0, 12.0),
    ("web_search_base", 3, 10.0),
     ("memory_kv", 1, 4.0), ("memory_kv_prereq", None, 25.0), ("simple_python", 9, 1.0), ("no_such", 9, 1.0)],
)  # fmt: skip
def test_requests_that_entries_take(category, turns, requests):
    assert expected_requests(category, turns) == requests
