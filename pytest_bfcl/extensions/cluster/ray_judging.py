"""Judging on a Ray cluster: a data set of pieces, mapped by workers that write the verdicts."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pytest_bfcl.extensions.cluster.ray_pool import INSTALL, connect, first_line, import_ray
from pytest_bfcl.extensions.training.judging import Judging, Piece, Tally, are_cut, counted, judge_piece, lines_in
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.fingerprint import plugin_version


def judged_on_ray(pieces: Sequence[Piece], how: Judging, address: str | None) -> Iterator[Tally]:
    """Judge all pieces; a tally after each, in no order. Every node needs the files and ``how.out`` under the same
    path, this version of the package and the same data. Otherwise, and if the cluster cannot be used, it raises
    `UsageError`.
    """
    ray = import_ray()
    ours = connect(address)
    try:
        _quiet(ray)
        how = how.pinned()
        if are_cut(pieces):
            # A file in several pieces: where its lines begin is counted first, by the workers too.
            found = {row["at"]: row["lines"] for row in _mapped(ray, pieces, _count, how)}
            pieces = counted(pieces, [found[at] for at in range(len(pieces))])
        for row in _mapped(ray, pieces, _judge, how):
            yield Tally(*(row[name] for name in Tally._fields))
    finally:
        if ours:
            ray.shutdown()


def _quiet(ray: Any) -> None:
    """Ray Data prints every step to the terminal; its files have all of it."""
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            handler.setLevel(logging.ERROR)


def _mapped(
    ray: Any, pieces: Sequence[Piece], work: Callable[..., dict[str, Any]], how: Judging
) -> Iterator[dict[str, Any]]:
    """A row of each piece. An error on a node is also a row, because Ray would wrap it in many lines."""
    rows = [dict(zip(Piece._fields, piece, strict=True)) | {"at": at} for at, piece in enumerate(pieces)]
    made = ray.data.from_items(rows, override_num_blocks=len(rows)).map(work, fn_args=(how, plugin_version()))
    try:
        for row in made.iter_rows():
            if row["problem"]:
                raise UsageError(row["problem"])
            yield row
    except ray.exceptions.RayError as error:
        if "No module named 'pytest_bfcl" in str(error):
            raise UsageError(f"a node of the cluster lacks pytest-bfcl: {INSTALL} there, the same version") from None
        raise UsageError(
            f"Ray gave up: {first_line(error)}\nsee its log files in /tmp/ray/session_latest/logs"
        ) from None


def _count(row: dict[str, Any], how: Judging, version: str) -> dict[str, Any]:
    return _row_of(row, how, version, lambda piece: Tally(piece.path, lines_in(piece), 0, 0, ""))


def _judge(row: dict[str, Any], how: Judging, version: str) -> dict[str, Any]:
    return _row_of(row, how, version, lambda piece: judge_piece(piece, how))


def _row_of(row: dict[str, Any], how: Judging, version: str, work: Callable[[Piece], Tally]) -> dict[str, Any]:
    """On a node: the row of one piece, or its error."""
    tally, problem = Tally(row["path"], 0, 0, 0, ""), ""
    try:
        if version != plugin_version():
            raise UsageError(f"it has pytest-bfcl {plugin_version()}, the driver {version}")
        tally = work(Piece(*(row[name] for name in Piece._fields)))
    except UsageError as error:
        problem = f"{socket.gethostname()} cannot judge: {error}"
    except OSError as error:
        problem = f"{socket.gethostname()} cannot use {error.filename or row['path']}: {error.strerror or error}"
    return {"at": row["at"], "problem": problem, **tally._asdict()}
