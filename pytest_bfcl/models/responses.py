"""OpenAI's Responses: items in and out, with encrypted reasoning sent back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_bfcl.answers import read_items
from pytest_bfcl.bodies import ITEMS as ITEM_KINDS
from pytest_bfcl.bodies import place_trouble
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Api, Joiner, Request, cut_stream, place
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, Reply

ITEMS = "_items"
"""Key of an assistant's message with its original output items."""

_REASONS = re.compile(r"o3|o4-mini|gpt-5|^o1|codex-mini")
_DOES_NOT_REASON = re.compile(r"gpt-4|gpt-3\.5|chatgpt-4o")


def _plain_items(message: Message) -> list[Parsed]:
    """An assistant's message from another source: the data's own, or another API's."""
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


_OVER = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_TOLD = frozenset((b"response.output_item.done", b"error", *(name.encode() for name in _OVER)))
_EVENT = re.compile(rb"event: ?([\w.]+)")


class ResponsesJoiner(Joiner):
    """Reads the response from the stream's end; deltas need no parsing."""

    def __init__(self) -> None:
        self._items: dict[int, Fields] = {}
        self._response: Fields | None = None
        self._trouble: str | None = None

    def wants(self, block: bytes) -> bool:
        """Ends of items and of the response; events without a name must be parsed."""
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
            self._items[number if (number := place(index)) is not None else len(self._items)] = item
            if str(item.get("type")) in ITEM_KINDS and (trouble := place_trouble(item, codes=False)) is not None:
                self._trouble = self._trouble or trouble
        elif kind in _OVER and isinstance(response, Mapping) and (self._response is None or kind != _OVER[0]):
            self._response = response  # a response that failed is not healed by a later event

    def body(self) -> Parsed:
        """The response object."""
        if self._response is None:
            raise cut_stream("no response.completed came")
        output = self._response.get("output") or [item for _, item in sorted(self._items.items())]
        beside = {"error": self._trouble} if self._trouble and self._response.get("status") == "completed" else {}
        return {**self._response, **beside, "output": output}


class Responses(Api):
    """``POST <base URL>/responses``, nothing stored there: the whole conversation goes with every request."""

    name = "responses"
    path = "responses"
    style: Style = "responses"
    joiner = ResponsesJoiner

    def __init__(self, model: str, reasoning: str = "reference") -> None:
        self.reasons = _REASONS.search(model) is not None
        self.carries = _DOES_NOT_REASON.search(model) is None
        self.reasoning = reasoning

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """Input items; models that reason get requests for summaries and for encrypted reasoning."""
        body: Parsed = {"input": self._input(request.messages), "store": False}
        if self.carries:
            body["include"] = ["reasoning.encrypted_content"]
        if self.reasons:
            body["reasoning"] = {"summary": "auto"}
        return body

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

    def read(self, body: object) -> Reply:
        """See `pytest_bfcl.answers.read_items`."""
        return read_items(body)

    def remember(self, reply: Reply, message: Message) -> Message:
        """The message with its items; without reasoning, items lose their ids, which would require it."""
        state = reply.state
        if state is None or state.api != "responses":
            return message
        if self.reasoning != "drop":
            return {**message, ITEMS: [dict(part) for part in state.parts]}
        kept = [part for part in state.parts if part.get("type") != "reasoning"]
        return {**message, ITEMS: [{k: v for k, v in part.items() if k != "id"} for part in kept]}
