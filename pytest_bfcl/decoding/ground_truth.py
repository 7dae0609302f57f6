"""The calls of an entry's ground truth, in any notation of its category.

The last paragraph of data spec §8 says which of several acceptable values is used.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding.reply import decode_reply
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import parse_expression
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.tools.json_schema import is_native
from pytest_bfcl.transcript import Call, Reply

_OMIT = object()


def ground_truth_calls(entry: Entry) -> list[Call]:
    """The calls of a single-turn answer: the first acceptable value of every required parameter."""
    if entry.row.checker == "rest":  # the answer is a response; the request stands beside it
        if entry.ground_truth_call:
            call = parse_ground_truth_call(entry.ground_truth_call, entry) or _folded_call(entry.ground_truth_call)
            return [call] if call else []
        return []
    calls: list[Call] = []
    for expected in entry.possible_answer or []:
        if isinstance(expected, str):
            call = parse_ground_truth_call(expected, entry) or _folded_call(expected)
            if call:
                calls.append(call)
        elif isinstance(expected, Mapping):
            for name, parameters in expected.items():
                calls.append(Call(name, acceptable_arguments(parameters, _document(entry, name))))
    return calls


def _document(entry: Entry, name: str) -> Parsed:
    for document in entry.function:
        if document.get("name") == name:
            return document
    return {}


def acceptable_arguments(parameters: Fields, document: Fields | None = None) -> Parsed:
    """The first acceptable value of every parameter; optional ones are left out if ``document`` allows it. Tools in
    JSON Schema have plain values, without nested alternatives.
    """
    document = document or {}
    required = (document.get("parameters") or {}).get("required") or ()
    inside = "dialect" not in document or not is_native(document)
    picked: Parsed = {}
    for name, alternatives in parameters.items():
        value = _pick(alternatives, must=name in required, inside=inside)
        if value is not _OMIT:
            picked[name] = value
    return picked


def _pick(alternatives: object, *, must: bool, inside: bool) -> Any:
    if not isinstance(alternatives, list):
        return alternatives
    if "" in alternatives and not must:
        return _OMIT
    for chosen in alternatives:
        if chosen != "":
            return _resolved(chosen) if inside and isinstance(chosen, Mapping | list) else chosen
    return "" if must and alternatives else _OMIT


def _resolved(value: object) -> Any:
    """A selected value: objects hold alternatives per key, one level deep (ast_checker spec §6.6 and §6.8)."""
    if isinstance(value, Mapping):
        return {k: v for k, v in ((k, _inner(a)) for k, a in value.items()) if v is not _OMIT}
    if isinstance(value, list):
        return [_resolved(item) if isinstance(item, Mapping) else item for item in value]
    return value


def _inner(alternatives: object) -> Any:
    if not isinstance(alternatives, list):
        return alternatives
    if "" in alternatives:
        return _OMIT
    return alternatives[0] if alternatives else _OMIT


def turn_ground_truth_calls(entry: Entry, turn: int) -> list[Call]:
    """The ground-truth calls of one turn, positional arguments turned into keywords."""
    answers = entry.possible_answer or []
    texts = answers[turn] if turn < len(answers) else []
    calls = (parse_ground_truth_call(text, entry) for text in texts if isinstance(text, str))
    return [call for call in calls if call is not None]


def parse_ground_truth_call(text: str, entry: Entry) -> Call | None:
    """A ground-truth call text as name and keyword arguments; ``None`` if it is not one plain call of literals."""
    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call):
            return None
        name = ast.unparse(node.func)
        names = _parameter_names(entry, name)
        arguments = {names[i]: ast.literal_eval(value) for i, value in enumerate(node.args)}
        for keyword in node.keywords:
            value = ast.literal_eval(keyword.value)
            if keyword.arg is None:  # ``**{…}``: names that are no identifiers
                arguments |= {str(key): each for key, each in value.items()}
            else:
                arguments[keyword.arg] = value
    except (AttributeError, SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return None
    return Call(name, arguments)


def _folded_call(text: str) -> Call | None:
    """A call whose arguments contain arithmetic (``p=1/6``), computed by the bounded evaluator; else ``None``."""
    try:
        (call,) = decode_reply(Reply(text=text), "prompt")
    except (DecodeError, ValueError):
        return None
    return call


def _parameter_names(entry: Entry, name: str) -> list[str]:
    for doc in entry.all_functions:
        if doc.get("name") == name:
            return list((doc.get("parameters") or {}).get("properties") or {})
    return []
