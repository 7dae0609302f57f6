"""The judge for any harness: what a stranger's loop over tasks gets, stores, and is told."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest

from pytest_bfcl.conversation import dialogue
from pytest_bfcl.failures import UsageError
from pytest_bfcl.judge import Conversation, Data, HeldSnapshots, Judgement, Task, judge, judge_many, read, to_tools
from pytest_bfcl.judging.judgement import judgement_of
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.transcript import Reply

WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
OSLO = Task.of([WEATHER], {"get_weather": {"city": "Oslo"}}, question="How is Oslo?")
CALL = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
PLAYED = (
    "simple_python",
    "parallel_multiple",
    "irrelevance",
    "live_relevance",
    "multi_turn_base",
    "multi_turn_miss_func",
)


@pytest.fixture(scope="module")
def data() -> Data:
    return Data("bundled")


def replies(conversation: Conversation) -> Any:
    """The next right reply, as chat completions give it, with its ending."""
    step = len(conversation.transcript.turns[-1].steps)
    said: Reply = answer(conversation.task.entry, conversation.mode, conversation.turn, step)
    ending = "tool_calls" if said.tool_calls else "stop"
    return {"choices": [{"message": said.as_message(0, step), "finish_reason": ending}]}


def played(task: Task, **options: Any) -> Judgement:
    with task.open(**options) as conversation:
        while not conversation.done:
            conversation.reply(replies(conversation))
        return conversation.judgement()


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_right_replies_are_right_in_every_kind_of_task(data: Data, mode: str) -> None:
    for category in PLAYED:
        for entry_id in data.ids(category)[::5]:
            found = played(data.task(entry_id), mode=mode)
            assert (found.outcome, found.corrected, found.tag) == ("right", "right", None), entry_id


def test_lines_are_no_path() -> None:
    with pytest.raises(UsageError, match="pytest-bfcl score PATH"):
        list(score_lines("replies.jsonl"))


def test_verdicts_are_those_of_score_lines(data: Data) -> None:
    """Every answer to another entry's question, most of them wrong: the same tag, reason and detail."""
    ids = [entry_id for category in PLAYED[:4] for entry_id in data.ids(category)]
    tasks = [data.task(entry_id) for entry_id in ids]
    outputs = [answer(task.entry, "fc", 0, 0).output for task in (*tasks[3:], *tasks[:3])]
    lines = [
        {"id": name, "output": said, "mode": "fc", "underscore_names": True}
        for name, said in zip(ids, outputs, strict=True)
    ]
    expected = list(score_lines(lines, "bundled"))
    found = list(judge_many(zip(tasks, outputs, strict=True), ending="stop"))
    assert [(f.right, f.tag, f.reason, f.corrected == "right") for f in found] == [
        (e["valid"], e["tag"], e["reason"], e["corrected_valid"]) for e in expected
    ]
    assert {f.tag for f in found} == {None, "WRONG_ANSWER", "MALFORMED_OUTPUT"}
    assert all(f.sentence for f in found if not f.right)


@pytest.mark.parametrize(
    ("said", "about", "outcome", "reason"),
    [
        ([CALL], {"ending": "tool_calls"}, "right", None),
        ([{**CALL, "arguments": {"city": "Oslo"}}], {"ending": "stop", "raw_arguments": ['{"city": "Os']}, "wrong",
         "ast_decoder:decoder_failed"),
        ([CALL], {"ending": "abort"}, "not judged", "adapter:ending"),
        ("Sunny.", {"ending": "stop"}, "wrong", "ast_decoder:decoder_failed"),
        ("Sun", {"ending": "length"}, "wrong", "reply:length"),
        ({"choices": [{"message": {"content": "Sun"}, "finish_reason": "error"}]}, {}, "not judged", "adapter:ending"),
    ],
)  # fmt: skip
def test_an_ending_decides_whether_a_reply_counts(said: object, about: Any, outcome: str, reason: str | None) -> None:
    found = judge(OSLO, said, **about)
    assert (found.outcome, found.reason) == (outcome, reason)


def test_an_ending_is_asked_for_where_a_shape_has_none() -> None:
    for said in ("Sunny.", [CALL], {"role": "assistant", "content": "Sunny."}):
        with pytest.raises(UsageError, match="pass ending='stop'"):
            read(said)
    with pytest.raises(UsageError, match="2 texts for 1 calls"):
        read([CALL], ending="stop", raw_arguments=["{}", "{}"])


def test_a_reply_that_failed_may_be_tried_again() -> None:
    conversation = OSLO.open()
    assert conversation.reply("", ending="error") == []
    assert conversation.done
    assert conversation.judgement().outcome == "not judged"
    conversation.retry()
    conversation.reply([CALL], ending="tool_calls")
    assert conversation.judgement().right
    with pytest.raises(UsageError, match="is over"):
        conversation.reply("x", ending="stop")


