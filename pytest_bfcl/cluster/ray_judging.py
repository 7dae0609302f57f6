"""Judging on a Ray cluster: a data set of pieces, mapped by workers that write their verdicts themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_bfcl.cluster.judging import Judging, Piece, Tally, counted, judge_piece, lines_in, pieces_of
from pytest_bfcl.cluster.ray_crew import connect, import_ray


def judge_on_ray(paths: Sequence[str], how: Judging, address: str | None) -> list[Tally]:
    """Judge all files; every node must find them, and ``how.out``, under the same path. Raises `UsageError`."""
    ray = import_ray()
    ours = connect(address)
    try:
        pieces = pieces_of(paths)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        rows = [dict(zip(Piece._fields, piece, strict=True)) | {"at": at} for at, piece in enumerate(pieces)]
        many = len({piece.path for piece in pieces}) < len(pieces)
        if many:  # a file in several pieces: where its lines begin is counted first, by the workers too
            found = {row["at"]: row["count"] for row in _mapped(ray, rows, _count, None)}
            pieces = counted(pieces, [found[at] for at in range(len(pieces))])
            rows = [dict(zip(Piece._fields, piece, strict=True)) | {"at": at} for at, piece in enumerate(pieces)]
        told = sorted(_mapped(ray, rows, _judge, how), key=lambda row: int(row["at"]))
        return [Tally(row["path"], row["lines"], row["valid"], row["errors"], row["first_error"]) for row in told]
    finally:
        if ours:
            ray.shutdown()


def _mapped(ray: Any, rows: Sequence[dict[str, Any]], work: Any, how: Judging | None) -> list[dict[str, Any]]:
    pieces = ray.data.from_items(list(rows), override_num_blocks=len(rows))
    found: list[dict[str, Any]] = pieces.map(work, fn_args=(how,)).take_all()
    return found


def _piece(row: dict[str, Any]) -> Piece:
    return Piece(*(row[name] for name in Piece._fields))


def _count(row: dict[str, Any], _: None) -> dict[str, Any]:
    return {"at": row["at"], "count": lines_in(_piece(row))}


def _judge(row: dict[str, Any], how: Judging) -> dict[str, Any]:
    return {"at": row["at"], **judge_piece(_piece(row), how)._asdict()}
