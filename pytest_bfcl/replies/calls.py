"""One call in any library's notation → `ToolCall`.

Known: ``{name, arguments}`` with ``args``, ``input``, ``kwargs`` or ``parameters`` instead of ``arguments`` (Anthropic,
LangChain, smolagents, Gemini). Also ``{tool_name, args}`` and ``{tool_name, tool_kwargs}`` (pydantic-ai, LlamaIndex),
the nested ``{function: {name, arguments}}`` (OpenAI chat), ``{function, arguments, parse_error}`` (Inspect), ``{name:
{parameter: value}}``, a pair, `Call` and `ToolCall`.
"""

from __future__ import annotations

import json

from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies.shapes import UnknownShape, fields_of, plain, unknown, word
from pytest_bfcl.transcript import Call, ToolCall, may_be_call

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
