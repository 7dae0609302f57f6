"""A trial: one entry with one contender, once. It is planned, held, judged and written as one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import BenchmarkError, HarnessError
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry, EntryRef
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.session.contender import Contender


REQUESTS = {"multi_turn": 12.0, "web_search": 10.0, "memory": 4.0, "memory_prereq": 25.0}
"""Usual requests of an entry of a group; entries of other groups take one."""

TURN_REQUESTS = 3.0
"""Usual requests of a turn in conversations whose calls are executed."""


def expected_requests(category: str, turns: int | None = None) -> float:
    """The approximate number of requests of an entry of this category with this number of turns.

    It only decides the order of starting. Without the turns, which differ eightfold, the longest conversations might
    start last and run almost alone.
    """
    row = CATEGORIES.get(category)
    if row is None:
        return 1.0
    if turns and row.multi_step and row.checker != "answer":
        return TURN_REQUESTS * turns
    return REQUESTS.get("multi_turn" if row.checker == "state" else row.group, 1.0)


class TrialKey(NamedTuple):
    """The key of a trial in its run. ``data`` identifies the data set in this process."""

    entry_id: str
    model: str
    repeat: int
    data: int

    def __str__(self) -> str:
        return self.entry_id


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One entry, one contender, one repeat (from 1).

    The entry is at ``ref`` in ``data``, or is ``given``; `load` parses its body.
    """

    entry_id: str
    category: str
    contender: Contender
    data: DataSet
    repeat: int
    key: TrialKey
    """The trial's key in a run."""
    ref: EntryRef | None = None
    given: Entry | None = None

    @classmethod
    def of(cls, item: EntryRef | Entry, contender: Contender, data: DataSet, repeat: int = 1) -> Trial:
        """The trial of an entry or of an entry's reference."""
        key = TrialKey(item.id, contender.label, repeat, id(data))
        if isinstance(item, tuple):
            return cls(item.id, item.category, contender, data, repeat, key, ref=item)
        return cls(item.id, item.category, contender, data, repeat, key, given=item)

    def key_of(self, entry_id: str) -> TrialKey:
        """The key of another entry of the same data, for the same contender and repeat."""
        return TrialKey(entry_id, self.contender.label, self.repeat, id(self.data))

    def load(self) -> Entry:
        """The entry. Raises `HarnessError` (kind ``data``) if it cannot be used."""
        if self.given is not None:
            return self.given
        assert self.ref is not None
        try:
            return self.data.load(self.ref)
        except BenchmarkError:
            raise
        except Exception as error:
            text = f"{self.entry_id} cannot be loaded: {type(error).__name__}: {error}"
            raise HarnessError(HarnessTrouble.DATA, text) from error

    @property
    def depends_on(self) -> list[str]:
        """Ids of the write stages that must run first; none for a broken line, which `load` will refuse."""
        if not CATEGORIES[self.category].backend:
            return []
        if self.given is not None:
            return list(self.given.depends_on)
        assert self.ref is not None
        try:
            return self.data.depends_on(self.ref)
        except BenchmarkError:
            return []

    def demands(self) -> tuple[Sequence[TrialKey], float]:
        """Keys of those trials, and the approximate number of requests, which only decides the order of starting."""
        row = CATEGORIES[self.category]
        if not row.multi_step:
            return (), 1.0
        turns: int | None = None
        if self.given is not None:
            turns = len(self.given.question)
        elif row.checker in ("state", "served"):
            assert self.ref is not None
            turns = self.data.turns(self.ref)
        needs = [self.key_of(stage) for stage in self.depends_on]
        return needs, expected_requests(self.category, turns)

    @property
    def place(self) -> str | None:
        """File and line of the entry for users; ``None`` for an entry passed as an object."""
        return f"{self.ref.path}, line {self.ref.line}" if self.ref is not None else None
