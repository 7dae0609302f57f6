"""An entry's tools as Python functions with name, signature, docstring and JSON Schema for agent libraries."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from pytest_bfcl.json_types import Fields, Parsed

_TYPES: dict[str, Any] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict, "null": None,
}  # fmt: skip


class Tool(Protocol):
    """A plain Python function (``async def`` or not) that makes one call, with the attributes that libraries read.

    ``__signature__``, ``__annotations__`` and a Google-style ``__doc__`` are set. The function takes keyword arguments
    and returns the result as text; mistakes in the arguments also return text.
    """

    __name__: str
    __doc__: str | None
    name: str
    description: str
    parameters: Parsed
    """JSON Schema of the arguments, as for bare models."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the call as text."""
        ...


def async_tool(schema: Fields, call: Callable[[str, Fields], Awaitable[str]]) -> Tool:
    """The tool of an OpenAI-shaped schema as an ``async def`` function."""
    name, bound = str(schema["function"]["name"]), _Binder(schema["function"])

    async def tool(*args: Any, **kwargs: Any) -> str:
        return await call(name, bound.arguments(args, kwargs))

    return _dressed(tool, schema["function"], bound)


def sync_tool(schema: Fields, call: Callable[[str, Fields], str]) -> Tool:
    """The same as a plain function, for libraries that call tools from threads."""
    name, bound = str(schema["function"]["name"]), _Binder(schema["function"])

    def tool(*args: Any, **kwargs: Any) -> str:
        return call(name, bound.arguments(args, kwargs))

    return _dressed(tool, schema["function"], bound)


class _Binder:
    """The signature of a schema's arguments, and arguments by it."""

    def __init__(self, function: Fields) -> None:
        parameters = function.get("parameters") or {}
        properties = parameters.get("properties") or {}
        self.required = set(parameters.get("required") or ())
        names = sorted(filter(_is_name, properties), key=lambda name: name not in self.required)
        listed = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if name in self.required else None,
                annotation=self._annotation(name, properties[name]),
            )
            for name in names
        ]
        if len(names) < len(properties):  # names that are no Python names arrive in a mapping
            listed.append(inspect.Parameter("more", inspect.Parameter.VAR_KEYWORD))
        self.signature = inspect.Signature(listed, return_annotation=str)

    def _annotation(self, name: str, schema: Fields) -> Any:
        found = annotation_of(schema)
        return found if name in self.required else found | None

    def arguments(self, args: tuple[Any, ...], kwargs: Parsed) -> Parsed:
        """Arguments by name; an optional one with ``None`` counts as omitted, because libraries fill in defaults."""
        given = dict(zip(self.signature.parameters, args, strict=False)) | kwargs
        return {name: value for name, value in given.items() if value is not None or name in self.required}


def annotation_of(schema: Fields) -> Any:
    """The Python type of a JSON Schema, as close as annotations allow."""
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(each, str | int | bool) for each in choices):
        return Literal[tuple(choices)]
    word = schema.get("type")
    found = _TYPES.get(word, Any) if isinstance(word, str) else Any
    items = schema.get("items")
    if found is list and isinstance(items, dict):
        inner: Any = annotation_of(items)
        return list.__class_getitem__(inner) if inner is not Any else list
    return found


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _dressed(tool: Any, function: Fields, bound: _Binder) -> Tool:
    tool.name = tool.__name__ = tool.__qualname__ = str(function["name"])
    tool.description = str(function.get("description") or "")
    tool.parameters = function.get("parameters") or {"type": "object", "properties": {}}
    tool.__signature__ = bound.signature
    tool.__annotations__ = {
        **{name: each.annotation for name, each in bound.signature.parameters.items() if name != "more"},
        "return": str,
    }
    tool.__doc__ = _docstring(tool)
    made: Tool = tool
    return made


def _docstring(tool: Any) -> str:
    properties = tool.parameters.get("properties") or {}
    lines = [tool.description, ""]
    if properties:
        lines.append("Args:")
        lines += [f"    {name}: {schema.get('description') or name}" for name, schema in properties.items()]
        lines.append("")
    return "\n".join([*lines, "Returns:", "    The result as text."])
