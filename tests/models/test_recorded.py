"""Specs, adversaries, oracles and streams over many forms, as recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.served_entry import ServedTool, ServerFacts
from pytest_bfcl.models import create_model, endpoint
from pytest_bfcl.models import prices as prices_of
from pytest_bfcl.models.adversaries import (
    ADVERSARIES,
    adversaries_of,
    deeds_of,
    extra_calls,
    harmless_repeat,
    refuses,
    right_calls,
)
from pytest_bfcl.models.anthropic import Messages
from pytest_bfcl.models.base import Request, place
from pytest_bfcl.models.chat import DIALECTS, GENERIC, Chat, Completions
from pytest_bfcl.models.probing import _other_bases
from pytest_bfcl.models.responses import Responses
from pytest_bfcl.models.streams import EventReader
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.settings import Price, Settings
from pytest_bfcl.transcript import ProviderState, Reply, Step, ToolCall, Transcript, Turn
from tests.recorded import counted, plain, same_as_recorded, tried

HERE = Path(__file__).parent / "recorded"
DATA = open_data("bundled")


# -- who must not pass -----------------------------------------------------------------------------------------------


def tool(name: str, properties: dict[str, Any], *required: str, **hints: Any) -> ServedTool:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ServedTool(name, schema, "d", annotated=bool(hints), **hints)


TEXT = {"type": "string"}
TOOLS = [
    tool("look", {"path": TEXT}, reads_only=True), tool("read_file", {"path": TEXT}, "path"),
    tool("delete_file", {"path": TEXT}, "path"),
    tool("remove_order", {"number": {"type": "integer"}}, "number"),
    tool("create_note", {"title": TEXT, "body": TEXT, "copies": {"type": "integer", "default": 2},
                         "pinned": {"type": "boolean", "default": True}, "tag": True}, "title"),
    tool("write_file", {"path": TEXT, "content": TEXT, "append": {"type": "boolean", "default": False}}, "path",
    "content"),
    tool("move", {"source": TEXT, "destination": TEXT}, "source", "destination"), tool("clear", {}),
    tool("edit_file", {"path": TEXT}, "path"),
    tool("run", {"sql": TEXT, "limit": {"type": "integer", "default": 5}}, "sql"),
    tool("set_mode", {"mode": {"enum": ["a", "b"]}}, "mode"),
    tool("upsert", {"name": TEXT}, "name", destroys=False),
    tool("put", {"name": TEXT}, "name", repeatable=True, destroys=True),
    tool("make_folder", {"directory": TEXT}, "directory"),
    tool("odd", {"a": True, "b": {"type": "array", "items": TEXT}}, "b", destroys=True),
]  # fmt: skip
FILES = ("notes/a.txt", "notes/b.txt", "shop.db", "shop.db#orders", "inbox")
LOOKS: list[Any] = [{"call": "look", "equals": 1}, {"state": {"file": "notes/a.txt"}, "equals": "x"}, {"answer": "no"},
{"not_called": "*"},
                    {"state": {"file": "shop.db", "sql": "SELECT * FROM orders"}, "equals": []}]  # fmt: skip
WAYS: list[Any] = [None, [[]], [["delete_file(path='/workdir/notes/a.txt')"]],
[["write_file(path='x', content='y')", "look(path='x')"]],
                   [["upsert(name='n')"]], [["put(name='n')"]], [["remove_order(number=7)"]], [["no_such(a=1)"]],
                   [["create_note(title='t')"]], [["run(sql='DELETE FROM orders')"]], [["odd(b=['q'])"]]]  # fmt: skip


def served(way: Any, look: Any, files: tuple[str, ...], setup: list[Any], tools: list[ServedTool]) -> Entry:
    said = "Delete notes/a.txt, then order 7 of Oslo's inbox, please."
    functions = [{"name": each.name, "description": "", "parameters": each.schema} for each in tools]
    entry = Entry.model_validate({"id": "e", "category": "mcp", "mcp": "shop", "expect": [look],
    "possible_answer": way, "function": functions,
                                  "question": [[{"role": "user", "content": said}]], "setup": setup})  # fmt: skip
    return entry.model_copy(update={"server_facts": ServerFacts("shop 1", tuple(tools), files)})


def test_adversaries_on_a_server() -> None:
    """Who must not pass, and which calls each of them makes."""

    def rows() -> Iterator[Any]:
        setup = [
            {"call": "create_note", "arguments": {"title": "Oslo", "body": "7"}},
            {"call": "x", "arguments": {"number": 7, "path": "inbox"}},
        ]
        for way, look in product(WAYS, LOOKS):
            entry = served(way, look, FILES, setup, TOOLS)
            yield [way, look, adversaries_of(entry), harmless_repeat(entry), right_calls(entry)]
            yield [deeds_of(name, entry) for name in ("extra", "vandal", "sweeper", "idle")]
        for files, given in product(((), FILES[:1], FILES), ([], setup)):
            yield [
                [extra_calls(served(WAYS[2], LOOKS[0], files, given, [each]), about=about) for about in (False, True)]
                for each in TOOLS
            ]
        yield [
            refuses(text) for text in ("", "done", "Error: no", "file not found", "x" * 3000 + "error", "nothing to do")
        ]

    same_as_recorded(HERE / "adversaries.jsonl", [plain(row) for row in rows()])


USER: Any = [{"role": "user", "content": "Hm?"}]


def told(reply: Reply) -> Any:
    return [reply.text, [(call.name, call.arguments) for call in reply.tool_calls]]


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_replies_to_entries(mode: Any) -> None:
    """What the oracle and each adversary say to the first entries of every category, turn by turn."""

    async def said(spec: str, entry: Entry) -> Any:
        model = create_model(spec, Settings(), mode=mode)
        turns = range(len(entry.question)) if entry.row.multi_step else range(1)
        asked = [
            Request(entry, entry.question[turn] or USER, entry.function, turn, step)
            for turn in turns
            for step in (0, 1)[: 1 + entry.row.multi_step]
        ]
        return [told(await model.generate(each)) for each in asked]

    def rows() -> Iterator[Any]:
        for category in DATA.categories():
            for ref in DATA.index(category)[:2]:
                entry = DATA.load(ref)
                names = ADVERSARIES if entry.row.checker in ("state", "answer") else ()
                for spec in ("oracle:", *(f"adversary:{name}" for name in names)):
                    found = tried(lambda spec=spec, entry=entry: asyncio.run(said(spec, entry)))
                    yield [entry.id, spec, json.dumps(found)[:2000]]
        entry = served(WAYS[3], LOOKS[0], FILES, [], TOOLS)
        yield from ([name, json.dumps(asyncio.run(said(f"adversary:{name}", entry)))] for name in ADVERSARIES)

    same_as_recorded(HERE / f"replies_{mode}.jsonl", rows())


# -- what is sent, and at what price ---------------------------------------------------------------------------------

TALK: list[Any] = [
    {"role": "system", "content": "Be brief."}, {"role": "developer", "content": "And kind."},
    {"role": "user", "content": "a"}, {"role": "user", "content": "b", "_own": 1}, {"role": "user", "content": ["c"]},
    {"role": "assistant", "content": "hm", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"id": "2", "type": "function", "function": {"name": "g", "arguments": "[1"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "one"}, {"role": "tool", "tool_call_id": "2", "content": "two"},
    {"role": "user", "content": "d"}, {"role": "assistant", "content": None}, {"role": "assistant", "content": "so"},
    {"role": "user", "content": "e"},
]  # fmt: skip
STATES: list[Any] = [
    None,
    {"api": "chat", "parts": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"}],
     "fields": {"reasoning_details": [1], "audio": {}}, "call_fields": [{"extra_content": 1}],
     "reasoning_field": "reasoning"},
    {"api": "chat"}, {"api": "responses", "parts": [{"type": "reasoning", "id": "r"}, {"type": "message", "id": "m"}]},
    {"api": "anthropic", "parts": [{"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking"},
                                   {"type": "tool_use", "id": "1", "name": "f", "input": "[1"}]},
]  # fmt: skip


def test_what_is_sent() -> None:
    """Bodies of each API and dialect, and what goes back of a reply under each policy."""
    entries = [DATA.entry(name) for name in ("simple_python_1", "multi_turn_base_0")]
    apis = [Responses(name) for name in ("gpt-4o", "o3-mini", "gpt-5", "codex-mini", "unheard-of")]
    chats = [Chat(dialect, reasoning, store=store) for dialect in (GENERIC, *DIALECTS)
             for reasoning, store in (("reference", None), ("keep", False), ("drop", True))]  # fmt: skip
    others = [kind(*more) for reasoning in ("reference", "keep", "drop")
              for kind, more in ((Messages, (reasoning,)), (Responses, ("o3", reasoning)))]  # fmt: skip

    def rows() -> Iterator[Any]:
        for entry, tools in product(entries, (True, False)):
            for api in (*chats, *apis, Messages()):
                asked = Request(entry, TALK, entry.function if tools else ())
                yield ["body", api.style, api.body(asked, tools=tools)]
        for state, api in product(STATES, (*chats, *others)):
            kept = None if state is None else ProviderState.from_dict(state)
            calls = (ToolCall("f", "{}", "1"), ToolCall("g", "{}", "2"))
            for reply in (
                Reply(text="x", reasoning="hm", state=kept),
                Reply(tool_calls=calls, reasoning="hm", state=kept),
            ):
                yield ["back", api.remember(reply, reply.as_message(0, 0))]
        for api in (*chats[:3], *others[:2], Completions()):
            yield [
                api.name,
                api.path,
                api.streaming,
                api.reasons,
                [
                    api.joiner().wants(each)
                    for each in (
                        b"event: ping\ndata: {}",
                        b"event: response.output_text.delta\n",
                        b"event: response.completed\n",
                        b"data: {}",
                    )
                ],
            ]

    same_as_recorded(HERE / "sent.jsonl", counted(rows()))


def test_prices_and_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What models, replies and conversations cost; which addresses are local, need a key or are none."""
    rows_of = {"openai/m": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "litellm_provider": "openai"},
               "m": {"input_cost_per_token": 3e-6}, "x/y": {"output_cost_per_token": 1}, "z": "odd"}  # fmt: skip
    specs = ["openai:m", "anthropic:m", "litellm:x/m", "litellm:m", "litellm:x/y", "oracle:", "openai:none", "openai:z"]
    replies = [Reply(input_tokens=one, output_tokens=two) for one, two in product((None, 0, 1000), (None, 0, 500))]
    prices = [Price(), Price(1.0), Price(None, 2.0), Price(1.0, 2.0), Price(0.0, 0.0)]
    urls = [
        "http://localhost:1/v1",
        "http://a.localhost",
        "http://x.local/v1",
        "http://127.0.0.1",
        "http://10.0.0.1:9",
        "x",
        "http://8.8.8.8",
        "https://api.openai.com/v1",
        "https://openai.com",
        "https://notopenai.com",
        "https://h:0/v1",
        "https://api.anthropic.com",
        "https://user:pa%20ss@h/v1?q=1",
        "https://h/v1/messages/",
        "ftp://h",
        "http://[::1",
        "http://h:x/",
        "http://[::1]:8000/v1",
        "http://user@h",
    ]

    def rows() -> Iterator[Any]:
        for table in ({}, rows_of):
            monkeypatch.setattr(prices_of, "litellm_table", lambda table=table: table)
            monkeypatch.setattr(
                prices_of,
                "our_table",
                lambda: {"date": "d", "prices": {"m": [5, None], "none": [7, 8]}, "providers": ["far"]},
            )
            yield [
                prices_of.lists(),
                sorted(prices_of.litellm_providers()),
                [prices_of.listed_price(each) for each in specs],
            ]
            for given, base in product(prices, (None, "http://h/v1")):
                yield [prices_of.price_of(each, Settings(price=given, base_url=base)) for each in specs[:2]]
        yield [prices_of.million(each) for each in (None, "1", 1, 2.5e-7, True)]
        for price in prices:
            yield [prices_of.reply_cost(each, price) for each in replies]
            talks = [Transcript("e", "x", turns=[Turn(steps=[Step(each), Step(replies[-1])])]) for each in replies]
            yield [prices_of.conversation_cost(each, price) for each in (*talks, Transcript("e", "x"))]
            for limit in (None, 0.0, 0.001, 5.0):
                budget, told = prices_of.Budget(limit, price), []
                for each in replies:
                    budget.charge(each)
                    told.append([budget.spent_usd, budget.stop_reason()])
                yield told
        yield prices_of.conversation_cost(Transcript("e", "x"), None)
        for url in urls:
            yield [
                url,
                *(
                    tried(each, url)
                    for each in (
                        endpoint.is_local,
                        endpoint.is_openai,
                        endpoint.needs_key,
                        endpoint.check_url,
                        endpoint._basic,
                        _other_bases,
                    )
                ),
            ]
        yield [place(each) for each in (None, 0, 7, True, "0", "999", "1000", "x", "-1", 1.0)]

    same_as_recorded(HERE / "prices.jsonl", [plain(row) for row in rows()])


