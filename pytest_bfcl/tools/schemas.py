"""Function documents in providers' forms: JSON Schema types, legal names (data spec §9)."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.json_schema import is_native
from pytest_bfcl.transcript import wire_name

Style = Literal["openai", "folded", "responses", "folded_responses", "anthropic", "amazon"]

JSON_TYPES: dict[str, str] = {
    **dict.fromkeys(("integer", "byte", "short", "long", "Bigint"), "integer"),
    **dict.fromkeys(("number", "float", "double"), "number"),
    **dict.fromkeys(("string", "char", "String", "any", "Any"), "string"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "tuple", "ArrayList", "Array", "Queue", "Stack"), "array"),
    **dict.fromkeys(("dict", "object", "HashMap", "Hashtable"), "object"),
}
"""Benchmark type word → JSON-schema type; anything else is sent as ``string``."""

FLOAT_SENTENCE = " This is a float type value."
"""Note on ``float`` properties, because JSON Schema has only ``number`` (data spec §9)."""

_DEPTH_LIMIT = 32
_NAME_LIMIT = 64


def compile_tools(functions: Sequence[Fields], style: Style = "openai") -> list[Parsed]:
    """The documents as a ``tools`` list; the documents, also those in JSON Schema, are never changed.

    Styles: ``openai`` (chat completions), ``folded`` (the same for strict servers), ``responses`` and
    ``folded_responses``, ``anthropic``, ``amazon``. Names have the form that providers accept (see `wire_names`). A
    ``response`` schema stays in place in ``openai`` and ``responses`` and is folded into the description in the others.
    Raises `UsageError` for an unknown style.
    """
    names = {documented: wire for wire, documented in wire_names(functions).items()}
    return [_wrap(_function(doc, names[str(doc["name"])]), doc, style) for doc in functions]


class CompiledTools:
    """Compiled function documents and lists of them, so that each is compiled and encoded once.

    Documents are recognised by name, description and the identity of their schemas, which never change after loading;
    conversations about the same classes share theirs. ``size`` is the number of lists held.
    """

    def __init__(self, style: Style = "openai", size: int = 128) -> None:
        self.style = style
        self.size = size
        self._lists: OrderedDict[tuple[_Key, ...], _Compiled] = OrderedDict()
        self._single: OrderedDict[tuple[_Key, str], _Compiled] = OrderedDict()
        self._latest: _Compiled | None = None

    def of(self, functions: Sequence[Fields], *, kept: bool = True) -> list[Parsed]:
        """`compile_tools` of these documents; shared, do not change it.

        ``kept``: they will be needed again, as in every step of a conversation. Entries of one request have their own
        documents, and a lookup would take as long as compiling.
        """
        if kept:
            self._latest = self._find(functions)
        else:
            made = compile_tools(functions, self.style)
            self._latest = _Compiled((), made, json_text(made))
        tools: list[Parsed] = self._latest.tools
        return tools

    def text(self, functions: Sequence[Fields], tools: object = None) -> str:
        """The same as JSON text, most of a native request's body; ``tools`` is the result of `of`."""
        latest = self._latest
        return latest.text if latest is not None and latest.tools is tools else self._find(functions).text

    def _find(self, functions: Sequence[Fields]) -> _Compiled:
        key = tuple(map(_key, functions))
        held = self._lists.pop(key, None)
        if held is None:
            names = {documented: wire for wire, documented in wire_names(functions).items()}
            parts = [self._one(doc, names[str(doc["name"])]) for doc in functions]
            held = _Compiled(tuple(functions), [part.tools for part in parts], _joined(part.text for part in parts))
        return _keep(self._lists, key, held, self.size)

    def _one(self, doc: Fields, name: str) -> _Compiled:
        key = (_key(doc), name)
        held = self._single.pop(key, None)
        if held is None:
            tool = _wrap(_function(doc, name), doc, self.style)
            held = _Compiled((doc,), tool, json_text(tool))
        return _keep(self._single, key, held, 8 * self.size)


