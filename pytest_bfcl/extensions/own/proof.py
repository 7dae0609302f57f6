"""The proofs of an entry: a model that knows the ground truth must pass it, in both modes; doing nothing must not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.index import DataProblem
from pytest_bfcl.session.evaluation import arun
from pytest_bfcl.session.proof import TIMES, UNEARNED, is_at_risk

if TYPE_CHECKING:
    from pytest_bfcl.dataset import DataSet, EntryRef
    from pytest_bfcl.runs import ResultLine
    from pytest_bfcl.settings import Settings

MODES = ("fc", "prompt")


def unprovable(dataset: DataSet, refs: Iterable[EntryRef], settings: Settings) -> list[DataProblem]:
    """The entries whose own ground truth does not pass, with what it fails by, and those that doing nothing passes.

    Nothing is asked or kept. Entries that cannot run here (no weights, no search provider, no MCP server) are not told;
    those without an answer that shows the way are tried by doing nothing only. ``settings``: where MCP servers are.
    """
    by_id = {ref.id: ref for ref in refs if _can_run(dataset, ref, settings)}
    problems: dict[str, DataProblem] = {}
    showing = [ref for ref in by_id.values() if _shows_the_way(dataset, ref)]
    for mode in MODES:
        for line in _lines(dataset, showing, f"oracle:@{mode}", settings):
            ref = by_id.get(line["id"])
            if ref is not None and ref.id not in problems and line["outcome"] in ("failed", "error"):
                problems[ref.id] = DataProblem(ref.path, ref.line, _failure_line(line, mode), ref.id)
    at_risk = [ref for ref in by_id.values() if is_at_risk(dataset.load(ref))]
    for line in _lines(dataset, at_risk, "idle:@fc", replace(settings, repeat=TIMES)):
        ref = by_id[line["id"]]
        if line["outcome"] == "passed":  # whatever the oracle met: often that the state was no longer fresh
            problems[ref.id] = DataProblem(ref.path, ref.line, f"expect: the entry {UNEARNED}", ref.id)
        elif line["outcome"] == "error":
            told = f"expect: it cannot be judged where nothing was done: {str(line['detail'].get('error'))[:300]}"
            problems.setdefault(ref.id, DataProblem(ref.path, ref.line, told, ref.id))
    return [problems[name] for name in by_id if name in problems]


def _can_run(dataset: DataSet, ref: EntryRef, settings: Settings) -> bool:
    return ref.category != "mcp" or dataset.load(ref).mcp in settings.mcp


def _shows_the_way(dataset: DataSet, ref: EntryRef) -> bool:
    return CATEGORIES[ref.category].checker != "served" or dataset.load(ref).possible_answer is not None


def _lines(dataset: DataSet, refs: list[EntryRef], model: str, settings: Settings) -> Sequence[ResultLine]:
    if not refs:
        return []
    return asyncio.run(arun([dataset.load(ref) for ref in refs], model, settings=settings)).records


def _failure_line(line: ResultLine, mode: str) -> str:
    detail = line["detail"]
    shown = detail.get("error") or detail.get("rule") or ""
    about = ", ".join(f"{key} {detail[key]!r}"[:120] for key in ("param", "expected", "called") if key in detail)
    asked = "native calls" if mode == "fc" else "prompting"
    text = f"possible_answer: the ground truth itself does not pass ({asked}): {line['reason']}"
    return "; ".join(part for part in (text, str(shown)[:200], about) if part)
