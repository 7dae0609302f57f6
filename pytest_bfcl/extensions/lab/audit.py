"""The audit of a data set: every rule on every entry, on the set, and on the results of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from pytest_bfcl.conversation.services import skip_reason
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.lab.answer_rules import answer_defects
from pytest_bfcl.extensions.lab.request_rules import OWN_ONLY, entry_defects, request_defects
from pytest_bfcl.extensions.lab.rules import Defect
from pytest_bfcl.extensions.lab.run_rules import Attempts, run_defects
from pytest_bfcl.extensions.lab.schema_rules import schema_defects
from pytest_bfcl.extensions.lab.set_rules import (
    agentic_defects,
    duplicate_defects,
    sibling_defects,
    trajectory_defects,
)
from pytest_bfcl.extensions.own.validation import validated_categories
from pytest_bfcl.failures import AdapterError, HarnessError, UsageError
from pytest_bfcl.session.outside import search_behind
from pytest_bfcl.session.proof import REMEDY, is_at_risk, weakness_of

if TYPE_CHECKING:
    from pytest_bfcl.settings import Settings

_CAUSES = {
    "twin_tools": frozenset({"function_twice"}),
    "required_unanswered": frozenset({"required_undocumented"}),
    "too_early": frozenset({"late_functions"}),
}
"""Rule → rules that cause it; only the cause is reported."""


def audit(
    dataset: DataSet,
    categories: Sequence[str] | None = None,
    runs: Sequence[Attempts] = (),
    *,
    words: bool | None = None,
    settings: Settings | None = None,
) -> list[Defect]:
    """Every defect found, in the order of entries.

    ``runs`` are models' results on the data. ``words`` adds the rules that compare words of requests, descriptions and
    values (default: for all but the official data, where they give too many findings). ``settings`` adds the
    adversaries' plays of entries that are not official; it has the MCP servers.
    """
    names = [name for name in categories or validated_categories(dataset) if name != "format_sensitivity"]
    use_words = not dataset.official if words is None else words
    entries: dict[str, Entry] = {}
    found: list[Defect] = []
    for name in names:
        for problem in dataset.problems(name):
            found.append(Defect("malformed", problem.entry_id or problem.path.name, problem.message))
        for ref in dataset.index(name):
            try:
                entry = dataset.load(ref)
            except (HarnessError, UsageError) as error:
                if dataset.own:  # its checks say more than its first error
                    found += _unusable(dataset, ref.id, str(error))
                else:
                    found.append(Defect("malformed", ref.id, str(error)))
                continue
            entries[ref.id] = entry
    for entry in entries.values():
        try:
            found += single_entry_defects(entry, words=use_words)
        except RecursionError:
            found.append(Defect("malformed", entry.id, "values are nested too deeply to be looked at"))
    found += sibling_defects(entries)
    found += duplicate_defects(entries)
    found += agentic_defects(dataset, entries.values())
    found += run_defects(runs, set(entries))
    if settings is not None:
        found += unearned_defects(entries.values(), dataset, settings)
    order = {entry_id: number for number, entry_id in enumerate(entries)}
    return sorted(found, key=lambda defect: order.get(defect.id, -1))


def single_entry_defects(entry: Entry, *, words: bool) -> Iterator[Defect]:
    """Defects of one entry alone, without those that follow from another."""
    reviewed = entry_defects(entry, words=words)
    by_request = chain(request_defects(entry), answer_defects(entry))
    found = list(chain(reviewed, schema_defects(entry), by_request, trajectory_defects(entry)))
    places = {defect.field for defect in found if defect.rule_name not in OWN_ONLY}
    rules = {defect.rule_name for defect in found}
    for defect in found:
        echo = defect.rule_name == "unmentioned" and defect.field in places
        if not echo and not (_CAUSES.get(defect.rule_name, frozenset()) & rules):
            yield defect


def _unusable(dataset: DataSet, entry_id: str, why: str) -> Iterator[Defect]:
    """An own entry that cannot be loaded: the errors of its checks."""
    ref = dataset.find(entry_id)
    try:
        if ref is not None:
            yield from single_entry_defects(dataset.unchecked(ref), words=True)
    except (HarnessError, UsageError):
        yield Defect("malformed", entry_id, why)


def unearned_defects(entries: Iterable[Entry], dataset: DataSet, settings: Settings) -> list[Defect]:
    """Entries that an adversary passes; those that cannot be played here are left out."""

    async def play() -> list[Defect]:
        found: list[Defect] = []
        for entry in filter(is_at_risk, entries):
            if entry.mcp is not None and entry.mcp not in settings.mcp:
                continue
            if skip_reason(entry.category, dataset, settings, ["fc"]) is not None:  # a run would skip it, too
                continue
            try:
                if why := await weakness_of(entry, dataset.texts, settings, search_behind(dataset, entry, settings)):
                    place, _, what = why.partition(": ")
                    found.append(Defect("unearned", entry.id, what, place, (REMEDY,)))
            except (AdapterError, HarnessError) as error:
                found.append(Defect("unplayable", entry.id, str(error)))
        return found

    return asyncio.run(play())
