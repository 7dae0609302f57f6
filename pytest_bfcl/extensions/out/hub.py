"""Hugging Face's ``.eval_results/*.yaml``, for a model's repository: one file a model, one row a score.

Written as JSON, which every YAML reader takes: nothing has to be installed, and no text can be taken for syntax.
"""

from __future__ import annotations

import json
from pathlib import Path

from pytest_bfcl.extensions.out.finished import Finished, file_name

DATASET = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"


def export(finished: Finished, folder: Path) -> list[Path]:
    """One file a model. Scores on other data than the official set name that data, never the benchmark."""
    written = []
    data = finished.dataset
    source = DATASET if finished.is_official else f"pytest-bfcl/{data['name']}"
    for model in finished.models:
        rows = []
        for score in finished.scores(model):
            notes = f"pytest-bfcl {finished.fingerprint['plugin_version']}, {finished.fingerprint['rules']} rules"
            if score.interval95 is not None:
                notes += f", 95 % interval {100 * score.interval95[0]:.2f} to {100 * score.interval95[1]:.2f}"
            rows.append(
                {
                    "dataset": {"id": source, "task_id": score.name},
                    "value": round(100 * score.value, 4),
                    "date": finished.ended_at,
                    "notes": f"{notes}; data {data['version']} ({data['sha256'][:8]})",
                }
            )
        target = folder / ".eval_results" / f"{file_name(model)}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        written.append(target)
    return written
