"""Rows of the leaderboard files from result lines and official score folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.boards.official_csv import ModelRow
from pytest_bfcl.extensions.boards.official_files import official_valid
from pytest_bfcl.extensions.boards.ranking import Verdicts
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.result_line import ReplayLine, ResultLine
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import CategoryScore
from pytest_bfcl.scoring.measurements import Judged, Key, ScoreFile
from pytest_bfcl.scoring.model_info import ModelInfo, Usage, cost_usd, find_info, parse_model_info
from pytest_bfcl.scoring.statistics import Share, Tally
from pytest_bfcl.scoring.summary import plain_records
from pytest_bfcl.scoring.tally import FormatScores, ModelTally, configuration_of

Infos = Mapping[str, ModelInfo]
_NEEDED = frozenset(aggregate.categories_in(aggregate.OVERALL))


@dataclass(slots=True)
class _Category:
    """One category of one model: a score, and the usage where it was evaluated here."""

    passed: int = 0
    total: int = 0
    errors: int = 0
    skipped: int = 0
    state: str = "finished"
    """The state of its run."""
    usage: Usage = field(default_factory=Usage)
    formats: FormatScores = field(default_factory=FormatScores)
    file: ScoreFile | None = None
    trained_on: set[str] = field(default_factory=set)

    @property
    def was_run(self) -> bool:
        """Whether there is more than skipped entries."""
        return self.file is not None or self.total + self.errors > 0

    @property
    def score(self) -> CategoryScore | None:
        if self.file is not None:
            return CategoryScore(self.file.accuracy, self.file.total)
        return CategoryScore(self.passed / self.total, self.total) if self.total else None


class Standings:
    """Collects models from several runs.

    A category of a later run replaces the earlier one; official score files only add categories that no run has,
    without cost and latency (scoring spec §7). ``official`` counts errors like the reference (wrong, but right where no
    call was expected), with the official verdicts and the first repeat; otherwise errors are left out and the run's
    headline verdicts count. Write stages, skipped entries and retired categories never count. No score is claimed
    (``ModelRow.unclaimed``) for a run that stopped early, skipped entries or had too many errors. ``replaced``: model
    and category that two runs, or two folders of scores, have.
    """

    def __init__(self, *, official: bool = False) -> None:
        self.official = official
        self.replaced: list[tuple[str, str]] = []
        self._models: dict[str, dict[str, _Category]] = {}

    def add(self, records: Iterable[ResultLine | ReplayLine], *, state: str = "finished") -> None:
        """The records of one run; ``state`` is its own, if it has one."""
        found: dict[str, dict[str, _Category]] = {}
        for record in records:
            category = str(record.get("category"))
            row, outcome = CATEGORIES.get(category), record.get("outcome")
            if row is None or row.group in ("memory_prereq", "retired", "own") or outcome not in _OUTCOMES:
                continue
            if self.official and (record.get("repeat") or 1) != 1:
                continue
            model = found.setdefault(str(record.get("model") or "model"), {})
            self._count(model.setdefault(category, _Category(state=state)), record, category, str(outcome))
        for name, categories in found.items():
            known = self._models.setdefault(name, {})
            run = {category: each for category, each in categories.items() if each.was_run or category not in known}
            self.replaced += [(name, category) for category in run if category in known]
            known.update(run)

    def _count(self, count: _Category, record: ResultLine | ReplayLine, category: str, outcome: str) -> None:
        if outcome == "skipped":
            count.skipped += 1
            return
        count.errors += outcome == "error"
        if outcome != "error":
            count.usage.add(record)
        elif not self.official:
            return
        if record.get("trained_on"):
            count.trained_on.add(str(record["id"]))
        passed = official_valid(record) if self.official else outcome == "passed"
        count.passed += passed
        count.total += 1
        if category == "format_sensitivity":
            count.formats.add(configuration_of(str(record["id"])) or "?", passed)

    def add_scores(self, scores: Mapping[str, Mapping[str, ScoreFile]]) -> None:
        """An official ``score/`` folder."""
        for name, files in scores.items():
            known = self._models.setdefault(name, {})
            for category, file in files.items():
                if known.setdefault(category, _Category(file=file)).file not in (None, file):
                    self.replaced.append((name, category))

    def keyed_rows(self, infos: Infos | None = None) -> dict[str, ModelRow]:
        """Model → its row, in order of first appearance."""
        known = infos or {}
        return {name: _row(find_info(known, name) or ModelInfo(name), found) for name, found in self._models.items()}

    def rows(self, infos: Infos | None = None) -> list[ModelRow]:
        """One row per model."""
        return list(self.keyed_rows(infos).values())


_OUTCOMES = ("passed", "failed", "error", "skipped")
MAX_ERRORS_PCT = 2.0
"""Like ``--bfcl-max-errors``: above it no score is claimed."""


def _row(info: ModelInfo, categories: Mapping[str, _Category]) -> ModelRow:
    scores = {name: score for name, found in categories.items() if (score := found.score) is not None}
    usage = Usage()
    for found in categories.values():
        usage.extend(found.usage)
    measured = any(found.file is None for found in categories.values())
    formats = _formats(categories.get("format_sensitivity"))
    trained_on = sum(len(found.trained_on) for found in categories.values())
    return ModelRow(
        info, scores, formats, usage if measured else None, trained_on, unclaimed=_why_unclaimed(categories)
    )


def _why_unclaimed(categories: Mapping[str, _Category]) -> str:
    """Why no score is claimed; else empty."""
    if any(found.state != "finished" for found in categories.values()):
        return "the run did not come to its end"
    errors = sum(found.errors for found in categories.values())
    judged = sum(found.total for found in categories.values() if found.file is None)
    if errors * 100 > MAX_ERRORS_PCT * (judged + errors):
        return f"more than {MAX_ERRORS_PCT:g} % of its entries ended in an error"
    skipped = [name for name, found in categories.items() if found.skipped and name in _NEEDED]
    return f"entries were skipped in {', '.join(skipped)}" if skipped else ""


def _formats(found: _Category | None) -> FormatScores | None:
    if found is None:
        return None
    if found.file is not None:
        told = {name: value for name, value in found.file.header.items() if isinstance(value, dict)}
        return FormatScores(
            {name: Share(int(each["correct_count"]), int(each["total_count"])) for name, each in told.items()}
        )
    return found.formats if found.formats.counts else None


def own_infos(run: RunDirectory) -> dict[str, ModelInfo]:
    """A run's own information about its models."""
    summary = run.summary()
    told = summary.get("model_info") if summary else None
    return parse_model_info({"models": told}, str(run.path)) if told else {}


