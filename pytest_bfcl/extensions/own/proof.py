"""The proofs of an entry: a model that knows the ground truth must pass it, in both modes; no adversary must."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.index import DataProblem
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.session.evaluation import arun
from pytest_bfcl.session.outside import search_behind
from pytest_bfcl.session.proof import is_at_risk, is_spared, spared_text, unearned_by, unearned_text

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import EntryRef
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.settings import Settings

MODES = ("fc", "prompt")


def unprovable(dataset: DataSet, refs: Iterable[EntryRef], settings: Settings) -> list[DataProblem]:
    """The entries whose own ground truth does not pass, with what it fails by, and those that an adversary passes.

    Nothing is asked or kept. Entries that cannot run here (no weights, no search provider, no MCP server) are not told;
    those without an answer that shows the way are tried by adversaries only. ``settings``: where MCP servers are.
    """
    by_id = {ref.id: ref for ref in refs if _can_run(dataset, ref, settings)}
    problems: dict[str, DataProblem] = {}
    showing = [ref for ref in by_id.values() if _shows_the_way(dataset, ref)]
    for mode in MODES:
        for line in _lines(dataset, showing, f"oracle:@{mode}", settings):
            ref = by_id.get(line["id"])
            if ref is not None and ref.id not in problems and line["outcome"] in ("failed", "error"):
                problems[ref.id] = DataProblem(ref.path, ref.line, _failure_line(line, mode), ref.id)
    for ref in by_id.values():
        if why := asyncio.run(_weakness(dataset, ref, settings)):
            problems[ref.id] = DataProblem(ref.path, ref.line, f"expect: {why}", ref.id)
    spared: dict[str, DataProblem] = {}
    for ref in by_id.values():
        entry = dataset.load(ref)
        if entry.mcp is not None and is_spared(entry, settings):
            told = DataProblem(ref.path, ref.line, spared_text(entry.mcp), ref.id, "warning")
            spared.setdefault(entry.mcp, told)
    return [*(problems[name] for name in by_id if name in problems), *spared.values()]


async def _weakness(dataset: DataSet, ref: EntryRef, settings: Settings) -> str | None:
    """What an adversary shows to be wrong with an entry; ``None`` where none passes it."""
    entry = dataset.load(ref)
    if not is_at_risk(entry):
        return None
    try:
        names = await unearned_by(entry, dataset.texts, settings, search_behind(dataset, entry, settings))
    except BenchmarkError as error:
        return f"it cannot be judged where nothing right was done: {str(error)[:300]}"
    return f"the entry {unearned_text(names)}" if names else None


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
