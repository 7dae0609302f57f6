"""What an entry played over MCP needs beside its tools: the memory of its write stages, pages to search."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pytest_bfcl.conversation.services import searches, skip_reason
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.snapshots import Snapshots

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.settings import Settings

SNAPSHOTS = "snapshots"


class EntryWorld:
    """Snapshots and search provider of one entry; close it, or use it as a context.

    ``memory`` is a folder of the user's, or a run whose write stages went before. Raises `UsageError` when the entry
    cannot be played with what there is.
    """

    def __init__(self, entry: Entry, data: DataSet, settings: Settings, memory: str | None = None) -> None:
        if entry.row.checker == "served":
            raise UsageError(
                f"{entry.id} is played on an MCP server of your own ({entry.mcp!r}): connect the client to that one.\n"
                f'a run plays and judges it: pytest FILE --model … --bfcl-mcp {entry.mcp}="COMMAND or URL"'
            )
        problem = skip_reason(entry.category, data, settings, ["fc"])
        if problem is None and searches(entry.involved_classes):
            from pytest_bfcl.providers import search_problem

            problem = search_problem(settings.search, official=data.official, site=data.site)
        if problem is not None:
            raise UsageError(f"{entry.id} cannot be played: {problem}")
        self.snapshots = self._snapshots(entry, memory) if entry.row.backend else None
        self.search: Any = None
        if searches(entry.involved_classes):
            from pytest_bfcl.providers import open_search

            self.search = open_search(settings.search, official=data.official, site=data.site)

    def _snapshots(self, entry: Entry, memory: str | None) -> Snapshots:
        if memory is None:
            raise UsageError(
                f"{entry.id} needs a memory: --memory DIR, the folder its write stages keep it in, or a run"
            )
        found = Snapshots(_folder(Path(memory)))
        missing = [each for each in entry.depends_on if found.checkpoint(entry.row.backend, each) is None]
        if missing:
            stages = f"{missing[0]} and {len(missing) - 1} more" if len(missing) > 1 else missing[0]
            raise UsageError(
                f"{entry.id}: {memory} has no memory of {stages}\n"
                f"play them first, in order: pytest-bfcl mcp --entry {missing[0]} --memory {memory}"
            )
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.search is not None:
            self.search.close()


def _folder(memory: Path) -> Path:
    """A folder of snapshots; of a run that of its only model. Raises `UsageError` for a run of several."""
    kept = memory / SNAPSHOTS
    if not kept.is_dir():
        return memory
    models = sorted(each for each in kept.iterdir() if each.is_dir())
    if len(models) != 1:
        names = ", ".join(str(each) for each in models[:5])
        raise UsageError(f"{memory} has the memories of {len(models)} models, name one: --memory {names}")
    return models[0]