def json_text(value: object) -> str:
    """JSON of a request's part; pydantic's writer takes a quarter of the time of Python's."""
    import pydantic_core

    try:
        return pydantic_core.to_json(value, inf_nan_mode="constants").decode()
    except (pydantic_core.PydanticSerializationError, ValueError, RecursionError):
        return json.dumps(value)


_Key = tuple[Any, Any, int, int]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """``documents`` are held so that the identities in their key are not reused."""

    documents: tuple[Fields, ...]
    tools: Any
    text: str


def _key(doc: Fields) -> _Key:
    return doc.get("name"), doc.get("description"), id(doc.get("parameters")), id(doc.get("response"))


def _joined(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _keep(held: OrderedDict[Any, _Compiled], key: object, value: _Compiled, size: int) -> _Compiled:
    """Added at the end; the first one, unused for longest, is removed."""
    if len(held) >= size:
        held.popitem(last=False)
    held[key] = value
    return value


def wire_names(functions: Iterable[Fields]) -> dict[str, str]:
    """Name on the wire → documented name, for all functions, in order.

    Dots and other illegal characters become ``_``; a name that is too long or collides with an earlier one gets a short
    digest of the documented name at its end. So it is the same in every request.
    """
    mapping: dict[str, str] = {}
    for doc in functions:
        documented = str(doc["name"])
        if documented in mapping.values():
            continue
        wire = wire_name(documented)
        if wire in mapping or len(documented) > _NAME_LIMIT or not wire:
            digest = hashlib.sha256(documented.encode()).hexdigest()[:6]
            wire = f"{wire[: _NAME_LIMIT - 7]}_{digest}"
        mapping[wire] = documented
    return mapping


def _wrap(function: Parsed, doc: Fields, style: Style) -> Parsed:
    if style == "openai":
        return {"type": "function", "function": function}
    if style == "responses":
        return {"type": "function", **function}
    if function.pop("response", None) is not None:
        said = json.dumps(doc["response"], ensure_ascii=False)
        function["description"] = f"{function['description']} The result has this schema: {said}"
    if style == "folded":
        return {"type": "function", "function": function}
    if style == "folded_responses":
        return {"type": "function", **function}
    schema = function.pop("parameters")
    if style == "anthropic":
        return {**function, "input_schema": schema}
    function.pop("strict", None)
    if style == "amazon":
        return {"toolSpec": {**function, "inputSchema": {"json": schema}}}
    raise UsageError(f"unknown tool style {style!r}; known: openai, folded, responses, anthropic, amazon")


def _function(doc: Fields, name: str) -> Parsed:
    if is_native(doc):
        said = {key: doc[key] for key in ("description", "strict") if key in doc}
        return {"name": name, **said, "parameters": doc["parameters"]}
    schema: Parsed = {}
    for key, value in (doc.get("parameters") or {}).items():
        if type(value) is str:
            schema[key] = value
        else:
            schema[key] = _properties(value or {}, 0) if key == "properties" else _copy(value)
    schema["type"] = "object"
    schema.setdefault("properties", {})
    if "required" in schema and not isinstance(schema["required"], list):
        del schema["required"]
    function = {"name": name, "description": str(doc.get("description") or ""), "parameters": schema}
    return function | ({"response": _copy(doc["response"])} if "response" in doc else {})


# Copies keep the document's order of keys, which templates show to the model. Texts, most of a schema, are told first.


def _properties(properties: Fields, depth: int) -> Parsed:
    return {name: _property(schema, depth) for name, schema in properties.items()}


_NESTING = frozenset(("properties", "items"))


def _property(schema: Any, depth: int) -> Parsed:
    if depth > _DEPTH_LIMIT or not (type(schema) is dict or isinstance(schema, Mapping)):
        return {"type": "string"}
    word = schema.get("type")
    kind = _json_type(word)
    if word == kind and kind in _SCALARS and type(schema) is dict and _NESTING.isdisjoint(schema):
        return schema  # nothing to change
    result: Parsed = {**schema}
    for key, value in schema.items():
        if type(value) is str:
            continue
        if key != "properties" and key != "items":
            result[key] = _copy(value)
        elif kind != "array" and kind != "object":
            del result[key]
        else:
            result[key] = _properties(value or {}, depth + 1) if key == "properties" else _items(value, depth + 1)
    result["type"] = kind
    if word == "float":
        result["format"] = "float"
        result["description"] = f"{result.get('description') or ''}{FLOAT_SENTENCE}".strip()
    if kind == "array" and "properties" not in result and "items" not in result:
        result["items"] = {"type": "string"}  # providers refuse an array without
    return result


def _items(schema: Any, depth: int) -> Parsed:
    """Element schemas: types mapped at every depth, but no ``format`` and no sentence for floats."""
    if depth > _DEPTH_LIMIT or not isinstance(schema, Mapping):
        return {"type": "string"}
    nested = "items" in schema
    result: Parsed = {}
    for key, value in schema.items():
        if type(value) is str:
            result[key] = value
        elif key == "items":
            result[key] = _items(value, depth + 1)
        elif key == "properties":
            if not nested:
                result[key] = _properties(value or {}, depth + 1)
        else:
            result[key] = _copy(value)
    result["type"] = _json_type(schema.get("type"))
    return result


def _json_type(word: object) -> str:
    return JSON_TYPES.get(word, "string") if type(word) is str else "string"


def _copy(value: object) -> Any:
    """A deep copy of parsed JSON; texts, most of it, are spared their own call."""
    if isinstance(value, dict):
        return {key: item if type(item) is str else _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if type(item) is str else _copy(item) for item in value]
    return value


_SCALARS: Mapping[str, frozenset[type]] = {
    "integer": frozenset((int,)),
    "number": frozenset((int, float)),
    "string": frozenset((str,)),
    "boolean": frozenset((bool,)),
}
_ANNOTATIONS = frozenset(("type", "description", "default", "title", "format", "optional"))
"""Keywords next to which only a value's type counts."""


def surely_fits(parameters: Fields, arguments: Fields) -> bool:
    """Whether arguments are certainly valid under a document's parameters as `compile_tools` sends them.

    It knows types, elements, enumerations and what is required, which most calls need; ``False`` says nothing, and a
    validator has to decide.
    """
    properties, required = parameters.get("properties") or {}, parameters.get("required") or []
    if type(properties) is not dict or type(required) is not list or not _OBJECT.issuperset(parameters):
        return False
    for name in required:
        if type(name) is not str or name not in arguments:
            return False
    for name, value in arguments.items():
        schema: Any = properties.get(name)
        word = schema.get("type") if type(schema) is dict else None
        kinds = _SCALARS.get(JSON_TYPES.get(word, "")) if type(word) is str else None
        if kinds is not None and type(value) in kinds and _ANNOTATIONS.issuperset(schema):
            continue  # as most
        if not _surely_fits_one(schema, value):
            return False
    return True


def _surely_fits_one(schema: Any, value: object) -> bool:
    word = schema.get("type") if type(schema) is dict else None
    kind = JSON_TYPES.get(word) if type(word) is str else None
    if kind is None:
        return False
    told = schema.keys() - _ANNOTATIONS
    if kind == "object":
        if type(value) is not dict:
            return False
        return surely_fits(schema, value) if "properties" in schema else not told
    if kind == "array":
        if type(value) is not list or told - {"items"}:
            return False
        items = {"each": schema.get("items", {"type": "string"})}
        for each in value:  # noqa: SIM110 - a generator costs more than the loop
            if not surely_fits({"properties": items}, {"each": each}):
                return False
        return True
    if type(value) not in _SCALARS[kind] or told - {"enum"} or (told and type(schema["enum"]) is not list):
        return False
    # As JSON, 1 is not true; nobody asks here whether it is 1.0.
    return not told or value in [each for each in schema["enum"] if type(each) is type(value)]


_OBJECT = _ANNOTATIONS | {"properties", "required"}
