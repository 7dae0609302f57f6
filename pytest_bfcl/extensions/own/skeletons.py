"""Draft entries: the tools are given, a person writes request and answer; with similar tools if requested."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from keyword import iskeyword
from math import log
from typing import Any

from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.extensions.own.openapi import EXAMPLES
from pytest_bfcl.extensions.own.own_entry import are_alike, words
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.judging.entries import plain_answers
from pytest_bfcl.tools.json_schema import DIALECT, argument_problem, example_value, is_native


class Neighbours:
    """The tools of a source, compared by the words of names and descriptions; rare words count more."""

    def __init__(self, functions: Sequence[FunctionDoc]) -> None:
        self._functions = functions
        self._words = [words(f"{each['name']} {each.get('description', '')}") for each in functions]
        seen = Counter(word for told in self._words for word in told)
        self._weights = {word: log(1 + len(functions) / count) for word, count in seen.items()}
        self._with: dict[str, list[int]] = {}
        for number, told in enumerate(self._words):
            for word in told:
                self._with.setdefault(word, []).append(number)

    def of(self, number: int, count: int) -> list[FunctionDoc]:
        """The tools most similar to one, without those that look the same."""
        mine = self._words[number]
        scores: Counter[int] = Counter()
        for word in mine:
            for other in self._with[word]:
                scores[other] += self._weights[word]  # type: ignore[assignment]
        scores.pop(number, None)
        ranked = sorted(scores, key=lambda other: (-scores[other], other))
        ranked += [other for other in range(len(self._functions)) if other not in scores and other != number]
        found: list[int] = []
        for other in ranked:
            if len(found) >= count:
                break
            if not any(self._are_twins(other, each) for each in (number, *found)):
                found.append(other)
        return [self._functions[other] for other in found]

    def _are_twins(self, one: int, other: int) -> bool:
        first, second = (set(self._functions[each]["parameters"].get("properties") or {}) for each in (one, other))
        return first == second and are_alike(self._words[one], self._words[other])


KINDS = ("simple", "multiple", "parallel", "irrelevance", "relevance")
CATEGORY = {
    "simple": "simple_python", "multiple": "multiple", "parallel": "parallel", "irrelevance": "irrelevance",
    "relevance": "live_relevance",
}  # fmt: skip
REQUEST = "TODO: what a user would say"


def skeleton(
    functions: Sequence[FunctionDoc],
    entry_id: str,
    kind: str | None = None,
    request: str = "",
    near: Sequence[FunctionDoc] = (),
) -> Parsed:
    """An entry about these tools, marked as not reviewed.

    ``kind`` defaults to ``simple`` for one tool and ``multiple`` for several. The answer calls the first tool with an
    example value for each required parameter and leaves the others out. ``near`` are further tools that compete with
    the right one; with them and the kind ``irrelevance``, the first tool is the needed one and is not offered. Raises
    `UsageError`.
    """
    native = all(map(is_native, (*functions, *near)))
    right = [_writable(each) for each in functions]
    others = [_writable(each) for each in near]
    count = len(right) + len(others)
    kind = kind or ("simple" if count == 1 else "multiple")
    if kind == "simple" and count != 1:
        raise UsageError(f"a simple entry offers one tool, not {count}: select one with --tool, or use --kind multiple")
    missing = kind == "irrelevance" and bool(others)
    offered = others if missing else _mixed(right, others, entry_id)
    about = (
        f" (it needs {right[0]['name']}, which is not offered: {right[0].get('description', '')})" if missing else ""
    )
    entry: Parsed = {
        "id": entry_id,
        "category": CATEGORY[kind],
        "question": [[{"role": "user", "content": request or f"{REQUEST}{about}"}]],
        "function": [{key: each[key] for key in each if key not in ("dialect", EXAMPLES)} for each in offered],
        "reviewed": False,
    }
    if kind in ("simple", "multiple", "parallel"):
        entry["possible_answer"] = [example_answer(each) for each in right[: 2 if kind == "parallel" else 1]]
    if native:
        entry["dialect"] = DIALECT
    return entry


def _mixed(right: list[Parsed], others: list[Parsed], entry_id: str) -> list[Parsed]:
    """The position of the right tool among others, from the entry's id."""
    place = int(hashlib.sha256(entry_id.encode()).hexdigest(), 16) % (len(others) + 1)
    return [*others[:place], *right, *others[place:]]


def _writable(function: FunctionDoc) -> Parsed:
    """The tool with names that prompting can write: no dashes and brackets, no Python keywords, 64 characters."""
    parameters = function["parameters"]
    names: dict[str, str] = {}
    for name in parameters.get("properties") or {}:
        said = portable_name(str(name))
        said = f"{said}_" if iskeyword(said) else said
        while said in names.values():
            said += "_"
        names[name] = said
    renamed = dict(parameters)
    if isinstance(parameters.get("properties"), dict):
        renamed["properties"] = {names[name]: each for name, each in parameters["properties"].items()}
    if isinstance(parameters.get("required"), list):
        renamed["required"] = [names.get(name, name) for name in parameters["required"]]
    name = portable_name(str(function["name"])) if is_native(function) else function["name"]
    examples = {names[key]: value for key, value in (function.get(EXAMPLES) or {}).items() if key in names}
    return {**function, "name": name, "parameters": renamed, EXAMPLES: examples}


def example_answer(function: FunctionDoc) -> Parsed:
    """A call in the notation of answers: required parameters with an example, others optional.

    The tool author's example is used if it fits the schema.
    """
    parameters = function["parameters"]
    required = parameters.get("required", [])
    examples = function.get(EXAMPLES) or {}
    native = is_native(function)
    values: Parsed = {}
    for name, schema in (parameters.get("properties") or {}).items():
        if name not in required:
            values[name] = [""]
            continue
        value = example_value(name, schema, lambda name, schema: f"TODO {name}", root=parameters)
        if name in examples and _fits(examples[name], schema, parameters):
            value = examples[name]
        values[name] = [value] if native else plain_answers([{"f": {name: value}}])[0]["f"][name]
    return {function["name"]: values}


def _fits(value: Any, schema: Parsed, root: Fields) -> bool:
    """Whether the example that an author gave is valid by the author's schema."""
    whole = {"type": "object", "properties": {"it": schema}, "$defs": root.get("$defs") or {}}
    return value != "" and argument_problem(whole, {"it": value}) is None


def line_of(entry: Parsed) -> str:
    """The entry as one line of a file."""
    return json.dumps(entry, ensure_ascii=False)
