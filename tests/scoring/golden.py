"""The recorded leaderboard cases (golden/scoring/README.md) as model rows."""

from __future__ import annotations

import json
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.scoring.model_info import ModelInfo

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.official_csv import ModelRow

# Rows in the order of processing; where values tie (several N/A), that order is what the recorded files show.
CASES: dict[str, list[str]] = {
    "full": ["strong", "middle", "weak"],
    "partial": ["partial"],
    "combined": ["partial", "strong", "middle", "weak"],
    "rescored": ["middle", "partial", "strong", "weak"],
    "rebuilt": ["partial", "strong", "middle", "weak"],
    "result_layout": ["layout_text", "layout_native"],
}


def rows_of(records: Any, infos: Any = None, *, official: bool = True) -> list[Any]:
    """The rows of the leaderboard files of one run's lines."""
    from pytest_bfcl.extensions.boards.standings import Standings

    standings = Standings(official=official)
    standings.add(records)
    return standings.rows(infos)


class Golden:
    """Recorded runs, read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "scoring"
        self.models: dict[str, Any] = json.loads((self.folder / "models.json").read_text())["datasets"]
        self._lines: dict[str, list[dict[str, Any]]] = {}

    def records(self, name: str) -> list[dict[str, Any]]:
        """Result lines of a recorded run."""
        if name not in self._lines:
            self._lines[name] = [_record(line, name) for line in read_replay_lines(self.folder / f"{name}.jsonl.gz")]
        return self._lines[name]

    def row(self, name: str, evaluated: Container[str] | None = None) -> ModelRow:
        """A model's row; cost and latency cover the categories ``evaluated`` (default: all)."""
        from pytest_bfcl.extensions.boards.official_csv import ModelRow

        (row,) = rows_of(self.records(name), {name: self.info(name)})
        if evaluated is None:
            return row
        kept = [record for record in self.records(name) if record["category"] in evaluated]
        usage = rows_of(kept)[0].usage if kept else None
        return ModelRow(row.info, row.scores, row.formats, usage)

    def info(self, name: str) -> ModelInfo:
        """What models.json says about a model."""
        model = self.models[name]
        return ModelInfo(
            model["display_name"],
            model["url"],
            model["organisation"],
            model["licence"],
            model["input_usd_per_million_tokens"],
            model["output_usd_per_million_tokens"],
        )

    def case(self, case: str) -> list[ModelRow]:
        """The rows of a recorded case."""
        if case == "rescored":
            again = ("simple_python", "multi_turn_base")
            return [self.row(name, again if name == "middle" else ()) for name in CASES[case]]
        return [self.row(name, () if case == "rebuilt" else None) for name in CASES[case]]


def _record(line: dict[str, Any], model: str) -> dict[str, Any]:
    return line | {"model": model, "mode": "fc", "outcome": "passed" if line["valid"] else "failed"}
