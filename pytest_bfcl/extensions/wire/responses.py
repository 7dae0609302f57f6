"""The Responses API: how a `Request` is written, how an answer and a stream of events are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    Verbatim,
    content_of,
)
from pytest_bfcl.json_types import Parsed


class Responses(Reader):
    """``POST /responses``."""

    name = "responses"
    path = "/responses"
    limit_name = "max_output_tokens"
    nothing_whole = "the answer is no response object with output"
    nothing_streamed = "the stream has no output item and no end"

    def body(self, request: Request, model: str) -> Parsed:
        """The JSON body of a request."""
        body: Parsed = {"model": model, "input": [item for turn in request.turns for item in _items(turn)]}
        body |= request.switches(self.limit_name, _tool, {"type": "function", "name": (request.choice or "")[1:]})
        if request.stream:
            body["stream"] = True
        return body | dict(request.extra)

    def replies_in(self, exchange: Exchange, body: Parsed) -> tuple[Reply, ...]:
        """See `Reader`."""
        output = body.get("output")
        if not isinstance(output, list):
            return ()
        return (_reply(exchange, objects_in(output), body),)

    def replies_of_stream(self, exchange: Exchange) -> tuple[Reply, ...]:
        """See `Reader`."""
        items, response = _joined(exchange)
        if not items and response is None:
            return ()
        return (_reply(exchange, items, response or {}),)


ENDS = ("response.completed", "response.incomplete", "response.failed")


_DELTAS = {
    "response.function_call_arguments.delta": "arguments",
    "response.output_text.delta": "text",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
}


def _joined(exchange: Exchange) -> tuple[list[Parsed], Parsed | None]:
    """The output items: from ``added`` and the deltas since; the response at the end."""
    items: dict[int, Parsed] = {}
    pieces: dict[tuple[int, str], list[str]] = {}
    response = None
    for event in exchange.objects(typed=True):
        kind, index, item = event["type"], place_in(event, "output_index"), event.get("item")
        if kind in ENDS and isinstance(event.get("response"), dict):
            response = event["response"]
        elif isinstance(index, int) and kind == "response.output_item.added" and isinstance(item, dict):
            items[index] = dict(item)
            pieces |= {(index, name): [] for name in _DELTAS.values()}
        elif kind in _DELTAS and index in items and isinstance(event.get("delta"), str):
            pieces[index, _DELTAS[kind]].append(event["delta"])
    for index, item in items.items():
        if item.get("type") == "function_call":
            item["arguments"] = joined_text(pieces[index, "arguments"]) or item.get("arguments")
        elif item.get("type") == "message":
            item["content"] = [{"type": "output_text", "text": "".join(pieces[index, "text"])}]
        elif reasoning := "".join(pieces[index, "reasoning"]):
            item["summary"] = [{"type": "summary_text", "text": reasoning}]
    return [items[index] for index in sorted(items)], response


def calls_of(items: list[Any]) -> tuple[Call, ...]:
    """The calls among output items."""
    return tuple(
        Call(item.get("call_id"), item.get("name"), item.get("arguments"), item.get("type"))
        for item in items
        if isinstance(item, Mapping) and item.get("type") == "function_call"
    )


def _reply(exchange: Exchange, items: list[Parsed], response: Parsed) -> Reply:
    calls = calls_of(items)
    text = "".join(text_of(item.get("content")) for item in items if item.get("type") == "message")
    reasoning = "".join(
        text_of(item.get("content")) or text_of(item.get("summary"))
        for item in items
        if item.get("type") == "reasoning"
    )
    usage = Usage.of(response.get("usage"), "input_tokens", "output_tokens")
    thoughts = tuple(item for item in items if item.get("type") == "reasoning")
    return Reply(exchange, calls, text, reasoning, _finish(response, bool(calls)), usage, thoughts=thoughts)


def _finish(response: Parsed, calls: bool) -> str | None:
    status = response.get("status")
    if status == "completed":
        return CALLS if calls else STOP
    details = response.get("incomplete_details")
    if status == "incomplete" and isinstance(details, dict) and details.get("reason") == "max_output_tokens":
        return LENGTH
    return status if isinstance(status, str) else None


def _tool(tool: Tool) -> Parsed:
    made: Parsed = {"type": "function", "name": tool.name, "description": tool.description}
    if tool.parameters is not None:
        made["parameters"] = tool.parameters
    # Responses takes every schema for strict unless told otherwise, and refuses those that do not fit.
    made["strict"] = bool(tool.strict)
    return made


def _items(turn: Turn) -> list[Parsed]:
    if isinstance(turn, Verbatim):
        return [dict(item) for item in turn.items]
    if isinstance(turn, Message):
        return [{"role": turn.role, "content": content_of(turn.text, "input_text")}]
    if isinstance(turn, ToolCalls):
        said: list[Parsed] = [{"role": "assistant", "content": turn.text}] if turn.text else []
        return [*map(dict, turn.thoughts), *said] + [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
            for call in turn.calls
        ]
    assert isinstance(turn, ToolResult)
    return [{"type": "function_call_output", "call_id": turn.call_id, "output": content_of(turn.content, "input_text")}]
