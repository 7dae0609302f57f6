"""OpenAI's Responses: items in, items out, reasoning carried on encrypted (spec/formats.md §6)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_bfcl.bodies import items_trouble
from pytest_bfcl.endings import Ending, UnknownEnding, ended, ending_of, is_marked, normal_form
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.wire import (
    check_size,
    count,
    cut_stream,
    identifier,
    keepable,
    reasoning_count,
    served_by,
)
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, ProviderState, Reply, ToolCall, arguments_text
from pytest_bfcl.troubles import AdapterTrouble

ITEMS = "_items"
"""Key of an assistant's message that holds the output items it came as."""

_REASONS = re.compile(r"o3|o4-mini|gpt-5|^o1|codex-mini")
_DOES_NOT_REASON = re.compile(r"gpt-4|gpt-3\.5|chatgpt-4o")


class Responses:
    """``POST <base URL>/responses``, nothing stored there: the whole conversation goes with every request."""

    name = "responses"
    path = "responses"
    style: Style = "responses"

    def __init__(self, model: str, reasoning: str = "reference") -> None:
        self.reasons = _REASONS.search(model) is not None
        self.carries = self.reasons or _DOES_NOT_REASON.search(model) is None
        self.reasoning = reasoning

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """Input items; models that reason are asked for summaries and for their reasoning in encrypted form."""
        body: Parsed = {"input": self._input(request.messages), "store": False}
        if self.carries:
            body["include"] = ["reasoning.encrypted_content"]
        if self.reasons:
            body["reasoning"] = {"summary": "auto"}
        return body

    def streaming(self) -> Parsed:
        """Usage comes by itself."""
        return {"stream": True}

    def _input(self, messages: Sequence[Message]) -> list[Parsed]:
        items: list[Parsed] = []
        for message in messages:
            role, content = message["role"], message.get("content")
            if role == "tool":
                output = {"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": content}
                items.append(output)
            elif role != "assistant":
                items.append({"role": "developer" if role == "system" else role, "content": content})
            elif ITEMS in message:
                items += message[ITEMS]
            else:
                items += _plain_items(message)
        return items

    def read(self, body: Any) -> Reply:
        """A response object as a `Reply`: text of its messages, calls, summaries of its reasoning."""
        output = body.get("output") if isinstance(body, Mapping) else None
        if not isinstance(output, list):
            raise AdapterError(AdapterTrouble.MALFORMED_BODY, "the answer has no output items", retryable=True)
        items = [item for item in output if isinstance(item, Mapping)]
        if not items and body.get("status") in ("completed", None):
            raise AdapterError(
                AdapterTrouble.MALFORMED_BODY, "the answer has an empty list of output items", retryable=True
            )
        calls = [
            ToolCall(
                str(item.get("name") or ""), arguments_text(item.get("arguments", "{}")),
                identifier(item.get("call_id") or item.get("id"), position),
            )
            for position, item in enumerate(item for item in items if item.get("type") == "function_call")
        ]  # fmt: skip
        text = _text(items)
        check_size(text, calls)
        usage = body.get("usage")
        reply = Reply(
            text=text,
            tool_calls=tuple(calls),
            reasoning=_reasoning(items),
            input_tokens=count(usage, "input_tokens", "prompt_tokens"),
            output_tokens=count(usage, "output_tokens", "completion_tokens"),
            reasoning_tokens=reasoning_count(usage) or None,
            state=_state(items),
            served=served_by(body),
        )
        kinds = [str(item.get("type")) for item in items]
        return ended(
            reply, _last_word(body), "responses", reasoned="reasoning" in kinds, filtered=is_marked(body, *items),
            trouble=items_trouble(body, items),
        )  # fmt: skip

    def joiner(self) -> ResponsesJoiner:
        """For one stream."""
        return ResponsesJoiner()

    def remember(self, reply: Reply, message: Message) -> Message:
        """The message with its items; without reasoning, items lose their ids, which would ask for it."""
        state = reply.state
        if state is None or state.api != "responses":
            return message
        if self.reasoning != "drop":
            return {**message, ITEMS: [dict(part) for part in state.parts]}
        kept = [part for part in state.parts if part.get("type") != "reasoning"]
        return {**message, ITEMS: [{k: v for k, v in part.items() if k != "id"} for part in kept]}


