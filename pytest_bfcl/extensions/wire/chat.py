"""Chat completions: how a `Request` is written, how an answer and a stream of chunks are read; text completions too.

A text completion has a prompt and a text. Its only calls are those in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from pytest_bfcl.json_types import Fields, Parsed


class Chat(Reader):
    """``POST /chat/completions``."""

    name = "chat"
    path = "/chat/completions"
    limit_name = "max_tokens"
    nothing_whole = "the answer is no JSON object with choices"
    nothing_streamed = "the stream has no chunk with a choice"

    def body(self, request: Request, model: str) -> Parsed:
        """The JSON body of a request."""
        body: Parsed = {"model": model, "messages": [message for turn in request.turns for message in _messages(turn)]}
        named = {"type": "function", "function": {"name": (request.choice or "")[1:]}}
        body |= request.switches(self.limit_name, _tool, named)
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body | dict(request.extra)

    def replies_in(self, exchange: Exchange, body: Parsed) -> tuple[Reply, ...]:
        """See `Reader`."""
        choices = body.get("choices")
        usage = usage_of(body)
        listed = choices if isinstance(choices, list) else []
        return tuple(_choice(exchange, choice, usage, position) for position, choice in enumerate(listed))

    def replies_of_stream(self, exchange: Exchange) -> tuple[Reply, ...]:
        """See `Reader`."""
        choices, usage = streamed_choices(exchange)
        return tuple(_choice(exchange, _joined(choices[index]), usage, index) for index in sorted(choices))


def usage_of(body: Parsed) -> Usage | None:
    """The tokens of a completion or a chunk."""
    return Usage.of(body.get("usage"), "prompt_tokens", "completion_tokens")


def streamed_choices(exchange: Exchange) -> tuple[dict[int, list[Parsed]], Usage | None]:
    """Index → the parts of a choice in a stream's chunks, in order; the last reported usage."""
    choices: dict[int, list[Parsed]] = {}
    usage: Usage | None = None
    for chunk in exchange.objects():
        usage = usage_of(chunk) or usage
        for choice in choices_of(chunk):
            index = choice.get("index")
            choices.setdefault(index if isinstance(index, int) else 0, []).append(choice)
    return choices, usage


def choices_of(chunk: Parsed) -> list[Parsed]:
    """The choices of a chunk that are objects."""
    return objects_in(chunk.get("choices"))


def deltas_of(choice: Parsed) -> list[Parsed]:
    """The call deltas of a chunk's choice."""
    delta = choice.get("delta")
    return objects_in(delta.get("tool_calls")) if isinstance(delta, dict) else []


def call_deltas(exchange: Exchange) -> Iterator[tuple[int, Parsed]]:
    """(number of the chunk, call delta) of the first choice, in order."""
    for number, chunk in enumerate(exchange.objects()):
        for choice in choices_of(chunk):
            if choice.get("index", 0) == 0:
                yield from ((number, delta) for delta in deltas_of(choice))


def function_of(call: Fields) -> Fields:
    """The ``function`` object of a call or a call delta."""
    found = call.get("function")
    return found if isinstance(found, Mapping) else {}


def _joined(parts: Iterable[Parsed]) -> Parsed:
    """The parts of a streamed choice as the choice of an unstreamed answer."""
    message: dict[str, list[str]] = {"content": []}
    calls: dict[int, list[Parsed]] = {}
    finish = None
    for part in parts:
        delta = part.get("delta")
        if isinstance(delta, dict):
            message["content"].append(text_of(delta.get("content")))
            for name, piece in _reasoning(delta).items():
                message.setdefault(name, []).append(piece)
        for call in deltas_of(part):
            calls.setdefault(_position(call, calls), []).append(call)
        finish = part.get("finish_reason") or finish
    texts = {name: "".join(pieces) for name, pieces in message.items()}
    listed = [_joined_call(calls[position]) for position in sorted(calls)]
    return {"message": {**texts, "tool_calls": listed}, "finish_reason": finish}


def _position(call: Parsed, known: Mapping[int, object]) -> int:
    index = call.get("index")
    if isinstance(index, int):
        return index
    last = max(known, default=-1)  # no index: a name begins a call, everything else goes on with the last
    return last + 1 if function_of(call).get("name") or last < 0 else last