@dataclass(frozen=True, slots=True)
class Contestant:
    """One model of one run: its counts, its row of the leaderboard files, its verdicts by the run's headline rules."""

    tally: ModelTally
    row: ModelRow
    run: RunDirectory
    verdicts: Verdicts
    machine_cost: float | None = None

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""
        return self.row.info

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
    tallies: dict[str, ModelTally] = {}
    verdicts: dict[str, dict[Key, Judged]] = {}
    rules = run.fingerprint.rules

    def records() -> Iterator[ResultLine]:
        """The lines, counted and judged on the way to the standings."""
        for record in plain_records(run):
            if only is None or record["id"] in only:
                key = str(record.get("model") or "model")
                if key not in tallies:
                    tallies[key], verdicts[key] = ModelTally(key, str(record.get("mode") or "")), {}
                tallies[key].add(record)
                verdicts[key][str(record["id"]), int(record.get("repeat") or 1)] = Judged.of(record, rules)
                yield record

    standings = Standings(official=official)
    standings.add(records(), state=run.fingerprint.state)
    summary = run.summary()
    machine = summary.get("machine_cost_usd") if summary and len(tallies) == 1 else None
    rows = standings.keyed_rows({**own_infos(run), **infos})
    return [Contestant(tally, rows[key], run, verdicts[key], machine) for key, tally in tallies.items() if key in rows]


def with_distinct_names(found: list[Contestant]) -> list[Contestant]:
    """Models in several runs get the run's name after theirs."""
    counts = Counter(each.info.name for each in found)
    return [
        each if counts[each.info.name] == 1 else replace(each, row=replace(
            each.row, info=replace(each.info, name=f"{each.info.name} ({each.run.path.name})")))
        for each in found
    ]  # fmt: skip