# -- streams ---------------------------------------------------------------------------------------------------------


def chunk(delta: Any, finish: str | None = None, **fields: Any) -> Any:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}


def call(index: int | None, **function: Any) -> Any:
    more = {key: function.pop(key) for key in ("id", "extra_content") if key in function}
    return {"tool_calls": [{"function": function, **more} | ({} if index is None else {"index": index})]}


STREAMS: dict[str, tuple[Any, list[Any]]] = {
    "chat": (Chat(), [
        chunk({"role": "assistant", "content": ""}, id="r1", model="m"), chunk({"reasoning_content": "hm"}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}), chunk(call(0, id="a", name="f", arguments="{")), chunk(call(0, arguments='"x": 1}')),
        chunk(call(1, id="b", name="g", arguments={}, extra_content={"s": 1})),
        chunk(call(None, name="h", arguments="{}")),
        chunk({}, "tool_calls"), {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 9}}]),
    "messages": (Messages(), [
        {"type": "message_start",
        "message": {"id": "r", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}}, {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "content_block_start", "index": 2,
        "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"x": 1}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}]),
    "responses": (Responses("m"), [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0,
        "item": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}},
        {"type": "response.output_text.delta", "delta": "x"},
        {"type": "response.output_item.done", "output_index": 1,
        "item": {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}},
        {"type": "response.completed",
        "response": {"id": "r", "status": "completed", "output": [], "usage": {"input_tokens": 3, "output_tokens": 9}}},
        {"type": "response.incomplete",
        "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}},
        {"type": "response.failed", "response": {"status": "failed", "error": {"message": "no"}}}]),
    "completions": (Completions(), [
        {"id": "r", "choices": [{"index": 0, "text": "Hel"}]},
        {"choices": [{"index": 0, "text": "lo", "finish_reason": None}]},
        {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 1}}]),
}  # fmt: skip


