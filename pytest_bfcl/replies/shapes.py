"""Objects of client libraries as plain values, their calls, and the message for an unknown shape.

Objects are read field by field, not through their own ``model_dump``: LangChain's results drop the tool calls there.
"""

from __future__ import annotations

import base64
import dataclasses
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Call, ToolCall, may_be_call

MAX_DEPTH = 60
"""Deepest nesting that is read; arguments from a model arrive as text and are not nested here."""

_DUMPS = ("model_dump", "to_dict")
_SCALARS = (str, int, float, bool)


class UnknownShape(UsageError):
    """An output of unknown shape: the caller's mistake, not the model's."""


def unknown(what: str, value: object) -> UnknownShape:
    """``what`` is the problem; the message adds the beginning of the given value."""
    shown = repr(value)
    shown = shown if len(shown) <= 120 else shown[:119] + "…"
    kind = type(value).__name__
    return UnknownShape(f"{what}: {kind} {shown}" if kind not in shown else f"{what}: {shown}")


def fields_of(value: object) -> Fields | None:
    """The fields of a mapping or of an object with fields, one level deep; ``None`` without any."""
    if isinstance(value, Mapping):
        return value
    if value is None or isinstance(value, (*_SCALARS, bytes, bytearray, Sequence, Enum, type)) or callable(value):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(type(value), "model_fields"):  # pydantic: extras are what a provider sent beyond the schema
        return {**vars(value), **(getattr(value, "model_extra", None) or {})}
    for name in _DUMPS:
        dump = getattr(value, name, None)
        if callable(dump):
            dumped = dump()
            return dumped if isinstance(dumped, Mapping) else None
    return {name: item for name, item in _attributes(value) if not name.startswith("_")} or None


def _attributes(value: object) -> Iterator[tuple[str, Any]]:
    yield from getattr(value, "__dict__", {}).items()
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield name, getattr(value, name)


def plain(value: object, depth: int = 0) -> Any:
    """Any value as JSON: mappings, lists and scalars at all depths; bytes in Base64.

    Raises `UnknownShape` for values that JSON cannot express, and beyond `MAX_DEPTH`.
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, _SCALARS):
        return value
    if depth >= MAX_DEPTH:
        raise UnknownShape(f"a value nested more than {MAX_DEPTH} deep")
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    fields = fields_of(value)
    if fields is None:
        raise unknown("a value that JSON cannot hold", value)
    return {str(name): plain(item, depth + 1) for name, item in fields.items()}


def word(value: object) -> str:
    """A role, kind or reason as lower-case text; empty without one."""
    if isinstance(value, Enum):
        value = value.value
    return value.lower() if isinstance(value, str) else ""


def text_or_none(value: object) -> str | None:
    """The text, or ``None`` for anything else and for an empty one."""
    return value if isinstance(value, str) and value else None


def sequence(value: object) -> Sequence[Any] | None:
    """A list or tuple unchanged; ``None`` for everything else."""
    return value if isinstance(value, list | tuple) else None


def why_unreadable(value: object) -> str | None:
    """Why a value is no finished output: a coroutine that was not awaited, a stream that was not joined."""
    if inspect.isawaitable(value):
        return "an output that is still to be awaited"
    if inspect.isgenerator(value) or inspect.isasyncgen(value) or hasattr(value, "__next__"):
        return "a stream; join its pieces first"
    return None


_NAMES = ("name", "tool_name", "tool", "action", "function_name")
_ARGUMENTS = ("arguments", "args", "input", "tool_kwargs", "kwargs", "parameters", "tool_input", "action_input")
_IDS = ("call_id", "tool_call_id", "tool_id", "toolUseId", "id")
_NESTED = ("function", "function_call", "functionCall", "toolUse", "tool_call")
CALL_KINDS = frozenset(("custom_tool_call", "function_call", "tool-call", "tool_call", "tool_use"))
"""Names of parts that are calls of functions which the caller executes."""

SHAPES = '{"name": …, "arguments": {…}} or {"get_weather": {"city": …}}'


def read_call(item: object) -> ToolCall:
    """A call. Raises `UnknownShape` for anything else.

    Argument text stays unchanged; an object becomes JSON; missing arguments are ``{}``.
    """
    if isinstance(item, ToolCall):
        return item
    if isinstance(item, Call):
        return ToolCall(item.name, _text(item.arguments, item))
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
        return ToolCall(item[0], _text(item[1], item))
    fields = fields_of(item)
    call = None if fields is None else _from_fields(fields, item)
    if call is None:
        raise unknown(f"a call is {SHAPES}", item)
    return call


def is_call(fields: Fields) -> bool:
    """Whether fields look like a call's; `read_call` may still refuse them."""
    if isinstance(fields.get("function"), str):  # Inspect's
        return "arguments" in fields
    if any(isinstance(fields.get(name), str) for name in _NAMES):
        return word(fields.get("type")) in CALL_KINDS or any(name in fields for name in _ARGUMENTS)
    return any(fields_of(fields.get(name)) is not None for name in _NESTED)


def _from_fields(fields: Fields, item: object) -> ToolCall | None:
    if not is_call(fields):
        return _single(fields, item)
    if isinstance(function := fields.get("function"), str):
        broken = fields.get("parse_error")  # arguments that were no JSON stay broken: what is left is no JSON either
        said = f"({broken})" if broken else _text(fields["arguments"], item)
        return ToolCall(function, said, fields.get("id"))
    identifier = next((fields[name] for name in _IDS if isinstance(fields.get(name), str)), None)
    if not any(isinstance(fields.get(name), str) for name in _NAMES):
        inner = next(found for name in _NESTED if (found := fields_of(fields.get(name))) is not None)
        if not is_call(inner) and not isinstance(inner.get("name"), str):
            return None
        own = next((inner[name] for name in _IDS if isinstance(inner.get(name), str)), None)
        fields, identifier = inner, identifier or own
    name = next(fields[name] for name in _NAMES if isinstance(fields.get(name), str))
    arguments = next((fields[key] for key in _ARGUMENTS if fields.get(key) is not None), None)
    return ToolCall(name, _text(arguments, item), identifier)


def _single(fields: Fields, item: object) -> ToolCall | None:
    """``{name: arguments}``."""
    if len(fields) != 1:
        return None
    ((name, arguments),) = fields.items()
    return ToolCall(name, _text(arguments, item)) if may_be_call(name, arguments) else None


def _text(arguments: object, item: object) -> str:
    if arguments is None:
        return "{}"
    if isinstance(arguments, str):
        return arguments
    if fields_of(arguments) is None:
        raise unknown("arguments of a call are an object or its JSON text, not", item)
    try:
        return json.dumps(plain(arguments))
    except (TypeError, ValueError) as error:
        raise UnknownShape(f"arguments of a call cannot be written as JSON: {error}") from None
