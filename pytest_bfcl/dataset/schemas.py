"""The allowed forms of function documents and expected calls (data spec §4.2 and §7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.tools.json_schema import argument_problem, is_native, schema_problem
from pytest_bfcl.transcript import wire_name

CLASSES: dict[Language, dict[str, type]] = {
    "python": {
        "string": str,
        "any": str,
        "integer": int,
        "float": float,
        "boolean": bool,
        "array": list,
        "tuple": list,
        "dict": dict,
    },
    "java": {
        "byte": int,
        "short": int,
        "integer": int,
        "long": int,
        "float": float,
        "double": float,
        "boolean": bool,
        "char": str,
        "String": str,
        "any": str,
        "Array": list,
        "ArrayList": list,
        "HashMap": dict,
    },
    "javascript": {
        "String": str,
        "integer": int,
        "float": float,
        "Bigint": int,
        "Boolean": bool,
        "any": str,
        "array": list,
        "dict": dict,
    },
}
"""Language → type word of a parameter → class of its values (ast_checker spec §6.1, §8)."""

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
    """One problem of an entry; see `pytest_bfcl.dataset.index.DataProblem` for the severities.

    ``field`` is its place in the entry: ``function[0].parameters.properties.city``; empty for the entry as a whole.
    """

    message: str
    severity: Literal["error", "warning"] = "error"
    field: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def check_functions(functions: Sequence[FunctionDoc], language: Language) -> list[Finding]:
    """Problems of an entry's documents: names, clashes after sending, parameters, type words."""
    findings: list[Finding] = []
    wire: dict[str, str] = {}
    for number, function in enumerate(functions):
        place = f"function[{number}]"
        name = function.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            message = f"function name {name!r}: use letters, digits, dots and underscores"
            findings.append(Finding(message, field=f"{place}.name"))
            continue
        if len(name) > _NAME_LIMIT:
            message = f"function name {name!r} has more than {_NAME_LIMIT} characters"
            findings.append(Finding(message, "warning", f"{place}.name"))
        if wire_name(name) in wire:
            message = f"functions {wire[wire_name(name)]!r} and {name!r} have one name on the wire"
            findings.append(Finding(message, field=f"{place}.name"))
        wire[wire_name(name)] = name
        if is_native(function):
            if problem := schema_problem(function["parameters"]):
                findings.append(Finding(f"{name}: no JSON Schema of an object: {problem}", field=f"{place}.parameters"))
            continue
        if not isinstance(function.get("description"), str):
            findings.append(Finding(f"{name}: no description", field=f"{place}.description"))
        findings += _parameter_findings(name, function.get("parameters"), language, f"{place}.parameters")
    return findings


def _parameter_findings(name: str, parameters: object, language: Language, place: str) -> Iterator[Finding]:
    if not isinstance(parameters, dict) or not isinstance(parameters.get("properties"), dict):
        message = f'{name}: "parameters" must be an object with "type", "properties" and "required"'
        yield Finding(message, field=place)
        return
    if parameters.get("type") != "dict":
        yield Finding(f'{name}: "parameters.type" is "dict" in benchmark files', "warning", f"{place}.type")
    required = parameters.get("required")
    if not isinstance(required, list):
        message = f'{name}: "required" must be a list of parameter names (it may be empty)'
        yield Finding(message, field=f"{place}.required")
        required = []
    for missing in [str(word) for word in required if not (isinstance(word, str) and word in parameters["properties"])]:
        yield Finding(f"{name}: required parameter {missing!r} is not documented", field=f"{place}.required")
    for parameter, schema in parameters["properties"].items():
        yield from _schema_findings(f"{name}.{parameter}", schema, language, f"{place}.properties.{parameter}")


def _schema_findings(name: str, schema: object, language: Language, place: str) -> Iterator[Finding]:
    """One top-level parameter: its type word, and for lists the element type (ast_checker spec §6.1)."""
    if not isinstance(schema, dict):
        yield Finding(f"{name}: a parameter is an object with type and description", field=place)
        return
    kind = schema.get("type")
    known = CLASSES[language].get(kind) if isinstance(kind, str) else None
    if known is None:
        advice = f"; use {_ADVICE[kind]!r}" if isinstance(kind, str) and kind in _ADVICE else ""
        message = f"{name}: type {kind!r} is not one the checkers know for {language}{advice}"
        yield Finding(message, field=f"{place}.type")
    if "description" not in schema:
        yield Finding(f"{name}: no description", "warning", f"{place}.description")
    if known is list and not (isinstance(schema.get("items"), dict) and schema["items"].get("type")):
        yield Finding(f'{name}: a list needs "items" with a "type"', field=f"{place}.items")


def answer_findings(function: FunctionDoc, answer: Parsed, place: str) -> Iterator[Finding]:
    """Whether an expected call is possible: documented parameters, lists of values, required ones covered.

    Optional parameters (``""`` among the values) that are not documented only give a warning. ``place`` is the call's
    field in the entry.
    """
    if is_native(function) and all(isinstance(values, list) and values for values in answer.values()):
        given = {name: next((v for v in values if v != ""), "") for name, values in answer.items()}
        given = {name: value for name, value in given.items() if value != "" or answer[name] != [""]}
        if problem := argument_problem(function["parameters"], given):
            yield Finding(f"the expected call is not valid: {problem[1]}", field=f"{place}.{problem[0]}".rstrip("."))
    parameters = _mapping(function.get("parameters"))
    documented = _mapping(parameters.get("properties"))
    required = parameters.get("required")
    needed = [word for word in required if isinstance(word, str)] if isinstance(required, list) else []
    for parameter, values in answer.items():
        field = f"{place}.{parameter}"
        if not isinstance(values, list):
            yield Finding("the answer is not a list of acceptable values", field=field)
        elif not values:
            yield Finding("the list of acceptable values is empty, nothing can match", field=field)
        elif parameter not in documented:
            message = "the answer names a parameter the function does not have"
            yield Finding(message, "warning" if "" in values else "error", field)
        elif parameter in needed and all(value == "" for value in values):
            yield Finding('required, but the only acceptable value is ""', "warning", field)
    for parameter in needed:
        if parameter not in answer:
            yield Finding("required, but the answer has no acceptable value for it", field=f"{place}.{parameter}")


def _mapping(value: object) -> Parsed:
    return value if isinstance(value, dict) else {}
