"""Every known shape is read the same at every door; what is not known is an error at every door."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl import assert_calls, assert_no_calls
from pytest_bfcl.extensions.training.rewards import reward
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import as_model
from pytest_bfcl.replies import UnknownShape, read_call, read_reply
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.transcript import Call, Reply, ToolCall
from tests.models.loopback import WEATHER, request, run
from tests.replies import recorded
from tests.replies.recorded import ARGUMENTS, NAME, ONE_CALL

DOCUMENT = {
    "name": NAME,
    "parameters": {
        "type": "dict",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
ANSWER = [{NAME: {"city": ["Paris"], "days": [3]}}]
ENTRY = {"id": "simple_python_0", "function": [DOCUMENT], "possible_answer": ANSWER}


def called(reply: Reply) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls]


@pytest.mark.parametrize("name", ONE_CALL)
def test_one_call_at_every_door(name: str) -> None:
    output = ONE_CALL[name]
    assert called(read_reply(output)) == [(NAME, ARGUMENTS)]
    assert_calls(output, [DOCUMENT], ANSWER)
    assert reward(ENTRY, output) == 1.0
    reply = run(as_model(lambda request: output).generate(request(WEATHER)))
    assert called(reply) == [(NAME, ARGUMENTS)]
    with pytest.raises(AssertionError, match="irrelevance_error"):
        assert_no_calls(output, [DOCUMENT])
    if isinstance(output, dict | list) and "objects" not in name and name != "pair":
        (line,) = score_lines([{**ENTRY, "mode": "fc", "output": output}])
        assert line["valid"], line


@pytest.mark.parametrize(
    ("output", "text", "problem"),
    [
        ("hello", "hello", None),
        (None, None, None),
        ([], "", None),
        ({"role": "assistant", "content": "hello"}, "hello", None),
        ({"role": "assistant", "content": ""}, "", None),
        ({"role": "assistant", "content": None, "tool_calls": []}, None, None),
        ({"role": "assistant", "content": [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]},
         "hello", None),
        ({"role": "assistant", "content": None, "refusal": "No."}, "No.", None),
        ({"choices": [{"text": "hello", "finish_reason": "stop"}]}, "hello", None),
        ({"choices": [{"message": {"content": "hel"}, "finish_reason": "length"}]}, "hel", "length"),
        ({"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hel"}]}],
          "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "hel", "length"),
        ({"output": [{"type": "web_search_call", "id": "w"},
                     {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}],
          "status": "completed"},
         "No.", None),
        ({"type": "ai", "content": "hello", "tool_calls": []}, "hello", None),
        ({"kind": "response", "parts": [{"part_kind": "text", "content": "hello"}]}, "hello", None),
        ({"text": "hello", "additional_kwargs": {}}, "hello", None),
        ([{"generated_text": "hello"}], "hello", None),
        ([SimpleNamespace(prompt="p", outputs=[SimpleNamespace(text="hello", finish_reason="stop")])], "hello", None),
    ],
)  # fmt: skip
def test_texts(output: Any, text: str | None, problem: str | None) -> None:
    reply = read_reply(output)
    assert (reply.text, reply.tool_calls, reply.problem) == (text, (), problem)


async def _coroutine() -> str:
    return "hello"


UNKNOWN: list[Any] = [
    42,
    True,
    object(),
    b"hello",
    [3],
    [["hello"]],
    ["get_weather(city='Paris')", 1],
    {},
    {"a": 1},
    {"a": 1, "b": 2},
    {"error": "rate limit"},
    {"error": {"message": "rate limit"}, "status": 429},
    {"choices": []},
    {"choices": [{"delta": {"content": "hel"}}]},
    {"choices": [{"index": 0}]},
    {"candidates": []},
    {"generations": []},
    {"role": "user", "content": "hello"},
    {"role": "tool", "content": "20", "tool_call_id": "c1"},
    {"role": "assistant", "content": 5},
    {"role": "assistant", "answer": "hello"},
    {"role": "assistant", "content": [{"type": "image", "source": "x"}]},
    {"role": "assistant", "content": "x", "tool_calls": [{"id": "c1"}]},
    {"name": NAME, "arguments": 5},
    {"name": NAME, "arguments": ["Paris"]},
    {"name": NAME, "arguments": {"city": object()}},
    {"name": 5, "arguments": {}},
    [{"name": NAME}],
    [recorded.QUESTION],
    [recorded.CHAT_MESSAGE, 5],
    [recorded.CHAT_MESSAGE, {"name": NAME, "arguments": {}}],
    [recorded.QUESTION, recorded.CHAT_MESSAGE, recorded.QUESTION],
    SimpleNamespace(),
    SimpleNamespace(model_dump=lambda: 5),
    (part for part in ("hel", "lo")),
    iter(["hello"]),
]


@pytest.mark.parametrize("output", UNKNOWN, ids=[f"{n}-{type(each).__name__}" for n, each in enumerate(UNKNOWN)])
def test_unknown_shapes_are_an_error_at_every_door(output: Any) -> None:
    for read in (
        read_reply,
        lambda it: assert_calls(it, [DOCUMENT], ANSWER),
        lambda it: assert_no_calls(it, [DOCUMENT]),
        lambda it: reward(ENTRY, it),
        lambda it: reward({"function": [DOCUMENT], "possible_answer": None}, it),
    ):
        with pytest.raises(UsageError) as caught:
            read(output)
        assert len(str(caught.value)) < 500
    with pytest.raises(AdapterError, match="not a reply") as refused:
        run(as_model(lambda request: output).generate(request(WEATHER)))
    assert refused.value.kind == "fixture"
    if isinstance(output, dict) and "arguments" not in output:
        (line,) = score_lines([{**ENTRY, "mode": "fc", "output": output}])
        assert "unreadable output" in line["error"], line


def test_what_is_not_finished_is_said_so() -> None:
    coroutine = _coroutine()
    with pytest.raises(UnknownShape, match="await"):
        read_reply(coroutine)
    assert asyncio.run(coroutine) == "hello"
    with pytest.raises(UnknownShape, match="stream"):
        read_reply(part for part in ("hel", "lo"))


@pytest.mark.parametrize(
    ("item", "call"),
    [
        (ToolCall("f", "{", "id"), ToolCall("f", "{", "id")),
        (Call("f", {"a": 1}), ToolCall("f", '{"a": 1}')),
        (("f", '{"a": 1}'), ToolCall("f", '{"a": 1}')),
        ({"name": "f", "arguments": None}, ToolCall("f", "{}")),
        ({"type": "function_call", "name": "f", "call_id": "c", "id": "i"}, ToolCall("f", "{}", "c")),
        ({"function": {"name": "f", "arguments": ""}, "id": "i" * 600}, ToolCall("f", "", "i" * 600)),
        ({"message": {"to": "Ann"}}, ToolCall("message", '{"to": "Ann"}')),
        ({"name": "f", "arguments": recorded.Role.ASSISTANT}, None),
        ({"f": {"role": recorded.Role.ASSISTANT, "raw": b"ab"}}, ToolCall("f", '{"role": "assistant", "raw": "YWI="}')),
    ],
)
def test_calls(item: Any, call: ToolCall | None) -> None:
    if call is None:
        call = ToolCall("f", "assistant")
    assert read_call(item) == call
    assert read_reply([item]).tool_calls == (call,)


def test_deep_and_endless_things_end() -> None:
    deep: Any = {"a": 1}
    for _ in range(3000):
        deep = {"generated_text": deep}
    with pytest.raises(UnknownShape):
        read_reply(deep)
    circle: dict[str, Any] = {"name": "f"}
    circle["arguments"] = circle
    with pytest.raises(UnknownShape, match="deep"):
        read_reply(circle)
    loop: list[Any] = []
    loop.append(SimpleNamespace(outputs=loop))
    with pytest.raises(UnknownShape, match="deep"):
        read_reply(loop)
