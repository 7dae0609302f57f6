"""What function documents and expected calls may look like (data spec §4.2 and §7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.transcript import wire_name

TYPES: dict[Language, frozenset[str]] = {
    "python": frozenset({"string", "integer", "float", "boolean", "array", "tuple", "dict", "any"}),
    "java": frozenset({"String", "any", "integer", "long", "short", "byte", "double", "float", "boolean", "char"})
    | {"HashMap", "ArrayList", "Array"},
    "javascript": frozenset({"String", "any", "integer", "float", "Bigint", "Boolean", "array", "dict"}),
}
"""Type words the checkers understand, by language; nested schemas are read less strictly."""

LIST_TYPES = frozenset({"array", "tuple", "Array", "ArrayList"})

_ADVICE = {
    "object": "dict",
    "number": "float",
    "list": "array",
    "bool": "boolean",
    "str": "string",
    "int": "integer",
    "null": "any",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_NAME_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with an entry; see `pytest_bfcl.dataset.index.DataProblem` for the severities."""

    message: str
    severity: Literal["error", "warning"] = "error"


def check_functions(functions: Sequence[FunctionDoc], language: Language) -> list[Finding]:
    """Problems of the documents an entry offers: names, clashes on the wire, parameters, type words."""
    findings: list[Finding] = []
    wire: dict[str, str] = {}
    for function in functions:
        name = function.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            findings.append(Finding(f"function name {name!r}: use letters, digits, dots and underscores"))
            continue
        if len(name) > _NAME_LIMIT:
            findings.append(Finding(f"function name {name!r} has more than {_NAME_LIMIT} characters", "warning"))
        if wire_name(name) in wire:
            findings.append(Finding(f"functions {wire[wire_name(name)]!r} and {name!r} have one name on the wire"))
        wire[wire_name(name)] = name
        if not isinstance(function.get("description"), str):
            findings.append(Finding(f"{name}: no description"))
        findings += _parameter_findings(name, function.get("parameters"), language)
    return findings


def _parameter_findings(name: str, parameters: Any, language: Language) -> Iterator[Finding]:
    if not isinstance(parameters, dict) or not isinstance(parameters.get("properties"), dict):
        yield Finding(f'{name}: "parameters" must be an object with "type", "properties" and "required"')
        return
    if parameters.get("type") != "dict":
        yield Finding(f'{name}: "parameters.type" is "dict" in benchmark files', "warning")
    required = parameters.get("required")
    if not isinstance(required, list):
        yield Finding(f'{name}: "required" must be a list of parameter names (it may be empty)')
        required = []
    for missing in [str(word) for word in required if word not in parameters["properties"]]:
        yield Finding(f"{name}: required parameter {missing!r} is not documented")
    for parameter, schema in parameters["properties"].items():
        yield from _schema_findings(f"{name}.{parameter}", schema, language)


def _schema_findings(place: str, schema: Any, language: Language) -> Iterator[Finding]:
    """One top-level parameter: its type word, and for lists the element type (ast_checker spec §6.1)."""
    if not isinstance(schema, dict):
        yield Finding(f"{place}: a parameter is an object with type and description")
        return
    kind = schema.get("type")
    if kind not in TYPES[language]:
        advice = f"; use {_ADVICE[kind]!r}" if isinstance(kind, str) and kind in _ADVICE else ""
        yield Finding(f"{place}: type {kind!r} is not one the checkers know for {language}{advice}")
    if "description" not in schema:
        yield Finding(f"{place}: no description", "warning")
    if kind in LIST_TYPES and not (isinstance(schema.get("items"), dict) and schema["items"].get("type")):
        yield Finding(f'{place}: a list needs "items" with a "type"')


def function_problems(function: FunctionDoc, name: str, answer: dict[str, Any]) -> Iterator[Finding]:
    """Whether an expected call can be given: documented parameters, lists of values, required ones covered.

    Parameters that may be left out (``""`` among the values) but are not documented only waste a line.
    """
    parameters = function.get("parameters") or {}
    documented = parameters.get("properties") or {}
    for parameter, values in answer.items():
        if not isinstance(values, list):
            yield Finding(f"{name}.{parameter}: the answer is not a list of acceptable values")
        elif not values:
            yield Finding(f"{name}.{parameter}: the list of acceptable values is empty, nothing can match")
        elif parameter not in documented:
            harmless = "" in values
            message = f"{name}.{parameter}: the answer names a parameter the function does not have"
            yield Finding(message, "warning" if harmless else "error")
        elif parameter in (parameters.get("required") or []) and all(value == "" for value in values):
            yield Finding(f'{name}.{parameter}: required, but the only acceptable value is ""', "warning")
    for parameter in parameters.get("required") or []:
        if parameter not in answer:
            yield Finding(f"{name}.{parameter}: required, but the answer has no acceptable value for it")