def _joined_call(deltas: Sequence[Parsed]) -> Parsed:
    """The first id, type and name, and all pieces of the arguments."""
    functions = list(map(function_of, deltas))
    told = {name: next((each[name] for each in deltas if each.get(name)), None) for name in ("id", "type")}
    name = next((each["name"] for each in functions if each.get("name")), None)
    pieces: list[Any] = [each["arguments"] for each in functions if each.get("arguments") is not None]
    if all(isinstance(piece, str) for piece in pieces):
        pieces = [joined_text(pieces)]
    return {**told, "function": {"name": name, "arguments": pieces[0] if len(pieces) == 1 else pieces}}


def _choice(exchange: Exchange, choice: Any, usage: Usage | None, position: int) -> Reply:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return Reply(exchange, problem="a choice has no message")
    calls = tuple(map(_call, objects_in(message.get("tool_calls"))))
    index = choice.get("index")
    reasoning = _reasoning(message)
    return Reply(
        exchange, calls, text_of(message.get("content")), _said(reasoning),
        _finish(choice.get("finish_reason")), usage, choice=index if isinstance(index, int) else position,
        thoughts=(reasoning,) if reasoning else (),
    )  # fmt: skip


def _call(call: Parsed) -> Call:
    function = function_of(call)
    return Call(call.get("id"), function.get("name"), function.get("arguments"), call.get("type"))


REASONING = ("reasoning_content", "reasoning")
"""The fields in which clients search reasoning."""


def _reasoning(message: Parsed) -> dict[str, str]:
    """Field → its reasoning; also fields unknown to clients, by name."""
    names = (*REASONING, *(name for name in message if re.search("reason|think|thought", name)))
    return {name: text for name in dict.fromkeys(names) if (text := text_of(message.get(name)))}


def _said(reasoning: Mapping[str, str]) -> str:
    return next((reasoning[name] for name in REASONING if name in reasoning), "")


def _finish(word: object) -> str | None:
    return CALLS if word == "tool_calls" else word if isinstance(word, str) else None


def _tool(tool: Tool) -> Parsed:
    function: Parsed = {"name": tool.name, "description": tool.description}
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _messages(turn: Turn) -> list[Parsed]:
    return [dict(item) for item in turn.items] if isinstance(turn, Verbatim) else [_message(turn)]


def _message(turn: Turn) -> Parsed:
    if isinstance(turn, Message):
        return {"role": turn.role, "content": content_of(turn.text, "text")}
    if isinstance(turn, ToolCalls):
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.calls
        ]
        thoughts = {name: value for each in turn.thoughts for name, value in each.items()}
        return {"role": "assistant", "content": turn.text or None, "tool_calls": calls, **thoughts}
    assert isinstance(turn, ToolResult)
    return {"role": "tool", "tool_call_id": turn.call_id, "content": content_of(turn.content, "text")}


ENDS = {"stop": STOP, "length": LENGTH}
LIMIT = 24
"""Default limit of tokens: without a question a model may continue for long."""


class Completions(Reader):
    """``POST /completions``."""

    name = "completions"
    path = "/completions"
    limit_name = "max_tokens"
    nothing_whole = Chat.nothing_whole
    nothing_streamed = Chat.nothing_streamed

    def body(self, request: Request, model: str) -> Parsed:
        """The JSON body of a request: the messages, as one prompt."""
        prompt = "\n".join(str(turn.text) for turn in request.turns if isinstance(turn, Message))
        body: Parsed = {"model": model, "prompt": prompt, self.limit_name: request.limit or LIMIT}
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body | dict(request.extra)

    def replies_in(self, exchange: Exchange, body: Parsed) -> tuple[Reply, ...]:
        """See `Reader`."""
        usage = usage_of(body)
        return tuple(_reply(exchange, [choice], usage, position) for position, choice in enumerate(choices_of(body)))

    def replies_of_stream(self, exchange: Exchange) -> tuple[Reply, ...]:
        """See `Reader`."""
        choices, usage = streamed_choices(exchange)
        return tuple(_reply(exchange, choices[index], usage, index) for index in sorted(choices))


def _reply(exchange: Exchange, choices: list[Parsed], usage: Usage | None, position: int) -> Reply:
    found = choices[0].get("index")
    words = (choice.get("finish_reason") for choice in reversed(choices))
    word = next(filter(None, words), None)
    return Reply(
        exchange, text="".join(texts_of(choices)), finish=ENDS.get(word, word) if isinstance(word, str) else None,
        usage=usage, choice=found if isinstance(found, int) else position,
    )  # fmt: skip


def texts_of(choices: list[Parsed]) -> Iterator[str]:
    """The texts of choices, those that are texts."""
    return (choice["text"] for choice in choices if isinstance(choice.get("text"), str))
