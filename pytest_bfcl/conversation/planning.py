"""Entries as jobs of the look-ahead, and a whole list of conversations without more ado."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.conversation.lookahead import Job, LookAhead
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.transcript import Transcript

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Journal, Snapshots
    from pytest_bfcl.dataset import Entry, Texts
    from pytest_bfcl.models.base import Model
    from pytest_bfcl.settings import Settings

REQUESTS = {"multi_turn": 12.0, "web_search": 10.0, "memory": 4.0, "memory_prereq": 25.0}
"""Requests an entry of a group usually takes; entries of other groups take one."""

TURN_REQUESTS = 3.0
"""Requests a turn usually takes in conversations whose calls are executed."""


def expected_requests(category: str, turns: int | None = None) -> float:
    """About how many requests an entry of this category (and that many turns) takes.

    Only the order of starting depends on it: without the turns, which differ eightfold, the longest conversations may
    come last and leave most places empty at the end.
    """
    row = CATEGORIES.get(category)
    if row is None:
        return 1.0
    if turns and row.multi_step and row.checker != "answer":
        return TURN_REQUESTS * turns
    return REQUESTS.get("multi_turn" if row.checker == "state" else row.group, 1.0)


def plan_job(
    key: Hashable,
    category: str,
    *,
    payload: Any = None,
    depends_on: Iterable[Hashable] = (),
    kept: bool = True,
    turns: int | None = None,
) -> Job:
    """The job of one entry. Keys are the caller's: the entry id, or with model and repeat."""
    return Job(key, payload, tuple(depends_on), expected_requests(category, turns), kept)


async def run_conversations(
    entries: Iterable[Entry],
    model: Model,
    *,
    settings: Settings,
    texts: Texts,
    journal: Journal | None = None,
    snapshots: Snapshots | None = None,
    search: Any = None,
) -> AsyncIterator[tuple[Entry, Transcript | BenchmarkError]]:
    """Every entry with its transcript, or with what kept it from having one, in the order given.

    Conversations run ahead of the reader, at most ``settings.concurrency`` at a time. Memory questions need their
    write stages among the entries.
    """
    chosen = list(entries)
    snapshots = snapshots if snapshots is not None else HeldSnapshots()

    async def hold(job: Job) -> Transcript:
        return await converse(
            job.payload,
            model,
            settings=settings,
            texts=texts,
            journal=journal,
            snapshots=snapshots,
            search=search,
        )

    ahead = LookAhead(hold, concurrency=settings.concurrency)
    ahead.plan(plan_job(e.id, e.category, payload=e, depends_on=e.depends_on, turns=len(e.question)) for e in chosen)
    try:
        for entry in chosen:
            try:
                yield entry, await ahead.transcript(entry.id)
            except BenchmarkError as error:
                yield entry, error
    finally:
        await ahead.aclose()
