"""The same entry rephrased: does a model's score depend on how tools and requests are written?

A transform is a pure function of an entry and a random source that its id seeds. An entry point of
``pytest_bfcl.transforms`` gives its name. A transformed entry has the id ``<id>~<transform>``.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import HarnessError, UsageError, instead_of
from pytest_bfcl.spread_json import text_file
from pytest_bfcl.troubles import HarnessTrouble

MARK = "~"
"""Separates an entry's id and the transform's name."""

_APPLIES_TO = frozenset({"ast", "relevance", "irrelevance", "state"})
"""Checkers whose entries are transformed."""

Change = Callable[[Entry, random.Random], dict[str, Any]]
"""The changed fields of an entry and their new values."""
Rewordings = Mapping[str, Mapping[str, Any]]
"""Name → entry id → the rephrased question."""


@cache
def change_of(name: str) -> Change | None:
    """The transform of this name; ``None`` if no installed package has it."""
    point = entry_points.find("transforms", name)
    return None if point is None else entry_points.load(point, "transform")


def transform(entry: Entry, name: str, rewordings: Rewordings | None = None) -> Entry:
    """The entry under a transform. Raises `HarnessError` if the rephrased question is missing."""
    change = change_of(name)
    if change is not None:
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
    """The selected transforms that apply to an entry."""
    row = CATEGORIES[category]
    for name in names:
        if change_of(name) is not None:
            if row.checker in _APPLIES_TO and category != "format_sensitivity":
                yield name
        elif entry_id in rewordings.get(name, {}):
            yield name


def split_id(entry_id: str) -> tuple[str, str | None]:
    """An id without its transform, and the transform."""
    base, mark, name = entry_id.rpartition(MARK)
    return (base, name) if mark else (entry_id, None)


def is_transformed(entry_id: str, names: Iterable[str | None]) -> bool:
    """Whether an id is that of an entry under one of these transforms (a user's own ids may contain the sign)."""
    return MARK in entry_id and split_id(entry_id)[1] in names


def read_transforms(asked: Iterable[str]) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Names of transforms, and the questions of transforms from files (``.jsonl`` of ``id`` and ``question``). A file's
    name is its stem. Raises `UsageError`.
    """
    names: list[str] = []
    rewordings: dict[str, dict[str, Any]] = {}
    for text in dict.fromkeys(asked):
        if change_of(text) is not None:
            names.append(text)
        elif text.endswith(".jsonl"):
            name = re.sub(r"[^A-Za-z0-9.]+", "-", Path(text).stem).strip("-") or "reworded"
            if change_of(name) is not None or name in rewordings:
                raise UsageError(f"{text}: a transform is called {name!r} already; give the file another name")
            rewordings[name] = _read_questions(Path(text))
            names.append(name)
        else:
            known = instead_of(text, entry_points.offered("transforms"))
            raise UsageError(f"no transform {text!r}; {known} (or a .jsonl of own words)")
    return tuple(names), rewordings


def _read_questions(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, line in enumerate(text_file(path).splitlines(), 1):
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
