"""lm-evaluation-harness results: ``results_<time>.json`` in a folder of the model's name, groups and tasks apart."""

from __future__ import annotations

import json
import math
from pathlib import Path

from pytest_bfcl.extensions.out.finished import Finished, file_name
from pytest_bfcl.json_types import Parsed


def export(finished: Finished, folder: Path) -> list[Path]:
    """One file a model; a task is a category, a group a group."""
    written = []
    for model in finished.models:
        target = folder / file_name(model) / f"results_{finished.ended_at.replace(':', '-')}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(results(finished, model), indent=1) + "\n", encoding="utf-8")
        written.append(target)
    return written


def results(finished: Finished, model: str) -> Parsed:
    """What the harness writes of a run, as far as it has a meaning here."""
    prefix = "bfcl" if finished.is_official else file_name(f"bfcl_{finished.dataset['name']}")
    categories = finished.models[model]["categories"]
    tasks, groups, counts, notes = {}, {}, {}, {}
    scores = list(finished.scores(model))
    for score in scores:
        name = f"{prefix}_{score.name}"
        figures: Parsed = {"alias": score.name, "acc,none": score.value, "acc_stderr,none": _error(score.interval95)}
        if score.name in categories:
            tasks[name] = figures
        else:
            groups[name] = figures
        counts[name] = {"original": score.full or score.planned, "effective": score.judged}
        notes[name] = score.note
    version = finished.dataset["version"]
    return {
        "results": {**tasks, **groups},
        "groups": groups,
        "group_subtasks": {},
        "configs": {name: {"task": name, "metadata": {"version": version, "note": notes[name]}} for name in tasks},
        "versions": dict.fromkeys((*tasks, *groups), version),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {"acc": True} for name in (*tasks, *groups)},
        "n-samples": counts,
        "config": {
            "model": "pytest-bfcl",
            "model_args": model,
            "gen_kwargs": finished.parameters(model),
            "scores": [score.to_dict() for score in scores],
        },
        "model_name": model,
        "model_source": "pytest-bfcl",
        "date": finished.ended_at,
        "task_hashes": dict.fromkeys(tasks, finished.dataset["sha256"]),
    }


def _error(interval95: tuple[float, float] | None) -> float | str:
    """The standard error behind an interval; ``N/A``, as the harness says, without one."""
    if interval95 is None or any(map(math.isnan, interval95)):
        return "N/A"
    return (interval95[1] - interval95[0]) / (2 * 1.959964)
