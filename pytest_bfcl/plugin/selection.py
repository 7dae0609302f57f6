"""Which entries run, in which parts: shards and stripes. Pure functions over ids.

A memory scenario (its write stage and all its questions) is never split: the write stage fills the memory that the
questions read.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS, category_of
from pytest_bfcl.dataset.sampling import stratified_sample as stratified_sample
from pytest_bfcl.plugin.marks import WIRE, mark_names
from pytest_bfcl.suggestions import close_names

_VIRTUAL = re.compile(r"(?:.*/)?bfcl/(?P<category>[A-Za-z0-9_]+)\.jsonl(?:::(?P<name>.+))?", re.DOTALL)
_ARGUMENTS = re.compile(r"(?<=\w)\([^()]*\)")
_WORD = re.compile(r"(not\s+)?\(*\b([A-Za-z_]\w*)")
DEFAULT = "all_scoring"


class VirtualArgument(NamedTuple):
    """``bfcl/<category>.jsonl[::<entry id>[...]]`` on the command line; ``name`` is what stands after ``::``."""

    category: str
    name: str | None


def virtual_argument(text: str) -> VirtualArgument | None:
    """The argument taken apart, or ``None`` if it is an ordinary path."""
    match = _VIRTUAL.fullmatch(text.replace("\\", "/"))
    return VirtualArgument(match["category"], match["name"]) if match else None


def entry_id_of(nodeid: str) -> str:
    """``bfcl/x.jsonl::x_1[spec]`` → ``x_1``."""
    return nodeid.partition("::")[2].partition("[")[0]


def mentioned(expression: str) -> list[str]:
    """Categories and groups that a ``-m`` expression asks for (words after ``not`` do not ask)."""
    words = [word for negated, word in _WORD.findall(expression or "") if not negated]
    return [word for word in words if word in CATEGORIES or word in GROUPS]


def asks_for_wire(expression: str) -> bool:
    """Whether a ``-m`` expression asks for the wire checks."""
    return WIRE in [word for negated, word in _WORD.findall(expression or "") if not negated]


def misspelt_marks(expression: str, registered: Iterable[str]) -> Iterator[str]:
    """Words of a ``-m`` expression that name no mark but look like one of ours.

    Words that look like none of ours may be marks that nobody registered.
    """
    ours = mark_names()
    known = {*ours, *registered, "and", "or", "not", "True", "False", "None"}
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", _ARGUMENTS.sub("", expression))):
        if word not in known and close_names(word, ours):
            yield word


def scenario_of(entry_id: str) -> tuple[str, str] | None:
    """(memory category, scenario) of a memory question or write stage, ``None`` for every other entry.

    The scenario is the middle of the id's index (data spec §5); an id of another form stands for the whole category.
    """
    category = category_of(entry_id).removesuffix("_prereq")
    row = CATEGORIES.get(category)
    if row is None or not row.backend:
        return None
    parts = entry_id.rpartition("_")[2].split("-")
    return category, parts[1] if len(parts) == 3 else ""


def stripes(nodeids: Sequence[str], count: int) -> list[list[list[int]]]:
    """Positions dealt to ``count`` stripes: stripe → units → positions. Deterministic: controller and workers agree.

    A unit is one item, or all items of one memory scenario with one model. Each unit goes to the lightest stripe.
    """
    units: dict[Hashable, list[int]] = {}
    for position, nodeid in enumerate(nodeids):
        scenario = scenario_of(entry_id_of(nodeid))
        key: Hashable = position if scenario is None else (*scenario, nodeid.partition("[")[2])
        units.setdefault(key, []).append(position)
    dealt: list[list[list[int]]] = [[] for _ in range(count)]
    loads = [0] * count
    for unit in units.values():
        lightest = loads.index(min(loads))
        dealt[lightest].append(unit)
        loads[lightest] += len(unit)
    return dealt
