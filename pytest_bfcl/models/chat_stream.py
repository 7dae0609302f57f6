"""Chunks of a streamed chat completion, put together to the completion they are pieces of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.streams import StreamEnd
from pytest_bfcl.models.wire import place


class ChatJoiner:
    """Joins the deltas of the first choice: texts are appended, calls are found by index and id.

    A delta with an index that is taken and another id begins a new call: some servers number every call 0.
    """

    def __init__(self) -> None:
        self.started = self.done = False
        self._end = StreamEnd()
        self._message: Parsed = {}
        self._pieces: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._at: dict[Any, _Call] = {}

    def wants(self, block: bytes) -> bool:
        """Every chunk."""
        return True

    def add(self, event: Fields) -> None:
        """One chunk."""
        for choice in self._end.choices(event):
            delta = choice.get("delta")
            if not isinstance(delta, Mapping):
                delta = choice.get("message")  # some servers send a whole message as one chunk
            if isinstance(delta, Mapping):
                self._add_delta(delta)

    def _add_delta(self, delta: Fields) -> None:
        for name, value in delta.items():
            if value is None or (name == "role" and value == "assistant"):
                continue
            if type(value) is str:
                self._pieces.setdefault(name, []).append(value)
                self.started = self.started or value != ""
            elif name == "tool_calls" and isinstance(value, list):
                self.started = True
                for item in value:
                    if isinstance(item, Mapping):
                        self._add_call(item)
            elif isinstance(value, list):
                self.started = self.started or bool(value)
                self._message[name] = _longer_list(self._message.get(name), value)
            elif isinstance(value, Mapping) and isinstance(self._message.get(name), dict):
                self._message[name] = {**self._message[name], **value}
            else:
                self._message[name] = value

    def _add_call(self, item: Fields) -> None:
        index, call_id = place(item.get("index")), item.get("id")
        if isinstance(index, int):
            call = self._at.get(index)
        elif call_id:
            call = self._at.get(call_id)
        else:
            begins = isinstance(item.get("function"), Mapping) and bool(item["function"].get("name"))
            call = self._calls[-1] if self._calls and not begins else None
        if call is None or (call_id and call.id and call_id != call.id):
            call = _Call()
            self._calls.append(call)
        self._at[index if isinstance(index, int) else call_id] = call
        call.add(item)

    def body(self) -> Parsed:
        """The completion."""
        message: Parsed = {"content": None, **self._message}
        for name, pieces in self._pieces.items():
            text = "".join(pieces)
            message[name] = [*message[name], {"type": "text", "text": text}] if message.get(name) else text
        if self._calls:
            message["tool_calls"] = [call.whole() for call in self._calls]
            message["content"] = message["content"] or None  # servers open every stream with an empty text
        return self._end.body({"message": message}, over=self.done and self.started)


class _Call:
    """One call of a stream."""

    def __init__(self) -> None:
        self.id: str = ""
        self.name = ""
        self.arguments: list[str] = []
        self.fields: Parsed = {}

    def add(self, item: Fields) -> None:
        for name, value in item.items():
            if name == "id":
                self.id = value if isinstance(value, str) and value else self.id
            elif name == "function" and isinstance(value, Mapping):
                self._add_function(value)
            elif value is not None and name not in ("index", "type"):
                known = self.fields.get(name)
                grows = isinstance(known, dict) and isinstance(value, Mapping)
                self.fields[name] = known | value if grows else value

    def _add_function(self, function: Fields) -> None:
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name and name != self.name:  # some servers repeat the name in every piece
            self.name = name if self.arguments and "".join(self.arguments) else self.name + name
        if isinstance(arguments, str):
            self.arguments.append(arguments)
        elif isinstance(arguments, Mapping):
            from pytest_bfcl.transcript import arguments_text

            self.arguments.append(arguments_text(arguments))

    def whole(self) -> Parsed:
        function: Parsed = {"name": self.name}
        if self.arguments:
            function["arguments"] = "".join(self.arguments)
        return {"id": self.id or None, "type": "function", "function": function, **self.fields}


def _longer_list(known: object, value: list[Any]) -> list[Any]:
    """A list field grown by a delta; text of a part of the same kind is appended to the last part."""
    found = list(known) if isinstance(known, list) else []
    for part in value:
        last = found[-1] if found else None
        if isinstance(part, Mapping) and isinstance(last, dict) and part.get("type") == last.get("type"):
            grown = _grown(last, part)
            if grown is not None:
                found[-1] = grown
                continue
        found.append(part)
    return found


def _grown(last: Parsed, part: Fields) -> Parsed | None:
    for name in ("text", "thinking"):
        old, new = last.get(name), part.get(name)
        if isinstance(old, str) and isinstance(new, str):
            return {**last, **part, name: old + new}
        if isinstance(old, list) and isinstance(new, list):
            return {**last, **part, name: _longer_list(old, new)}
    return None
