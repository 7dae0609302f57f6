"""What runs did with the entries of a data set, from run directories, result lines and official result folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.lab.auditing.run_rules import Attempt, Attempts
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.runs.lines import DamagedLine

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.damage import LeftOut


def read_attempts(path: Path, dataset: DataSet, left_out: LeftOut) -> Attempts:
    """Every judged try of a run; lines without a verdict are judged here.

    What cannot be read goes to ``left_out``. Raises `UsageError` when there is nothing to read.
    """
    from pytest_bfcl.runs.replay_lines import read_replay_lines

    if not path.exists():
        raise UsageError(f"--runs: {path} does not exist: name run directories, results.jsonl or official folders")
    by_id: dict[str, list[Attempt]] = {}
    for number, line in enumerate(read_replay_lines(path, left_out, None, "auto", dataset), 1):
        attempt = _attempt(line, dataset)
        if isinstance(attempt, str):
            left_out(DamagedLine(path, number, attempt))
        elif attempt is not None:
            by_id.setdefault(str(line.get("id")), []).append(attempt)
    return Attempts(str(path), by_id)


def _attempt(line: Fields, dataset: DataSet) -> Attempt | str | None:
    """One line as an attempt; ``None`` for errors and skipped entries, or why the line cannot be judged."""
    model = str(line.get("model") or "")
    made = line.get("calls") or line.get("output")
    outcome = line.get("official_outcome") or line.get("outcome")
    if outcome is not None:
        reason = line.get("official_reason") if "official_outcome" in line else line.get("reason")
        return Attempt(outcome == "passed", reason, made, model) if outcome in ("passed", "failed") else None
    (verdict,) = score_lines([line], dataset)
    if not isinstance(verdict.get("valid"), bool):
        return None if "skipped" in verdict else str(verdict.get("error"))
    return Attempt(verdict["valid"], verdict.get("reason"), made, model)
