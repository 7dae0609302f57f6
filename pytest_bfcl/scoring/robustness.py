"""How far a score falls when the same entries are rephrased (`pytest_bfcl.dataset.transforms`).

Pairs, not scores: an entry counts for a transform when it was judged as it is and transformed, in the same repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_bfcl.dataset.transforms import is_transformed, split_id
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.runs.summary_types import RobustnessCell
from pytest_bfcl.scoring.statistics import PairTally, cluster_of, interval, paired_spread

VERDICTS = ("passed", "failed")


def plain_records(run: RunDirectory) -> Iterator[ResultLine]:
    """A run's lines without those of transformed entries: what scores, rankings and comparisons are made of."""
    names = run.fingerprint.conditions.get("transforms") or ()
    return (record for record in run.records() if not is_transformed(str(record["id"]), names))


@dataclass(slots=True)
class Robustness:
    """The verdicts of one model's run on the entries as they are and on their transforms, which are ``names``."""

    names: frozenset[str]
    plain: dict[tuple[str, int], bool] = field(default_factory=dict)
    changed: dict[str, dict[tuple[str, int], tuple[str, bool]]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)

    def add(self, record: ResultLine) -> bool:
        """Take a line; whether it is one of a transformed entry, which enters nothing else."""
        entry_id, name = split_id(str(record["id"]))
        outcome, repeat = record.get("outcome"), int(record.get("repeat") or 1)
        if name not in self.names:
            entry_id, name = str(record["id"]), None
        if name is None:
            if outcome in VERDICTS:
                self.plain[entry_id, repeat] = outcome == "passed"
            return False
        pairs = self.changed.setdefault(name, {})
        if outcome in VERDICTS:
            pairs[entry_id, repeat] = (str(record.get("category")), outcome == "passed")
        elif outcome == "error":
            self.errors[name] = self.errors.get(name, 0) + 1
        return True

    def to_dict(self) -> dict[str, RobustnessCell]:
        """Transform → accuracies of the paired entries, their difference and its 95 % interval."""
        return {name: self._cell(name, pairs) for name, pairs in sorted(self.changed.items())}

    def _cell(self, name: str, pairs: dict[tuple[str, int], tuple[str, bool]]) -> RobustnessCell:
        tallies: dict[str, PairTally] = {}
        before = after = 0
        for (entry_id, repeat), (category, passed) in pairs.items():
            plain = self.plain.get((entry_id, repeat))
            if plain is None:
                continue
            tallies.setdefault(category, PairTally()).add(cluster_of(entry_id, category), plain, passed, entry_id)
            before, after = before + plain, after + passed
        total = sum(tally.total for tally in tallies.values())
        cell: RobustnessCell = {
            "pairs": total,
            "accuracy": before / total if total else None,
            "transformed": after / total if total else None,
            "difference": None,
            "interval95": None,
            "improved": sum(tally.improved for tally in tallies.values()),
            "regressed": sum(tally.regressed for tally in tallies.values()),
            "errors": self.errors.get(name, 0),
        }
        if total:
            spread = paired_spread({each: tally.total / total for each, tally in tallies.items()}, tallies)
            difference = cell["difference"] = (after - before) / total
            cell["interval95"] = interval(difference, spread, -1.0, 1.0)
        return cell
