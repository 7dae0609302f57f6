"""One recorded conversation, whatever it was recorded by, with its tools as documents in JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies import Said, UnknownShape
from pytest_bfcl.tools.documents import native_document


@dataclass(frozen=True, slots=True)
class Conversation:
    """``place`` is where it stands; ``tools`` are the documents that were offered, as JSON Schema has them.

    ``trouble``: why its last reply may not be taken for what is right.
    """

    place: str
    tools: tuple[Parsed, ...]
    said: tuple[Said, ...]
    trouble: str | None = None


def parsed(value: object, what: str) -> Any:
    """A value that some logs hold as JSON text. Raises `UnknownShape`."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise UnknownShape(f"{what} is not JSON: {value[:80]!r}") from None


def maybe_parsed(value: object) -> Any:
    """The same, where a text may also be meant as one."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def objects(value: object, what: str) -> list[Fields]:
    """A list of objects. Raises `UnknownShape`."""
    listed = parsed(value, what)
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise UnknownShape(f"{what} is no list of objects")
    return listed


_LISTS = ("functionDeclarations", "function_declarations")
_FUNCTIONS = (None, "", "custom", "function")
"""Types of tools that this side carries out; all others are a provider's own (searches, code)."""


def documents_of(tools: object, what: str = "tools") -> tuple[Parsed, ...]:
    """The documents of a request's tools; those a provider runs itself are left out. Raises `UnknownShape`."""
    if not tools:
        return ()
    found: dict[str, Parsed] = {}
    for number, tool in enumerate(_spread(objects(tools, what), what)):
        if tool.get("type") not in _FUNCTIONS or ("format" in tool and "name" in tool and "input_schema" not in tool):
            continue
        try:
            document = native_document(_plain(tool))
        except ValueError as error:
            raise UnknownShape(f"{what}[{number}]: {error}") from None
        found[document["name"]] = {**document, "parameters": _lower(document["parameters"])}
    return tuple(found.values())


def _spread(tools: list[Fields], what: str) -> Iterator[Fields]:
    """Gemini lists several functions in one tool; a tool without any is Google's own."""
    for tool in tools:
        lists = [tool[name] for name in _LISTS if tool.get(name)]
        for each in lists:
            yield from objects(each, f"{what}.functionDeclarations")
        if not lists and ("name" in tool or "function" in tool or "toolSpec" in tool):
            yield tool


def _plain(tool: Fields) -> Fields:
    """One shape for what Bedrock nests and Google's SDK writes in its own case."""
    spec = tool.get("toolSpec")
    if isinstance(spec, Mapping):
        schema = spec.get("inputSchema")
        return {**spec, "inputSchema": schema.get("json", schema) if isinstance(schema, Mapping) else schema}
    if isinstance(tool.get("parameters_json_schema"), Mapping):
        return {**tool, "parameters": tool["parameters_json_schema"]}
    if isinstance(tool.get("parameters"), Mapping):
        return {**tool, "parameters": _lower(tool["parameters"])}
    return tool


def _lower(schema: Any) -> Any:
    """Google's words for types (``OBJECT``) and for null (``nullable``) as JSON Schema has them; nulls left out."""
    if isinstance(schema, list):
        return [_lower(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kind = schema.get("type")
    if not (isinstance(kind, str) and kind.isupper()):
        return {key: _lower(each) if isinstance(each, Mapping | list) else each for key, each in schema.items()}
    told = {key: _lower(each) for key, each in schema.items() if each is not None and key != "nullable"}
    told["type"] = [kind.lower(), "null"] if schema.get("nullable") else kind.lower()
    return told
