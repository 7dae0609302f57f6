"""Anthropic's Messages: the message object, its content blocks, and the events of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pytest_bfcl.extensions.wire.messages import DELTAS, ENDS, blocks_of
from pytest_bfcl.extensions.wire.replies import is_count, is_text, loads, place_in
from pytest_bfcl.extensions.wire.row import Found, Judged, RowJudge, RowJudges, readable, wrong
from pytest_bfcl.extensions.wire.rules.messages import event_stream, first_odd, odd_fields, of_events
from pytest_bfcl.extensions.wire.rules.streams import named_events
from pytest_bfcl.json_types import Fields, Parsed


def _of_message(said: Callable[[Parsed], Iterator[str]]) -> RowJudge:
    """A rule about the message object of an unstreamed answer."""

    @readable
    def judge(judged: Judged) -> Found:
        message = judged.reply.exchange.body
        return first_odd(said, message) if isinstance(message, dict) else None

    return judge


def _of_blocks(kind: str, said: Callable[[Parsed], Iterator[str]]) -> RowJudge:
    """A rule about the content blocks of a kind."""
    return _of_message(lambda message: (why for each in _blocks(message, kind) for why in said(each)))


def _blocks(message: Parsed, kind: str) -> list[Parsed]:
    return [block for block in blocks_of(message) if block.get("type") == kind]


def _form(message: Parsed) -> Iterator[str]:
    yield from _about(message)
    for position, block in enumerate(message["content"]):
        if not isinstance(block, dict) or not is_text(block.get("type")):
            yield f"content block {position} is {block!r:.80}, no object with a type"
    if not isinstance(message.get("stop_sequence"), str | None):
        yield f"stop_sequence is {message['stop_sequence']!r:.80}"


def _about(message: Fields) -> Iterator[str]:
    return odd_fields("", message, id=is_text, model=is_text, type="message", role="assistant")


def _fields(message: Parsed) -> Iterator[str]:
    for block in _blocks(message, "text"):
        yield from odd_fields("a text block's ", block, text=lambda text: isinstance(text, str))
    for block in _blocks(message, "tool_use"):
        yield from odd_fields("a tool_use block's ", block, id=is_text, name=is_text)


def _input(block: Parsed) -> Iterator[str]:
    if not isinstance(block.get("input"), dict):
        yield f"a tool_use block's input is no object but {type(block.get('input')).__name__}"


def _thinking(block: Parsed) -> Iterator[str]:
    if not isinstance(block.get("thinking"), str):
        yield f"a thinking block has the text {block.get('thinking')!r:.80}"
    if not isinstance(block.get("signature"), str):
        yield "a thinking block has no signature: it cannot be given back"


def _counts(usage: object, *names: str) -> Iterator[str]:
    for name in names:
        found: Any = usage.get(name) if isinstance(usage, dict) else None
        if not is_count(found) or found < 0:
            yield f"usage.{name} is {found!r:.80}, no whole number"


@readable
def _words(judged: Judged) -> Found:
    """A stop reason that the API has."""
    finish = judged.reply.finish
    return wrong("" if finish in ENDS.values() else f"stop_reason is {finish!r:.80}")


def _order(found: list[Parsed]) -> Iterator[str]:
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


def _indexes(found: list[Parsed]) -> Iterator[str]:
    """Every block is started, filled and stopped before the next; indexes count from 0."""
    open_index: int | None = None
    begun = 0
    for event in found:
        kind, index = event["type"], place_in(event)
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


def _start(found: list[Parsed]) -> Iterator[str]:
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


def _deltas(found: list[Parsed]) -> Iterator[str]:
    """Deltas fit their block: its type, and a text in the right field."""
    kinds: dict[object, str] = {}
    for event in found:
        if event["type"] == "content_block_start":
            block = event.get("content_block")
            kinds[place_in(event)] = str(block.get("type")) if isinstance(block, dict) else "none"
        elif event["type"] == "content_block_delta":
            delta = event.get("delta")
            kind = place_in(delta, "type") if isinstance(delta, dict) else None
            block_type = kinds.get(place_in(event), "")
            if kind == "citations_delta":
                continue
            if kind not in DELTAS:
                yield f"a delta's type is {kind!r:.80}"
            elif DELTAS[kind][0] != block_type.replace("server_tool_use", "tool_use"):
                yield f"a {kind} in a block of type {block_type or None}"
            elif not isinstance(delta.get(DELTAS[kind][1]), str):  # type: ignore[union-attr]
                yield f"a {kind} has no text {DELTAS[kind][1]}"


def _inputs(found: list[Parsed]) -> Iterator[str]:
    """Calls start with their id, name and an empty input; their deltas join to the input."""
    pieces: dict[object, list[str]] = {}
    for event in found:
        block, delta, index = event.get("content_block"), event.get("delta"), place_in(event)
        if event["type"] == "content_block_start" and isinstance(block, dict) and block.get("type") == "tool_use":
            yield from odd_fields("a starting tool_use block's ", block, id=is_text, name=is_text)
            if block.get("input") not in ({}, None):
                yield f"a tool_use block starts with the input {block['input']!r:.80}, not {{}}"
            pieces[index] = []
        elif isinstance(delta, dict) and delta.get("type") == "input_json_delta" and index in pieces:
            pieces[index].append(str(delta.get("partial_json")))
    for index, each in pieces.items():
        text = "".join(each)
        if text and not isinstance(loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")), dict):
            yield f"the input of block {index} joins to {text!a:.160}, no JSON object"


def _signatures(found: list[Parsed]) -> Iterator[str]:
    for start in found:
        block, index = start.get("content_block"), place_in(start)
        if start["type"] == "content_block_start" and isinstance(block, dict) and block.get("type") == "thinking":
            deltas = [event.get("delta") for event in found if place_in(event) == index]
            told = sum(isinstance(each, dict) and each.get("type") == "signature_delta" for each in deltas)
            if told != 1:
                yield f"thinking block {index} has {told} signature_delta"


def _end(found: list[Parsed]) -> Iterator[str]:
    told = [event for event in found if event["type"] == "message_delta"]
    if not told:
        return
    reasons = [delta.get("stop_reason") for event in told if isinstance(delta := event.get("delta"), dict)]
    if not any(map(is_text, reasons)):
        yield "no message_delta tells the stop_reason"
    yield from _counts(told[-1].get("usage"), "output_tokens")


JUDGES: RowJudges = {
    "blocks_message": _of_message(_form),
    "blocks_fields": _of_message(_fields),
    "blocks_input": _of_blocks("tool_use", _input),
    "blocks_thinking": _of_blocks("thinking", _thinking),
    "blocks_usage": _of_message(lambda message: _counts(message.get("usage"), "input_tokens", "output_tokens")),
    "blocks_stop_reason": _words,
    "blocks_stream": lambda judged: wrong(judged.reply.problem) or event_stream(judged.reply.exchange, done=False),
    "blocks_names": readable(lambda judged: named_events(judged) if judged.reply.exchange.events else None),
    "blocks_order": of_events(_order),
    "blocks_indexes": of_events(_indexes),
    "blocks_start": of_events(_start),
    "blocks_deltas": of_events(_deltas),
    "blocks_inputs": of_events(_inputs),
    "blocks_signatures": of_events(_signatures),
    "blocks_end": of_events(_end),
}
