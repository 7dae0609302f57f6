"""What a model can reach at most, computed from texts and answers alone, without the checkers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.loading import DataSet


def stands_in(text: str, answers: Iterable[str]) -> bool:
    """The answer match of the agentic spec §6, as the specification words it."""
    return any(re.search(rf"\b{re.escape(plain(answer))}\b", plain(text)) for answer in answers)


def plain(text: str) -> str:
    return re.sub(r"[,./\-_*^()]", "", text).lower().replace("'", '"')


def texts_in(value: Any) -> list[str]:
    """Every text inside a snapshot, keys left out."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts_in(part)]


def reachable(data: DataSet, category: str, run: Path) -> set[str]:
    """Ids of the questions whose answer stands in what the run's write stages stored."""
    found: set[str] = set()
    (folder,) = (run / "snapshots").iterdir()
    for ref in data.index(category):
        entry = data.load(ref)
        stored = json.loads((folder / entry.row.backend / f"{entry.scenario}_final.json").read_text())
        if stands_in("\n".join(texts_in(stored)), entry.possible_answer or ()):
            found.add(entry.id)
    return found


def empty_snapshots(run: Path) -> int:
    """Empty every stored memory; how many there were."""
    empties: dict[str, Any] = {
        "kv": {"core_memory": {}, "archival_memory": {}},
        "vector": {part: {"next_id": 0, "store": {}} for part in ("core_memory", "archival_memory")},
        "rec_sum": {"memory": ""},
    }
    files = list((run / "snapshots").rglob("*.json"))
    for path in files:
        backend = next(name for name in empties if name in path.parts)
        path.write_text(json.dumps(empties[backend]))
    return len(files)


def forget_questions(run: Path) -> None:
    """Take the judged questions out of a run, so that continuing asks them again; write stages stay done."""
    lines = (run / "results.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if "_prereq" in json.loads(line)["category"]]
    (run / "results.jsonl").write_text("".join(kept))
