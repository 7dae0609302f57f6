"""Anthropic's Messages: how a `Request` is written, how content blocks and a stream of events are read."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pytest_bfcl.extensions.wire.replies import (
    CALLS,
    LENGTH,
    STOP,
    Call,
    Exchange,
    Reader,
    Reply,
    Usage,
    joined_text,
    loads,
    objects_in,
    place_in,
    text_of,
)
from pytest_bfcl.extensions.wire.requests import (
    Message,
    Request,
    Tool,
    ToolCalls,
    ToolResult,
    Turn,
    content_of,
)
from pytest_bfcl.json_types import Parsed

LIMIT = 8192
"""Token limit of an answer, which the API requires: the longest dictated text fits, and all models accept it."""
ENDS = {
    "tool_use": CALLS, "end_turn": STOP, "stop_sequence": STOP, "max_tokens": LENGTH, "pause_turn": "pause_turn",
    "refusal": "refusal", "model_context_window_exceeded": LENGTH,
}  # fmt: skip
"""The API's stop reasons in neutral words."""
THINKING = ("thinking", "redacted_thinking")


class Messages(Reader):
    """``POST /messages``."""

    name = "anthropic"
    path = "/messages"
    limit_name = "max_tokens"
    nothing_whole = "the answer is no message with content"
    nothing_streamed = "the stream has no message and no content block"

    def body(self, request: Request, model: str) -> Parsed:
        """The JSON body of a request."""
        system = [
            text
            for turn in request.turns
            if isinstance(turn, Message) and turn.role in ("system", "developer")
            for text in _texts(turn)
        ]
        body: Parsed = {"model": model, "max_tokens": request.limit or LIMIT, "messages": _messages(request.turns)}
        if system:
            body["system"] = "\n\n".join(system)
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.choice is not None or request.parallel is not None:
            body["tool_choice"] = _choice(request.choice or "auto", request.parallel)
        if request.stream:
            body["stream"] = True
        return body | dict(request.extra)

    def replies_in(self, exchange: Exchange, body: Parsed) -> tuple[Reply, ...]:
        """See `Reader`."""
        return (_reply(exchange, blocks_of(body), body),) if isinstance(body.get("content"), list) else ()

    def replies_of_stream(self, exchange: Exchange) -> tuple[Reply, ...]:
        """See `Reader`."""
        message, blocks = _joined(exchange)
        return (_reply(exchange, blocks, message),) if message or blocks else ()


def blocks_of(message: Parsed) -> list[Parsed]:
    """The content blocks that are objects."""
    return objects_in(message.get("content"))


DELTAS = {
    "text_delta": ("text", "text"),
    "input_json_delta": ("tool_use", "partial_json"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
}
"""Type of a delta → the type of the block it belongs to, and the field with the piece."""


def _joined(exchange: Exchange) -> tuple[Parsed, list[Parsed]]:
    """The message and its content blocks, with their joined deltas."""
    message: Parsed = {}
    blocks: dict[int, Parsed] = {}
    pieces: dict[int, dict[str, list[str]]] = {}
    for event in exchange.objects(typed=True):
        kind, index, delta = event["type"], place_in(event), event.get("delta")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message = dict(event["message"])
        elif kind == "message_delta":
            message |= delta if isinstance(delta, dict) else {}
            usage = [each for each in (message.get("usage"), event.get("usage")) if isinstance(each, dict)]
            message["usage"] = {name: value for each in usage for name, value in each.items()}
        elif kind == "content_block_start" and isinstance(index, int) and isinstance(event.get("content_block"), dict):
            blocks[index], pieces[index] = dict(event["content_block"]), {}
        elif kind == "content_block_delta" and index in blocks and isinstance(delta, dict):
            name = DELTAS.get(str(delta.get("type")), ("", ""))[1]
            if isinstance(piece := delta.get(name), str):
                pieces[index].setdefault(name, []).append(piece)
    for index, texts in pieces.items():
        block = blocks[index]
        for name, listed in texts.items():
            text = joined_text(listed, "replace")
            if name != "partial_json":
                block[name] = f"{block.get(name) or ''}{text}"
            elif text:
                value = loads(text)
                block["input"] = value if isinstance(value, dict) else text
    return message, [blocks[index] for index in sorted(blocks)]


def _reply(exchange: Exchange, blocks: list[Parsed], message: Parsed) -> Reply:
    calls = tuple(
        Call(block.get("id"), block.get("name"), _arguments(block.get("input")))
        for block in blocks
        if block.get("type") == "tool_use"
    )
    text = "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    reasoning = "".join(text_of(block.get("thinking")) for block in blocks if block.get("type") == "thinking")
    word = message.get("stop_reason")
    finish = ENDS.get(word, f"unknown: {word}") if isinstance(word, str) else None
    usage = Usage.of(message.get("usage"), "input_tokens", "output_tokens")
    thoughts = tuple(block for block in blocks if block.get("type") in THINKING)
    return Reply(exchange, calls, text, reasoning, finish, usage, thoughts=thoughts)


def _arguments(found: object) -> object:
    """An input as JSON text, as in the other APIs; anything but an object is unchanged."""
    return json.dumps(found, ensure_ascii=False) if isinstance(found, Mapping) else found


def _tool(tool: Tool) -> Parsed:
    made: Parsed = {"name": tool.name, "description": tool.description}
    made["input_schema"] = tool.parameters if tool.parameters is not None else {"type": "object", "properties": {}}
    return made | ({"strict": tool.strict} if tool.strict is not None else {})


def _choice(choice: str, parallel: bool | None) -> Parsed:
    if choice.startswith("="):
        made: Parsed = {"type": "tool", "name": choice[1:]}
    else:
        made = {"type": "any" if choice == "required" else choice}
    return made if parallel is None or choice == "none" else {**made, "disable_parallel_tool_use": not parallel}


def _messages(turns: tuple[Turn, ...]) -> list[Parsed]:
    """Messages of blocks; consecutive ones of one role become one message."""
    found: list[Parsed] = []
    for turn in turns:
        if isinstance(turn, Message) and turn.role in ("system", "developer"):
            continue
        role, blocks = _blocks(turn)
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    return found


def _texts(turn: Message) -> list[str]:
    return [turn.text] if isinstance(turn.text, str) else list(turn.text)


def _blocks(turn: Turn) -> tuple[str, list[Parsed]]:
    if isinstance(turn, Message):
        return turn.role, [{"type": "text", "text": text} for text in _texts(turn)]
    if isinstance(turn, ToolCalls):
        said: list[Parsed] = [{"type": "text", "text": turn.text}] if turn.text else []
        made = [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.values or {}} for call in turn.calls
        ]
        return "assistant", [*map(dict, turn.thoughts), *said, *made]
    assert isinstance(turn, ToolResult)
    content = content_of(turn.content, "text")
    return "user", [{"type": "tool_result", "tool_use_id": turn.call_id, "content": content}]