def test_a_conversation_comes_back_in_the_middle(data: Data) -> None:
    conversation = data.task("multi_turn_base_0").open()
    while conversation.turn == 0:
        conversation.reply(replies(conversation))
    stored = json.loads(json.dumps(conversation.dump()))
    twins = (Conversation.load(stored), pickle.loads(pickle.dumps(conversation)))
    for twin in twins:
        assert twin.messages == conversation.messages
        while not twin.done:
            twin.reply(replies(twin))
        assert twin.judgement().right
    assert conversation.turn == 1
    assert conversation.end().reason == "multi_turn:force_terminated"


def test_tasks_and_judgements_are_json(data: Data) -> None:
    for task in (data.task("simple_java_0"), OSLO):
        again = Task.from_json(json.dumps(task.to_json()))
        assert (again.id, again.turns, again.entry) == (task.id, task.turns, task.entry)
    assert set(data.task("simple_java_0").to_json()) == {"id", "category", "data", "data_sha256"}  # no official text
    found = judge(OSLO, "no", ending="stop")
    assert Judgement.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize("stored", [["task"], {}, None, "task"])
def test_what_no_conversation_was_stored_as(stored: Any) -> None:
    with pytest.raises(UsageError, match=r"what Conversation\.dump gave"):
        Conversation.load(stored)


def test_a_conversation_too_long_for_any_model_is_over(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = data.task("multi_turn_base_0").open()
    monkeypatch.setattr(dialogue, "HISTORY_LIMIT", 1)
    conversation.reply(replies(conversation))
    assert (conversation.done, conversation.transcript.steps[-1].reply.problem) == (True, "context_overflow")


@pytest.mark.parametrize(
    ("verified", "outcome"),
    [(None, None), ("excluded", None), ({"city": ["Oslo"]}, "right"), ({"city": ["Rome"]}, "wrong")],
)
def test_the_verified_answer_is_judged_by_where_there_is_one(verified: Any, outcome: str | None) -> None:
    conversation = OSLO.open()
    conversation.reply([CALL], ending="tool_calls")
    entry = conversation.task.entry
    if isinstance(verified, dict):
        verified = entry.model_copy(update={"possible_answer": [{"get_weather": verified}]})
    found = judgement_of(entry.model_copy(update={"verified": verified}), conversation.transcript)
    assert (found.outcome, found.verified) == ("right", outcome)


def test_a_memory_question_reads_what_its_write_stages_left(data: Data) -> None:
    memories = HeldSnapshots()
    question = data.task(data.ids("memory_kv")[0])
    first, *later = (need.removeprefix("write stage ") for need in question.needs if need.startswith("write stage "))
    add = {"name": "archival_memory_add", "arguments": json.dumps({"key": "coffee", "value": "black"})}
    for stage in (first, *later):
        conversation = data.task(stage).open(memories=memories)
        if stage == first:
            conversation.reply([add], ending="tool_calls")
        while not conversation.done:
            conversation.reply("Kept.", ending="stop")
    look = {"name": "archival_memory_retrieve", "arguments": '{"key": "coffee"}'}
    shown = question.open(memories=memories).reply([look], ending="tool_calls")
    assert "black" in shown[0]["content"]


def test_the_score_says_what_it_lacks(data: Data) -> None:
    tasks = [data.task(entry_id) for entry_id in data.ids("simple_java")]
    found = data.overall([played(task) for task in tasks])
    assert (found.value, found.claimed) == (None, False)
    assert "not the official data" in found.why_not
    assert (found.groups["non_live"].accuracy, found.groups["non_live"].judged) == (1.0, len(tasks))
    assert "simple_python" in found.groups["non_live"].missing


def test_tools_for_other_apis() -> None:
    tools = OSLO.open().tools
    assert to_tools(tools, "anthropic")[0]["input_schema"] == tools[0]["function"]["parameters"]
    assert to_tools(tools, "responses")[0]["name"] == "get_weather"
    assert to_tools(tools, "gemini")[0]["functionDeclarations"][0]["name"] == "get_weather"
    with pytest.raises(UsageError, match="openai, responses, anthropic or gemini"):
        to_tools(tools, "grpc")  # type: ignore[arg-type]


def test_importing_it_brings_neither_pytest_nor_an_http_client() -> None:
    code = "import sys, pytest_bfcl.judge; print(*{'pytest', 'aiohttp', 'httpx', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_an_event_loop_may_wait_for_it() -> None:
    conversation = OSLO.open()
    assert asyncio.run(conversation.areply([CALL], ending="tool_calls")) == []
    assert conversation.judgement().right


def test_processes_judge_side_by_side(data: Data) -> None:
    tasks = [data.task(entry_id) for entry_id in data.ids("simple_python")[:4]]
    pairs = [(task, answer(task.entry, "fc", 0, 0).output) for task in tasks]
    assert [found.outcome for found in judge_many(pairs, processes=2, ending="stop")] == ["right"] * 4
