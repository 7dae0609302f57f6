"""What counts as an answer, whichever door it came through: doors × APIs × bodies, the cells written down by hand.

The entry is one in which no call is right, so whatever passes for an answer without a call passes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.judge import Task
from pytest_bfcl.judge import judge as judge_task
from pytest_bfcl.models.anthropic import Messages
from pytest_bfcl.models.callable import read_result
from pytest_bfcl.models.chat import Chat
from pytest_bfcl.models.responses import Responses
from pytest_bfcl.models.streams import EventReader
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.rewards import reward
from pytest_bfcl.transcript import Reply, Step, ToolCall, Transcript, Turn

TOOL = {"name": "f", "description": "", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}
QUIET = Entry.model_validate(
    {"id": "irrelevance_0", "category": "irrelevance", "question": [[]], "function": [TOOL | {"parameters": {
        "type": "dict", "properties": {"x": {"type": "string"}}}}]}
)  # fmt: skip
ANY_CALL = QUIET.model_copy(update={"id": "live_relevance_0-0-0", "category": "live_relevance"})
APIS: dict[str, Any] = {"chat": Chat(), "anthropic": Messages(), "responses": Responses("m")}


def chat(content: Any = "No.", finish: str | None = "stop", *, message: Any = (), choice: Any = (), **body: Any) -> Any:
    said = {"role": "assistant", "content": content, **dict(message)}
    return {"choices": [{"index": 0, "message": said, "finish_reason": finish, **dict(choice)}], **body}


def blocks(*content: Any, stop: str = "end_turn", **body: Any) -> Any:
    return {"type": "message", "role": "assistant", "content": list(content), "stop_reason": stop, **body}


def items(*output: Any, status: str = "completed", **body: Any) -> Any:
    return {"object": "response", "status": status, "output": list(output), **body}


def said(text: str = "No.", status: str = "completed") -> Any:
    return {
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [{"type": "output_text", "text": text}],
    }


TEXT = {"type": "text", "text": "No."}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}
CASES: list[tuple[str, Any, str]] = [
    ("chat", chat(), "right"),
    ("chat", chat(native_finish_reason="x", choice={"native_finish_reason": "eos"}), "right"),
    ("chat", chat(status="success", base_resp={"status_code": 0}), "right"),
    ("chat", chat("No.", "abort"), "error"),
    ("chat", chat("No.", "some_new_word"), "error"),
    ("chat", chat(choice={"native_finish_reason": "error"}), "error"),
    ("chat", chat(message={"error": {"message": "overloaded"}}), "error"),
    ("chat", chat(errors=[{"message": "overloaded"}]), "error"),
    ("chat", chat(choice={"error": {"code": 502}}), "error"),
    ("chat", chat(base_resp={"status_code": 1002}), "error"),
    ("chat", chat(status="failed"), "error"),
    ("chat", chat(success=False), "error"),
    ("chat", chat([{"type": "error", "text": "x"}, {"type": "text", "text": "No."}]), "error"),
    ("chat", chat([{"type": "hologram", "data": "x"}]), "error"),
    ("chat", chat(None, message={"reasoning_content": "hm"}), "wrong"),
    ("chat", chat("<think>\nOkay, let me"), "wrong"),
    ("chat", chat("<think>\nOkay, let me", "length"), "wrong"),
    ("chat", chat("<think>no</think>No.", "length"), "right"),
    ("chat", chat('<tool_call>\n{"name": "f", "argu', "length"), "wrong"),
    ("chat", chat('[{"name": "f"', "content_filter"), "wrong"),
    ("chat", chat("No", "length"), "right"),
    ("chat", chat(None, "stop", message={"tool_calls": [CALL]}), "wrong"),
    ("chat", chat(None, "length", message={"tool_calls": [CALL]}), "wrong"),
    ("chat", chat("N", "model_context_window_exceeded"), "wrong"),
    ("anthropic", blocks(TEXT), "right"),
    ("anthropic", blocks(SEARCH, TEXT), "right"),
    ("anthropic", blocks(SEARCH), "error"),
    ("anthropic", blocks(TEXT, {"type": "error", "error": {"message": "x"}}), "error"),
    ("anthropic", blocks({"type": "hologram"}), "error"),
    ("anthropic", blocks({"type": "thinking", "thinking": "hm", "signature": "s"}), "wrong"),
    ("anthropic", blocks(TEXT, stop="abort"), "error"),
    ("anthropic", blocks({"type": "text", "text": "N"}, stop="model_context_window_exceeded"), "wrong"),
    ("responses", items(said()), "right"),
    ("responses", items({"type": "web_search_call", "status": "completed"}, said()), "right"),
    ("responses", items(said(status="incomplete")), "error"),
    ("responses", items({"type": "web_search_call", "status": "completed"}), "error"),
    ("responses", items({"type": "error", "message": "x"}, said()), "error"),
    ("responses", items(said(), status="failed"), "error"),
    ("responses", items(said(), error={"code": "server_error"}), "error"),
    ("responses", items({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}), "wrong"),
    ("responses", items({"type": "function_call", "name": "f", "arguments": "{", "call_id": "c"}), "wrong"),
]
"""API, body, and what every door says of it."""


def verdict(reply: Reply, entry: Entry = QUIET) -> str:
    mode: Any = "fc" if entry.id == QUIET.id else "prompt"
    found = judge(entry, Transcript(entry.id, entry.category, mode=mode, turns=[Turn(steps=[Step(reply)])]))
    return {"passed": "right", "failed": "wrong"}.get(found.outcome, found.outcome)


def live(api: str, body: Any) -> str:
    return verdict(APIS[api].read(body))


def streamed(api: str, body: Any) -> str:
    joiner = APIS[api].joiner()
    reader = EventReader(joiner)
    for event in events_of(api, body):
        reader.feed(f"data: {json.dumps(event)}\r\r".encode())  # lines may end with CR alone
    reader.close()
    return "error" if reader.error else verdict(APIS[api].read(joiner.body()))


def events_of(api: str, body: Any) -> list[Any]:
    """The same reply as a stream: whole pieces, then the ending."""
    if api == "responses":
        return [{"type": f"response.{body['status']}", "response": body}]
    if api == "anthropic":
        start = {**body, "content": [], "stop_reason": None}
        begun = [{"type": "content_block_start", "index": n, "content_block": b} for n, b in enumerate(body["content"])]
        ending = {"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}}
        return [{"type": "message_start", "message": start}, *begun, ending, {"type": "message_stop"}]
    choice = body["choices"][0]
    rest = {name: value for name, value in choice.items() if name != "message"}
    message = {"tool_calls": [], **choice["message"]}
    message["tool_calls"] = [{**call, "index": str(n)} for n, call in enumerate(message["tool_calls"])]
    delta = {name: value for name, value in message.items() if value}
    return [{"choices": [{"index": "0", "delta": delta}]}, {**body, "choices": [{**rest, "index": "0", "delta": {}}]}]


def handed_over(api: str, body: Any) -> str:
    return verdict(read_result(body))


def of_the_judge(api: str, body: Any) -> str:
    found = judge_task(Task(QUIET), body).outcome
    return {"not judged": "error"}.get(found, found)


def rewarded(api: str, body: Any) -> str:
    from pytest_bfcl.failures import HarnessError

    try:
        return "right" if reward(QUIET, body, mode="fc") == 1.0 else "wrong"
    except HarnessError:
        return "error"


def episode(api: str, body: Any) -> str:
    played = Episode(QUIET)
    played.step(body)
    return "right" if played.reward == 1.0 else "wrong"


def scored(api: str, body: Any) -> str:
    line = {"id": "irrelevance_0", "category": "irrelevance", "mode": "fc", "output": body, "function": [TOOL]}
    (found,) = score_lines([line])
    if "error" in found:
        return "error"
    return "right" if found["valid"] else "error" if found["tag"] == "ADAPTER_ERROR" else "wrong"


DOORS: dict[str, Callable[[str, Any], str]] = {
    "live": live, "streamed": streamed, "model fixture": handed_over, "judge": of_the_judge, "rewards": rewarded,
    "episode": episode, "score": scored,
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("api", "body", "expected"), CASES, ids=[f"{n}-{c[0]}" for n, c in enumerate(CASES)])
def test_every_door_says_the_same(door: str, api: str, body: Any, expected: str) -> None:
    try:
        found = DOORS[door](api, body)
    except AdapterError:
        found = "error"
    assert found == expected


def test_an_error_after_the_ending_of_a_stream_counts() -> None:
    joiner = Chat().joiner()
    reader = EventReader(joiner)
    for event in events_of("chat", chat()):
        reader.feed(f"data: {json.dumps(event)}\n\n".encode())
    reader.feed(b'error: {"message": "worker died"}\n\n')
    assert reader.error is not None


def golden_texts(golden_dir: Path) -> list[str]:
    lines = gzip.decompress((golden_dir / "parsers/parser_tests.jsonl.gz").read_bytes()).splitlines()
    found = [json.loads(line) for line in lines]
    return [each["text"] for each in found if each.get("calls") and len(each["text"]) < 1500]


@pytest.mark.golden
@pytest.mark.parametrize("ending", ["length", "content_filter"])
def test_no_prefix_of_thoughts_and_calls_passes(golden_dir: Path, ending: str) -> None:
    """Where nothing but thoughts and a begun call arrived, neither "no call" nor "some call" is right."""
    passed = []
    for text in golden_texts(golden_dir)[::4]:
        head = text.partition("<tool_call>")[0] if "<tool_call>" in text else ""
        if not text.lstrip().startswith(("<tool_call>", "<think>", "<|channel|>analysis", "[TOOL_CALLS]", '[{"', '{"')):
            continue
        for place in range(1, len(text) - 1, 3):
            reply = Reply(text=text[:place], finish_reason=ending, problem=ending)
            if verdict(reply) == "right" and (not head.strip() or place < len(head) - len(head.rstrip())):
                passed.append((text[:place], "irrelevance"))
    outside = [each for each in passed if "</think>" not in each[0]]
    assert outside == []


def test_a_call_that_was_cut_is_no_call() -> None:
    reply = Reply(tool_calls=(ToolCall("f", '{"x": "'),), finish_reason="length", problem="length")
    assert verdict(reply) == "wrong"
    assert verdict(Reply(text="<think>maybe [f(x='1')]", finish_reason="length"), ANY_CALL) == "wrong"
