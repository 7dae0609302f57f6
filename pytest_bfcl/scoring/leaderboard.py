"""Rows of the leaderboard files from result lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.runs.format_scores import FormatScores, configuration_of
from pytest_bfcl.runs.official_scores import ScoreFile, official_valid
from pytest_bfcl.scoring.aggregate import CategoryScore
from pytest_bfcl.scoring.cost import Usage
from pytest_bfcl.scoring.model_info import ModelInfo
from pytest_bfcl.scoring.official_csv import ModelRow


class _Count:
    """One model's passed and counted entries per category."""

    def __init__(self) -> None:
        self.categories: dict[str, list[int]] = {}
        self.formats = FormatScores()
        self.usage = Usage()

    def add(self, record: Mapping[str, Any], category: str, passed: bool) -> None:
        count = self.categories.setdefault(category, [0, 0])
        count[0] += passed
        count[1] += 1
        if category == "format_sensitivity":
            self.formats.add(configuration_of(str(record["id"])) or "?", passed)

    def row(self, info: ModelInfo) -> ModelRow:
        scores = {name: CategoryScore(passed / total, total) for name, (passed, total) in self.categories.items()}
        return ModelRow(info, scores, self.formats if self.formats.counts else None, self.usage)


def model_rows(
    records: Iterable[Mapping[str, Any]], infos: Mapping[str, ModelInfo] | None = None, *, official: bool = False
) -> list[ModelRow]:
    """One row per model, in order of first appearance.

    ``official`` counts errors the way the reference does (wrong, but right where no call was due) and takes the
    official verdicts; otherwise errors are left out and the run's headline verdicts count. Write stages, skipped
    entries and retired categories never count.
    """
    counts: dict[str, _Count] = {}
    for record in records:
        category = str(record.get("category"))
        row, outcome = CATEGORIES.get(category), record.get("outcome")
        if row is None or row.group in ("memory_prereq", "retired") or outcome not in ("passed", "failed", "error"):
            continue
        count = counts.setdefault(str(record.get("model") or "model"), _Count())
        if official:
            count.add(record, category, official_valid(record))
        elif outcome != "error":
            count.add(record, category, outcome == "passed")
        if outcome != "error":
            count.usage.add(record)
    infos = infos or {}
    return [count.row(infos.get(model) or ModelInfo(model)) for model, count in counts.items()]


def rows_of_scores(
    scores: Mapping[str, Mapping[str, ScoreFile]], infos: Mapping[str, ModelInfo] | None = None
) -> list[ModelRow]:
    """Rows from an official ``score/`` folder: no cost, no latency (scoring spec §7)."""
    rows = []
    for model, files in scores.items():
        found = {name: CategoryScore(file.accuracy, file.total) for name, file in files.items()}
        formats = (
            FormatScores.from_header(files["format_sensitivity"].header) if "format_sensitivity" in files else None
        )
        rows.append(ModelRow((infos or {}).get(model) or ModelInfo(model), found, formats))
    return rows
