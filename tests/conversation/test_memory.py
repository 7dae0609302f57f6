"""Write stages, snapshots and questions (agentic spec §2), and calls that block."""

import asyncio
import json
import time

import pytest

from pytest_bfcl.conversation import HeldSnapshots, Job, LookAhead, converse
from pytest_bfcl.dataset import Entry
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.runs import Snapshots as StoredSnapshots
from pytest_bfcl.simulators import Simulator, documents_of, register_simulator, tool
from tests.patience import patience

from .worlds import SETTINGS, TEXTS, Listed, calls, shelf_entry, user

ADD = "core_memory_add"


def write_stage(number, backend="kv", turns=1):
    before = [f"memory_{backend}_prereq_{n}-student-{n}" for n in range(number)]
    return Entry(
        id=f"memory_{backend}_prereq_{number}-student-{number}",
        category=f"memory_{backend}_prereq",
        question=[user(f"part {number}.{turn}") for turn in range(turns)],
        function=documents_of(f"MemoryAPI_{backend}"),
        involved_classes=[f"MemoryAPI_{backend}"],
        scenario="student",
        depends_on=before,
    )


def question(backend="kv", stages=2):
    return Entry(
        id=f"memory_{backend}_0-student-0",
        category=f"memory_{backend}",
        question=[[{"role": "system", "content": TEXTS.agentic_answer}, *user("Which tea?")]],
        function=documents_of(f"MemoryAPI_{backend}"),
        possible_answer=["green"],
        involved_classes=[f"MemoryAPI_{backend}"],
        scenario="student",
        depends_on=[f"memory_{backend}_prereq_{n}-student-{n}" for n in range(stages)],
    )


def store(key, value):
    return calls((ADD, json.dumps({"key": key, "value": value})))


def hold(entry, model, snapshots):
    return asyncio.run(converse(entry, model, settings=SETTINGS, texts=TEXTS, snapshots=snapshots))


@pytest.mark.parametrize("stored", ["held", "on disk"])
def test_what_write_stages_store_is_shown_to_the_next_and_to_questions(stored, tmp_path):
    snapshots = HeldSnapshots() if stored == "held" else StoredSnapshots(tmp_path)
    hold(write_stage(0), Listed(store("tea", "green"), "noted"), snapshots)
    second = Listed(store("town", "Bern"), "noted")
    hold(write_stage(1), second, snapshots)
    assert '"tea": "green"' in second.requests[0].messages[0]["content"]
    asked = Listed("green")
    transcript = hold(question(), asked, snapshots)
    system = asked.requests[0].messages[0]
    assert system["role"] == "system"
    assert '"town": "Bern"' in system["content"]
    assert system["content"].endswith(TEXTS.agentic_answer)
    assert len(transcript.turns) == 1


def test_a_question_that_depends_on_nothing_starts_empty():
    alone = question().model_copy(update={"depends_on": []})
    assert hold(alone, Listed("green"), HeldSnapshots()).turns
    with pytest.raises(HarnessError, match="no memory snapshot of memory_kv_prereq_1-student-1"):
        hold(question(), Listed("green"), HeldSnapshots())


def test_questions_leave_nothing_behind():
    snapshots = HeldSnapshots()
    hold(write_stage(0), Listed(store("tea", "green"), "noted"), snapshots)
    before = snapshots.load("kv", "student")
    hold(question(), Listed(store("tea_2", "black"), "green"), snapshots)
    assert snapshots.load("kv", "student") == before


def test_the_first_write_stage_starts_empty_even_beside_an_old_snapshot():
    snapshots = HeldSnapshots()
    hold(write_stage(0), Listed(store("old", "old"), "noted"), snapshots)
    model = Listed("nothing to note")
    hold(write_stage(0), model, snapshots)
    assert TEXTS.memory_empty["kv"] in model.requests[0].messages[0]["content"]
    assert snapshots.load("kv", "student")["core_memory"] == {}


def test_a_forced_quit_still_saves_and_a_failure_does_not():
    snapshots = HeldSnapshots()
    forever = Listed(*[calls(("core_memory_list_keys", "{}")) for _ in range(30)])
    forever.replies[0] = store("tea", "green")
    assert hold(write_stage(0, turns=2), forever, snapshots).forced_quit
    assert snapshots.load("kv", "student")["core_memory"] == {"tea": "green"}
    with pytest.raises(AdapterError):
        hold(write_stage(1), Listed(store("town", "Bern"), AdapterError("timeout", "no answer")), snapshots)
    assert snapshots.load("kv", "student")["core_memory"] == {"tea": "green"}


def test_the_prompt_shows_the_memory_as_it_was_at_the_start():
    model = Listed(store("tea", "green"), "noted", "noted")
    hold(write_stage(0, turns=2), model, HeldSnapshots())
    assert model.requests[-1].messages[0] == model.requests[0].messages[0]


def test_chains_run_in_order_in_the_background():
    model = Listed(mode="prompt")
    order = []

    async def generate(request):
        order.append(request.entry.id)
        await asyncio.sleep(0.001)
        return await Listed.generate(model, request)

    model.generate = generate
    entries = [question(stages=3), *(write_stage(n) for n in range(3))]

    snapshots = HeldSnapshots()

    async def main():
        ahead = LookAhead(
            lambda job: converse(job.payload, model, settings=SETTINGS, texts=TEXTS, snapshots=snapshots),
            concurrency=SETTINGS.concurrency,
        )
        ahead.plan(Job(e.id, e, tuple(e.depends_on)) for e in entries)
        return [(await ahead.transcript(entry.id)).entry_id for entry in entries]

    assert asyncio.run(main()) == [entry.id for entry in entries]
    assert order == [entry.id for entry in (*entries[1:], entries[0])]


@register_simulator
class SlowDesk(Simulator):
    """Answers after a while."""

    name = "SlowDesk"
    summary = "A slow desk."
    blocking = True

    @tool(writes=False)
    def wait(self) -> str:
        """Wait."""
        time.sleep(0.2)
        return "waited"


def slow_entry(number):
    return shelf_entry().model_copy(update={"id": f"multi_turn_base_{number}", "involved_classes": ["SlowDesk"]})


def slow_jobs(count):
    async def hold_slow(job):
        model = Listed(calls(("wait", "{}")), "done")
        return await converse(job.payload, model, settings=SETTINGS, texts=TEXTS)

    ahead = LookAhead(hold_slow, concurrency=8)
    ahead.plan(Job(n, slow_entry(n)) for n in range(count))
    return ahead


def test_calls_that_block_hold_up_nobody_else():
    async def main():
        ahead = slow_jobs(6)
        return [await ahead.transcript(n) for n in range(6)]

    started = time.perf_counter()
    transcripts = asyncio.run(main())
    assert time.perf_counter() - started < patience(0.9)  # one after the other would take 1.2 s
    assert {t.steps[0].results[0] for t in transcripts} == {"waited"}


def test_closing_does_not_wait_for_blocked_calls(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds, sleep=time.sleep: sleep(3))

    async def main():
        ahead = slow_jobs(3)
        asked = asyncio.ensure_future(ahead.transcript(0))
        await asyncio.sleep(0.05)
        await ahead.aclose()
        asked.cancel()

    started = time.perf_counter()
    asyncio.run(main())
    assert time.perf_counter() - started < patience(1.5)
