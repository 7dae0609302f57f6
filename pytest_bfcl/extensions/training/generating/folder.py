"""The folder of a set: a file a category, the order from easy to hard, and what was made, proved and refused."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_bfcl.extensions.training.generating.making import Place
from pytest_bfcl.extensions.training.generating.task import Task
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed

RECORD = "requests.recorded.jsonl"
"""What a model said, kept over sets: it may lie in the folder before."""
CURRICULUM = "curriculum.txt"
MANIFEST = "generation.json"


def check_place(folder: Path) -> None:
    """Raise `UsageError` unless a set may be written there: nothing is overwritten."""
    if folder.exists() and (not folder.is_dir() or any(each.name != RECORD for each in folder.iterdir())):
        raise UsageError(f"{folder} is there already: name a new folder with -o, or delete it")


def write(folder: Path, tasks: Sequence[Task], told: Parsed) -> None:
    """Write the set. ``told``: what goes into the manifest beside the counts of what is written."""
    folder.mkdir(parents=True, exist_ok=True)
    ordered = sorted(tasks, key=lambda task: (task.difficulty, task.number))
    written: dict[str, str] = {}
    for category in sorted({task.category for task in ordered}):
        text = "".join(f"{task.line}\n" for task in ordered if task.category == category)
        written[f"{category}.jsonl"] = hashlib.sha256(text.encode()).hexdigest()
        (folder / f"{category}.jsonl").write_text(text, encoding="utf-8")
    (folder / CURRICULUM).write_text("".join(f"{task.entry_id}\n" for task in ordered), encoding="utf-8")
    manifest = {**told, "tasks": len(ordered), "files": written}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def counts(places: Iterable[Place]) -> dict[str, Parsed]:
    """Kind → tasks proved, attempts, why the others were refused, and means of what a task holds."""
    kinds: dict[str, list[Place]] = {}
    for place in places:
        kinds.setdefault(place.task.kind, []).append(place)
    return {kind: _of_kind(kind, found) for kind, found in sorted(kinds.items())}


def _of_kind(kind: str, places: Sequence[Place]) -> Parsed:
    refused: Counter[str] = Counter()
    for place in places:
        refused.update({reason: count for (_, reason), count in place.refused.items()})
    facts = [json.loads(place.task.line)["generated"] for place in places]
    means = {
        name: round(sum(each[name] for each in facts) / len(facts), 2)
        for name in ("turns", "calls", "dependencies", "depth", "tools", "difficulty")
    }
    return {
        "proved": len(places), "attempts": len(places) + refused.total(), "refused": dict(sorted(refused.items())),
        "means": means,
    }  # fmt: skip


def table(found: dict[str, Parsed]) -> list[str]:
    """The counts for people."""
    head = f"{'kind':<14}{'proved':>8}{'attempts':>10}{'turns':>7}{'calls':>7}{'deps':>7}{'depth':>7}  refused for"
    lines = [head]
    for kind, each in found.items():
        means = each["means"]
        refused = ", ".join(f"{reason} {count}" for reason, count in each["refused"].items())
        numbers = "".join(f"{means[name]:>7.1f}" for name in ("turns", "calls", "dependencies", "depth"))
        lines.append(f"{kind:<14}{each['proved']:>8}{each['attempts']:>10}{numbers}  {refused or 'nothing'}")
    return lines
