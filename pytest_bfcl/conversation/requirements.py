"""What a category needs beside a model: calls written as text, a search provider, embeddings, an extra."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl import entry_points, extras
from pytest_bfcl.checkers.plugged import category_group, missing_group
from pytest_bfcl.conversation.world import WEB
from pytest_bfcl.dataset.categories import CATEGORIES, ELSEWHERE
from pytest_bfcl.failures import UsageError
from pytest_bfcl.transcript import Mode

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.settings import Settings


def searches(classes: Collection[str]) -> bool:
    """Whether an entry that involves these classes offers the web tools: what it needs depends on nothing else."""
    return WEB in classes


def skip_reason(
    category: str,
    dataset: DataSet,
    settings: Settings,
    modes: Collection[Mode],
    archive: Path | None = None,
    *,
    stored: bool = False,
) -> str | None:
    """Why a category cannot be run here, with what to do about it; ``None`` when it can.

    ``modes`` are those the models are asked in; ``archive`` is the run's folder of recorded searches. ``stored`` says
    the conversations are recorded ones, which call no tools. A category that lacks something is skipped: it never
    scores 0.
    """
    row = CATEGORIES.get(category)
    if row is None:  # the checks of the server need nothing
        return None
    if category == "format_sensitivity" and all(mode == "fc" for mode in modes):
        return "format sensitivity is about calls written as text: use --model …@prompt"
    if stored:
        return None
    if row.group == "web_search":
        from pytest_bfcl.providers import search_problem

        return search_problem(settings.search, official=dataset.official, site=dataset.site, archive=archive)
    if row.name == "mcp":
        return _server_problem(settings)
    if row.checker in ELSEWHERE:
        recorded = archive.parent / "rest" if archive is not None else None
        return missing_group(row.group) or category_group(row.group).problem(
            row.checker, settings.rest, official=dataset.official, archive=recorded
        )
    return memory_problem(row.backend) if row.backend else None


def memory_problem(backend: str) -> str | None:
    """Why a memory cannot be had here, ``None`` when it can."""
    from pytest_bfcl.simulators import simulator_class

    try:
        return simulator_class(f"MemoryAPI_{backend}").problem()
    except UsageError as error:
        return str(error)


NO_SERVERS = "entries on an MCP server need an extension that is not installed here: install pytest-bfcl as a whole"


def _server_problem(settings: Settings) -> str | None:
    """Why no MCP server of the user's can be asked, ``None`` when one can."""
    if entry_points.find("worlds", "mcp") is None:
        return NO_SERVERS
    if not settings.mcp:
        return 'entries on an MCP server need one: --bfcl-mcp NAME="COMMAND or URL"'
    return f"entries on an MCP server need its SDK: {extras.install_command('mcp')}" if extras.missing("mcp") else None