def _last_word(body: Fields) -> object:
    """The status, or why an incomplete response is it. Raises `UnknownEnding` for any other status."""
    status, details = body.get("status"), body.get("incomplete_details")
    known = normal_form(status) if isinstance(status, str) else ""
    if known == "completed":
        return status
    reason = details.get("reason") if known == "incomplete" and isinstance(details, Mapping) else None
    if ending_of(reason, "responses") in (Ending.CUT, Ending.FILTERED):
        return reason
    raise UnknownEnding(f"{status}: {reason}" if reason else status)


def _plain_items(message: Message) -> list[Parsed]:
    """An assistant's message that did not come from here: the data's own, or another API's."""
    calls = message.get("tool_calls") or []
    content = message.get("content")
    items: list[Parsed] = []
    if content or not calls:
        items.append({"role": "assistant", "content": content or ""})
    for call in calls:
        function = call["function"]
        items.append(
            {"type": "function_call", "call_id": call["id"], "name": function["name"],
             "arguments": function["arguments"]}
        )  # fmt: skip
    return items


def _text(items: Sequence[Fields]) -> str | None:
    """The texts of all messages; a refusal where there is nothing else."""
    texts: list[str] = []
    refusals: list[str] = []
    for item in items:
        content = item.get("content")
        if item.get("type") != "message":
            continue
        if isinstance(content, str):
            texts.append(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                if isinstance(part.get("text"), str):
                    texts.append(part["text"])
                elif isinstance(part.get("refusal"), str):
                    refusals.append(part["refusal"])
    return "".join(texts or refusals) if texts or refusals else None


def _reasoning(items: Sequence[Fields]) -> str | None:
    """Summaries, each with a newline, as the reference records them; else the reasoning text of open models."""
    summaries: list[str] = []
    contents: list[str] = []
    for item in items:
        if item.get("type") == "reasoning":
            for name, found in (("summary", summaries), ("content", contents)):
                parts = item.get(name)
                for part in parts if isinstance(parts, list) else ():
                    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                        found.append(part["text"])
    if summaries:
        return "".join(f"{text}\n" for text in summaries)
    return "\n".join(contents) or None


def _state(items: Sequence[Fields]) -> ProviderState | None:
    if not items or not keepable(items):
        return None
    # What a provider sent as null it need not get back; some refuse a null status.
    return ProviderState(
        "responses", parts=tuple({k: v for k, v in item.items() if v is not None} for item in items)
    )  # fmt: skip


_OVER = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_TOLD = frozenset((b"response.output_item.done", b"error", *(name.encode() for name in _OVER)))
_EVENT = re.compile(rb"event: ?([\w.]+)")


class ResponsesJoiner:
    """Takes the response as the stream's end tells it; deltas need not be read."""

    def __init__(self) -> None:
        self.started = self.done = False
        self._items: dict[int, Fields] = {}
        self._response: Fields | None = None

    def wants(self, block: bytes) -> bool:
        """Ends of items and of the response; events without a name have to be looked into."""
        named = _EVENT.match(block)
        if named is None:
            return True
        self.started = self.started or named[1].endswith(b".delta")
        return named[1] in _TOLD

    def add(self, event: Fields) -> None:
        """One event."""
        kind, response, item = str(event.get("type")), event.get("response"), event.get("item")
        if kind.endswith(".delta"):
            self.started = True
        elif kind == "response.output_item.done" and isinstance(item, Mapping):
            index = event.get("output_index")
            self._items[index if isinstance(index, int) else len(self._items)] = item
        elif kind in _OVER and isinstance(response, Mapping):
            self._response = response

    def body(self) -> Parsed:
        """The response object."""
        if self._response is None:
            raise cut_stream("no response.completed came")
        output = self._response.get("output") or [item for _, item in sorted(self._items.items())]
        return {**self._response, "output": output}
