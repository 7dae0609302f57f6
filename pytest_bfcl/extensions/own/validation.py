"""Checks a whole data set before any paid request: its shapes, and the proofs of its entries.

A model that knows the ground truth must pass an entry in both modes, and no adversary may.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.index import DataProblem
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.session.outside import search_behind
from pytest_bfcl.session.proof import (
    is_at_risk,
    is_spared,
    shows_the_way,
    spared_text,
    weakness_of,
    wrong_truth_text,
)

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import EntryRef
    from pytest_bfcl.settings import Settings


MODES = {"fc": "native calls", "prompt": "prompting"}


def unprovable(dataset: DataSet, refs: Iterable[EntryRef], settings: Settings) -> list[DataProblem]:
    """The entries whose own ground truth fails, with the reason, and those that an adversary passes.

    Nothing is sent or stored. Entries that cannot run here (no weights, no search provider, no MCP server) are not
    reported; entries without expected calls are tried by adversaries only. ``settings`` has the MCP servers."""
    by_id = {ref.id: ref for ref in refs if (ref.category != "mcp" or dataset.load(ref).mcp in settings.mcp)}
    problems: dict[str, DataProblem] = {}
    showing = [ref for ref in by_id.values() if shows_the_way(dataset.load(ref))]
    for mode, how in MODES.items():
        entries = list(map(dataset.load, showing))
        for line in run(entries, f"oracle:@{mode}", settings=settings).records if entries else ():
            ref = by_id.get(line["id"])
            if ref is not None and ref.id not in problems and line["outcome"] in ("failed", "error"):
                truth = wrong_truth_text(str(line["reason"]), line["detail"], how)
                problems[ref.id] = DataProblem(ref.path, ref.line, truth, ref.id)
    for ref in by_id.values():
        if ref.id not in problems and (why := asyncio.run(_weakness(dataset, ref, settings))):
            problems[ref.id] = DataProblem(ref.path, ref.line, why, ref.id)
    spared: dict[str, DataProblem] = {}
    for ref in by_id.values():
        entry = dataset.load(ref)
        if entry.mcp is not None and is_spared(entry, settings):
            told = DataProblem(ref.path, ref.line, spared_text(entry.mcp), ref.id, "warning")
            spared.setdefault(entry.mcp, told)
    return [*(problems[name] for name in by_id if name in problems), *spared.values()]


async def _weakness(dataset: DataSet, ref: EntryRef, settings: Settings) -> str | None:
    """The problem of an entry that an adversary passes; ``None`` if none does."""
    entry = dataset.load(ref)
    if not is_at_risk(entry):
        return None
    try:
        return await weakness_of(entry, dataset.texts, settings, search_behind(dataset, entry, settings))
    except BenchmarkError as error:
        return f"expect: it cannot be judged where nothing right was done: {str(error)[:300]}"


def validate(dataset: DataSet, categories: list[str] | None = None) -> list[DataProblem]:
    """Every problem of a set (or of some categories), in file order; empty means all entries are usable.

    ``categories`` defaults to `validated_categories`.
    """
    names = categories or validated_categories(dataset)
    names = [*names, *(f"{name}_prereq" for name in names if CATEGORIES[name].group == "memory")]
    problems: list[DataProblem] = []
    for name in names:
        problems += dataset.problems(name)
        if name != "format_sensitivity":  # its entries are those of other categories
            for ref in dataset.index(name):
                problems += dataset.entry_problems(ref)
    if not categories and not problems and not any(dataset.index(name) for name in names):
        problems.append(DataProblem(dataset.root, 0, "no entries found"))
    return problems


def validated_categories(dataset: DataSet) -> list[str]:
    """All of a set's categories; of the official set without the retired ones, whose known defects stay."""
    return [name for name in dataset.categories() if not (dataset.official and CATEGORIES[name].group == "retired")]
