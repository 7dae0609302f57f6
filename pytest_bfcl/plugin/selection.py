"""What node ids and ``-m`` expressions ask for. Pure functions over texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.dataset.sharding import Asked, deal
from pytest_bfcl.plugin.marks import WIRE, mark_names
from pytest_bfcl.suggestions import close_names

_VIRTUAL = re.compile(r"(?:.*/)?bfcl/(?P<category>[A-Za-z0-9_]+)\.jsonl(?:::(?P<name>.+))?", re.DOTALL)
_ARGUMENTS = re.compile(r"(?<=\w)\([^()]*\)")
_WORD = re.compile(r"(not\s+)?\(*\b([A-Za-z_]\w*)")


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


def asked_of(nodeid: str) -> Asked:
    """``bfcl/x.jsonl::x_1[spec]`` → ``x_1`` of the model (and repeat) ``spec``."""
    return Asked(entry_id_of(nodeid), nodeid.partition("[")[2].removesuffix("]"))


def stripes(nodeids: Sequence[str], count: int) -> list[list[list[int]]]:
    """Positions dealt to ``count`` stripes: stripe → units → positions; see `pytest_bfcl.dataset.sharding.deal`."""
    return deal(list(map(asked_of, nodeids)), count)
