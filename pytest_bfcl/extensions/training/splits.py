"""Splits: a data set in two parts that have no family in common.

Training on one entry of a family affects the others. Two entries are in one family if they share a trait, or are linked
by entries that do (connected components):

- a *base*: the configurations of one format-sensitivity entry; in the official data, multi-turn entries of one number
  (base, missing function, missing parameter, long context, composite) and web questions of one number;
- a *source*: official live entries of one category with the same middle number, which stands for their documents;
- a *scenario*: memory questions about one scenario, with any backend; multi-turn entries that begin in one state;
- a *question*: the same words of the user, in all turns;
- a *function*: documents of one name (dots and letter case aside) with the same parameters.

The functions of simulated systems, memories and web tools are no trait, because every such entry has them. ``strict``
makes them one, and a function's name alone decides; then few families are left. ``content``, which ``strict`` includes,
joins families with nearly equal questions (`training_rows.near_pairs`), and those where one conversation has all calls
of the other.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.training.training_rows import near_pairs, parameter_names, sayings_of, turns_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.selection.splits import PARTS, By, Part, Split, original_id

Trait = tuple[Hashable, ...]

_LIVE = re.compile(r"\d+-(\d+)-\d+")


def entries_of(data: DataSet) -> Iterator[Entry]:
    """The original entries: format-sensitivity ones repeat others."""
    for name in data.categories():
        if not any(ref.variant >= 0 for ref in data.index(name)):
            yield from map(data.load, data.index(name))


def make_split(data: DataSet, *, train: float = 0.8, seed: int = 0, by: By = "family") -> Split:
    """Divide the families of a data set into two parts. ``train`` is the share of entries to train on, in (0, 1); each
    category is as close to it as its families allow. The same data, share, seed and rule give the same split. Raises
    `UsageError` if a part would be empty, `HarnessError` for an entry that cannot be read.
    """
    if not 0 < train < 1:
        raise UsageError(f"the share to train on lies between 0 and 1, not {train:g}")
    if problem := next((each for name in data.categories() for each in data.problems(name)), None):
        raise UsageError(f"{problem}\ncorrect the data first; pytest-bfcl validate lists every problem")
    entries = list(entries_of(data))
    groups = families(entries, by)
    sides = _assigned(groups, {entry.id: entry.category for entry in entries}, train, random.Random(f"split {seed}"))
    parts: dict[Part, dict[str, list[str]]] = {part: {} for part in PARTS}
    for entry in entries:
        parts[sides[entry.id]].setdefault(entry.category, []).append(entry.id)
    if empty := next((part for part in PARTS if not parts[part]), None):
        told = f"{len(entries)} entries in {len(groups)} {'family' if len(groups) == 1 else 'families'}"
        raise UsageError(f"{data.name} cannot be split so: {told}, and nothing is left to {empty} with")
    return Split(data.name, data.version, data.sha256, by, seed, train, len(groups), parts)


def _assigned(
    groups: Sequence[Sequence[str]], category: Mapping[str, str], train: float, rng: random.Random
) -> dict[str, Part]:
    """Assign families to parts, largest first: to the part with more room, else at random by the remaining need."""
    sizes, shares = Counter(category.values()), {"train": train, "test": 1 - train}
    wanted = {part: {name: size * shares[part] for name, size in sizes.items()} for part in PARTS}
    shuffled = list(groups)
    rng.shuffle(shuffled)
    sides: dict[str, Part] = {}
    for ids in sorted(shuffled, key=len, reverse=True):
        counts = Counter(category[each] for each in ids)
        left = {part: {name: max(0.0, wanted[part][name]) for name in counts} for part in PARTS}
        over = {part: sum(max(0.0, count - left[part][name]) for name, count in counts.items()) for part in PARTS}
        if over["train"] != over["test"]:
            part = min(PARTS, key=lambda each: over[each])
        else:
            needs = {part: sum(left[part].values()) for part in PARTS}
            part = "train" if rng.random() * sum(needs.values()) < needs["train"] else "test"
        for name, count in counts.items():
            wanted[part][name] -= count
        sides.update(dict.fromkeys(ids, part))
    return sides


def families(entries: Iterable[Entry], by: By = "family") -> list[list[str]]:
    """The ids of entries, family by family, in the order of the first of each."""
    held = list(entries)
    above: dict[Trait, Trait] = {}  # union-find: entries and traits, each below another of its family

    def top(node: Trait) -> Trait:
        while (parent := above.setdefault(node, node)) != node:
            above[node] = above[parent]
            node = parent
        return node

    links = [(entry, trait) for entry in held for trait in traits(entry, by)]
    links += [(one, ("entry", other.id)) for one, other in alike(held)] if by != "family" else []
    for entry, trait in links:
        above[top(("entry", entry.id))] = top(trait)
    found: dict[Trait, list[str]] = {}
    for entry in held:
        found.setdefault(top(("entry", entry.id)), []).append(entry.id)
    return list(found.values())


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
    if said := sayings_of(entry):
        yield "question", _digest(said)
    for document in entry.all_functions if by == "strict" or not row.multi_step else ():
        name = str(document.get("name")).replace(".", "_").lower()
        yield ("function", name) if by == "strict" else ("function", name, tuple(parameter_names(document)))


def alike(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Pairs of entries where one reveals the other: by the user's words, or as a conversation with every call of
    another that has at least two."""
    for one, other in near_pairs(["\n".join(turns_of(entry)) for entry in entries]):
        yield entries[one], entries[other]
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


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
