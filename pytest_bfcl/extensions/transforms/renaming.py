"""An entry whose tools or parameters have other names, also in held-out documents and answers.

Simulators keep their own names. Calls are translated where they are executed (`pytest_bfcl.simulators.CallExecutor`),
and the old names are unknown there.
"""

from __future__ import annotations

import ast
from typing import Any

from pytest_bfcl.dataset.entry import Entry, FunctionDoc, Renames
from pytest_bfcl.plain_text import parse_expression


def renamed(entry: Entry, renames: Renames) -> dict[str, Any]:
    """The fields of an entry that change with the names."""
    changes: dict[str, Any] = {
        "function": [_document(doc, renames) for doc in entry.function],
        "missed_function": {
            turn: [_document(doc, renames) for doc in docs] for turn, docs in entry.missed_function.items()
        },
        "possible_answer": _answers(entry, renames),
    }
    if entry.row.multi_step:
        changes["renames"] = renames
    return changes


def _document(doc: FunctionDoc, renames: Renames) -> FunctionDoc:
    name = doc["name"]
    names = renames.parameters.get(name)
    made = {**doc, "name": renames.tools.get(name, name)}
    if names:
        parameters = doc["parameters"]
        made["parameters"] = {
            **parameters,
            "properties": {names[each]: schema for each, schema in parameters["properties"].items()},
            "required": [names.get(each, each) for each in parameters.get("required") or ()],
        }
    return made


def _answers(entry: Entry, renames: Renames) -> list[Any] | None:
    """The answer with the other names: expected calls, or call texts."""
    answers = entry.possible_answer
    if answers is None or entry.row.checker not in ("ast", "state"):
        return answers
    if entry.row.checker == "state":
        return [[_call_text(text, renames) for text in turn] if isinstance(turn, list) else turn for turn in answers]
    return [
        {
            renames.tools.get(tool, tool): {
                renames.parameters.get(tool, {}).get(name, name): values for name, values in call.items()
            }
            for tool, call in answer.items()
        }
        for answer in answers
    ]


def _call_text(text: object, renames: Renames) -> object:
    """A call text with its names replaced, also in nested calls; any other text unchanged."""
    try:
        tree = parse_expression(text.strip()) if isinstance(text, str) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    if tree is None:
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            own = node.func.id
            node.func.id = renames.tools.get(own, own)
            for item in node.keywords:
                if item.arg is not None:
                    item.arg = renames.parameters.get(own, {}).get(item.arg, item.arg)
    return ast.unparse(tree)
