"""What was said, as it stands in the history that goes with the next request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.conversation.history import (
    NOT_RUN,
    with_answered_calls,
    with_thoughts,
)
from pytest_bfcl.models.chat import dialect_of
from pytest_bfcl.transcript import Reply, ToolCall

CALLS = (ToolCall("f", "{}", "a"), ToolCall("g", "[]"))


RAW, READ = Reply("<think>x</think>a", reasoning="x"), Reply("a", reasoning="x")
SAID = {"role": "assistant", "content": "a"}
CALLED = {"role": "assistant", "content": "", "tool_calls": [1]}
DEEPSEEK = SimpleNamespace(api=SimpleNamespace(dialect=dialect_of("deepseek")))


@pytest.mark.parametrize(
    ("message", "raw", "read", "model", "policy", "expected"),
    [
        (SAID, RAW, READ, None, "keep", {**SAID, "content": RAW.text}), (SAID, RAW, READ, None, "drop", SAID),
        (SAID, RAW, READ, None, "reference", {**SAID, "content": RAW.text}),
        (SAID, RAW, READ, DEEPSEEK, "reference", SAID),
        (SAID, RAW, READ, DEEPSEEK, "keep", {**SAID, "content": RAW.text}), (SAID, READ, READ, None, "keep", SAID),
        (SAID, RAW, Reply("a"), None, "keep", SAID),
        (CALLED, RAW, READ, None, "keep", {"reasoning_content": "x", **CALLED}),
        (CALLED, Reply("<think>x</think>a", CALLS, "x"), READ, None, "keep", {**CALLED, "content": RAW.text}),
        ({"role": "assistant", "content": None}, RAW, READ, None, "keep", {"role": "assistant", "content": None}),
    ],
)  # fmt: skip
def test_thoughts_go_back_where_the_server_gets_them(
    message: Any, raw: Reply, read: Reply, model: Any, policy: str, expected: Any
) -> None:
    assert with_thoughts(message, raw, read, model, policy) == expected


def test_calls_without_a_result_get_one() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}
    told = [{"role": "tool", "tool_call_id": each, "content": NOT_RUN} for each in "ab"]
    user, result = {"role": "user"}, {"role": "tool"}
    assert with_answered_calls([user, call]) == [user, call, *told]
    assert with_answered_calls([call, result, call, user]) == [call, result, call, *told, user]
    assert with_answered_calls([{"role": "assistant", "tool_calls": []}, user]) == [
        {"role": "assistant", "tool_calls": []}, user
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (None, Reply(None)), ("a", Reply("a")), ([], Reply("")), ((), Reply("")), (CALLS, Reply(None, CALLS)),
        ([{"name": "f", "arguments": {"x": 1}, "id": "a"}], Reply(None, (ToolCall("f", '{"x": 1}', "a"),))),
        ([{"arguments": {}}], Reply(None, (ToolCall("arguments", "{}"),))),
        *((odd, None) for odd in (3, {"f": {}}, [3], [{}], [{"name": "[]"}], [{"f": {}, "g": {}}], {"a", "b"})),
    ],
)  # fmt: skip
def test_replies_of_what_is_stored(output: Any, said: Reply | None) -> None:
    if said is None:
        with pytest.raises(TypeError, match="a call is an object" if type(output) is list else "a reply is text or a"):
            Reply.from_output(output)
    else:
        assert Reply.from_output(output) == said
