"""``summary.json`` (docs/contracts.md): one pass over the result lines, then the numbers.

Accuracies are fractions of passed + failed; errors and skipped entries are counted separately. A category that did not
run is missing, not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS, domains
from pytest_bfcl.dataset.transforms import is_transformed, split_id
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.runs.summary_types import RobustnessCell, RunFacts, Summary
from pytest_bfcl.scoring.model_info import ModelInfo
from pytest_bfcl.scoring.model_summary import ModelNumbers, Plan
from pytest_bfcl.scoring.statistics import PairTally, cluster_of, interval, spread_of
from pytest_bfcl.scoring.tally import VERDICTS, ModelTally

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.dataset.verified import KnownIssue


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
        for (entry_id, repeat), (category, passed) in pairs.items():
            plain = self.plain.get((entry_id, repeat))
            if plain is None:
                continue
            tallies.setdefault(category, PairTally()).add(cluster_of(entry_id, category), plain, passed, entry_id)
        pairs_of = tallies.values()
        total, before = sum(tally.total for tally in pairs_of), sum(tally.before for tally in pairs_of)
        gained = sum(tally.sum for tally in pairs_of)
        cell: RobustnessCell = {
            "pairs": total,
            "accuracy": before / total if total else None,
            "transformed": (before + gained) / total if total else None,
            "difference": None,
            "interval95": None,
            "improved": sum(tally.improved for tally in tallies.values()),
            "regressed": sum(tally.regressed for tally in tallies.values()),
            "errors": self.errors.get(name, 0),
        }
        if total:
            spread = spread_of({each: tally.total / total for each, tally in tallies.items()}, tallies)
            difference = cell["difference"] = gained / total
            cell["interval95"] = interval(difference, spread, -1.0, 1.0)
        return cell


def full_sizes(data: DataSet) -> dict[str, int] | None:
    """Entries of the data set per category that runs by default; a group of a part lacks the rest."""
    known = (*GROUPS["all_scoring"], *GROUPS["own"])
    return None if data.official else {name: len(data.index(name)) for name in data.categories() if name in known}


def sizes_of(data: DataSet) -> dict[str, int]:
    """Entries of the data set per category; the official sizes are known."""
    found = full_sizes(data)
    return {name: row.official_size for name, row in CATEGORIES.items()} if found is None else found


def summarise(
    records: Iterable[ResultLine],
    *,
    fingerprint: RunFacts | None = None,
    known_issues: Iterable[KnownIssue] = (),
    sizes: Mapping[str, int] | None = None,
    max_errors_pct: float = 2.0,
    full_sizes: Mapping[str, int] | None = None,
    infos: Mapping[str, ModelInfo] | None = None,
) -> Summary:
    """The content of ``summary.json`` for a run's records (one per key, any order; read once, streaming).

    ``sizes`` are the entries planned per category (of one repeat), ``full_sizes`` those of the whole data set; for the
    official data they default to its known sizes. ``infos``: facts about the models; the price of a server hour gives a
    cost to models without token prices. Models keep the order of the fingerprint.
    """
    found = Tallies(fingerprint, known_issues)
    for record in records:
        found.add(record)
    return found.summary(fingerprint, sizes=sizes, max_errors_pct=max_errors_pct, full_sizes=full_sizes, infos=infos)


class Tallies:
    """Result lines counted one at a time, so that a run in progress can be summarised repeatedly.

    The arguments are those of `summarise`.
    """

    def __init__(self, fingerprint: RunFacts | None = None, known_issues: Iterable[KnownIssue] = ()) -> None:
        facts = cast(RunFacts, dict(fingerprint or {}))
        self._issues = list(known_issues)
        self._transforms = frozenset((facts.get("conditions") or {}).get("transforms") or ())
        official = dataset_name(facts) in ("official", "verified")
        self._domains = domains() if official else {}
        self._robustness: dict[tuple[str, str], Robustness] = {}
        self._tallies: dict[tuple[str, str], ModelTally] = {}

    def add(self, record: ResultLine) -> None:
        """Count one line; one for each key."""
        key = (str(record.get("model") or ""), str(record.get("mode") or ""))
        tally = self._tallies.get(key)
        if tally is None:
            known = frozenset(issue.id for issue in self._issues if key[1] in issue.modes)
            tally = self._tallies[key] = ModelTally(*key, known_issues=known, domains=self._domains)
        if self._transforms and self._robustness.setdefault(key, Robustness(self._transforms)).add(record):
            tally.add_cost(record)
        else:
            tally.add(record)

    def summary(
        self,
        fingerprint: RunFacts | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        max_errors_pct: float = 2.0,
        full_sizes: Mapping[str, int] | None = None,
        infos: Mapping[str, ModelInfo] | None = None,
    ) -> Summary:
        """The counts so far, as the content of ``summary.json``."""
        fingerprint = cast(RunFacts, dict(fingerprint or {}))
        tallies = self._tallies
        official = dataset_name(fingerprint) == "official"
        if full_sizes is None:
            full_sizes = (
                {name: row.official_size for name, row in CATEGORIES.items()} if official else dict(sizes or {})
            )
        plan = Plan(
            sizes or {},
            full_sizes,
            official,
            max_errors_pct,
            repeats(fingerprint),
            state=str(fingerprint.get("state") or ""),
            rerun=is_rerun(fingerprint),
            infos=infos or {},
        )
        ordered = sorted(tallies, key=_model_order(fingerprint))
        models = {_label(key, tallies): ModelNumbers(tallies[key], plan).to_dict() for key in ordered}
        for key, found in self._robustness.items():
            models[_label(key, tallies)]["robustness"] = found.to_dict()
        return {
            "fingerprint": fingerprint,
            "models": models,
            "gate": {"verdict": "none", "checks": []},
        }


def _model_order(fingerprint: RunFacts) -> Callable[[tuple[str, str]], Any]:
    listed = [str(model.get("model")) for model in fingerprint.get("models") or ()]
    return lambda key: (listed.index(key[0]) if key[0] in listed else len(listed), key)


def _label(key: tuple[str, str], tallies: Mapping[tuple[str, str], ModelTally]) -> str:
    """The model's spec, with the mode if one spec was recorded in both modes."""
    same = [other for other in tallies if other[0] == key[0]]
    return key[0] if len(same) == 1 else f"{key[0]} ({key[1]})"


def is_rerun(fingerprint: RunFacts) -> bool:
    """Whether a run only repeated entries that had failed, so that its shares are no scores."""
    return bool((fingerprint.get("selection") or {}).get("last_failed"))


def dataset_name(fingerprint: RunFacts) -> str:
    """The data set of a run; empty if unknown."""
    dataset = fingerprint.get("dataset")
    return str(dataset.get("name", "")) if dataset else ""


def repeats(fingerprint: RunFacts) -> int:
    """How often every entry ran."""
    repeat = (fingerprint.get("conditions") or {}).get("repeat")
    return repeat if isinstance(repeat, int) and repeat > 0 else 1
