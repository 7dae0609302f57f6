"""The published table beside a run, which an extension reads: before the first request, kept with the results, told."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError

if TYPE_CHECKING:
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary

FOLDER = "board"
"""Folder of a run that keeps the table."""


class Board(Protocol):
    """A published table."""

    def keep(self, run: Path) -> None:
        """Copy it to a run. Raises `OSError`."""

    def tell(self, summary: Summary, lines: Iterable[ResultLine]) -> None:
        """Say in the summary of each model where it would stand."""


def _reader() -> Any:
    point = entry_points.find("boards", "published")
    if point is None:
        raise UsageError("--bfcl-board: no installed package reads published leaderboards")
    return entry_points.load(point, "reader of leaderboards")


def named_board(path: str, run: Fingerprint) -> Board:
    """The table that an option names. Raises `UsageError` where it refuses what the run will measure."""
    found: Board = _reader().named(Path(path), run)
    return found


def run_board(board: Board | None, run: Path, notes: list[str]) -> Board | None:
    """Keep the named table with the run; without one, what an earlier part kept. A damaged one is a note."""
    try:
        if board is not None:
            board.keep(run)
        elif (run / FOLDER).is_dir():
            board = _reader().kept(run)
    except (UsageError, OSError) as error:
        notes.append(f"the published table is not shown: {error}")
    return board
