"""Findings of a benchmark in training data: counts for users, lines for programs, a mark for runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.training.contamination import Finding
from pytest_bfcl.extensions.training.splits import entries_of
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.selection.splits import Part, Split

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet

GRAVE = ("question", "calls")
"""Kinds that mean training on an entry; tools and results may have other sources."""
SHOWN = 10


@dataclass
class Report:
    """Findings over all rows: of each entry and kind the nearest."""

    sizes: Mapping[str, int]
    rows: int = 0
    best: dict[tuple[str, str], Finding] = field(default_factory=dict)
    rows_with: Counter[str] = field(default_factory=Counter)

    def take(self, findings: Iterable[Finding]) -> None:
        """The findings of one row."""
        self.rows += 1
        kinds = set()
        for found in findings:
            kinds.add(found.kind)
            key = found.entry_id, found.kind
            if key not in self.best or found.similarity > self.best[key].similarity:
                self.best[key] = found
        self.rows_with.update(kinds)

    @property
    def entries(self) -> int:
        """Number of searched entries."""
        return sum(self.sizes.values())

    def contaminated(self) -> list[str]:
        """Ids of entries whose question or calls were found, in order."""
        return sorted({entry_id for entry_id, kind in self.best if kind in GRAVE})

    def lines(self) -> Iterator[str]:
        """The report in words."""
        yield f"{self.rows} rows against {self.entries} entries"
        by_kind: dict[str, Counter[str]] = defaultdict(Counter)
        for (_, kind), found in self.best.items():
            by_kind[kind][found.how] += 1
        for kind in ("question", "calls", "results", "tools"):
            if counts := by_kind.get(kind):
                told = ", ".join(f"{how} {counts[how]}" for how in ("equal", "n-gram", "near") if counts[how])
                yield f"{kind}: {sum(counts.values())} entries ({told}), in {self.rows_with[kind]} rows"
        grave = self.contaminated()
        if not grave:
            yield "no entry's question or calls are in these rows"
            return
        yield f"contaminated: {len(grave)} of {self.entries} entries ({100 * len(grave) / self.entries:.1f} %)"
        nearest = [max(self._grave(entry_id), key=lambda found: found.similarity) for entry_id in grave]
        for found in sorted(nearest, key=lambda found: -found.similarity)[:SHOWN]:
            yield f"  {found.entry_id}: {found.kind} {found.how} {found.similarity:.2f}, {found.place}"
        if len(grave) > SHOWN:
            yield f"  and {len(grave) - SHOWN} more (--json FILE lists all)"

    def _grave(self, entry_id: str) -> list[Finding]:
        return [self.best[entry_id, kind] for kind in GRAVE if (entry_id, kind) in self.best]

    def to_json(self) -> Parsed:
        """All findings, for programs."""
        return {
            "rows": self.rows,
            "entries": self.entries,
            "contaminated": self.contaminated(),
            "findings": [found._asdict() for found in sorted(self.best.values())],
        }


def as_split(report: Report, data: DataSet) -> Split | None:
    """The contaminated entries as the training part of a split (``--bfcl-split trained-on=``); ``None``: none."""
    grave = set(report.contaminated())
    parts: dict[Part, dict[str, list[str]]] = {"train": {}, "test": {}}
    total = 0
    for entry in entries_of(data):
        total += 1
        parts["train" if entry.id in grave else "test"].setdefault(entry.category, []).append(entry.id)
    if not parts["train"]:
        return None
    share = min(max(len(grave) / total, 1e-6), 1 - 1e-6)
    return Split(data.name, data.version, data.sha256, "content", 0, share, total, parts)
