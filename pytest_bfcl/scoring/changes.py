"""Entries whose verdict changed between two models; of repeats, how many answers were right before and after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pytest_bfcl.dataset.categories import groups_of
from pytest_bfcl.dataset.expansion import sort_key
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.scoring.measurements import Judged, Key


@dataclass(frozen=True, slots=True)
class Change:
    """An entry that was answered right more or less often than before.

    ``answers``: pairs of answers, more than one with repeats; ``right``: how many were right before and after.
    ``before`` and ``after`` are the reasons in ``repeat``, the first pair that changed this way; ``None`` for passed.
    """

    id: str
    category: str
    before: str | None
    after: str | None
    repeat: int = 1
    answers: int = 1
    right: tuple[int, int] = (0, 0)

    @property
    def improved(self) -> bool:
        """Whether more answers are right than before."""
        return self.right[1] > self.right[0]

    @property
    def tallies(self) -> tuple[str, str]:
        """``2 of 3 passed`` before and after; empty without repeats."""
        if self.answers == 1:
            return "", ""
        before, after = (f"{count} of {self.answers} passed" for count in self.right)
        return before, after

    @property
    def text(self) -> str:
        """``id: before → after``, each a reason, ``passed``, or with repeats how many passed."""
        if self.answers == 1:
            return f"{self.id}: {self.before or 'passed'} → {self.after or 'passed'}"
        before, after = self.tallies
        return f"{self.id}: {before} → {after} ({self.before or self.after or 'passed'})"

    def to_dict(self) -> Parsed:
        """A JSON-able copy."""
        groups = groups_of(self.category)
        found: Parsed = {
            "id": self.id,
            "category": self.category,
            "group": groups[0] if groups else None,
            "before": self.before,
            "after": self.after,
        }
        if self.answers > 1:
            found |= {"answers": self.answers, "right": list(self.right), "repeat": self.repeat}
        return found


@dataclass(slots=True)
class _Pairs:
    """The pairs of one entry: answers, right ones, and the first pair of each direction."""

    category: str
    answers: int = 0
    before: int = 0
    after: int = 0
    first: dict[bool, tuple[int, str | None, str | None]] = field(default_factory=dict)


class Changes:
    """Collects pairs of verdicts, entry by entry."""

    def __init__(self) -> None:
        self._entries: dict[str, _Pairs] = {}

    def add(self, key: Key, old: Judged, new: Judged) -> None:
        """One pair."""
        entry_id, repeat = key
        pairs = self._entries.setdefault(entry_id, _Pairs(new.category))
        before, after = old.outcome == "passed", new.outcome == "passed"
        pairs.answers += 1
        pairs.before += before
        pairs.after += after
        earlier = pairs.first.get(after)
        if before != after and (earlier is None or repeat < earlier[0]):
            pairs.first[after] = (repeat, None if before else old.reason, None if after else new.reason)

    def changed_entries(self) -> Iterable[Change]:
        """The entries that changed, in their order, not in the order in which workers finished."""
        for entry_id in sorted(self._entries, key=sort_key):
            pairs = self._entries[entry_id]
            if pairs.before != pairs.after:
                repeat, before, after = pairs.first[pairs.after > pairs.before]
                right = (pairs.before, pairs.after)
                yield Change(entry_id, pairs.category, before, after, repeat, pairs.answers, right)

    @property
    def unchanged(self) -> int:
        """Entries with as many right answers as before."""
        return sum(pairs.before == pairs.after for pairs in self._entries.values())
