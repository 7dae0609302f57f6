"""Judges files of rollouts in pieces, in one process or on each worker of a cluster; verdicts by model.

Verdicts of a `Piece` go to ``<out>/model=<name>/<piece>.jsonl``, rewritten if it is judged again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.extensions.training.pieces import Piece, counted, lines_in, lines_of
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.rescoring import open_data, parsed_line, score_lines
from pytest_bfcl.runs.readings import Readings
from pytest_bfcl.runs.snapshots import folder_name
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.wire_names import Names
    from pytest_bfcl.transcript import Mode

NAMELESS = "unknown"
"""The folder of verdicts on lines without a model."""
MOST_FOLDERS = 500
"""Most models of one piece with their own folder, each an open file; others share that of lines without a model."""


@dataclass(frozen=True, slots=True)
class Judging:
    """How lines are judged (see `pytest_bfcl.rescoring.score_lines`), and where verdicts are written.

    ``data_sha256``: the required digest of the data, empty for any.
    """

    out: str
    data: str = "auto"
    rules: str = "official"
    rest: str = "auto"
    decoder: str | None = None
    think: str = "auto"
    data_sha256: str = ""
    mode: Mode | None = None
    names: Names = "auto"

    def pinned(self) -> Judging:
        """The same with the digest of the data here; lines with their own entries need no data."""
        data = self.opened()
        return self if isinstance(data, str) else replace(self, data_sha256=data.sha256)

    def opened(self) -> DataSet | str:
        """The data, or its name if it cannot be opened. Raises `UsageError` for other data."""
        try:
            data = _opened(self.data)
        except UsageError as error:
            if self.data_sha256:
                raise UsageError(f"the data {self.data} is missing: {error}") from None
            return self.data
        if self.data_sha256 not in ("", data.sha256):
            raise UsageError(f"the data {self.data} is another there: {data.sha256[:8]}, not {self.data_sha256[:8]}")
        return data


@lru_cache(maxsize=1)
def _opened(choice: str) -> DataSet:
    """Data with which one process judges many pieces."""
    return open_data(choice)


class Tally(NamedTuple):
    """The result of one piece."""

    path: str
    lines: int
    valid: int
    errors: int
    first_error: str
    found_out: tuple[str, ...] = ()
    """What calls proved about the reading of lines (`pytest_bfcl.runs.readings`)."""


def judged_here(pieces: Sequence[Piece], how: Judging, processes: int = 1) -> Iterator[Tally]:
    """Judge all pieces on this machine; a tally after each, in no fixed order with several processes.

    Raises `UsageError` if no line can be judged, `HarnessError` if a process is lost (memory, a signal).
    """
    if processes == 1:
        yield from (judge_piece(piece, how) for piece in counted(pieces, map(lines_in, pieces)))
        return
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, max(1, len(pieces))), spawned, _end_at_interrupt) as pool:
        try:
            work = [pool.submit(judge_piece, piece, how) for piece in counted(pieces, pool.map(lines_in, pieces))]
            for done in as_completed(work):
                yield done.result()
        except BrokenProcessPool:
            raise HarnessError(
                HarnessTrouble.WORKER_CRASH, "a process that judged was ended (out of memory?): take fewer"
            ) from None
        finally:  # nothing is left, or nobody waits for it
            for child in multiprocessing.active_children():
                child.terminate()


def _end_at_interrupt() -> None:
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))


def judge_piece(piece: Piece, how: Judging) -> Tally:
    """Judge every line of a piece and write the verdicts. Raises `UsageError` if no line can be judged."""
    names: deque[str] = deque()
    folders: dict[str, str] = {}
    lines = valid = errors = 0
    first_error = ""
    readings = Readings(how.mode, how.names, how.decoder)
    with _Verdicts(how.out, piece.name) as verdicts:
        found = _lines_with_models(lines_of(piece), names, folders)
        for verdict in score_lines(
            found, how.opened(), how.rules, how.rest, how.decoder, how.think,  # type: ignore[arg-type]
            first=piece.first, readings=readings, ahead=lines_of(piece),
        ):  # fmt: skip
            if "error" in verdict:
                errors += 1
                first_error = first_error or str(verdict["error"])
                verdict["file"] = piece.path
            lines += 1
            valid += verdict.get("valid") is True
            verdicts.write(names.popleft(), verdict)
    return Tally(piece.path, lines, valid, errors, first_error, tuple(readings.sentences()))


def _lines_with_models(lines: Iterator[Any], names: deque[str], folders: dict[str, str]) -> Iterator[Any]:
    """The lines, parsed if possible; each one's model is stored, with its folder from ``folders``."""
    for line in lines:
        if isinstance(line, bytes) and not line.strip():
            yield line
            continue
        try:
            line = parsed_line(line)
        except ValueError:
            names.append(NAMELESS)
        else:
            model = line.get("model")
            names.append(_folder(model, folders) if isinstance(model, str) and model else NAMELESS)
        yield line


def _folder(model: str, folders: dict[str, str]) -> str:
    if model not in folders:
        if len(folders) >= MOST_FOLDERS:
            return NAMELESS
        folders[model] = folder_name(model)[:120]
    return folders[model]


class _Verdicts:
    """One piece's files of verdicts, one a model; they appear when the piece is complete."""

    def __init__(self, out: str, name: str) -> None:
        self._out = Path(out)
        self._name = name
        self._files: dict[str, IO[str]] = {}
        self._encode = json.JSONEncoder(default=str, separators=(",", ":")).encode

    def write(self, model: str, verdict: Parsed) -> None:
        if model not in self._files:
            folder = self._out / f"model={model}"
            folder.mkdir(parents=True, exist_ok=True)
            self._files[model] = (folder / f".{self._name}.part").open("w", encoding="utf-8")
        self._files[model].write(self._encode(verdict) + "\n")

    def __enter__(self) -> _Verdicts:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for file in self._files.values():
            file.close()
            if kind is None:
                os.replace(file.name, Path(file.name).with_name(f"{self._name}.jsonl"))
