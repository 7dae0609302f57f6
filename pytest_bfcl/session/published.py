"""The published table beside a run: read before the first request, kept with the results, told at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.transforms import is_transformed
from pytest_bfcl.failures import UsageError

if TYPE_CHECKING:
    from pytest_bfcl.runs import ResultLine, Summary
    from pytest_bfcl.scoring.published import PublishedBoard


def named_board(path: str, dataset: str) -> PublishedBoard:
    """The table that an option names. Raises `UsageError` where it cannot stand beside a run of this data."""
    from pytest_bfcl.scoring.published import read_board, refuse_other_data

    refuse_other_data(dataset)
    return read_board(Path(path))


def kept_board(path: str | None, board: PublishedBoard | None, run: Path, notes: list[str]) -> PublishedBoard | None:
    """Keep the named table with the run; without one, what an earlier part kept. A damaged one is a note."""
    from pytest_bfcl.scoring.published import board_of, keep_board

    try:
        if board is not None and path is not None:
            keep_board(Path(path), run)
            return board
        return board_of(run)
    except (UsageError, OSError) as error:
        notes.append(f"the published table is not shown: {error}")
        return board


def tell_published(
    summary: Summary, board: PublishedBoard, lines: Iterable[ResultLine], transforms: Sequence[str]
) -> None:
    """Say of each model where it would stand in a published table."""
    from pytest_bfcl.scoring.published import comparisons

    for found in comparisons(board, (each for each in lines if not is_transformed(each["id"], transforms))):
        summary["models"][found.model]["published"] = found.sentence
