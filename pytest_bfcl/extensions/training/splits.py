"""Makes a split: divides the families of a data set into two parts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.training.families import families
from pytest_bfcl.failures import UsageError
from pytest_bfcl.selection.splits import PARTS, By, Part
from pytest_bfcl.selection.splits import Split as Split


def make_split(data: DataSet, *, train: float = 0.8, seed: int = 0, by: By = "family") -> Split:
    """Divide the families of a data set into two parts. ``train`` is the share of entries to train on, in (0, 1); each
    category is as close to it as its families allow. The same data, share, seed and rule give the same split. Raises
    `UsageError` if a part would be empty, `HarnessError` for an entry that cannot be read.
    """
    if not 0 < train < 1:
        raise UsageError(f"the share to train on lies between 0 and 1, not {train:g}")
    entries = list(entries_of(data))
    groups = families(entries, by)
    category = {entry.id: entry.category for entry in entries}
    sides = _Dealer(Counter(category.values()), train, seed).deal(
        [(ids, Counter(category[each] for each in ids)) for ids in groups]
    )
    parts: dict[Part, dict[str, list[str]]] = {part: {} for part in PARTS}
    for entry in entries:
        parts[sides[entry.id]].setdefault(entry.category, []).append(entry.id)
    if empty := next((part for part in PARTS if not parts[part]), None):
        told = f"{len(entries)} entries in {len(groups)} {'family' if len(groups) == 1 else 'families'}"
        raise UsageError(f"{data.name} cannot be split so: {told}, and nothing is left to {empty} with")
    return Split(data.name, data.version, data.sha256, by, seed, train, len(groups), parts)


def entries_of(data: DataSet) -> Iterator[Entry]:
    """The original entries: format-sensitivity ones repeat others."""
    for name in data.categories():
        if name != "format_sensitivity" or not any(ref.variant >= 0 for ref in data.index(name)):
            yield from map(data.load, data.index(name))


class _Dealer:
    """Assigns families to parts, largest first: to the only part with room, else at random by the remaining need."""

    def __init__(self, sizes: Mapping[str, int], train: float, seed: int) -> None:
        shares = {"train": train, "test": 1 - train}
        self._wanted: dict[Part, dict[str, float]] = {
            part: {name: size * shares[part] for name, size in sizes.items()} for part in PARTS
        }
        self._random = random.Random(f"split {seed}")

    def deal(self, groups: Sequence[tuple[list[str], Mapping[str, int]]]) -> dict[str, Part]:
        shuffled = list(groups)
        self._random.shuffle(shuffled)
        sides: dict[str, Part] = {}
        for ids, counts in sorted(shuffled, key=lambda group: -len(group[0])):
            part = self._chosen(counts)
            for name, count in counts.items():
                self._wanted[part][name] -= count
            sides.update(dict.fromkeys(ids, part))
        return sides

    def _chosen(self, counts: Mapping[str, int]) -> Part:
        over = {part: self._over(part, counts) for part in PARTS}
        needs = {part: self._need(part, counts) for part in PARTS}
        if over["train"] != over["test"]:
            return min(PARTS, key=lambda part: over[part])
        whole = needs["train"] + needs["test"]
        return "train" if self._random.random() * whole < needs["train"] else "test"

    def _over(self, part: Part, counts: Mapping[str, int]) -> float:
        return sum(max(0.0, count - max(0.0, self._wanted[part][name])) for name, count in counts.items())

    def _need(self, part: Part, counts: Mapping[str, int]) -> float:
        return sum(max(0.0, self._wanted[part][name]) for name in counts)
