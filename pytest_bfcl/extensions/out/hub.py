"""Hugging Face's ``.eval_results/*.yaml``, for a model's repository: one file a model, one row a score.

Written as JSON, which every YAML reader takes: nothing has to be installed, and no text can be taken for syntax.
"""

from __future__ import annotations

import json
from pathlib import Path

from pytest_bfcl.extensions.out.finished import Finished, file_name
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.scoring.score_record import ScoreRecord

DATASET = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"


def export(finished: Finished, folder: Path) -> list[Path]:
    """One file a model. Scores on other data than the official set name that data, never the benchmark.

    A row has no place for how many entries it is of, so only whole scores stand against the official data set: raises
    `UsageError` for a model without one.
    """
    data = finished.dataset
    source = DATASET if finished.is_official else f"pytest-bfcl/{data['name']}"
    files = {model: [_row(finished, source, score) for score in _whole(finished, model)] for model in finished.models}
    written = []
    for model, rows in files.items():
        target = folder / ".eval_results" / f"{file_name(model)}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        written.append(target)
    return written


def _whole(finished: Finished, model: str) -> list[ScoreRecord]:
    scores = list(finished.scores(model))
    found = [score for score in scores if (score.is_whole and not score.why) or not finished.is_official]
    if scores and not found:
        raise UsageError(
            f"{finished.run.path}: no score of {model} is of a whole category ({scores[0].name}: {scores[0].note})\n"
            "rows on the Hub cannot show this: run whole categories, or take --format every-eval-ever"
        )
    return found


def _row(finished: Finished, source: str, score: ScoreRecord) -> Parsed:
    notes = (
        f"pytest-bfcl {finished.fingerprint['plugin_version']}, {finished.fingerprint['rules']} rules, {score.basis}"
    )
    if score.interval95 is not None:
        notes += f", 95 % interval {100 * score.interval95[0]:.2f} to {100 * score.interval95[1]:.2f}"
    data = finished.dataset
    return {
        "dataset": {"id": source, "task_id": score.name},
        "value": round(100 * score.value, 4),
        "date": finished.ended_at,
        "notes": f"{notes}; data {data['version']} ({data['sha256'][:8]})",
    }
