"""FunctionGemma's template: declarations with sorted keys, texts between ``<escape>`` (formats spec §3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.extensions.formats.parts import Prompted, text_of

_RESERVED = frozenset({"description", "type", "properties", "required", "nullable"})
"""Property names that the template takes for its own words and leaves out."""


def functiongemma(shown: Prompted) -> str:
    """Types are the benchmark's words in capitals; only ``OBJECT`` would show its properties."""
    system = shown.texts["functiongemma.system"] if shown.system is None else shown.system.strip()
    declared = "".join(
        f"<start_function_declaration>{_declaration(function)}<end_function_declaration>"
        for function in shown.functions
    )
    parts = [f"<start_of_turn>developer\n{system}\n{declared}<end_of_turn>\n"]
    for message in shown.rest:
        content, role = text_of(message), message["role"]
        if role == "tool":
            name = message.get("name", "")
            parts.append(f"<start_function_response>response:{name}{_response(content)}<end_function_response>")
        else:
            parts.append(f"<start_of_turn>{'model' if role == 'assistant' else role}\n{content.strip()}<end_of_turn>\n")
    return "".join(parts) + "<start_of_turn>model\n"


def _declaration(function: Mapping[str, Any]) -> str:
    schema = function.get("parameters") or {}
    fields = [f"description:{_escaped(function.get('description', ''))}", *_object_fields(schema)]
    fields.append(f"type:{_escaped(str(schema.get('type', '')).upper())}")
    return f"declaration:{function['name']}{{{','.join(fields)}}}"


def _object_fields(schema: Mapping[str, Any]) -> list[str]:
    fields = []
    if schema.get("properties"):
        fields.append(f"properties:{{{_properties(schema['properties'])}}}")
    if schema.get("required"):
        fields.append(f"required:[{','.join(map(_escaped, schema['required']))}]")
    return fields


def _properties(properties: Mapping[str, Any]) -> str:
    return ",".join(
        f"{name}:{{{_property(schema)}}}"
        for name, schema in sorted(properties.items())
        if name not in _RESERVED and isinstance(schema, Mapping)
    )


def _property(schema: Mapping[str, Any]) -> str:
    kind = str(schema.get("type", "")).upper()
    fields = [f"description:{_escaped(schema.get('description', ''))}"]
    if kind == "STRING" and schema.get("enum"):
        fields.append(f"enum:{_argument(list(schema['enum']))}")
    elif kind == "OBJECT":
        fields += _object_fields(schema)
    elif kind == "ARRAY" and isinstance(schema.get("items"), Mapping) and schema["items"]:
        fields.append(f"items:{{{_items(schema['items'])}}}")
    return ",".join([*fields, f"type:{_escaped(kind)}"])


def _items(schema: Mapping[str, Any]) -> str:
    fields = []
    for key, value in sorted(schema.items()):
        if key == "properties" and isinstance(value, Mapping):
            fields.append(f"properties:{{{_properties(value)}}}")
        elif key == "required" and isinstance(value, list):
            fields.append(f"required:[{','.join(map(_escaped, value))}]")
        elif key == "type":
            fields.append(f"type:{_argument(str(value).upper())}")
        elif value is not None:
            fields.append(f"{key}:{_argument(value)}")
    return ",".join(fields)


def _response(content: str) -> str:
    """A JSON object with bare, sorted keys; anything else is one text."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    return _argument(value if isinstance(value, dict) else {"value": content})


def _argument(value: Any) -> str:
    if isinstance(value, str):
        return _escaped(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{_argument(item)}' for key, item in sorted(value.items()))}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_argument, value))}]"
    return str(value)


def _escaped(text: Any) -> str:
    return f"<escape>{text}<escape>"
