"""Rephrased entries: transforms, and the reports that distracting tools return (docs/robustness.md).

Each transform returns the changed fields, by chance that the entry's id seeds.

Right answers stay right: a renamed tool or parameter also gets its new name in held-out documents and answers.
Simulators keep their own names. Calls are translated where they are executed
(`pytest_bfcl.simulators.CallExecutor`), and the old names are unknown there.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from pytest_bfcl.dataset.entry import Entry, FunctionDoc, Renames
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import parse_expression
from pytest_bfcl.simulators.toolkit import Simulator


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


REPORTS = "UsageReports"
"""The simulator that answers calls of distractors."""


def shuffle_tools(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """The tools in another order."""
    return {"function": _moved(entry.function, chance)}


def rename_tools(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """Every tool under another name of the same meaning: words joined otherwise."""
    taken = {str(doc["name"]) for doc in entry.all_functions}
    return renamed(entry, Renames(tools={name: _fresh(_other_spelling(name, "tool"), taken) for name in sorted(taken)}))


def rename_parameters(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """Every parameter under another name of the same meaning: words joined otherwise."""
    names: dict[str, dict[str, str]] = {}
    for doc in entry.all_functions:
        taken = set((doc.get("parameters") or {}).get("properties") or {})
        names[doc["name"]] = {name: _fresh(_other_spelling(name, "value"), taken) for name in sorted(taken)}
    return renamed(entry, Renames(parameters=names))


def distractors(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """After each tool one that describes it but does something else; the right ones come first."""
    taken = {str(doc["name"]) for doc in entry.all_functions}
    made = [_distractor(doc, taken) for doc in entry.function]
    changes: dict[str, Any] = {"function": [*entry.function, *made]}
    if entry.row.multi_step:
        reports = {doc["name"]: about["name"] for doc, about in zip(made, entry.function, strict=True)}
        changes["involved_classes"] = [*entry.involved_classes, REPORTS]
        changes["initial_config"] = {**entry.initial_config, REPORTS: {"tools": reports}}
    return changes


def enum_order(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """Allowed values in another order."""
    return {"function": [_mapped(doc, "enum", lambda values: _moved(values, chance)) for doc in entry.function]}


def short_descriptions(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """Only the first sentence of every description."""
    return {"function": [_mapped(doc, "description", _first_sentence) for doc in entry.function]}


def whitespace(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """The user's words with unusual blanks and line breaks."""
    return {"question": _reworded_question(entry, lambda text: _loose(text, chance))}


def lower_case(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """The user's words in small letters."""
    return {"question": _reworded_question(entry, str.lower)}


def upper_case(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """The user's words in capitals."""
    return {"question": _reworded_question(entry, str.upper)}


def _moved(values: Sequence[Any], chance: random.Random) -> list[Any]:
    """Another order, if there is one."""
    moved = list(values)
    if len(moved) > 1:
        for _ in range(8):
            chance.shuffle(moved)
            if moved != list(values):
                break
        else:
            moved.reverse()
    return moved


def _other_spelling(name: str, noun: str) -> str:
    """``get_weather`` → ``getWeather``, ``getWeather`` → ``get_weather``; a single word gets a noun at its end."""
    if "_" in name.strip("_"):
        first, *others = name.split("_")
        return first + "".join(part[:1].upper() + part[1:] for part in others)
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return apart[:1] + apart[1:].lower() if apart != name else f"{name}_{noun}"


def _fresh(name: str, taken: set[str]) -> str:
    """An unused name."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _distractor(doc: FunctionDoc, taken: set[str]) -> FunctionDoc:
    name = str(doc["name"])
    words = name.replace(".", "_")[:48]
    told = f"Reports how often the tool {name} was used lately and by whom. It does not do what {name} does."
    number = {"type": "integer", "description": "How many days to look back."}
    return {
        "name": _fresh(f"{words}_usage_report", taken),
        "description": told,
        "parameters": {"type": "dict", "properties": {"days": number}, "required": []},
    }


def _mapped(value: Any, key: str, change: Callable[[Any], Any]) -> Any:
    """A document with every value under ``key`` changed, except parameters with this name."""
    if isinstance(value, list):
        return [_mapped(each, key, change) for each in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for name, each in value.items():
        if name == "properties" and isinstance(each, dict):
            made[name] = {parameter: _mapped(schema, key, change) for parameter, schema in each.items()}
        elif name == key and isinstance(each, str | list):
            made[name] = change(each)
        elif name in ("default", "enum", "required"):
            made[name] = each
        else:
            made[name] = _mapped(each, key, change)
    return made


def _first_sentence(text: Any) -> Any:
    return re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0] if isinstance(text, str) else text


def _reworded_question(entry: Entry, change: Callable[[str], str]) -> list[Any]:
    """The question with the users' words changed."""
    return [
        [
            {**message, "content": change(message["content"])}
            if message.get("role") == "user" and isinstance(message.get("content"), str)
            else message
            for message in turn
        ]
        for turn in entry.question
    ]


def _loose(text: str, chance: random.Random) -> str:
    parts = re.split(r"( )", text)
    return "  " + "".join(part if part != " " else chance.choice((" ", "  ", "   ", " \n")) for part in parts) + " \n"


class UsageReports(Simulator):
    """The distractors' results, which do not help the task.

    ``config``: ``tools``, name of the report → name of the tool it reports on. It has no state to compare.
    """

    name = "UsageReports"
    summary = "Reports on how tools are used."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the available reports."""
        self._reports: Parsed = dict(config.get("tools") or {})

    @classmethod
    def writes(cls, method: str) -> bool:
        """A report changes nothing."""
        return False

    def offers(self, method: str) -> bool:
        """Whether there is a report of this name."""
        return method in self._reports

    def invoke(self, method: str, args: Sequence[Any] = (), kwargs: Fields | None = None) -> Any:
        """The report: the tool was not used. Raises `NameError` and `TypeError` like any tool."""
        if method not in self._reports:
            raise NameError(f"{self.name} has no function named {method!r}")
        report: Callable[..., Parsed] = self._report
        return report(self._reports[method], *args, **(kwargs or {}))

    @staticmethod
    def _report(tool: str, days: int = 30) -> Parsed:
        return {"tool": tool, "days": days, "uses": 0, "users": []}