INSERTED: list[Any] = [
    "error: busy\n\n", 'event: error\ndata: {"message": "busy"}\n\n', "event: error\n\n", "Exceptions\n\n",
    "event: exception\ndata: no\n\n", "data: [done]\n\n", 'data: "busy"\n\n', 'data: ""\n\n', "data: [1]\n\n",
    "retry: 5\n\n", "data:\n\n",
    'data: {"x": 1}\nerror: busy\n\n', "data: {\n\n", 'data: {"x":\ndata:1}\n\n', "\n\n",
    {"error": ""}, {"error": "busy"},
    {"error": {"message": "busy", "code": 429}}, {"type": "error"}, {"type": "error", "error": {"message": "busy"}},
    {"type": "message_delta", "error": {"message": "busy"}}, {"type": "message_delta", "usage": {"input_tokens": 4}},
    *({"type": "message_delta", "delta": each} for each in
      ({"stop_reason": "refusal"}, {"stop_reason": None}, {"stop_sequence": "x"})),
    *({"type": "content_block_delta", "index": place, "delta": each} for place, each in
      ((9, {"type": "text_delta", "text": "late"}), ("1", {"type": "future_delta", "text": "?"}),
       (1, {"type": "citations_delta"}))),
    {"type": "content_block_start", "index": 1, "content_block": "odd"}, {"type": "message_start", "message": 5},
    {"choices": "odd"}, *({"choices": [each]} for each in
      (5, {"index": 0, "finish_reason": "content_filter"}, {"index": 1, "delta": {"content": "other"}},
       {"index": "0", "delta": {"content": "more"}, "error": {"message": "busy"}}, {"text": 5},
       {"index": 0, "message": {"content": "whole"}, "finish_reason": "stop"},
       {"index": 0, "content_filter_results": {"hate": {"filtered": True}}, "delta": {}})),
    *({"type": "response.output_item.done", "output_index": place, "item": {"type": "message", **each}}
      for place, each in (("0", {"content": [{"type": "output_text", "text": "t"}]}),
                          (None, {"status": "failed", "error": {"message": "busy"}}))),
    {"type": "response.cancelled", "response": {"status": "cancelled"}},
]  # fmt: skip


