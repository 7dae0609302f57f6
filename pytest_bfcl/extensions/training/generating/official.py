"""No task is near the official set: every one is looked at with `pytest_bfcl.extensions.training`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding.ground_truth import ground_truth_calls, turn_ground_truth_calls
from pytest_bfcl.extensions.training.content import sayings_of, turns_of
from pytest_bfcl.failures import UsageError

if TYPE_CHECKING:
    from pytest_bfcl.extensions.training.contamination import Benchmark


@cache
def _benchmark() -> Benchmark:
    from pytest_bfcl.extensions.training.contamination import Benchmark
    from pytest_bfcl.session.evaluation import open_data

    return Benchmark(open_data("official"))


def why_unchecked() -> str | None:
    """Why tasks cannot be compared with the official set here; ``None`` where they can."""
    from pytest_bfcl.extras import require
    from pytest_bfcl.session.evaluation import open_data

    try:
        require("contamination", "looking for near-duplicates")
        open_data("official")
    except UsageError as error:
        return str(error).splitlines()[0]
    return None


def near_official(entry: Entry) -> str | None:
    """The official entry whose question or calls this one has, and how alike they are."""
    from pytest_bfcl.extensions.training.contamination_report import GRAVE
    from pytest_bfcl.extensions.training.training_rows import Row

    turns = turns_of(entry)
    calls = ground_truth_calls(entry) if entry.row.checker == "ast" else [
        call for turn in range(len(entry.question)) for call in turn_ground_truth_calls(entry, turn)
    ]  # fmt: skip
    row = Row(entry.id, [*sayings_of(entry), "\n".join(turns)], calls=list(calls))
    for found in _benchmark().findings_in(row):
        if found.kind in GRAVE:
            return f"{found.entry_id}: {found.kind} {found.how} {found.similarity:.2f}"
    return None
