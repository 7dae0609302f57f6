"""XML replies of format sensitivity → calls (ast_checker spec §3.6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.python_syntax import python_literal

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_START, _END = "<functions>", "</functions>"
_VALUE = re.compile(r'value="(.{0,4000}?)"(?=\s+(?:type|name)\s*=|\s*/?>)', re.DOTALL)
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)")


class XmlText:
    """A prepared text, parsed once for all rules."""

    __slots__ = ("_root", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._root: Element | DecodeError | None = None

    def functions(self, forgive_quotes: bool) -> list[Element]:
        """Its ``function`` elements, which must not be changed. Raises `DecodeError`."""
        if self._root is None:
            try:
                self._root = parse_functions(self.text)
            except DecodeError as error:
                self._root = error
        root = self._root
        if isinstance(root, DecodeError):
            mended = _quotes_escaped(self.text) if forgive_quotes else None
            if mended is None:
                raise root.with_traceback(None)
            root = parse_functions(mended)
        return root.findall("function")


def decode_verbose_xml(text: XmlText, *, proper: bool = False, escapes: bool = False) -> list[Parsed]:
    """``function[@name] > params > param[@name, @value, @type]``. Raises `DecodeError`.

    ``proper`` is corrected rule C15: lists and objects may be JSON, a declared array is a list, and quotes inside a
    value attribute are accepted. ``escapes`` is C3 for names.
    """
    calls = []
    for function in text.functions(proper):
        holder = function.find("params")
        arguments: dict[str | None, Any] = {}
        for param in (function if holder is None else holder).findall("param"):
            name = _unescaped(param.get("name"), escapes)
            arguments[name] = convert(param.get("value", ""), param.get("type", "string"), proper=proper)
        calls.append({_name(function, escapes): arguments})
    return calls


def decode_concise_xml(text: XmlText, *, proper: bool = False, escapes: bool = False) -> list[Parsed]:
    """``function[@name] > param[@name, @type]`` with the value as the element's text. Raises `DecodeError`.

    ``proper`` and ``escapes`` as in `decode_verbose_xml`.
    """
    calls = []
    for function in text.functions(proper):
        arguments = {}
        for param in function.findall("param"):
            raw = (param.text or "").strip()
            arguments[_name(param, escapes)] = convert(raw, param.get("type", "string"), proper=proper)
        calls.append({_name(function, escapes): arguments})
    return calls


def convert(raw: str, kind: str, *, proper: bool = False) -> Any:
    """A raw value by its declared type; under an unknown type word the text is unchanged. Raises `DecodeError`."""
    try:
        if kind == "integer":
            return int(raw)
        if kind == "float":
            return float(raw)
    except ValueError as error:
        raise DecodeError(f"not of the declared type {kind}: {error}") from None
    if kind == "boolean":
        return raw.lower() == "true"
    if kind == "null":
        return None
    if kind in ("array", "tuple", "object", "dict"):
        return _container(raw, kind) if proper else python_literal(raw)
    return raw


def _container(raw: str, kind: str) -> Any:
    """Rule C15: a Python literal or JSON; a list if an array was declared."""
    try:
        value = python_literal(raw)
    except DecodeError:
        value = parse_json(raw)
    return list(value) if kind == "array" and isinstance(value, tuple) else value


def parse_functions(text: str) -> Element:
    """The first ``<functions>`` element of a text, shortest span; strict XML. Raises `DecodeError`.

    The span starts with the element itself, so it has no document type and no entities.
    """
    from xml.etree import ElementTree

    span = _span(text)
    if span is None:
        raise DecodeError("no <functions> … </functions> in the text")
    try:
        return ElementTree.fromstring(span)
    except (ElementTree.ParseError, ValueError) as error:
        raise DecodeError(f"not XML: {error}") from None


def _span(text: str) -> str | None:
    start = text.find(_START)
    end = text.find(_END, start)
    return None if start < 0 or end < 0 else text[start : end + len(_END)]


def _quotes_escaped(text: str) -> str | None:
    """The element with the quotes inside its value attributes escaped; ``None`` if there is nothing to escape."""
    span = _span(text)
    mended = None if span is None else _VALUE.sub(_escaped, span)
    return None if mended == span else mended


def _escaped(found: re.Match[str]) -> str:
    value = _BARE_AMPERSAND.sub("&amp;", found.group(1)).replace("<", "&lt;").replace('"', "&quot;")
    return f'value="{value}"'


def _name(element: Element, escapes: bool) -> str:
    name = _unescaped(element.get("name"), escapes)
    if name is None:
        raise DecodeError(f"a {element.tag} without a name")
    return name


def _unescaped(name: str | None, escapes: bool) -> str | None:
    return name.replace("\\_", "_") if escapes and name else name
