"""XML replies of format sensitivity → calls (ast_checker spec §3.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.python_syntax import python_literal

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_START, _END = "<functions>", "</functions>"


def decode_verbose_xml(text: str) -> list[dict[str, Any]]:
    """``function[@name] > params > param[@name, @value, @type]``; raises `DecodeError`."""
    calls = []
    for function in _functions(text):
        holder = function.find("params")
        arguments: dict[str | None, Any] = {}
        for param in (function if holder is None else holder).findall("param"):
            arguments[param.get("name")] = convert(param.get("value", ""), param.get("type", "string"))
        calls.append({_name(function): arguments})
    return calls


def decode_concise_xml(text: str) -> list[dict[str, Any]]:
    """``function[@name] > param[@name, @type]`` with the value as the element's text; raises `DecodeError`."""
    calls = []
    for function in _functions(text):
        arguments = {}
        for param in function.findall("param"):
            arguments[_name(param)] = convert((param.text or "").strip(), param.get("type", "string"))
        calls.append({_name(function): arguments})
    return calls


def convert(raw: str, kind: str) -> Any:
    """A raw value by its declared type; an unknown type word leaves the text as it is. Raises `DecodeError`."""
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
        return python_literal(raw)
    return raw


def parse_functions(text: str) -> Element:
    """The first ``<functions>`` element of a text, shortest span; strict XML. Raises `DecodeError`.

    The span starts with the element itself, so it cannot bring a document type and no entities of its own.
    """
    from xml.etree import ElementTree

    start = text.find(_START)
    end = text.find(_END, start)
    if start < 0 or end < 0:
        raise DecodeError("no <functions> … </functions> in the text")
    try:
        return ElementTree.fromstring(text[start : end + len(_END)])
    except (ElementTree.ParseError, ValueError) as error:
        raise DecodeError(f"not XML: {error}") from None


def _functions(text: str) -> list[Element]:
    return parse_functions(text).findall("function")


def _name(element: Element) -> str:
    name = element.get("name")
    if name is None:
        raise DecodeError(f"a {element.tag} without a name")
    return name
