"""Streams: events however they are cut, joined to what the same reply is without streaming."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext

import pytest
from aiohttp import web

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import streams
from pytest_bfcl.models.anthropic import MessagesJoiner
from pytest_bfcl.models.chat import Chat, ChatJoiner
from pytest_bfcl.models.responses import ResponsesJoiner
from pytest_bfcl.models.streams import EventReader, StreamEnd
from tests.models.asking import KEY, ask, failing
from tests.models.loopback import WEATHER, Prompted, request


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def sse(*events, newline="\n", done=True):
    lines = [f"data: {event if isinstance(event, str) else json.dumps(event)}" for event in events]
    return "".join(f"{line}{newline}{newline}" for line in [*lines, *(["data: [DONE]"] if done else [])]).encode()


def chunk(delta, finish=None, **fields):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}


def call_delta(index, call_id=None, name=None, arguments=None, **fields):
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    found = {"index": index, "id": call_id, "function": function, **fields}
    return {"tool_calls": [{k: v for k, v in found.items() if v is not None}]}


def joined(api, data, sizes=(10**9,)):
    """The reply of a stream that arrives in pieces of these sizes."""
    joiner = api.joiner()
    reader, at, turn = EventReader(joiner), 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        reader.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    reader.close()
    return api.read(joiner.body())


CHAT = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "think"}),
    chunk({"reasoning_content": "ing é"}),
    chunk(call_delta(0, "a" * 600, "weather", "")),
    chunk(call_delta(0, arguments='{"town"')),
    chunk(call_delta(1, "c2", "clock", "{", extra_content={"google": {"thought_signature": "s"}})),
    chunk(call_delta(0, arguments=': "Zürich"}')),
    chunk(call_delta(1, arguments="}")),
    chunk({}, "tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 9,
                              "completion_tokens_details": {"reasoning_tokens": 4}}},
]  # fmt: skip


def streamed(*deltas):
    """The message and its calls that these deltas of a chat stream come to."""
    joiner = ChatJoiner()
    for delta in deltas:
        joiner.add(chunk(delta))
    joiner.add(chunk({}, "stop"))
    (choice,) = joiner.body()["choices"]
    assert choice["finish_reason"] == "stop"
    message = choice["message"]
    calls = [(c["id"], c["function"]["name"], c["function"].get("arguments")) for c in message.pop("tool_calls", ())]
    return message, calls, joiner.started


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        # by id, where there is no index; what has neither goes on with the last
        ([{"id": "a", "function": {"name": "f", "arguments": "{"}}, {"id": "a", "function": {"arguments": "}"}},
          {"id": "b", "function": {"name": "g"}}, {"function": {"arguments": "{}"}}],
         [("a", "f", "{}"), ("b", "g", "{}")]),
        ([{"id": "a", "function": {"name": "f", "arguments": "{"}}, {"id": "b", "function": {"name": "g"}},
          {"id": "a", "function": {"arguments": "}"}}], [("a", "f", "{}"), ("b", "g", None)]),
        ([{"function": {"arguments": "{}"}}, {"type": "function"}], [(None, "", "{}")]),
        ([{"id": "a"}, {"function": {"arguments": "1"}}], [("a", "", "1")]),
        # an index that is no number is none; an id that is no text, too
        ([{"index": "0", "id": "a", "function": {"name": "f"}}, {"index": "0", "id": "b", "function": {"name": "g"}}],
         [("a", "f", None), ("b", "g", None)]),
        ([{"index": 0, "id": 7, "function": {"name": "f"}}, {"index": 0, "id": "a"}], [("a", "f", None)]),
        ([{"index": 0, "id": "a", "function": {"name": "f"}}, {"index": 0, "id": ""}], [("a", "f", None)]),
        ([{"index": 1, "function": {"name": "f"}}, {"index": 0, "function": {"name": "g"}},
          {"index": 1, "function": {"arguments": "{}"}}], [(None, "f", "{}"), (None, "g", None)]),
        # a name in pieces, a name said again, a name corrected after arguments
        ([{"index": 0, "function": {"name": "get_"}}, {"index": 0, "function": {"name": "time", "arguments": ""}}],
         [(None, "get_time", "")]),
        ([{"index": 0, "function": {"name": "f"}}, {"index": 0, "function": {"name": "f"}}], [(None, "f", None)]),
        ([{"index": 0, "function": {"name": "f", "arguments": "{"}}, {"index": 0, "function": {"name": "f"}}],
         [(None, "f", "{")]),
        ([{"index": 0, "function": {"name": "f", "arguments": "{"}}, {"index": 0, "function": {"name": "g"}}],
         [(None, "g", "{")]),
        ([{"index": 0, "function": {"name": "f", "arguments": "{"}}, {"index": 0, "function": {"name": ""}}],
         [(None, "f", "{")]),
        ([{"index": 0, "function": {"name": 3, "arguments": {"x": 1}}}], [(None, "", '{"x": 1}')]),
        ([{"index": 0, "function": {"name": "f", "arguments": None}}, "text"], [(None, "f", None)]),
    ],
)  # fmt: skip
def test_pieces_of_calls(pieces, calls):
    for content in ("", "words"):
        message, found, started = streamed({"content": content}, *({"tool_calls": [piece]} for piece in pieces))
        assert found == calls
        assert (message["content"], started) == (content or None, True)


@pytest.mark.parametrize(
    ("deltas", "message", "started"),
    [
        ([{"role": "assistant"}, {"content": ""}], {"content": ""}, False),
        ([{"role": "assistant", "content": None}], {"content": None}, False),
        ([{"content": "a"}, {"content": ""}], {"content": "a"}, True),
        ([{"annotations": []}], {"content": None, "annotations": []}, False),
        ([{"annotations": [1]}, {"annotations": []}], {"content": None, "annotations": [1]}, True),
        ([{"annotations": [1]}, {"annotations": ["a", 2]}], {"content": None, "annotations": [1, "a", 2]}, True),
        ([{"annotations": [1]}, {"annotations": None}], {"content": None, "annotations": [1]}, True),
        ([{"annotations": 1}, {"annotations": [2]}], {"content": None, "annotations": [2]}, True),
        ([{"audio": {"id": 1}}, {"audio": {"data": 2}}], {"content": None, "audio": {"id": 1, "data": 2}}, False),
        ([{"audio": 1}, {"audio": {"data": 2}}, {"audio": 3}], {"content": None, "audio": 3}, False),
        ([{"content": [{"type": "text", "text": "a"}]}, {"content": [{"type": "text", "text": "b", "x": 1}]}],
         {"content": [{"type": "text", "text": "ab", "x": 1}]}, True),
        ([{"content": [{"type": "text", "text": "a"}, {"type": "image", "text": "b"}, {"type": "image"}]}],
         {"content": [{"type": "text", "text": "a"}, {"type": "image", "text": "b"}, {"type": "image"}]}, True),
        ([{"content": [{"type": "x", "thinking": "a"}, {"type": "x", "thinking": "b"},
           {"type": "x", "thinking": ["c"]}]}],
         {"content": [{"type": "x", "thinking": "ab"}, {"type": "x", "thinking": ["c"]}]}, True),
        ([{"content": [{"type": "text", "x": 1}]}, {"content": [{"type": "text", "text": "b"}, {"type": "text"}]}],
         {"content": [{"type": "text", "x": 1}, {"type": "text", "text": "b"}, {"type": "text"}]}, True),
        ([{"content": [{"type": "text", "text": "a"}]}, {"content": "b"}],
         {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, True),
        ([{"content": [{"type": "text", "text": "a"}, "b"]}], {"content": [{"type": "text", "text": "a"}, "b"]}, True),
        ([{"content": [{"type": "x", "thinking": ["a"]}, {"type": "x", "thinking": "b"}]}],
         {"content": [{"type": "x", "thinking": ["a"]}, {"type": "x", "thinking": "b"}]}, True),
        ([{"role": "assistant"}, {"content": "assistant"}], {"content": "assistant"}, True),
    ],
)  # fmt: skip
def test_pieces_of_messages(deltas, message, started):
    found, calls, began = streamed(*deltas)
    assert (found, calls, began) == (message, [], started)


def test_fields_of_calls_are_kept():
    pieces = [{"index": 0, "id": "a", "type": "function", "extra": {"a": 1}, "x": None, "y": 1, "z": {"a": 1}},
              {"index": 0, "extra": {"b": 2}, "y": {"c": 3}, "z": 3, "function": {"name": "f"}}]  # fmt: skip
    joiner = ChatJoiner()
    joiner.add(chunk({"tool_calls": pieces}, "tool_calls"))
    assert joiner.body()["choices"][0]["message"]["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "f"}, "extra": {"a": 1, "b": 2}, "y": {"c": 3}, "z": 3}
    ]


def test_a_whole_message_as_one_chunk():
    joiner = ChatJoiner()
    joiner.add({"choices": [{"index": 0, "message": {"content": "whole"}, "finish_reason": "stop"}]})
    joiner.add({"choices": [{"index": 0, "delta": {}, "message": {"content": "again"}}, {"index": 0}]})
    assert joiner.body()["choices"] == [{"finish_reason": "stop", "message": {"content": "whole"}}]


def test_parts_of_a_thought_grow():
    thought = [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]} for text in "ab"]
    reply = joined(Chat(), sse(*map(chunk, thought), chunk({"content": "yes"}), chunk({}, "stop")))
    assert (reply.text, reply.reasoning) == ("yes", "ab")
    assert len(reply.state.parts) == 2


def test_completions():
    api = Prompted()
    events = [{"choices": [{"index": 0, "text": text}]} for text in ("[f", "(x=1)]")]
    reply = joined(api, sse(*events, {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}), (5,))
    assert (reply.text, reply.finish_reason) == ("[f(x=1)]", "stop")
    joiner = api.joiner()
    for text, started in (("", False), ("a", True), ("", True)):
        joiner.add({"choices": [{"index": 0, "text": text}]})
        assert joiner.started is started
    kept = {"role": "assistant", "content": "a"}
    assert api.remember(reply, kept) is kept


class Kept:
    """A joiner that keeps what it is given."""

    def __init__(self, unwanted=b"unwanted"):
        self.done, self.events, self.unwanted = False, [], unwanted

    def wants(self, block):
        return self.unwanted not in block

    def add(self, event):
        self.events.append(event)


@pytest.mark.parametrize(
    ("data", "events", "done", "error"),
    [
        (b'data: {"a": 1}\n\ndata:{"b": 2}\n\n\n\ndata: {"c": 3}\n\n', [{"a": 1}, {"b": 2}, {"c": 3}], False, None),
        (b'data: {"a": 1}\n\ndata: {"b": 2}', [{"a": 1}, {"b": 2}], False, None),
        (b'data: {"a": 1}\r\n\r\ndata: {"b": 2}\r\n', [{"a": 1}, {"b": 2}], False, None),
        (b'data: {"a": 1}\n\ndata: {"b": ', [{"a": 1}], False, None),
        (b'event: x\ndata: {"a":\ndata: 1}\nid: 3\n\n', [{"a": 1}], False, None),
        (b'data: [1]\n\ndata: 3\n\ndata:\n\n: wait\n\n', [], False, None),
        (b'data: {"unwanted": 1}\n\ndata: {"a": 1}\n\n', [{"a": 1}], False, None),
        (b'data: [DONE]\n\ndata: {"a": 1}\n\n{"b": 1}', [], True, None),
        (b'data: [DONE] ', [], True, None),
        (b'data: {"error": {"m": 1}}\n\ndata: {"a": 1}\n\n', [], False, {"error": {"m": 1}}),
        (b'data: {"type": "error", "m": 1}\n\n', [], False, {"error": {"type": "error", "m": 1}}),
        (b'data: {"error": null, "a": 1}\n\n', [{"error": None, "a": 1}], False, None),
        (b'data: {"a":\ndata: 1}\n\n \n', [{"a": 1}], False, None),
        (b'data: {"a": 1}\n\n \nworker 3 is gone\n\n', [{"a": 1}], False, {"error": "worker 3 is gone"}),
        (b'data: [DONE]\n\nso long!\n\n', [], True, None),
        (b'data: [done]\n\ndata: {"error": "late"}\n\n', [], True, {"error": "late"}),
        (b'\xef\xbb\xbfdata: {"a": 1}\r\rdata: {"b": 2}\n\n', [{"a": 1}, {"b": 2}], False, None),
        *((told, [], False, {"error": said}) for told, said in (
            (b"error: busy\n\n", "busy"), (b"event: error\n\n", "error"), (b"Exceptions\n\n", "error"),
            (b'event: error\ndata: {"m": 1}\n\n', '{"m": 1}'), (b'data: "busy"\n\n', "busy"))),
        (b'data: ""\n\ndata: {}\n\nretry: 5\n\n', [{}], False, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_events_however_they_are_cut(data, events, done, error, size):
    kept = Kept()
    reader = EventReader(kept)
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    reader.close()
    assert (kept.events, reader.done, kept.done, reader.error) == (events, done, done, error)


def test_a_whole_event_that_is_no_json_is_asked_again():
    with pytest.raises(AdapterError, match="an event that is not JSON") as caught:
        EventReader(Kept()).feed(b"data: {cut\n\n")
    assert (caught.value.kind, caught.value.retryable) == ("malformed_body", True)


@pytest.mark.parametrize(("stream", "event", "data", "refused"), [
    (10, 100, b"data: 1\n\n", False), (8, 100, b"data: 1\n\n", True), (9, 100, b"data: 1\n\n", False),
    (100, 4, b"data:", True), (100, 5, b"data:", False),
])  # fmt: skip
def test_streams_and_events_have_limits(monkeypatch, stream, event, data, refused):
    monkeypatch.setattr(streams, "STREAM_LIMIT", stream)
    monkeypatch.setattr(streams, "EVENT_LIMIT", event)
    with pytest.raises(AdapterError, match="longer than") if refused else nullcontext():
        EventReader(Kept()).feed(data)


@pytest.mark.parametrize(
    ("events", "over", "body"),
    [
        ([{"id": "1", "model": "m", "usage": None}, {"choices": [{"finish_reason": "stop"}], "usage": {"a": 1}}], False,
         {"id": "1", "model": "m", "usage": {"a": 1}, "choices": [{"finish_reason": "stop", "message": 1}]}),
        ([{"choices": [{"index": 1, "finish_reason": "stop"}, "text", {"index": 0, "error": "e"}]}], False,
         {"usage": None, "choices": [{"error": "e", "message": 1}]}),
        ([{"choices": "none"}, {"other": 1}], True, {"other": 1, "usage": None, "choices": [{"message": 1}]}),
        ([{"choices": [{"finish_reason": "stop"}]}, {"choices": [{"finish_reason": None}]}], False,
         {"usage": None, "choices": [{"finish_reason": "stop", "message": 1}]}),
        ([{"choices": [{"content_filter_results": {"hate": {"filtered": True}}}]}, {"choices": []}], True,
         {"usage": None, "choices": [{"content_filter_results": {"any": {"filtered": True}}, "message": 1}]}),
        ([{"choices": [{"native_finish_reason": "failed"}]},
          {"choices": [{"native_finish_reason": "aborted", "finish_reason": "stop"}]}], False,
         {"error": "failed", "usage": None,
          "choices": [{"native_finish_reason": "aborted", "finish_reason": "stop", "message": 1}]}),
    ],
)  # fmt: skip
def test_what_stands_around_the_pieces(events, over, body):
    end = StreamEnd()
    for event in events:
        end.choices(event)
    assert end.body({"message": 1}, over=over) == body


def item_done(place, **fields):
    return {"type": "response.output_item.done", "output_index": place, "item": fields}


def response(status, **fields):
    return {"type": f"response.{status}", "response": {"status": status, **fields}}


FAILED_ITEM = {"type": "message", "status": "failed"}


@pytest.mark.parametrize(
    ("events", "body"),
    [
        ([item_done(1, n=1), item_done("0", n=2), item_done(None, n=3), response("completed")],
         {"status": "completed", "output": [{"n": 2}, {"n": 1}, {"n": 3}]}),
        ([item_done(0, n=1), response("completed", output=[{"n": 2}])], {"status": "completed", "output": [{"n": 2}]}),
        ([item_done(0, **FAILED_ITEM), item_done(1, type="message", error="late"), response("completed")],
         {"status": "completed", "error": "status: failed",
          "output": [FAILED_ITEM, {"type": "message", "error": "late"}]}),
        ([item_done(0, **FAILED_ITEM), response("incomplete")], {"status": "incomplete", "output": [FAILED_ITEM]}),
        ([item_done(0, type="web_search", status="failed"), response("completed")],
         {"status": "completed", "output": [{"type": "web_search", "status": "failed"}]}),
        ([response("completed", n=1), response("incomplete"), response("completed", n=2)],
         {"status": "incomplete", "output": []}),
    ],
)  # fmt: skip
def test_what_a_stream_of_responses_ends_with(events, body):
    joiner = ResponsesJoiner()
    for event in events:
        joiner.add(event)
    assert joiner.body() == body


def test_which_events_of_responses_are_read():
    for kind in ("x.delta", "response.output_text.delta"):
        joiner = ResponsesJoiner()
        named = [kind, "response.created", "response.output_item.done", "error", "response.completed"]
        assert [joiner.wants(f"event: {name}\ndata: {{}}".encode()) for name in named] == [False, False, *[True] * 3]
        assert joiner.started
    joiner = ResponsesJoiner()
    assert joiner.wants(b"event: response.created") is joiner.started is False
    assert joiner.wants(b"data: {}")
    for event in ({"type": "response.output_text.delta"}, response("created")):
        joiner.add(event)
        assert joiner.started


def block_start(index, block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index, kind, **fields):
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **fields}}


def message_delta(**fields):
    return {"type": "message_delta", **fields}


def message_start(message):
    return {"type": "message_start", "message": message}


USE = {"type": "tool_use", "id": "a", "name": "f"}
STOP = {"type": "message_stop"}
ENDED = message_delta(delta={"stop_reason": "end_turn"})


@pytest.mark.parametrize(
    ("events", "message"),
    [
        # blocks stand in the order of their indices; one that never began is text
        ([piece(1, "text", text="b"), piece("0", "text", text="x"), piece(1, "text", text="c"), STOP],
         {"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "bc"}]}),
        ([block_start(0, {"type": "text", "text": "x"}), piece(0, "text", text="y"), piece(0, "text", text=7), STOP],
         {"content": [{"type": "text", "text": "xy"}]}),
        ([block_start(0, {"type": "thinking"}), piece(0, "thinking", thinking="hm"),
          piece(0, "signature", signature="s"), STOP],
         {"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}),
        *(([block_start(0, USE), *(piece(0, "input_json", partial_json=each) for each in pieces), STOP],
           {"content": [{**USE, "input": told}]})
          for pieces, told in ((['{"x": ', "1}"], {"x": 1}), (["", " "], {}), (["[1"], "[1"))),
        # what is not known is told; citations are
        ([block_start(0, "odd"), piece(0, "future"), piece(0, "citations"), STOP],
         {"content": [{"type": "odd"}, {"type": "future_delta"}]}),
        ([piece(None, "text", text="x"), block_start(None, USE), {"type": "ping"}, STOP], {"content": []}),
        # what stands around the blocks
        ([message_start(5), message_start({"id": "r", "stop_sequence": "x", "usage": {"input_tokens": 3}}),
          message_delta(usage={"output_tokens": 9}, delta={"stop_sequence": None, "stop_reason": "end_turn"})],
         {"id": "r", "stop_sequence": "x", "stop_reason": "end_turn", "content": [],
          "usage": {"input_tokens": 3, "output_tokens": 9}}),
        ([message_start({"usage": 5}), message_delta(usage={"output_tokens": 9}), message_delta(usage=5), STOP],
         {"usage": {"output_tokens": 9}, "content": []}),
        ([message_delta(delta={"stop_reason": "refusal"}), ENDED], {"stop_reason": "refusal", "content": []}),
        ([message_delta(error={"message": "busy"}), ENDED],
         {"error": "error", "stop_reason": "end_turn", "content": []}),
        # without an ending it was cut
        ([message_start({"id": "r"}), message_delta(delta={"stop_reason": None}), message_delta(delta=5)], None),
    ],
)  # fmt: skip
def test_what_a_stream_of_messages_comes_to(events, message):
    joiner = MessagesJoiner()
    for event in events:
        joiner.add(event)
    if message is None:
        with pytest.raises(AdapterError, match="no message_stop came"):
            joiner.body()
    else:
        assert joiner.body() == message
    assert joiner.started is any("block_delta" in event["type"] and event["index"] is not None for event in events)
    assert (joiner.wants(b"event: ping\ndata: {}"), joiner.wants(b"event: message_stop")) == (False, True)


# ------------------------------------------------------------------ over the wire


def streaming(*events, cut=False):
    async def handler(req):
        body = await req.json()
        assert body["stream"] is True
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(req)
        await response.write(sse(*events, done=not cut))
        if cut:
            req.transport.abort()
        return response

    return handler


def test_a_stream_is_over_with_its_last_event_though_the_connection_stays():
    async def handler(req):
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(req)
        await response.write(sse(*CHAT))
        await asyncio.sleep(30)
        return response

    reply, _ = ask(handler, stream=True, timeout_s=2.0)
    assert (len(reply.tool_calls), reply.attempts) == (2, 1)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/json"])
def test_events_under_another_content_type(kind, whole):
    async def handler(req):
        return web.Response(body=sse(*CHAT, done=whole).rstrip(b"" if whole else b"\n"), content_type=kind)

    reply, _ = ask(handler, stream=True)
    assert (len(reply.tool_calls), reply.input_tokens) == (2, 3)


@pytest.mark.parametrize(("events", "cut"), [(5, True), (5, False), (0, False)])
def test_a_stream_cut_in_the_middle_is_asked_again(events, cut):
    reply, _ = ask(failing(2, streaming(*CHAT[:events], cut=cut)), stream=True)
    assert (reply.text, reply.attempts) == ("ok", 3)


def test_an_error_inside_a_stream_is_told_in_the_servers_words():
    error = {"error": {"message": "the engine died", "code": 503}}
    with pytest.raises(AdapterError, match="HTTP 200 with error 503: the engine died") as caught:
        ask(failing(99, streaming(CHAT[0], error)), stream=True)
    assert caught.value.kind == "server"


def test_stream_options_are_left_out_where_they_are_refused():
    seen = []

    async def strict(req):
        body = await req.json()
        seen.append(set(body))
        if "stream_options" in body:
            return web.json_response(
                {"error": {"message": "Extra inputs are not permitted: stream_options"}}, status=422
            )
        return await streaming(*CHAT)(req)

    reply, model = ask(strict, request(WEATHER), stream=True)
    assert len(reply.tool_calls) == 2
    assert "stream_options" not in seen[-1]
    assert len(model.notes) == 1
