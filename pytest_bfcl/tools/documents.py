"""Function documents from the common shapes of tools: OpenAI's, Anthropic's, MCP's, or a plain JSON Schema.

A document in the benchmark's own words (``"type": "dict"``) stays unchanged. Everything else is JSON Schema and is
translated: ``object`` → ``dict``, ``number`` → ``float``. References are resolved inside the document. Of nullable and
alternative types the first one is used, because checkers know one type a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.json_schema import DIALECT, resolved

if TYPE_CHECKING:
    from pytest_bfcl.tools.json_schema import FunctionDoc


MAX_DEPTH = 32
"""Deepest level of a schema that is read; deeper ones (a schema that contains itself) become ``any``."""
MAX_PARTS = 20_000
"""Most schemas of one tool that are read, so that nested references end."""

_WORDS = {"object": "dict", "number": "float", "null": "any"}
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_KEPT = ("enum", "default", "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


def is_tool(value: Fields) -> bool:
    """Whether a mapping is a tool in a provider's shape or a JSON Schema, not a document in the benchmark's words."""
    if isinstance(value.get("function"), Mapping) or (value.get("type") == "function" and "name" in value):
        return True
    schema = value.get("parameters")
    if isinstance(schema, Mapping):
        return schema.get("type") == "object"
    return "parameters" not in value and any(isinstance(value.get(key), Mapping) for key in _SCHEMA_KEYS)


def as_document(tool: Fields) -> FunctionDoc:
    """The document of a tool in any shape; a document in the benchmark's words is returned unchanged.

    ``{"type": "function", "function": {…}}`` and the flat form of it (OpenAI), ``input_schema`` (Anthropic),
    ``inputSchema`` (MCP), ``{"name", "description", "parameters": <JSON Schema>}``. Raises `ValueError` for a tool
    without a name, or whose parameters are not the schema of an object.
    """
    if not is_tool(tool):
        return dict(tool)
    name, body, schema = tool_body(tool)
    description = body.get("description")
    document: FunctionDoc = {
        "name": name,
        "description": description if isinstance(description, str) else "",
        "parameters": object_schema(schema or {}),
    }
    if isinstance(body.get("response"), Mapping):
        document["response"] = object_schema(body["response"])
    return document


def native_document(tool: Fields) -> Parsed:
    """The document of a tool in any provider's shape, with its schema unchanged. Raises `ValueError` like
    `as_document`.

    ``description`` and ``strict`` are present if the tool has them.
    """
    name, body, schema = tool_body(tool)
    document: Parsed = {"name": name, "dialect": DIALECT}
    document |= {key: body[key] for key in ("description", "strict") if body.get(key) is not None}
    return {**document, "parameters": schema if schema is not None else {"type": "object", "properties": {}}}


def tool_body(tool: Fields) -> tuple[str, Fields, Fields | None]:
    """A tool's name, the object that has its description, and the schema of its arguments. Raises `ValueError`."""
    inner = tool.get("function")
    body: Fields = inner if isinstance(inner, Mapping) else tool
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f'a tool has no "name": {str(tool)[:80]!r}')
    schema = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), None)
    if schema is not None and (
        not isinstance(schema, Mapping) or schema.get("type", "object") not in ("object", "dict")
    ):
        raise ValueError(f"the parameters of {name} are not the schema of an object")
    return name, body, schema


def object_schema(schema: Fields) -> Parsed:
    """The JSON Schema of an object as a document's ``parameters``."""
    translated = translate(schema)
    properties = translated.get("properties")
    required = translated.get("required")
    return {
        "type": "dict",
        "properties": properties if isinstance(properties, dict) else {},
        "required": required if isinstance(required, list) else [],
    }


def translate(schema: object) -> Parsed:
    """A JSON Schema in the benchmark's type words (see the module)."""
    start = schema if isinstance(schema, Mapping) else {}
    return _Translation(start).of(start, 0)


class _Translation:
    """The translation of one tool's schema."""

    def __init__(self, root: Fields) -> None:
        self.root = root
        self._parts = 0

    def of(self, schema: object, depth: int) -> Parsed:
        """One schema."""
        self._parts += 1
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self._parts > MAX_PARTS:
            return {"type": "any"}
        whole = resolved(schema, self.root)
        result: Parsed = {"type": _type_word(whole)}
        for key in ("description", "title"):
            if isinstance(whole.get(key), str):
                result["description"] = whole[key]
                break
        if "const" in whole and "enum" not in whole:
            whole = {**whole, "enum": [whole["const"]]}
        result |= {key: whole[key] for key in _KEPT if key in whole}
        if isinstance(result.get("enum"), list):
            result["enum"] = [value for value in result["enum"] if value is not None]
        if isinstance(whole.get("properties"), Mapping):
            properties = {str(name): self.of(each, depth + 1) for name, each in whole["properties"].items()}
            result["properties"] = properties
            required = whole.get("required")
            result["required"] = [str(name) for name in required] if isinstance(required, list) else []
        if result["type"] == "array":
            items = whole.get("items")
            result["items"] = self.of(items, depth + 1) if isinstance(items, Mapping) else {"type": "any"}
        return result


