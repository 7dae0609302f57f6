"""What two runs have in common: their lines by key, times and processes aside."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.results import record_key

TIMES = ("started_at", "duration_s", "latency_s", "first_token_s", "worker")


def timeless(records: Any) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Key → the last line with it, without times."""
    return {
        (line["id"], line["model"], line["repeat"]): {k: v for k, v in line.items() if k not in TIMES}
        for line in records
    }


def stored(run: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The same of a run directory."""
    return timeless(map(json.loads, (run / "results.jsonl").read_text(encoding="utf-8").splitlines()))


def journaled(run: Path) -> Counter[tuple[Any, ...]]:
    """How often each request's reply stands in the journal."""
    found: Counter[tuple[Any, ...]] = Counter()
    for path in (run / "journal").glob("*.jsonl"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            found[line["id"], line["repeat"], line["turn"], line["step"], line["model"]] += 1
    return found


def conversations(run: Path) -> dict[Any, Any]:
    """Key → the messages and functions that the run has."""
    opened = RunDirectory.open(run)
    return {
        record_key(line): opened.transcripts.load(record_key(line), line["started_at"]) for line in opened.records()
    }


def scores(run: Path) -> dict[str, Any]:
    """The models' part of summary.json without latencies."""
    models = json.loads((run / "summary.json").read_text(encoding="utf-8"))["models"]
    return {name: {key: value for key, value in model.items() if key != "latency"} for name, model in models.items()}
