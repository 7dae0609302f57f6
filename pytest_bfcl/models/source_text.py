"""Writes calls as text: values as source text of a language, calls in every return format of a prompt.

Used by the embedded models (oracle, lexical). Formats: ast_checker spec §3; typed Java and JavaScript values: §8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.python_syntax import exact_text
from pytest_bfcl.transcript import Call, Mode, Reply, ToolCall, wire_name

_PATH = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*\Z")
_EXPRESSION = re.compile(r"(?:new )?[A-Za-z_$][\w$.]*\([^()]*\)\Z")
_JAVA_BOXED = {"integer": "Integer", "long": "Long", "float": "Float", "double": "Double", "boolean": "Boolean",
               "char": "Character", "String": "String", "short": "Short", "byte": "Byte"}  # fmt: skip
_JAVA_PLAIN = {"integer": "int", "long": "long", "float": "float", "double": "double", "boolean": "boolean",
               "char": "char", "String": "String", "short": "short", "byte": "byte"}  # fmt: skip


def reply_with_calls(calls: Sequence[Call], entry: Entry, mode: Mode) -> Reply:
    """The reply with these calls in the mode's correct format."""
    if mode == "fc":
        return Reply(
            tool_calls=tuple([_native(call, entry, i) for i, call in enumerate(calls)]), finish_reason="tool_calls"
        )
    return Reply(text=call_text(calls, entry), finish_reason="stop")


def _native(call: Call, entry: Entry, position: int) -> ToolCall:
    name, arguments = call
    if entry.language != "python" and not entry.row.multi_step:
        schemas = _schemas(entry, name)
        arguments = {k: typed_text(v, schemas.get(k, {}), entry.language, quoted=False) for k, v in arguments.items()}
    return ToolCall(wire_name(name), json.dumps(arguments, ensure_ascii=False), f"call_{position}")


def call_text(calls: Sequence[Call], entry: Entry) -> str:
    """The calls as text in the entry's return format, with tags if the entry requires them."""
    style = entry.return_format
    if style == "python" and not entry.row.multi_step:
        style = entry.language
    if style in ("java", "javascript"):
        text = f"[{', '.join(_source_call(call, entry) for call in calls)}]"
    elif style == "json":
        text = json.dumps([{"function": name, "parameters": args} for name, args in calls], ensure_ascii=False)
    elif style in ("verbose_xml", "concise_xml"):
        text = f"<functions>{''.join(_xml_call(call, style == 'verbose_xml') for call in calls)}</functions>"
    else:
        text = f"[{', '.join(map(exact_text, calls))}]"
    return f"<TOOLCALL>{text}</TOOLCALL>" if entry.tool_call_tag else text


def _xml_call(call: Call, verbose: bool) -> str:
    name, arguments = call
    params = []
    for key, value in arguments.items():
        kind = _xml_type(value)
        text = str(value) if kind != "boolean" else str(value).lower()
        head = f"<param name={quoteattr(key)}"
        if verbose:
            params.append(f"{head} value={quoteattr(text)} type={quoteattr(kind)}/>")
        else:
            params.append(f"{head} type={quoteattr(kind)}>{escape(text)}</param>")
    inside = f"<params>{''.join(params)}</params>" if verbose else "".join(params)
    return f"<function name={quoteattr(name)}>{inside}</function>"


def _xml_type(value: object) -> str:
    if value is None:
        return "null"
    words = ((bool, "boolean"), (int, "integer"), (float, "float"), (list, "array"), (tuple, "tuple"), (dict, "object"))
    return next((word for cls, word in words if isinstance(value, cls)), "string")


def _source_call(call: Call, entry: Entry) -> str:
    name, arguments = call
    schemas = _schemas(entry, name)
    language = entry.language if entry.language != "python" else entry.return_format
    texts = (f"{k}={typed_text(v, schemas.get(k, {}), language, quoted=True)}" for k, v in arguments.items())
    return f"{name}({', '.join(texts)})"


def _schemas(entry: Entry, name: str) -> Fields:
    for doc in entry.all_functions:
        if doc.get("name") == name:
            properties = (doc.get("parameters") or {}).get("properties")
            return properties if isinstance(properties, Mapping) else {}
    return {}


def typed_text(value: object, schema: Fields, language: str, *, quoted: bool) -> str:
    """A value as source text of its documented type.

    ``quoted`` puts string literals in quotes (text mode); native calls have the bare text. A string for any other type
    is the name of a variable or constant and stays bare if possible.
    """
    word = str(schema.get("type", ""))
    if isinstance(value, str):
        if not quoted:
            return value
        if word == "char" and len(value) == 1 and value not in "'\\":
            return f"'{value}'"
        if word not in ("String", "string") and (_PATH.match(value) or ('"' in value and _EXPRESSION.match(value))):
            return value
        return _literal(value)
    if language == "java":
        items = schema.get("items")
        return _java(value, word, items if isinstance(items, Mapping) else {})
    if word == "Bigint" and type(value) is int:
        return f"{value}n"
    return _javascript(value)


def _literal(text: str) -> str:
    """A string literal whose inside is the text itself: converters do not process escapes (ast_checker spec §3.3)."""
    if '"' not in text:
        return f'"{text}"'
    if "'" not in text:
        return f"'{text}'"
    swapped = text.replace('"', "'")  # both quotes count as one when strings are compared (§6.4)
    return f'"{swapped}"'


def _java(value: Any, word: str, items: Fields) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _java_number(value, word)
    if isinstance(value, str):
        return _literal(value)
    element = str(items.get("type", "any"))
    if isinstance(value, Mapping):
        puts = " ".join(f"put({_literal(str(k))}, {_java(v, '', {})});" for k, v in value.items())
        return f"new HashMap<String, Object>() {{{{ {puts} }}}}" if puts else "new HashMap<String, Object>()"
    texts = ", ".join(_java(item, element, {}) for item in value)
    if word == "Array":
        return f"new {_JAVA_PLAIN.get(element, 'Object')}[]{{{texts}}}"
    boxed = _JAVA_BOXED.get(element, "Object")
    return f"new ArrayList<{boxed}>(Arrays.asList({texts}))" if texts else f"new ArrayList<{boxed}>()"


def _java_number(value: float, word: str) -> str:
    if word == "long":
        return f"{int(value)}L"
    if word == "float":
        return f"{value}f"
    return str(value)


def _javascript(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _literal(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(str(k))}: {_javascript(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_javascript(item) for item in value) + "]"
    return str(value)
