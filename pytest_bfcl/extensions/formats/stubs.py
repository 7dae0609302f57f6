"""Templates that declare functions in their own notation: FunctionGemma, MiniCPM3 (formats spec §3).

FunctionGemma: declarations with sorted keys, texts between ``<escape>``. MiniCPM3: Python stubs whose arguments are
pydantic fields; the reference uses a code generator, whose result is equal for usual schemas.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.extensions.formats.templates import CHATML_REPLY, Prompted, chatml, text_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.tools.schemas import compile_tools

_RESERVED = frozenset({"description", "type", "properties", "required", "nullable"})
"""Property names that the template uses as keywords and leaves out."""


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


def _declaration(function: Fields) -> str:
    schema = function.get("parameters") or {}
    fields = [f"description:{_escaped(function.get('description', ''))}", *_object_fields(schema)]
    fields.append(f"type:{_escaped(str(schema.get('type', '')).upper())}")
    return f"declaration:{function['name']}{{{','.join(fields)}}}"


def _object_fields(schema: Fields) -> list[str]:
    fields = []
    if schema.get("properties"):
        fields.append(f"properties:{{{_properties(schema['properties'])}}}")
    if schema.get("required"):
        fields.append(f"required:[{','.join(map(_escaped, schema['required']))}]")
    return fields


def _properties(properties: Fields) -> str:
    return ",".join(
        f"{name}:{{{_property(schema)}}}"
        for name, schema in sorted(properties.items())
        if name not in _RESERVED and isinstance(schema, Mapping)
    )


def _property(schema: Fields) -> str:
    kind = str(schema.get("type", "")).upper()
    fields = [f"description:{_escaped(schema.get('description', ''))}"]
    if kind == "STRING" and schema.get("enum"):
        fields.append(f"enum:{_argument(list(schema['enum']))}")
    elif kind == "OBJECT":
        fields += _object_fields(schema)
    elif kind == "ARRAY" and isinstance(schema.get("items"), Mapping) and schema["items"]:
        fields.append(f"items:{{{_items(schema['items'])}}}")
    return ",".join([*fields, f"type:{_escaped(kind)}"])


def _items(schema: Fields) -> str:
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
    value = json_or(content)
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


_WIDTH = 88
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def minicpm3(shown: Prompted) -> str:
    """Its handler appends the tool text to the system message again with every query."""
    system = shown.system or ""
    if shown.functions:
        system += f"\n{_tools_text(shown)}" * shown.query
    parts = [chatml("system", system.strip())]
    parts += [chatml(message["role"], text_of(message).strip()) for message in shown.rest]
    return "".join(parts) + CHATML_REPLY


def _tools_text(shown: Prompted) -> str:
    stubs = "".join(f"\n\n{_stub(tool['function'])}" for tool in compile_tools(shown.functions))
    rules = shown.texts["minicpm3.rules"].replace("{{", "{").replace("}}", "}")
    return rules.replace("{tools}", shown.texts["minicpm3.imports"] + stubs).rstrip("\n")


def _stub(function: Fields) -> str:
    schema = function.get("parameters") or {}
    models = _Models()
    fields = models.fields(schema)
    classes = "".join(f"{text}\n\n\n" for text in models.classes)
    body = "\n".join(f"    {line}" for field in fields for line in field.split("\n")) if fields else "    pass"
    return (
        f"{classes}def {function['name']}({_signature(schema)}):\n"
        f'    """\n    {function.get("description", "")}\n    Args:\n\n{body}\n\n    """\n'
    )


def _signature(schema: Fields) -> str:
    required = schema.get("required") or []
    members = (schema.get("properties") or {}).items()
    return ", ".join(name if name in required else f"{name}={member.get('default')!r}" for name, member in members)


class _Models:
    """Classes of one function: enums and nested objects, in the order of use."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        self._names: set[str] = {"Model"}

    def fields(self, schema: Fields) -> list[str]:
        """A class's lines, one field each, without indent."""
        required = schema.get("required") or []
        members = (schema.get("properties") or {}).items()
        return [self._field(name, member, name in required) for name, member in members]

    def _field(self, name: str, schema: Fields, required: bool) -> str:
        kind = self._type(name, schema)
        known = f"{name}_" if keyword.iskeyword(name) or not name.isidentifier() else name
        arguments = ["..." if required else repr(schema.get("default"))]
        if known != name:
            known = re.sub(r"\W", "_", known)
            arguments.append(f"alias={name!r}")
        if schema.get("description"):
            arguments.append(f"description={schema['description']!r}")
        left = f"{known}: {kind if required else f'Optional[{kind}]'}"
        if len(arguments) == 1:
            return left if required else f"{left} = {arguments[0]}"
        return _wrapped(left, arguments)

    def _type(self, name: str, schema: Fields) -> str:
        kind = schema.get("type")
        if schema.get("enum"):
            return self._enum(name, schema["enum"])
        if kind == "array":
            items = schema.get("items")
            return f"List[{self._type(_singular(name), items)}]" if isinstance(items, Mapping) and items else "List"
        if kind == "object":
            if not schema.get("properties"):
                return "Dict[str, Any]"
            fields = self.fields(schema)
            class_name = self._model_name(name)
            lines = "\n".join(f"    {line}" for field in fields for line in field.split("\n"))
            self.classes.append(f"class {class_name}(BaseModel):\n{lines}")
            return class_name
        return _TYPES.get(str(kind), "Any")

    def _enum(self, name: str, values: list[Any]) -> str:
        class_name = self._model_name(name)
        members = "\n".join(f"    {_member(value)} = {value!r}" for value in values)
        self.classes.append(f"class {class_name}(Enum):\n{members}")
        return class_name

    def _model_name(self, name: str) -> str:
        base = "".join(part[:1].upper() + part[1:] for part in re.split(r"[\W_]+", name) if part) or "Field"
        number, chosen = 0, base
        while chosen in self._names:
            number += 1
            chosen = f"{base}{number}"
        self._names.add(chosen)
        return chosen


def _wrapped(left: str, arguments: list[str]) -> str:
    """On one line if it fits, else the arguments on the next, else one a line (with four columns of indent)."""
    joined = ", ".join(arguments)
    whole = f"{left} = Field({joined})"
    if len(whole) + 4 <= _WIDTH:
        return whole
    if len(joined) + 8 <= _WIDTH:
        return f"{left} = Field(\n    {joined}\n)"
    listed = "\n".join(f"    {argument}," for argument in arguments)
    return f"{left} = Field(\n{listed}\n)"


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and len(name) > 1 else name


def _member(value: Any) -> str:
    """The name of an enum's member."""
    text = re.sub(r"\W", "_", str(value))
    if not isinstance(value, str):
        text = f"{type(value).__name__}_{text}" if not isinstance(value, int) else f"integer_{text}"
    if not text or text[0].isdigit():
        text = f"field_{text}"
    return f"{text}_" if keyword.iskeyword(text) else text