def _type_word(schema: Fields) -> str:
    word = schema.get("type")
    if isinstance(word, list):
        word = next((each for each in word if each != "null"), None)
    if isinstance(word, str):
        return _WORDS.get(word, word)
    if isinstance(schema.get("properties"), Mapping):
        return "dict"
    if isinstance(schema.get("items"), Mapping):
        return "array"
    return _word_of(schema.get("enum", [schema["const"]] if "const" in schema else None))


def _word_of(values: object) -> str:
    """The type that the values of an enumeration share."""
    kinds = {type(value) for value in values if value is not None} if isinstance(values, list) else set()
    words: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "float"}
    return words.get(kinds.pop(), "any") if len(kinds) == 1 else "float" if kinds == {int, float} else "any"


ToolStyle = Literal["openai", "responses", "anthropic", "gemini"]


def to_tools(tools: Sequence[Fields], style: ToolStyle) -> list[Parsed]:
    """The same tools for another API; schemas are shared, not copied.

    ``openai``: unchanged. ``responses``: OpenAI's Responses. ``anthropic``: Messages. ``gemini``: one
    ``functionDeclarations`` list with JSON Schema. Raises `UsageError` for another style.
    """
    functions = [dict(tool["function"]) for tool in tools]
    if style == "openai":
        return [dict(tool) for tool in tools]
    if style == "responses":
        return [{"type": "function", **function} for function in functions]
    if style == "anthropic":
        return [_described(function, "input_schema") for function in functions]
    if style == "gemini":
        return [{"functionDeclarations": [_described(function, "parametersJsonSchema") for function in functions]}]
    raise UsageError(f"tools can be written for openai, responses, anthropic or gemini, not {style!r}")


def _described(function: Fields, schema: str) -> Parsed:
    return {"name": function["name"], "description": function.get("description", ""), schema: function["parameters"]}


_ITEM = re.compile(r"(\w+(?: \([^()]*\))?): ?(.*)")
_FIELD = re.compile(r":(?:param|parameter|arg|argument)(?: [^:]*?)? (\w+): ?(.*)")
_OTHER_FIELD = re.compile(r":\w+[^:]*:.*")
_SECTIONS = ("Args:", "Arguments:", "Parameters:", "Returns:", "Raises:", "Yields:", "Example:", "Examples:", "Note:")
_ARGUMENTS = ("Args:", "Arguments:", "Parameters:")


class Docstring(NamedTuple):
    """The parts of a docstring: ``returned`` are property schemas by name."""

    description: str
    arguments: dict[str, str]
    returned: dict[str, Parsed]


def read_docstring(text: str) -> Docstring:
    """A cleaned docstring (`inspect.getdoc`), parsed."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    arguments: dict[str, str] = {}
    for line in text.splitlines():
        word = line.strip()
        if line == word and word in _SECTIONS:
            current = word
            sections[current] = []
        elif field := _FIELD.fullmatch(word):
            arguments[field[1]] = field[2].replace("``", "`")
            current = f":{field[1]}"
            sections[current] = []
        elif _OTHER_FIELD.fullmatch(word) and line == word:
            current = word
            sections[current] = []
        elif current.startswith(":") and word and current[1:] in arguments:
            arguments[current[1:]] += f" {word}"
        else:
            sections[current].append(word)
    for name in _ARGUMENTS:
        for head, what in _items(sections.get(name, [])).items():
            arguments[head.partition(" (")[0]] = what
    returned: dict[str, Parsed] = {}
    for head, what in _items(sections.get("Returns:", [])).items():
        key, _, kind = head.partition(" (")
        returned[key] = {"type": kind.rstrip(")") or "any", "description": what}
    description = " ".join(" ".join(sections[""]).split())
    return Docstring(description.replace("``", "`"), arguments, returned)


def _items(lines: Sequence[str]) -> dict[str, str]:
    """``head: text`` lines with their continuation lines."""
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        matched = _ITEM.fullmatch(line)
        if matched:
            last = matched[1]
            found[last] = matched[2].replace("``", "`")
        elif line and last:
            found[last] += " " + line.replace("``", "`")
    return found
