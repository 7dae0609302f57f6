"""The models on a leaderboard, each with its counts, its verdicts and its row of the CSV files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_bfcl.extensions.boards.official_csv import ModelRow
from pytest_bfcl.extensions.boards.ranking import Verdicts
from pytest_bfcl.extensions.boards.standings import model_rows
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.scoring.cost import cost_usd
from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.model_info import ModelInfo, find_info, parse_model_info
from pytest_bfcl.scoring.statistics import Tally
from pytest_bfcl.scoring.summary import plain_records
from pytest_bfcl.scoring.tally import ModelTally

RULES = ("official", "corrected", "verified")

Infos = Mapping[str, ModelInfo]


@dataclass(frozen=True, slots=True)
class Contestant:
    """One model of one run: its counts, its row of the leaderboard files, and facts of the run."""

    key: str
    info: ModelInfo
    mode: str
    tally: ModelTally
    row: ModelRow
    run: Path
    state: str
    comparable: bool
    machine_cost: float | None = None
    rules: str = "official"
    verdicts: Mapping[str, Verdicts] = field(default_factory=dict)
    """Rule set → the verdict on every entry; verified ones only if a run has them."""

    @property
    def headline(self) -> dict[str, Tally]:
        """Category → counts by the run's headline rules, of what was judged."""
        return {name: found.headline for name, found in self.tally.categories.items() if found.headline.total}

    @property
    def errors(self) -> int:
        """Entries that ended in an error."""
        return sum(found.outcomes["error"] for found in self.tally.categories.values())

    @property
    def cost(self) -> float | None:
        """USD: as recorded, else by the machine's cost, else by the prices of the model information."""
        if self.tally.priced:
            return self.tally.cost
        if self.machine_cost is not None:
            return self.machine_cost
        if self.row.usage is None or self.info.input_price is None or self.info.output_price is None:
            return None
        return cost_usd(self.row.usage, self.info.input_price, self.info.output_price)


def contestants(
    run: RunDirectory, infos: Infos, *, official: bool = False, only: Container[str] | None = None
) -> list[Contestant]:
    """The models of one run; ``only``: only these entries."""

    def records() -> Iterator[ResultLine]:
        return (each for each in plain_records(run) if only is None or each["id"] in only)

    tallies: dict[str, ModelTally] = {}
    verdicts: dict[str, dict[str, dict[Key, Judged]]] = {}
    reviewed = False
    for record in records():
        key = str(record.get("model") or "model")
        if key not in tallies:
            tallies[key] = ModelTally(key, str(record.get("mode") or ""))
            verdicts[key] = {rules: {} for rules in RULES}
        tallies[key].add(record)
        reviewed = reviewed or "verified_outcome" in record
        for rules, found in verdicts[key].items():
            found[str(record["id"]), int(record.get("repeat") or 1)] = Judged.of(record, rules)
    fingerprint = run.fingerprint
    rows = {row.info.name: row for row in model_rows(records(), official=official, state=fingerprint.state)}
    summary = run.summary()
    told = summary.get("model_info") if summary else None
    infos = {**parse_model_info({"models": told}), **infos} if told else infos
    machine = summary.get("machine_cost_usd") if summary and len(tallies) == 1 else None
    return [
        Contestant(
            key=key,
            info=find_info(infos, key) or ModelInfo(key),
            mode=tally.mode,
            tally=tally,
            row=replace(rows[key], info=find_info(infos, key) or ModelInfo(key)),
            run=run.path,
            state=fingerprint.state,
            comparable=fingerprint.comparable,
            machine_cost=machine,
            rules=fingerprint.rules,
            verdicts={rules: found for rules, found in verdicts[key].items() if rules != "verified" or reviewed},
        )
        for key, tally in tallies.items()
        if key in rows
    ]


def with_distinct_names(found: list[Contestant]) -> list[Contestant]:
    """Models in several runs get the run's name after theirs."""
    counts = Counter(each.info.name for each in found)
    told = []
    for each in found:
        if counts[each.info.name] > 1:
            info = replace(each.info, name=f"{each.info.name} ({each.run.name})")
            each = replace(each, info=info, row=replace(each.row, info=info))
        told.append(each)
    return told
