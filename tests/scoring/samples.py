"""Result lines for the tests of this room: only the fields aggregation reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.runs.directory import RunDirectory
from tests.runs.samples import fingerprint

SPEC = "openai:tiny@fc"
OFFICIAL = {"dataset": {"name": "official"}, "models": [{"model": SPEC}]}
SCENARIOS = ("student", "customer", "finance", "healthcare", "notetaker")


def line(entry_id: str, category: str, outcome: str = "passed", **fields: Any) -> dict[str, Any]:
    tag = {"failed": "WRONG_ANSWER", "error": "ADAPTER_ERROR"}.get(outcome)
    reason = {"failed": "value_error:string", "error": "adapter:timeout"}.get(outcome)
    base = {"id": entry_id, "category": category, "model": SPEC, "mode": "fc", "repeat": 1, "outcome": outcome}
    return base | {"tag": tag, "reason": reason, "corrected_outcome": outcome} | fields


def entry_id(category: str, number: int) -> str:
    """An id in the official form; every third live entry shares its function document with the two before."""
    group = CATEGORIES[category].group
    if group == "live":
        return f"{category}_{number}-{number // 3}-{number % 3}"
    if group == "memory":
        return f"{category}_{number}-{SCENARIOS[number % 5]}-{number // 5}"
    return f"{category}_{number}"


def lines(counts: Mapping[str, tuple[int, int]], **fields: Any) -> Iterator[dict[str, Any]]:
    """Category → (passed, total)."""
    for category, (passed, total) in counts.items():
        for number in range(total):
            yield line(entry_id(category, number), category, "passed" if number < passed else "failed", **fields)


def all_categories(passed: int = 3, total: int = 4) -> dict[str, tuple[int, int]]:
    return {name: (passed, total) for name, row in CATEGORIES.items() if row.scored}


def saved(path: Path, records: Iterable[Any], **changes: Any) -> str:
    """A finished run directory of these lines; ``changes`` are those of its fingerprint."""
    with RunDirectory.create(path, fingerprint(**changes)) as run:
        for record in records:
            run.append(record)
        run.state("finished")
    return str(path)
