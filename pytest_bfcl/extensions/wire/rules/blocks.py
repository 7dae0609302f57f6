"""Anthropic's Messages: the message object, its content blocks, and the events of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.exchange import DONE, loads
from pytest_bfcl.extensions.wire.messages import DELTAS, ENDS, Json, blocks_of
from pytest_bfcl.extensions.wire.row import Found, RowJudges, wrong
from pytest_bfcl.extensions.wire.rules.messages import is_count, is_text
from pytest_bfcl.json_types import Fields


def final(judged: Judged) -> Json | None:
    """The message of an unstreamed answer."""
    body = judged.reply.exchange.body
    return body if isinstance(body, dict) and not judged.reply.problem else None


def _of_message(said: Callable[[Json], Iterator[str]]) -> Callable[[Judged], Found]:
    """A rule about the message object."""

    def judge(judged: Judged) -> Found:
        message = final(judged)
        return None if message is None else wrong(next(said(message), None))

    return judge


def _of_events(said: Callable[[list[Json]], Iterator[str]]) -> Callable[[Judged], Found]:
    """A rule about the events of a stream."""

    def judge(judged: Judged) -> Found:
        found = list(judged.reply.exchange.objects(typed=True))
        if judged.reply.problem or not found:
            return None
        return wrong(next(said(found), None), judged.reply.exchange.received[:4000])

    return judge


def _form(message: Json) -> Iterator[str]:
    yield from _about(message)
    for position, block in enumerate(message["content"]):
        if not isinstance(block, dict) or not is_text(block.get("type")):
            yield f"content block {position} is {block!r:.80}, no object with a type"
    if not isinstance(message.get("stop_sequence"), str | None):
        yield f"stop_sequence is {message['stop_sequence']!r:.80}"


def _about(message: Fields) -> Iterator[str]:
    if not is_text(message.get("id")) or not is_text(message.get("model")):
        yield f"id or model is missing: {message.get('id')!r:.80}, {message.get('model')!r:.80}"
    if message.get("type") != "message":
        yield f"the type is {message.get('type')!r:.80}, not 'message'"
    if message.get("role") != "assistant":
        yield f"the role is {message.get('role')!r:.80}, not 'assistant'"


def _blocks(message: Json) -> Iterator[str]:
    for block in blocks_of(message):
        kind = block.get("type")
        if kind == "text" and not isinstance(block.get("text"), str):
            yield f"a text block has the text {block.get('text')!r:.80}"
        if kind == "tool_use" and not (is_text(block.get("id")) and is_text(block.get("name"))):
            yield f"a tool_use block has id {block.get('id')!r:.80} and name {block.get('name')!r:.80}"


def _input(message: Json) -> Iterator[str]:
    for block in blocks_of(message):
        if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
            yield f"a tool_use block's input is no object but {type(block.get('input')).__name__}"


def _thinking(message: Json) -> Iterator[str]:
    for block in blocks_of(message):
        if block.get("type") == "thinking" and not isinstance(block.get("thinking"), str):
            yield f"a thinking block has the text {block.get('thinking')!r:.80}"
        if block.get("type") == "thinking" and not isinstance(block.get("signature"), str):
            yield "a thinking block has no signature: it cannot be given back"


def _usage(message: Json) -> Iterator[str]:
    yield from _counts(message.get("usage"), "input_tokens", "output_tokens")


def _counts(usage: object, *names: str) -> Iterator[str]:
    for name in names:
        found: Any = usage.get(name) if isinstance(usage, dict) else None
        if not is_count(found) or found < 0:
            yield f"usage.{name} is {found!r:.80}, no whole number"


def _words(judged: Judged) -> Found:
    """A reason to stop that the API has."""
    reply = judged.reply
    if reply.problem:
        return None
    known = set(ENDS.values())
    return wrong("" if reply.finish in known else f"stop_reason is {reply.finish!r:.80}")


def _sse(judged: Judged) -> Found:
    reply = judged.reply
    if reply.problem:
        return wrong(reply.problem)
    exchange = reply.exchange
    if not exchange.streamed:
        return wrong(f"the content type is {exchange.content_type!r:.80}, not text/event-stream")
    for event in exchange.events:
        if not event.ended:
            return wrong("the last event has no empty line at its end", event.raw)
        data = loads(event.data)
        if event.data.strip() == DONE:
            return wrong(f"the stream has {DONE}, which clients of this API do not know", event.raw)
        if not isinstance(data, dict) or not is_text(data.get("type")):
            return wrong("an event's data is no JSON object with a type", event.raw)
    return ()


def _names(judged: Judged) -> Found:
    found = judged.reply.exchange.events
    if judged.reply.problem or not found:
        return None
    odd = next((event for event in found if event.name != (event.parsed or {}).get("type")), None)
    if odd is None:
        return ()
    return wrong(f"the line event: is {odd.name!r:.80}, the type in the data {(odd.parsed or {}).get('type')!r:.80}",
                 odd.raw)  # fmt: skip


def _order(found: list[Json]) -> Iterator[str]:
    """message_start, blocks one after another, message_delta, message_stop; ping anywhere."""
    kinds = [event["type"] for event in found if event["type"] != "ping"]
    for kind in ("message_start", "message_stop"):
        if kinds.count(kind) != 1:
            yield f"the stream has {kinds.count(kind)} {kind}"
    if kinds[:1] != ["message_start"]:
        yield f"the stream begins with {kinds[:1]}, not message_start"
    if kinds[-1:] != ["message_stop"]:
        yield f"the stream ends with {kinds[-1:]}, not message_stop"
    if "message_delta" not in kinds:
        yield "the stream has no message_delta"
    elif any(kind.startswith("content_block") for kind in kinds[kinds.index("message_delta") :]):
        yield "content comes after message_delta"


def _of_blocks(found: list[Json]) -> Iterator[str]:
    """Every block is started, filled and stopped before the next; indexes count from 0."""
    open_index: int | None = None
    begun = 0
    for event in found:
        kind, index = event["type"], event.get("index")
        if kind == "content_block_start":
            if open_index is not None:
                yield f"block {index!r:.40} starts while block {open_index} is open"
            if index != begun or not is_count(index):
                yield f"block {begun} starts with the index {index!r:.40}"
            open_index, begun = begun, begun + 1
        elif kind in ("content_block_delta", "content_block_stop"):
            if index != open_index:
                yield f"{kind} has the index {index!r:.40}, open is {open_index}"
            if kind == "content_block_stop":
                open_index = None
    if open_index is not None:
        yield f"block {open_index} is never stopped"


def _start(found: list[Json]) -> Iterator[str]:
    message = next((event.get("message") for event in found if event["type"] == "message_start"), None)
    if not isinstance(message, dict):
        yield "message_start has no message"
        return
    yield from _about(message)
    if message.get("content") != []:
        yield f"the message starts with the content {message.get('content')!r:.80}, not []"
    if message.get("stop_reason") is not None:
        yield f"the message starts with the stop_reason {message['stop_reason']!r:.80}"
    yield from _counts(message.get("usage"), "input_tokens")


def _deltas(found: list[Json]) -> Iterator[str]:
    """Deltas fit their block: its type, and a text in the right field."""
    kinds: dict[object, str] = {}
    for event in found:
        if event["type"] == "content_block_start":
            block = event.get("content_block")
            kinds[event.get("index")] = str(block.get("type")) if isinstance(block, dict) else "none"
        elif event["type"] == "content_block_delta":
            delta = event.get("delta")
            kind = delta.get("type") if isinstance(delta, dict) else None
            if kind == "citations_delta":
                continue
            if kind not in DELTAS:
                yield f"a delta's type is {kind!r:.80}"
            elif DELTAS[kind][0] != kinds.get(event.get("index"), "").replace("server_tool_use", "tool_use"):
                yield f"a {kind} in a block of type {kinds.get(event.get('index'))}"
            elif not isinstance(delta.get(DELTAS[kind][1]), str):  # type: ignore[union-attr]
                yield f"a {kind} has no text {DELTAS[kind][1]}"


def _inputs(found: list[Json]) -> Iterator[str]:
    """Calls start with their id, name and an empty input, which their deltas join to."""
    pieces: dict[object, list[str]] = {}
    for event in found:
        block, delta, index = event.get("content_block"), event.get("delta"), event.get("index")
        if event["type"] == "content_block_start" and isinstance(block, dict) and block.get("type") == "tool_use":
            if not is_text(block.get("id")) or not is_text(block.get("name")):
                yield f"a tool_use block starts with id {block.get('id')!r:.80} and name {block.get('name')!r:.80}"
            if block.get("input") not in ({}, None):
                yield f"a tool_use block starts with the input {block['input']!r:.80}, not {{}}"
            pieces[index] = []
        elif isinstance(delta, dict) and delta.get("type") == "input_json_delta" and index in pieces:
            pieces[index].append(str(delta.get("partial_json")))
    for index, each in pieces.items():
        text = "".join(each)
        if text and not isinstance(loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")), dict):
            yield f"the input of block {index} joins to {text!a:.160}, no JSON object"


def _signatures(found: list[Json]) -> Iterator[str]:
    thinking = [
        event.get("index")
        for event in found
        if event["type"] == "content_block_start"
        and isinstance(event.get("content_block"), dict)
        and event["content_block"].get("type") == "thinking"
    ]
    for index in thinking:
        told = [
            delta
            for event in found
            if event.get("index") == index
            and isinstance(delta := event.get("delta"), dict)
            and delta.get("type") == "signature_delta"
        ]
        if len(told) != 1:
            yield f"thinking block {index} has {len(told)} signature_delta"


def _end(found: list[Json]) -> Iterator[str]:
    told = [event for event in found if event["type"] == "message_delta"]
    if not told:
        return
    reasons = [delta.get("stop_reason") for event in told if isinstance(delta := event.get("delta"), dict)]
    if not any(map(is_text, reasons)):
        yield "no message_delta tells the stop_reason"
    yield from _counts(told[-1].get("usage"), "output_tokens")


JUDGES: RowJudges = {
    "blocks_message": _of_message(_form),
    "blocks_fields": _of_message(_blocks),
    "blocks_input": _of_message(_input),
    "blocks_thinking": _of_message(_thinking),
    "blocks_usage": _of_message(_usage),
    "blocks_stop_reason": _words,
    "blocks_stream": _sse,
    "blocks_names": _names,
    "blocks_order": _of_events(_order),
    "blocks_indexes": _of_events(_of_blocks),
    "blocks_start": _of_events(_start),
    "blocks_deltas": _of_events(_deltas),
    "blocks_inputs": _of_events(_inputs),
    "blocks_signatures": _of_events(_signatures),
    "blocks_end": _of_events(_end),
}
