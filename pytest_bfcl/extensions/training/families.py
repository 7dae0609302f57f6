"""Families: entries so similar that training on one affects the other; a split never divides them.

Two entries are in one family if they share a trait, or are linked by entries that do (connected components):

- a *base*: the configurations of one format-sensitivity entry; in the official data, multi-turn entries of one number
  (base, missing function, missing parameter, long context, composite) and web questions of one number;
- a *source*: official live entries of one category with the same middle number, which stands for their documents;
- a *scenario*: memory questions about one scenario, with any backend; multi-turn entries that begin in one state;
- a *question*: the same words of the user, in all turns;
- a *function*: documents of one name (dots and letter case aside) with the same parameters.

The functions of simulated systems, memories and web tools are no trait, because every such entry has them. ``strict``
makes them one, and a function's name alone decides; then few families are left. ``content``, which ``strict`` includes,
joins families with nearly equal questions (`content.near_pairs`), and those where one conversation has all calls of the
other.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.extensions.training.content import near_pairs, turns_of
from pytest_bfcl.selection.splits import By, original_id

Trait = tuple[Hashable, ...]

_LIVE = re.compile(r"\d+-(\d+)-\d+")


def families(entries: Iterable[Entry], by: By = "family") -> list[list[str]]:
    """The ids of entries, family by family, in the order of the first of each."""
    links = _Links()
    held: list[Entry] = []
    for entry in entries:
        own: Trait = ("entry", entry.id)
        links.add(own)
        for trait in traits(entry, by):
            links.join(own, trait)
        held.append(entry)
    if by != "family":
        for one, other in alike(held):
            links.join(("entry", one.id), ("entry", other.id))
    return links.components()


def alike(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Pairs of entries where one reveals the other, by the user's words or by the expected calls."""
    for one, other, _ in near_pairs(["\n".join(turns_of(entry)) for entry in entries]):
        yield entries[one], entries[other]
    yield from _within(entries)


def _within(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Pairs of conversations where one has every call of the other, which has at least two."""
    made = {
        number: Counter(str(call) for turn in entry.possible_answer or () for call in turn)
        for number, entry in enumerate(entries) if entry.row.checker == "state"
    }  # fmt: skip
    having: dict[str, set[int]] = defaultdict(set)
    for number, calls in made.items():
        for call in calls:
            having[call].add(number)
    for number, calls in made.items():
        if calls.total() >= 2:
            others = set.intersection(*(having[call] for call in calls)) - {number}
            yield from ((entries[number], entries[other]) for other in sorted(others) if calls <= made[other])


def traits(entry: Entry, by: By = "family") -> Iterator[Trait]:
    """The traits of an entry."""
    row, number = entry.row, entry.id.rpartition("_")[2]
    if entry.config is not None:
        yield "entry", original_id(entry.id)
    elif entry.official and (row.checker == "state" or row.group == "web_search"):
        yield "base", row.checker, number
    elif entry.official and (match := _LIVE.fullmatch(number)):
        yield "source", entry.category, match[1]
    if entry.scenario:
        yield "scenario", entry.scenario
    if row.checker == "state" and entry.initial_config:
        yield "state", _digest(entry.initial_config)
    if said := [str(message.get("content")) for turn in entry.question for message in turn if _is_users(message)]:
        yield "question", _digest(said)
    if by == "strict":
        yield from (("function", _name(document)) for document in entry.all_functions)
    elif not row.stateful:
        yield from (("function", _name(document), _parameters(document)) for document in entry.all_functions)


def _is_users(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") == "user"


def _name(document: FunctionDoc) -> str:
    return str(document.get("name")).replace(".", "_").lower()


def _parameters(document: FunctionDoc) -> tuple[str, ...]:
    parameters = document.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return tuple(sorted(properties)) if isinstance(properties, dict) else ()


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


class _Links:
    """Entries and traits joined into components (union-find)."""

    def __init__(self) -> None:
        self._above: dict[Trait, Trait] = {}

    def add(self, node: Trait) -> None:
        self._above.setdefault(node, node)

    def join(self, one: Trait, other: Trait) -> None:
        self.add(other)
        self._above[self._top(one)] = self._top(other)

    def components(self) -> list[list[str]]:
        found: dict[Trait, list[str]] = {}
        for node in list(self._above):
            if node[0] == "entry" and len(node) == 2:
                found.setdefault(self._top(node), []).append(str(node[1]))
        return list(found.values())

    def _top(self, node: Trait) -> Trait:
        while (above := self._above[node]) != node:
            self._above[node] = self._above[above]
            node = above
        return node
