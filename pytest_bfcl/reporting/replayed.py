"""What a recording does not tell and can be found again: the results of calls, the memory a question was asked with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.json_types import Fields

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

Results = list[list[list[str]]]
"""Turns → steps → result texts."""


def results_again(record: Fields, entry: Entry | None) -> Results | None:
    """The results of a multi-turn line that has calls and none (official result folders), as our simulators answer.

    ``None`` where results were recorded, nothing was called, or the line cannot be played.
    """
    row = CATEGORIES.get(str(record.get("category")))
    if entry is None or row is None or row.checker != "state" or _any_text(record.get("tool_results")):
        return None
    from pytest_bfcl.checkers.state import replay
    from pytest_bfcl.runs.replay_lines import transcript_from_line

    try:
        transcript = transcript_from_line(record)
        played = replay(entry, transcript)
    except (UsageError, BenchmarkError):
        return None
    found = [list(_by_step(transcript, n, turn.results)) for n, turn in enumerate(played.turns)]
    return found if _any_text(found) else None


def _by_step(transcript: Transcript, number: int, results: list[str]) -> Iterator[list[str]]:
    """The results of one turn, dealt out to the steps that made the calls."""
    from pytest_bfcl.checkers.entries import step_calls

    left = iter(results)
    for step in transcript.turns[number].steps:
        calls = step_calls(step, transcript) or ()
        yield [result for _, result in zip(calls, left, strict=False)]


def _any_text(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_any_text, value))
    return isinstance(value, str)


def stored_memory(run: Path | None, record: Fields, entry: Entry | None) -> str | None:
    """What the memory held when a failed question of the memory categories was asked, as JSON, if it was stored."""
    row = CATEGORIES.get(str(record.get("category")))
    if run is None or entry is None or row is None or not row.backend or not entry.scenario:
        return None
    if row.checker == "none" or record.get("outcome") != "failed":
        return None
    from pytest_bfcl.runs.snapshots import snapshots_of

    try:
        snapshots = snapshots_of(run, str(record.get("model") or ""), record.get("repeat") or 1)
        held = snapshots.load(row.backend, entry.scenario)
    except BenchmarkError:  # damaged: the page has everything else
        return None
    return None if held is None else json.dumps(held, indent=2, ensure_ascii=False)