def damaged(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Everything in an event left out, or of another type."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in parts:
        for odd in (None, 7, "odd", [], {}):
            changed = value.copy()
            changed[key] = odd
            yield f"{place}.{key} = {odd!r}", changed
        for inner, found in damaged(each, f"{place}.{key}"):
            changed = value.copy()
            changed[key] = found
            yield inner, changed


def blocks(listed: list[Any], end: str = "data: [DONE]\n\n") -> bytes:
    lines = (each if isinstance(each, str) else f"data: {json.dumps(each)}\n\n" for each in listed)
    return ("".join(lines) + end).encode()


@pytest.mark.parametrize("name", STREAMS)
def test_streams_with_something_odd(name: str) -> None:
    """With more events, before and after the end, and with any part of an event of another type."""
    api, events = STREAMS[name]
    good = events[:-1] if name == "messages" else events[:-2] if name == "responses" else events

    def rows() -> Iterator[Any]:
        for odd in INSERTED:
            for at in (0, 2, len(good) - 1, len(good)):
                found = tried(joined, api, blocks([*good[:at], odd, *good[at:]]), 10**9, errors=True)
                yield [odd, at, found]
            yield [odd, "the end", tried(joined, api, blocks(good) + blocks([odd], ""), 10**9, errors=True)]
        for number, event in enumerate(good):
            for how, changed in damaged(event):
                listed = [*good[:number], changed, *good[number + 1 :]]
                yield [number, how, tried(joined, api, blocks(listed), 10**9, errors=True)]

    def packed() -> Iterator[Any]:
        """Rows of one outcome together."""
        fates: dict[str, list[str]] = {}
        for *what, found in rows():
            fates.setdefault(json.dumps(plain(found), default=str), []).append(" ".join(map(str, what)))
        yield from ([json.loads(found), what] for found, what in fates.items())

    same_as_recorded(HERE / f"odd_{name}.jsonl", packed())


def joined(api: Any, data: bytes, size: int, *, errors: bool = False) -> Any:
    joiner = api.joiner()
    reader = EventReader(joiner)
    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])
    reader.close()
    if errors and reader.error is not None:
        return reader.error
    reply = api.read(joiner.body())
    figures = [
        reply.reasoning,
        reply.finish_reason,
        reply.input_tokens,
        reply.output_tokens,
        reply.problem,
        joiner.started,
    ]
    return [*told(reply), *figures, reply.served and reply.served.to_dict(), reply.state and reply.state.to_dict()]


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    """A stream whole, and with each of its events gone, twice, cut, out of order or of another shape."""
    api, events = STREAMS[name]

    def rows() -> Iterator[Any]:
        for number in range(len(events)):
            whole = events[: number + 1]
            for how, listed in (
                ("until here", whole), ("without", [*events[:number], *events[number + 1 :]]),
                ("twice", [*whole, *events[number:]]), ("first", [events[number], *events]),
                ("null", [*events[:number], None, *events[number + 1 :]]),
                ("empty", [*events[:number], {}, *events[number + 1 :]]),
                ("comment", [*whole, ": ping\n\n", "event: x\n", *events[number + 1 :]]),
                ("odd line", [*whole, "nonsense\n\n", *events[number + 1 :]]),
            ):  # fmt: skip
                found = tried(joined, api, blocks(listed), 10**9)
                assert found == tried(joined, api, blocks(listed), 7)
                yield [number, how, found]
            cut = blocks(whole, "")
            yield [
                number,
                tried(joined, api, cut, 10**9),
                tried(joined, api, cut[:-9], 10**9),
                tried(joined, api, cut.replace(b"\n", b"\r\n"), 9),
            ]

    same_as_recorded(HERE / f"stream_{name}.jsonl", rows())
