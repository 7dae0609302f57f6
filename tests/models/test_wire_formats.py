"""The wire formats without a server: what is sent for a conversation, how answers are read, what goes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_bfcl.answers import chat as answers
from pytest_bfcl.answers.chat import read_completion
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.endings import UnknownEnding
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models.anthropic import BLOCKS, Messages, with_cache_mark
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.chat import GENERIC, Chat, Completions, remembered
from pytest_bfcl.models.endpoint import check_url, is_local, is_openai, needs_key
from pytest_bfcl.models.openai import whole_reply
from pytest_bfcl.models.responses import ITEMS, Responses
from pytest_bfcl.transcript import ProviderState, Reply, Served, ToolCall
from tests.models.loopback import request, run, tool_call


def chat(message: object, finish: object = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}


def state(field: str | None = None, fields: Any = (), calls: Any = (), parts: Any = ()) -> ProviderState:
    return ProviderState("chat", field, dict(fields), tuple(calls), tuple(parts))


THOUGHT = {"type": "thinking", "thinking": "hm"}
TEXT = {"type": "text", "text": "a"}


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ({"content": "a"}, Reply("a")),
        ({"content": ["a", {"text": "b"}, {"type": "image"}, 3]}, Reply("ab")),
        ({"content": []}, Reply("")),
        ({"content": 7}, Reply("7")),
        ({"content": None, "refusal": "no"}, Reply("no")), ({"content": None, "refusal": ""}, Reply(None)),
        ({"content": "a", "refusal": "no"}, Reply("a")),
        ({"content": "", "refusal": ["no"]}, Reply("")),
        ({"content": [{"refusal": "no"}]}, Reply("no")),
        ({"content": [THOUGHT, TEXT]}, Reply("a", reasoning="hm", state=state(parts=[THOUGHT, TEXT]))),
        ({"content": [{"type": "reasoning", "text": "x"}, {"type": "thinking", "thinking": [{"text": "y"}, "z", {}]},
         TEXT]},
         Reply("a", reasoning="x\ny", state=state(parts=[
             {"type": "reasoning", "text": "x"}, {"type": "thinking", "thinking": [{"text": "y"}, "z", {}]}, TEXT]))),
        ({"content": [THOUGHT, "a"]}, Reply("a", reasoning="hm", state=None)),
        ({"content": "a", "reasoning": "x", "thinking": "y"},
         Reply("a", reasoning="x", state=state("reasoning", {"thinking": "y"}))),
        ({"content": "a", "reasoning_content": "", "reasoning": ""},
         Reply("a", state=state("reasoning_content", {"reasoning": ""}))),
        ({"content": "a", "reasoning_content": {"x": 1}}, Reply("a",
         state=state(fields={"reasoning_content": {"x": 1}}))),
        ({"content": "a", "annotations": [1], "audio": 1, "images": 1, "_own": 1, "extra": [],
         "more": None},
         Reply("a")),
        ({"content": "a", "extra": 0}, Reply("a", state=state(fields={"extra": 0}))),
        ({"content": None, "function_call": {"arguments": "{}"}}, Reply(None, (ToolCall("", "{}", "call_0"),))),
        ({"content": None, "function_call": {"arguments": ""}}, Reply(None)),
        ({"content": None, "function_call": {"name": "old"}}, Reply(None, (ToolCall("old", "{}", "call_0"),))),
        ({"tool_calls": [tool_call("f", "{}")], "function_call": {"name": "g"}}, Reply(None, (ToolCall("f", "{}",
         "c1"),))),
        ({"tool_calls": [{"name": "f", "input": {"x": 1}}, {"id": 3, "function": {"name": None, "arguments": None}}]},
         Reply(None, (ToolCall("f", '{"x": 1}', "call_0"), ToolCall("", "{}", "call_1")))),
        ({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}, "sign": 1, "none": None},
                         {"id": "", "type": "function", "index": 1, "function": {"name": "g", "arguments": "[]"}}]},
         Reply(None, (ToolCall("f", "{}", "a"), ToolCall("g", "[]", "call_1")), state=state(calls=[{"sign": 1}, {}]))),
    ],
)  # fmt: skip
def test_chat_is_read(message: Any, reply: Reply) -> None:
    assert read_completion(chat(message)) == replace(reply, finish_reason="stop")


@pytest.mark.parametrize("body", [
    None, [], {}, {"choices": {}}, {"choices": {"a": 1}}, {"choices": [[]]}, chat(None), chat("text"),
    chat({"tool_calls": {"a": 1}}), chat({"tool_calls": 3}),
    chat({"tool_calls": ["f"]}),
])  # fmt: skip
def test_what_is_no_completion_is_asked_again(body: object) -> None:
    with pytest.raises(AdapterError, match=r"no choices\[0\].message|tool_calls are no list of calls") as caught:
        read_completion(body)
    assert (caught.value.kind, caught.value.retryable) == ("malformed_body", True)
    with pytest.raises(AdapterError, match=r"no choices\[0\].text") as caught:
        Completions().read(body)
    assert (caught.value.kind, caught.value.retryable) == ("malformed_body", True)
    with pytest.raises(AdapterError, match="an empty list of choices"):
        read_completion({"choices": []})


def test_what_is_sent_to_chat() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "user", "content": "b"},
                {"role": "user", "content": [TEXT]}, {"role": "user", "content": "c", "_own": 1}]  # fmt: skip
    asked = Request(request().entry, messages, [])
    joined = Chat(replace(GENERIC, join_users=True))
    assert joined.body(asked, tools=False)["messages"] == [
        messages[0], {"role": "user", "content": "a\n\nb"}, messages[3], {"role": "user", "content": "c"},
    ]  # fmt: skip
    plain = [*messages[:4], {"role": "user", "content": "c"}]
    assert joined.body(asked, tools=True) == Chat().body(asked, tools=False) == {"messages": plain}
    assert Chat(store=False).body(asked, tools=True)["store"] is False
    assert (Chat().style, Chat(replace(GENERIC, folded=True)).style) == ("openai", "folded")
    assert Chat.streaming == {"stream": True, "stream_options": {"include_usage": True}}


KEPT = state("reasoning", {"thinking_blocks": [1], "extra": 2}, [{"sign": 1}], [THOUGHT, TEXT])
SAID = {"role": "assistant", "content": "a", "tool_calls": [{"id": "1"}, {"id": "2"}]}


@pytest.mark.parametrize(
    ("policy", "dialect", "expected"),
    [
        ("keep", GENERIC, {"content": [THOUGHT, TEXT], "thinking_blocks": [1], "extra": 2, "reasoning": "hm"}),
        ("reference", GENERIC, {"content": [THOUGHT, TEXT], "thinking_blocks": [1], "extra": 2, "reasoning": "hm"}),
        ("drop", GENERIC, {"content": [TEXT], "extra": 2}),
        ("reference", replace(GENERIC, echo=False), {"content": [TEXT], "extra": 2}),
    ],
)
def test_what_goes_back_to_chat(policy: str, dialect: Any, expected: Any) -> None:
    reply = Reply("a", (ToolCall("f", "{}", "1"),), reasoning="hm", state=KEPT)
    calls = [{"id": "1", "sign": 1}, {"id": "2"}]
    assert remembered(reply, SAID, dialect, policy) == {"role": "assistant", "tool_calls": calls, **expected}


def test_what_else_goes_back_to_chat() -> None:
    call, null = Reply("a", (ToolCall("f", "{}"),)), replace(GENERIC, null_content=True)
    assert remembered(call, SAID, null)["content"] is None
    assert remembered(call, SAID, null, "keep") is remembered(Reply("a"), SAID, null) is SAID
    other = replace(call, state=ProviderState("responses", parts=({"x": 1},)))
    assert remembered(other, SAID) is SAID
    empty = remembered(Reply("a", state=state("reasoning")), {"role": "assistant", "content": "a"})
    assert empty == {"role": "assistant", "content": "a", "reasoning": ""}
    without = remembered(Reply("a", state=state(calls=[{"sign": 1}])), {"role": "assistant", "content": "a"})
    assert without == {"role": "assistant", "content": "a"}


@pytest.mark.parametrize(
    ("usage", "found"),
    [({"a": 3}, 3), ({"b": 4.0}, 4), ({"a": -1, "b": 4}, 4), ({"a": True, "b": 4}, 4), ({"a": "3"}, None), ([], None),
     ({"a": 0}, 0), ({"a": 10**9}, 10**9), ({"a": 10**9 + 1}, None)],
)  # fmt: skip
def test_counts(usage: object, found: int | None) -> None:
    assert answers.count(usage, "a", "b") == found


def test_ids_names_and_sizes_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 100_000
    assert [answers.identifier(value, 2) for value in (long, f"{long}x", "", None, 7)] == [long, *["call_2"] * 4]
    assert answers.served_by({"model": "m" * 201, "id": 3}) == Served("m" * 200, None, None)
    assert [answers.served_by(body) for body in ({"model": ""}, [], None)] == [None] * 3
    monkeypatch.setattr(answers, "REPLY_LIMIT", 5)
    answers.check_size("ab", [ToolCall("c", "de")])
    for text, calls in (
        ("abc", [ToolCall("c", "de")]),
        ("ab", [ToolCall("cx", "de")]),
        (None, [ToolCall("c", "defghi")]),
    ):
        with pytest.raises(AdapterError, match="longer than 5 characters"):
            answers.check_size(text, calls)


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_what_is_kept_for_the_provider_is_bounded(kind: type) -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = {"a": value} if kind is dict else kind([value])
        return value

    assert answers.keepable(nested(59))
    assert not answers.keepable(nested(60))
    assert answers.keepable("x" * 1_999_995) is True
    assert answers.keepable("x" * 1_999_996) is False


# ------------------------------------------------------------------ Responses


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def said(*parts: Any) -> dict[str, Any]:
    return item("message", content=list(parts))


@pytest.mark.parametrize(
    ("items", "reply"),
    [
        ([said({"text": "a"}, {"text": "b"}), item("message", content="c")], Reply("abc")),
        ([said({"refusal": "no"})], Reply("no")),
        ([said({"text": "a", "refusal": "x"}, {"refusal": "no"}, 3, {"text": 3})], Reply("a")),
        ([item("message", content="")], Reply("")),
        ([item("function_call", name="f", call_id="c", id="i", arguments="[]"), item("function_call", id="i"),
          item("function_call", name=None, arguments={"x": 1})],
         Reply(None, (ToolCall("f", "[]", "c"), ToolCall("", "{}", "i"), ToolCall("", '{"x": 1}', "call_2")))),
        ([item("reasoning", summary=[{"text": "x"}, {"text": "y"}, 3, {}], content=[{"text": "z"}]),
         said({"text": "a"})],
         Reply("a", reasoning="x\ny\n")),
        ([item("reasoning", content=[{"text": "x"}, {"text": "y"}]), item("other", summary=[{"text": "z"}]),
          said({"text": "a"})], Reply("a", reasoning="x\ny")),
        ([item("reasoning", summary=None, content="x"), item("other", content="y"), said({"text": "a"})], Reply("a")),
    ],
)  # fmt: skip
def test_responses_are_read(items: list[Any], reply: Reply) -> None:
    kept = tuple({k: v for k, v in each.items() if v is not None} for each in items)
    found = Responses("gpt-5").read({"output": [*items, "text"], "status": "completed"})
    assert found == replace(reply, finish_reason="completed", state=ProviderState("responses", parts=kept))


def test_what_is_sent_to_responses() -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, {"role": "assistant",
        "content": "a"},
                {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "assistant", "content": None},
                {"role": "assistant", "content": "b", "tool_calls": [call]}, {"role": "assistant", "content": "x",
                 ITEMS: [1, 2]},
                {"role": "tool", "content": "r", "tool_call_id": "1"}]  # fmt: skip
    item_of_call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    body = Responses("gpt-5").body(Request(request().entry, messages, []), tools=True)
    assert body == {
        "input": [
            {"role": "developer", "content": "s"}, {"role": "user", "content": "u"}, {"role": "assistant",
             "content": "a"},
            item_of_call, {"role": "assistant", "content": ""}, {"role": "assistant", "content": "b"}, item_of_call,
                1, 2,
            {"type": "function_call_output", "call_id": "1", "output": "r"},
        ],
        "store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"},
    }  # fmt: skip
    carries = {name: set(Responses(name).body(request(), tools=True)) - {"input", "store"} for name in (
        "gpt-4o", "my-model", "o1-mini", "xo1")}  # fmt: skip
    assert carries == {
        "gpt-4o": set(),
        "my-model": {"include"},
        "o1-mini": {"include", "reasoning"},
        "xo1": {"include"},
    }
    assert Responses.streaming == Messages.streaming == {"stream": True}


PARTS = ({"type": "reasoning", "id": "r"}, {"type": "message", "id": "m"})


def test_what_goes_back_to_responses() -> None:
    reply, message = Reply("a", state=ProviderState("responses", parts=PARTS)), {"role": "assistant", "content": "a"}
    assert Responses("m").remember(reply, message) == {**message, ITEMS: list(PARTS)}
    assert Responses("m", "drop").remember(reply, message) == {**message, ITEMS: [{"type": "message"}]}
    for other in (Reply("a"), Reply("a", state=KEPT)):
        assert Responses("m").remember(other, message) is Messages().remember(other, message) is message


# ------------------------------------------------------------------ Anthropic's messages


def block(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def test_what_is_sent_to_messages() -> None:
    calls = [
        {"id": "1", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"id": "2", "function": {"name": "g", "arguments": "["}},
    ]
    messages = [
        {"role": "system", "content": "s"}, {"role": "developer", "content": "t"}, {"role": "user", "content": "a"},
        {"role": "user", "content": "b"}, {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "r1", "tool_call_id": "1"}, {"role": "tool", "content": "r2", "tool_call_id": "2"},
        {"role": "user", "content": "c"}, {"role": "assistant", "content": ""}, {"role": "user", "content": "d"},
        {"role": "assistant", "content": "x", BLOCKS: [block("tool_use", id="3", input="[1]"), block("tool_use",
         input={"y": 2}), block("tool_use", input=None),
                                                        block("text", text="z", input="k")]},
        {"role": "tool", "content": "r3"}, {"role": "assistant", "content": "y"}, {"role": "user", "content": "e"},
    ]  # fmt: skip
    single = Messages().body(Request(request().entry, messages, []), tools=True)
    expected: list[Any] = [
        {"role": "user", "content": [block("text", text="a\n\nb")]},
        {"role": "assistant", "content": [block("tool_use", id="1", name="f", input={"x": 1}),
                                          block("tool_use", id="2", name="g", input={})]},
        {"role": "user", "content": [block("tool_result", content="r1", tool_use_id="1"),
                                     block("tool_result", content="r2", tool_use_id="2"), block("text",
                                         text="c\n\nd")]},
        {"role": "assistant", "content": [block("tool_use", id="3", input={}), block("tool_use", input={"y": 2}),
                                          block("tool_use", input={}),
                                          block("text", text="z", input="k")]},
        {"role": "user", "content": [block("tool_result", content="r3", tool_use_id=None)]},
        {"role": "assistant", "content": [block("text", text="y")]},
        {"role": "user", "content": [block("text", text="e")]},
    ]  # fmt: skip
    assert single == {"messages": expected, "max_tokens": 64_000, "system": [block("text", text="s\n\nt")]}
    cached = {"type": "ephemeral"}
    entry = Entry(id="multi_turn_base_0", category="multi_turn_base", question=[[]])
    several = Messages().body(Request(entry, messages, []), tools=True)
    for number in (4, 6):
        expected[number]["content"][0] |= {"cache_control": cached}
    assert several == {"messages": expected, "max_tokens": 64_000,
                       "system": [block("text", text="s\n\nt", cache_control=cached)]}  # fmt: skip
    alone = Messages().body(Request(entry, [{"role": "tool", "content": "r"}], []), tools=True)["messages"]
    assert [message["role"] for message in alone] == ["user"]
    spoken = [{"role": "user", "content": "a"}, {"role": "tool", "content": "r"}]
    assert len(Messages().body(Request(entry, spoken, []), tools=True)["messages"]) == 2
    assert "system" not in Messages().body(request(), tools=True)
    assert with_cache_mark([]) == []
    assert with_cache_mark([{"a": 1}, {"b": 2}]) == [{"a": 1}, {"b": 2, "cache_control": cached}]


# ------------------------------------------------------------------ replies that a provider interrupts


def test_an_interrupted_reply_is_asked_on_for() -> None:
    first = Reply("a", (ToolCall("f", "{}", "1"),), "x", "pause_turn", 1, 2, 0.1, 1, "unfinished", 3, 0.05,
                  ProviderState("anthropic", parts=({"n": 1},)))  # fmt: skip
    more = Reply("b", (ToolCall("g", "{}", "2"),), "y", "end_turn", 10, 20, 0.2, 2, None, 30, 0.01,
                 ProviderState("anthropic", parts=({"n": 2},)))  # fmt: skip
    asked = []

    def answers(*replies: Reply, most: int = 3) -> Reply:
        left = list(replies)
        asked.clear()

        async def ask(request: Request) -> Reply:
            asked.append(list(request.messages))
            return left.pop(0)

        return run(whole_reply(ask, request(text="q"), lambda reply, message: message, most))

    whole = answers(first, more)
    assert whole == Reply("ab", (*first.tool_calls, *more.tool_calls), "x\ny", "end_turn", 11, 22, 0.3, 3, None, 33,
        0.05,
                          ProviderState("anthropic", parts=({"n": 1}, {"n": 2})))  # fmt: skip
    question = {"role": "user", "content": "q"}
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert asked == [[question], [question, {"role": "assistant", "content": "a", "tool_calls": [call]}]]
    assert answers(more) is more
    silent = Reply(finish_reason="pause_turn", problem="unfinished")
    assert answers(silent, Reply("b")) == Reply("b", attempts=2)
    assert asked[1][1] == {"role": "assistant", "content": ""}
    assert answers(silent, Reply(input_tokens=0, latency_s=0.5)) == Reply(input_tokens=0, latency_s=0.5, attempts=2)
    assert answers(replace(first, latency_s=None), Reply("b")).state == first.state
    assert answers(replace(first, state=None), more).state == more.state
    assert answers(*[silent] * 3, more, most=3).text == "b"
    with pytest.raises(UnknownEnding, match="again and again"):
        answers(*[silent] * 4, most=3)


# ------------------------------------------------------------------ addresses


@pytest.mark.parametrize(("url", "local", "openai", "keyed"), [
    ("http://localhost:1/v1", True, False, False), ("http://a.localhost", True, False, False),
    ("http://printer.local", True, False, False), ("http://10.0.0.7", True, False, False), ("http://[::1]", True,
     False, False),
    ("http://8.8.8.8", False, False, False), ("https://api.openai.com/v1", False, True, True),
    ("https://openai.com", False, True, True), ("https://notopenai.com", False, False, False),
    ("https://api.anthropic.com", False, False, True), ("http://", False, False, False),
])  # fmt: skip
def test_whose_address_it_is(url: str, local: bool, openai: bool, keyed: bool) -> None:
    assert (is_local(url), is_openai(url), needs_key(url)) == (local, openai, keyed)


@pytest.mark.parametrize(
    "url", ["", "localhost:80", "ftp://h", "http://", "http://h:0", "http://h:x", "http://[h", "https://:1"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UsageError, match="is not an http"):
        check_url(url)
