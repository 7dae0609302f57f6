"""Write stages, snapshots and questions (agentic spec §2), and calls that block."""

import asyncio
import json

import pytest

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.runs.snapshots import Snapshots as StoredSnapshots
from pytest_bfcl.simulators import documents_of

from .worlds import SETTINGS, TEXTS, Listed, calls, user

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


def test_a_forced_quit_still_saves_and_a_failure_does_not():
    snapshots = HeldSnapshots()
    forever = Listed(*[calls(("core_memory_list_keys", "{}")) for _ in range(30)])
    forever.replies[0] = store("tea", "green")
    assert hold(write_stage(0, turns=2), forever, snapshots).forced_quit
    assert snapshots.load("kv", "student")["core_memory"] == {"tea": "green"}
    with pytest.raises(AdapterError):
        hold(write_stage(1), Listed(store("town", "Bern"), AdapterError("timeout", "no answer")), snapshots)
    assert snapshots.load("kv", "student")["core_memory"] == {"tea": "green"}
