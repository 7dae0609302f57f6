"""Selects the search provider of a run (agentic spec §5, contract "Selecting")."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from pytest_bfcl import entry_points, extras
from pytest_bfcl.failures import UsageError
from pytest_bfcl.providers.recorded import SearchProvider

KEY_VARIABLE = "SERPAPI_API_KEY"
"""Environment variable with the key of the live search."""


Kind = Literal["local", "serpapi", "replay"]

WORDS = ("auto", "local", "serpapi", "record", "replay")


def replay_source(choice: str) -> str | None:
    """The run or folder in ``replay:PATH``, ``None`` for every other choice."""
    word, colon, path = choice.partition(":")
    return path if word == "replay" and colon else None


def check_choice(choice: str, words: Sequence[str] = WORDS) -> str:
    """The choice itself. Raises `ValueError` for an unknown word that names no recording."""
    if choice not in words and not replay_source(choice):
        raise ValueError(f"one of {', '.join(words)}, or replay:RUN")
    return choice


def search_problem(choice: str, *, official: bool, site: Path | None = None, archive: Path | None = None) -> str | None:
    """Why a run has no search provider; else ``None``. Arguments as for `open_search`. Opens nothing."""
    kind = _kind(choice, official, site)
    if kind != "replay" and (lacking := extras.problem("web", "the web search")):
        return lacking
    if kind == "local" and site is None:
        return "this data has no pages of its own (a folder web/): choose --bfcl-search serpapi or replay:RUN"
    if kind == "serpapi" and not os.environ.get(KEY_VARIABLE):
        return f"no search provider: set {KEY_VARIABLE}, or choose --bfcl-search replay:RUN"
    if kind == "replay":
        folder = _replayed_folder(choice, archive)
        if folder is None or not any(folder.glob("*.jsonl")):
            return f"nothing to replay: {folder or 'no run'} holds no recorded searches (name a run: replay:RUN)"
    return None


def open_search(
    choice: str = "auto",
    *,
    official: bool,
    site: Path | None = None,
    archive: Path | None = None,
    process: str = "main",
) -> SearchProvider:
    """The provider of a run.

    Args:
        choice: ``auto``, ``local``, ``serpapi``, ``record``, ``replay`` (of this run) or ``replay:RUN``.
        official: Whether the data is the official set, which needs the real web.
        site: Folder of the data's own pages.
        archive: The run's folder for searches and pages (``<run>/web``). Live ones are always recorded there, local
            ones with ``record``; recorded calls are not sent again.
        process: Name of the archive's file this process writes.

    Raises `UsageError` if there is none (`search_problem` gives the reason without raising).
    """
    problem = search_problem(choice, official=official, site=site, archive=archive)
    if problem is not None:
        raise UsageError(problem)
    from pytest_bfcl.providers.recorded import RecordedSearch

    kind = _kind(choice, official, site)
    if kind == "replay":
        folder = _replayed_folder(choice, archive)
        assert folder is not None
        return RecordedSearch(folder)
    provider = _live(kind, site)
    if archive is not None and (kind == "serpapi" or choice == "record"):
        return RecordedSearch(archive, provider, process)
    return provider


def _live(kind: Kind, site: Path | None) -> SearchProvider:
    if kind == "local":
        from pytest_bfcl.providers.local_site import LocalSite

        assert site is not None
        return LocalSite(site)
    return cast("SearchProvider", entry_points.require("searches", kind, f"--bfcl-search {kind}")())


def _kind(choice: str, official: bool, site: Path | None) -> Kind:
    word = choice.partition(":")[0]
    if word in ("local", "serpapi", "replay"):
        return word  # type: ignore[return-value]
    return "serpapi" if official or site is None else "local"


def _replayed_folder(choice: str, archive: Path | None) -> Path | None:
    """The archive of ``replay:RUN`` (a run directory, or its folder ``web``), or the run's own."""
    named = replay_source(choice)
    if named is None:
        return archive
    folder = Path(named).expanduser()
    return folder / "web" if (folder / "web").is_dir() else folder
