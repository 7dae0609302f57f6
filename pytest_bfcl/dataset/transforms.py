"""The same entry put otherwise: does a model's score hang on how tools and requests are written?

Each transform is a pure function of an entry, the same for the same entry id. What is right stays right: where a tool
or a parameter gets another name, it gets it in the answer too. A transformed entry has the id ``<id>~<transform>``.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.dataset.renames import Renames
from pytest_bfcl.dataset.renaming import renamed
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.suggestions import instead_of
from pytest_bfcl.troubles import HarnessTrouble

MARK = "~"
"""Between an entry's id and the transform's name."""
REPORTS = "UsageReports"
"""The simulator that answers calls of distractors."""

_SINGLE = frozenset({"ast", "relevance", "irrelevance"})
_ALL = _SINGLE | {"state"}

Change = Callable[[Entry, random.Random], dict[str, Any]]
Rewordings = Mapping[str, Mapping[str, Any]]
"""Name → entry id → the question in other words."""


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
    """Beside each tool one that talks about it and does something else; the right ones come first."""
    taken = {str(doc["name"]) for doc in entry.all_functions}
    made = [_distractor(doc, taken) for doc in entry.function]
    changes: dict[str, Any] = {"function": [*entry.function, *made]}
    if entry.row.stateful:
        reports = {doc["name"]: about["name"] for doc, about in zip(made, entry.function, strict=True)}
        changes["involved_classes"] = [*entry.involved_classes, REPORTS]
        changes["initial_config"] = {**entry.initial_config, REPORTS: {"tools": reports}}
    return changes


def enum_order(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """Allowed values in another order."""
    return {"function": [_mapped(doc, "enum", lambda values: _moved(values, chance)) for doc in entry.function]}


def short_descriptions(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """Of every description the first sentence."""
    return {"function": [_mapped(doc, "description", _first_sentence) for doc in entry.function]}


def whitespace(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """The user's words with blanks and line breaks where nobody expects them."""
    return {"question": _reworded_question(entry, lambda text: _loose(text, chance))}


def lower_case(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """The user's words in small letters."""
    return {"question": _reworded_question(entry, str.lower)}


def upper_case(entry: Entry, chance: random.Random) -> dict[str, Any]:
    """The user's words in capitals."""
    return {"question": _reworded_question(entry, str.upper)}


TRANSFORMS: Mapping[str, tuple[Change, frozenset[str]]] = {
    "shuffle-tools": (shuffle_tools, _ALL),
    "rename-tools": (rename_tools, _ALL),
    "rename-parameters": (rename_parameters, _ALL),
    "distractors": (distractors, _ALL),
    "enum-order": (enum_order, _ALL),
    "short-descriptions": (short_descriptions, _ALL),
    "whitespace": (whitespace, _ALL),
    "lower-case": (lower_case, _ALL),
    "upper-case": (upper_case, _ALL),
}
"""Name → the change, and the checkers whose entries it applies to."""


def transform(entry: Entry, name: str, rewordings: Rewordings | None = None) -> Entry:
    """The entry under a transform; raises `HarnessError` for a reworded one whose words are not at hand."""
    if name in TRANSFORMS:
        change, _ = TRANSFORMS[name]
        changes = change(entry, random.Random(f"{entry.id}{MARK}{name}"))
    else:
        question = (rewordings or {}).get(name, {}).get(entry.id)
        if question is None:
            raise HarnessError(HarnessTrouble.DATA, f"{entry.id}{MARK}{name}: the file of these words is not here")
        if len(question) != len(entry.question):
            counts = f"{len(question)} turns, the entry {len(entry.question)}"
            raise HarnessError(HarnessTrouble.DATA, f"{entry.id}: its question in {name!r} has {counts}")
        own = [message for message in entry.question[0] if message.get("role") == "system"] if entry.question else []
        changes = {"question": [[*own, *question[0]], *question[1:]] if question else []}
    return entry.model_copy(update={**changes, "id": f"{entry.id}{MARK}{name}"})


def names_for(entry_id: str, category: str, names: Sequence[str], rewordings: Rewordings) -> Iterator[str]:
    """The transforms that apply to an entry, of those asked for."""
    row = CATEGORIES[category]
    for name in names:
        if name in TRANSFORMS:
            if row.checker in TRANSFORMS[name][1] and category != "format_sensitivity":
                yield name
        elif entry_id in rewordings.get(name, {}):
            yield name


def split_id(entry_id: str) -> tuple[str, str | None]:
    """An id without its transform, and the transform."""
    base, mark, name = entry_id.rpartition(MARK)
    return (base, name) if mark else (entry_id, None)


def is_transformed(entry_id: str, names: Iterable[str | None]) -> bool:
    """Whether an id is that of an entry under one of these transforms (a user's own ids may hold the mark)."""
    return MARK in entry_id and split_id(entry_id)[1] in names


def read_transforms(asked: Iterable[str]) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Names of transforms, and the questions of those that are files (``.jsonl`` of ``id`` and ``question``).

    A file is known by its stem. Raises `UsageError`.
    """
    names: list[str] = []
    rewordings: dict[str, dict[str, Any]] = {}
    for text in dict.fromkeys(asked):
        if text in TRANSFORMS:
            names.append(text)
        elif text.endswith(".jsonl"):
            name = re.sub(r"[^A-Za-z0-9.]+", "-", Path(text).stem).strip("-") or "reworded"
            if name in TRANSFORMS or name in rewordings:
                raise UsageError(f"{text}: a transform is called {name!r} already; give the file another name")
            rewordings[name] = _read_questions(Path(text))
            names.append(name)
        else:
            raise UsageError(f"no transform {text!r}; {instead_of(text, TRANSFORMS)} (or a .jsonl of own words)")
    return tuple(names), rewordings


def _read_questions(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            found[str(value["id"])] = _turns(value["question"])
        except (ValueError, TypeError, KeyError, RecursionError):
            told = 'a line is {"id": …, "question": …}, the question a text or turns of messages'
            raise UsageError(f"{path}:{number}: {told}") from None
    if not found:
        raise UsageError(f"{path} holds no questions")
    return found


def _turns(question: Any) -> list[list[dict[str, str]]]:
    if isinstance(question, str):
        return [[{"role": "user", "content": question}]]
    turns = [question] if question and isinstance(question[0], dict) else question
    return [[{"role": str(m["role"]), "content": str(m["content"])} for m in turn] for turn in turns]


def _moved(values: Sequence[Any], chance: random.Random) -> list[Any]:
    """In another order, where there is another."""
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
    """``get_weather`` → ``getWeather``, ``getWeather`` → ``get_weather``; one word gets the noun at its end."""
    if "_" in name.strip("_"):
        first, *others = name.split("_")
        return first + "".join(part[:1].upper() + part[1:] for part in others)
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return apart[:1] + apart[1:].lower() if apart != name else f"{name}_{noun}"


def _fresh(name: str, taken: set[str]) -> str:
    """A name nobody has yet."""
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
    """A document with every value under ``key`` changed, except where ``key`` is a parameter's name."""
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
