"""Node ids, ``-m`` expressions and marks: which entries they select. Pure functions over texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, GROUPS
from pytest_bfcl.selection.sharding import ShardItem, deal
from pytest_bfcl.suggestions import close_names

LANGUAGES = ("java", "javascript")
_VIRTUAL = re.compile(r"(?:.*/)?bfcl/(?P<category>[A-Za-z0-9_]+)\.jsonl(?:::(?P<name>.+))?", re.DOTALL)
_ARGUMENTS = re.compile(r"(?<=\w)\([^()]*\)")
_WORD = re.compile(r"(not\s+)?\(*\b([A-Za-z_]\w*)")


class VirtualArgument(NamedTuple):
    """``bfcl/<category>.jsonl[::<entry id>[...]]`` on the command line; ``name`` is the text after ``::``."""

    category: str
    name: str | None


def virtual_argument(text: str) -> VirtualArgument | None:
    """The parsed argument, or ``None`` if it is an ordinary path."""
    match = _VIRTUAL.fullmatch(text.replace("\\", "/"))
    return VirtualArgument(match["category"], match["name"]) if match else None


def entry_id_of(nodeid: str) -> str:
    """``bfcl/x.jsonl::x_1[spec]`` → ``x_1``."""
    return nodeid.partition("::")[2].partition("[")[0]


def mentioned(expression: str) -> list[str]:
    """Categories and groups that a ``-m`` expression selects (words after ``not`` select nothing)."""
    return [word for word in _mark_words(expression) if word in CATEGORIES or word in GROUPS]


def mentioned_checks(expression: str) -> list[str]:
    """The sets of checks (entry points ``pytest_bfcl.checks``) that a ``-m`` expression selects."""
    unknown = set(_mark_words(expression)) - set(mark_names())
    return [word for word in unknown if entry_points.find("checks", word)]


def _mark_words(expression: str) -> list[str]:
    return [word for negated, word in _WORD.findall(expression or "") if not negated]


def without_arguments(expression: str) -> str:
    """A ``-m`` expression without the arguments of its marks."""
    return _ARGUMENTS.sub("", expression)


def misspelt_marks(expression: str, registered: Iterable[str]) -> Iterator[str]:
    """Words of a ``-m`` expression that name no mark but resemble one of our marks.

    Other words may be unregistered marks.
    """
    ours = mark_names()
    known = {*ours, *registered, "and", "or", "not", "True", "False", "None"}
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", without_arguments(expression))):
        ours_once = word in EARLIER or bool(close_names(word, ours))
        if word not in known and ours_once and not entry_points.find("checks", word):
            yield word


def shard_item(nodeid: str) -> ShardItem:
    """``bfcl/x.jsonl::x_1[spec]`` → ``x_1`` of the model (and repeat) ``spec``."""
    return ShardItem(entry_id_of(nodeid), nodeid.partition("[")[2].removesuffix("]"))


def stripes(nodeids: Sequence[str], count: int) -> list[list[list[int]]]:
    """Positions divided into ``count`` stripes: stripe → units → positions; see
    `pytest_bfcl.selection.sharding.deal`."""
    return deal(list(map(shard_item, nodeids)), count)


def marks() -> Iterator[tuple[str, str]]:
    """Every group, category, language and mode: its name, and the items that carry it."""
    for name in GROUPS:
        if name not in CATEGORIES:
            yield name, f"function-calling entries of the group {name}"
    for name, row in CATEGORIES.items():
        yield name, f"function-calling entries of the category {name} ({row.group})"
    for name in LANGUAGES:
        yield name, f"function-calling entries whose calls are {name}"
    yield "fc", "function-calling entries asked with native tool calls"
    yield "prompt", "function-calling entries whose calls are written as text"


def mark_names() -> list[str]:
    """The names alone."""
    return [name for name, _ in marks()]
