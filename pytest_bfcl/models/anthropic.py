"""Anthropic's Messages: blocks in and out, with thinking and its signature sent back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_bfcl.answers.blocks import THOUGHTS, read_blocks
from pytest_bfcl.bodies import place_trouble
from pytest_bfcl.endings import heavier
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Api, Joiner, Request, cut_stream, place
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, Reply

BLOCKS = "_blocks"
"""Key of an assistant's message with its original content blocks."""

ANTHROPIC_URL = "https://api.anthropic.com/v1"
VERSION = "2023-06-01"
MAX_TOKENS = 64_000
"""The API requires a limit; this is the reference's."""

_CACHED = {"type": "ephemeral"}


def with_cache_mark(tools: Sequence[Parsed]) -> list[Parsed]:
    """The tools; the last one is marked, so that everything up to it is cached at the provider."""
    return [*tools[:-1], {**tools[-1], "cache_control": _CACHED}] if tools else []


def _blocks(messages: Sequence[Message]) -> tuple[str, list[Parsed]]:
    """The system text and the messages as blocks; consecutive user messages become one."""
    system: list[str] = []
    found: list[Parsed] = []
    for message in messages:
        role, content = message["role"], message.get("content")
        if role in ("system", "developer"):
            system.append(str(content))
        elif role == "assistant":
            blocks = [_sendable(block) for block in message[BLOCKS]] if BLOCKS in message else _plain_blocks(message)
            if blocks:  # the API refuses an empty message, and users' messages may follow each other
                found.append({"role": "assistant", "content": blocks})
        elif role == "tool":
            result = {"type": "tool_result", "content": content, "tool_use_id": message.get("tool_call_id")}
            if found and found[-1]["content"][-1]["type"] == "tool_result":
                found[-1]["content"].append(result)
            else:
                found.append({"role": "user", "content": [result]})
        else:
            _add_user(found, str(content))
    return "\n\n".join(system), found


def _add_user(found: list[Parsed], text: str) -> None:
    if found and found[-1]["role"] == "user":
        last = found[-1]["content"]
        if last[-1]["type"] == "text":
            last[-1] = {"type": "text", "text": f"{last[-1]['text']}\n\n{text}"}
        else:
            last.append({"type": "text", "text": text})
    else:
        found.append({"role": "user", "content": [{"type": "text", "text": text}]})


def _plain_blocks(message: Message) -> list[Parsed]:
    """An assistant's message from another source."""
    blocks: list[Parsed] = []
    if message.get("content"):
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls") or ():
        function = call["function"]
        blocks.append(
            {"type": "tool_use", "id": call["id"], "name": function["name"], "input": _object(function["arguments"])}
        )
    return blocks


def _sendable(block: Fields) -> Parsed:
    """A block in the form that the API accepts: the input of a call must be an object."""
    if block.get("type") == "tool_use":
        return {**block, "input": _object(block.get("input"))}
    return dict(block)


def _object(arguments: object) -> Any:
    value = json_or(arguments) if isinstance(arguments, str) else arguments
    return value if isinstance(value, dict) else {}


def _mark_last_users(messages: list[Parsed]) -> None:
    for message in [each for each in messages if each["role"] == "user"][-2:]:
        message["content"][0] = {**message["content"][0], "cache_control": _CACHED}


_GROWING = {
    "text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature",
    "input_json_delta": "partial_json",
}  # fmt: skip


class MessagesJoiner(Joiner):
    """Joins the deltas of each content block by its index."""

    def __init__(self) -> None:
        self._message: Parsed = {}
        self._blocks: dict[int, Parsed] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._ended = False
        self._unread = ""  # a kind of piece that is not known

    def wants(self, block: bytes) -> bool:
        """All events except pings."""
        return not block.startswith(b"event: ping")

    def add(self, event: Fields) -> None:
        """One event."""
        kind, index, delta = event.get("type"), place(event.get("index")), event.get("delta")
        if isinstance(delta, Mapping) and index is not None:
            self._add_delta(index, delta)
        elif kind == "content_block_start" and index is not None:
            block = event.get("content_block")
            self._blocks[index] = dict(block) if isinstance(block, Mapping) else {"type": str(block)}
        elif kind == "message_start" and isinstance(event.get("message"), Mapping):
            self._message = dict(event["message"])
        elif kind == "message_delta":
            if isinstance(delta, Mapping):
                known = self._message.get("stop_reason")
                self._message |= {name: value for name, value in delta.items() if value is not None}
                if delta.get("stop_reason"):
                    self._message["stop_reason"] = heavier(known, delta["stop_reason"], "anthropic")
                    self._ended = True  # some close the connection without the last event
            if (trouble := place_trouble({**event, "type": "", "delta": None})) is not None:
                self._message["error"] = trouble
            if isinstance(event.get("usage"), Mapping):
                known = self._message.get("usage")
                self._message["usage"] = {**(known if isinstance(known, Mapping) else {}), **event["usage"]}
        elif kind == "message_stop":
            self._ended = True

    def _add_delta(self, index: int, delta: Fields) -> None:
        self.started = True
        kind = str(delta.get("type"))
        name = _GROWING.get(kind)
        if name is None:
            self._unread = self._unread if kind == "citations_delta" else kind
        elif isinstance(piece := delta.get(name), str):
            self._pieces.setdefault((index, name), []).append(piece)

    def body(self) -> Parsed:
        """The message."""
        if not self._ended:
            raise cut_stream("no message_stop came")
        for (index, name), pieces in self._pieces.items():
            block, text = self._blocks.setdefault(index, {"type": "text"}), "".join(pieces)
            if name == "partial_json":
                block["input"] = _parsed(text)
            else:
                block[name] = f"{block.get(name) or ''}{text}"
        unread = [{"type": self._unread}] if self._unread else []
        return {**self._message, "content": [block for _, block in sorted(self._blocks.items())] + unread}


def _parsed(text: str) -> Any:
    """The input of a call; text that is not JSON stays text and will not decode."""
    return json_or(text, text) if text.strip() else {}


class Messages(Api):
    """``POST <base URL>/messages``."""

    name = "anthropic"
    path = "messages"
    style: Style = "anthropic"
    joiner = MessagesJoiner

    def __init__(self, reasoning: str = "reference") -> None:
        self.reasoning = reasoning

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """Separates blocks and the system text; long conversations are cached at the provider, as by the reference."""
        cached = request.entry.row.multi_step
        system, messages = _blocks(request.messages)
        if cached:
            _mark_last_users(messages)
        body: Parsed = {"messages": messages, "max_tokens": MAX_TOKENS}
        if system:
            body["system"] = [{"type": "text", "text": system} | ({"cache_control": _CACHED} if cached else {})]
        return body

    def read(self, body: object) -> Reply:
        """See `pytest_bfcl.answers.read_blocks`."""
        return read_blocks(body)

    def remember(self, reply: Reply, message: Message) -> Message:
        """The message with its blocks, thinking and signatures unchanged unless reasoning is dropped."""
        state = reply.state
        if state is None or state.api != "anthropic":
            return message
        kept = [part for part in state.parts if self.reasoning != "drop" or part.get("type") not in THOUGHTS]
        return {**message, BLOCKS: [dict(part) for part in kept]}
