"""Judge every line of a file of recorded outputs, without pytest and without a model.

  pytest-bfcl score replies.jsonl --data official -o verdicts.jsonl

Exit code 0 when every line could be judged, with any verdicts; 1 when a line could not; 2 for usage.
"""

from __future__ import annotations

import argparse
import glob
import gzip
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_bfcl import entry_points
from pytest_bfcl.collector import no_collections
from pytest_bfcl.extensions.training.processes import processes
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import say, say_data
from pytest_bfcl.runs.wire_names import NAMES
from pytest_bfcl.spread_json import spread_json

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.extensions.training.judging import Judging
    from pytest_bfcl.runs.lines import LeftOut

SUMMARY = "judge recorded outputs line by line"
STREAM = "-"
PROGRESS_EVERY_S = 0.5
MOST_TOLD = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH",
        help="replay lines: .jsonl, .jsonl.gz, .parquet, a run directory or result folder, - for stdin; several "
        "(or any with -n or --ray): files, folders and patterns",
    )  # fmt: skip
    parser.set_defaults(feeder=None)
    for name in entry_points.offered("feeders"):
        parser.add_argument(
            f"--{name}", nargs="?", const=(name, "auto"), metavar="ADDRESS", dest="feeder",
            type=partial(lambda name, address: (name, address), name),
            help="judge on a cluster: HOST:PORT, auto or local; every node finds the files under the same path",
        )  # fmt: skip
    parser.add_argument(
        "-n", "--processes", type=processes, default=1, metavar="N",
        help="number of processes on this machine, or auto",
    )  # fmt: skip
    parser.add_argument(
        "--data", default="auto",
        help="auto, bundled, official or a path (default: as recorded in the run, else auto)",
    )  # fmt: skip
    parser.add_argument("--rules", choices=("official", "corrected"), default="official", help="rules of the verdict")
    parser.add_argument(
        "--rest", default="auto", help="recorded requests of retired categories: replay:PATH (default: none)"
    )
    parser.add_argument(
        "--decoder", metavar="NAME|auto",
        help="format of calls in texts: a decoder's name, or auto (by the model's name)",
    )  # fmt: skip
    parser.add_argument(
        "--mode", choices=("fc", "prompt"),
        help="mode of lines that do not give it; without this option native calls prove fc",
    )  # fmt: skip
    parser.add_argument(
        "--names", choices=NAMES, default="auto",
        help="spelling of names in lines that do not give it: dots, underscores, or auto (from the calls)",
    )  # fmt: skip
    parser.add_argument(
        "--think", choices=("auto", "strip", "keep"), default="auto",
        help="thoughts in texts: auto (as the model family marks them), strip (remove) or keep (default: auto)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--out", default=STREAM, metavar="OUT.jsonl",
        help="file for the verdicts (.gz compresses; default: stdout); with several inputs a folder",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Judge and write; on a terminal, stderr shows the number of lines and of errors."""
    with no_collections():
        from pytest_bfcl.extensions.training.judging import Judging
    from pytest_bfcl.runs.directory import refuse_overwriting

    if args.out != STREAM:
        refuse_overwriting(Path(args.out), args.paths)
    out = args.out if args.out == STREAM else os.path.abspath(args.out)
    how = Judging(out, args.data, args.rules, args.rest, args.decoder, args.think, mode=args.mode, names=args.names)
    several = args.processes > 1 or len(args.paths) > 1 or glob.has_magic(args.paths[0])
    return _many(args, how) if several or args.feeder is not None else _one(args.paths[0], how)


def _one(path: str, how: Judging) -> int:
    """One file, folder or stream: the verdicts in the order of the lines."""
    from pytest_bfcl.cli import tell_left_out
    from pytest_bfcl.runs.lines import LeftOut
    from pytest_bfcl.runs.unpacked import unpacked

    progress, left_out, readings = _Progress(sys.stderr), LeftOut(), how.readings()
    with ExitStack() as stack:
        if path != STREAM:
            path = str(stack.enter_context(unpacked(Path(path))))
        data, lines, ahead = _source(path, how, left_out)
        write = stack.enter_context(_writer(how.out))
        for verdict in how.verdicts(lines, data, readings, ahead):
            write(verdict)
            progress.count(verdict)
        for line in left_out.lines:
            write({"id": None, "error": str(line)})
        sys.stdout.flush()
    progress.finish()
    tell([*readings.sentences(), *filter(None, [str(progress.both)])])
    if skipped := progress.unrecorded:
        tell([f"{len(skipped)} lines without a verdict (valid: null), the first: {skipped[0]}"])
    if not progress.lines and not left_out.lines and path != STREAM:
        raise UsageError(f"{path} holds no lines to judge")
    if progress.errors:
        count = "1 line" if progress.errors == 1 else f"{progress.errors} lines"
        first = "" if progress.errors == 1 else ", the first"
        tell([f"{count} of {path} not judged{first}: {progress.first_error}"])
    damaged = tell_left_out("score", left_out)
    return 1 if progress.errors or damaged else 0


def _source(path: str, how: Judging, left_out: LeftOut) -> tuple[DataSet | str, Iterator[Any], Iterator[Any]]:
    """The data, the lines, and the lines again for the evidence in their calls.

    A stream cannot be read twice, and a folder has its evidence. Damaged lines of a folder go to ``left_out``.
    """
    from pytest_bfcl.extensions.training.judging import lines_of, pieces_of
    from pytest_bfcl.rescoring import open_data
    from pytest_bfcl.runs.official_layout import result_files
    from pytest_bfcl.runs.replay_lines import read_replay_lines

    if path == STREAM:
        return how.data, iter(sys.stdin.buffer), iter(())
    where = Path(path)
    if where.is_dir() or (where.is_file() and result_files(where)):  # an official result file is read as a folder
        data = _data_of_run(where) if how.data == "auto" else open_data(how.data)
        return data, read_replay_lines(where, left_out, how.decoder, how.names, data), iter(())
    pieces = pieces_of([path])
    if pieces[0].kind == "lines" and (whole := spread_json(where)):
        raise UsageError(f"{path}: {whole}")
    lines, ahead = (chain.from_iterable(map(lines_of, pieces)) for _ in range(2))
    return how.data, lines, ahead


def _data_of_run(folder: Path) -> DataSet:
    """The data of a run, because other data would give other verdicts. Raises `UsageError` if they are missing."""
    from pytest_bfcl.rescoring import data_of_run, open_data
    from pytest_bfcl.runs.directory import RunDirectory, is_run

    if not is_run(folder):
        return open_data("auto")
    return data_of_run(RunDirectory.open(folder).fingerprint, str(folder))


def tell(sentences: Iterable[str]) -> None:
    """Notes for the user, besides the verdicts."""
    for sentence in sentences:
        say(f"pytest-bfcl score: {sentence}", file=sys.stderr)


def _many(args: argparse.Namespace, how: Judging) -> int:
    """Several files, here or on a cluster: verdicts in a folder, by model."""
    from pytest_bfcl.extensions.training.judging import judged_here, pieces_of
    from pytest_bfcl.runs.unpacked import is_packed
    from pytest_bfcl.session.feeders import find_feeder

    if packed := next((path for path in args.paths if is_packed(Path(path))), None):
        raise UsageError(f"{packed} is an archive or a revision: judge archives one at a time, without -n")
    if how.out == STREAM:
        raise UsageError("several files, processes or hosts write a folder of verdicts: name one with -o")
    if Path(how.out).exists() and (not Path(how.out).is_dir() or any(Path(how.out).iterdir())):
        raise UsageError(f"{args.out} is there and no empty folder: name a new one with -o")
    pieces = pieces_of([each if "://" in each else os.path.abspath(each) for each in args.paths])
    progress = _Progress(sys.stderr)
    tallies = []
    if args.feeder is not None:
        name, address = args.feeder
        found = find_feeder(name).judged(pieces, how, address)
    else:
        found = judged_here(pieces, how, args.processes)
    for tally in found:
        tallies.append(tally)
        progress.add(tally.lines, tally.valid, tally.errors)
    progress.finish()
    say(f"{progress.lines} lines judged, {progress.valid} valid; verdicts in {args.out}", file=sys.stderr)
    tell(sorted({sentence for each in tallies for sentence in each.found_out})[:MOST_TOLD])
    bad = sorted(each for each in tallies if each.errors)
    tell(f"{each.errors} lines of {each.path} not judged, the first: {each.first_error}" for each in bad[:MOST_TOLD])
    return 1 if bad else 0


@contextmanager
def _writer(out: str) -> Iterator[Callable[[Parsed], object]]:
    """A function that writes one verdict; the verb creates the target file at the start."""
    from pytest_bfcl.extensions.training.judging import encoded

    if out == STREAM:
        yield lambda verdict: say_data(encoded(verdict) + "\n")
        return
    target = Path(out)
    opened: Callable[..., Any] = gzip.open if target.suffix == ".gz" else open
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened(target, "wt", encoding="utf-8") as file:
            yield lambda verdict: file.write(encoded(verdict) + "\n")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error


class _Progress:
    """Counts verdicts and shows the number on a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        from pytest_bfcl.scoring.conduct import BothReadings

        self.lines = self.errors = self.valid = 0
        self.first_error = ""
        self.unrecorded: list[str] = []
        self.both = BothReadings()
        self._stream = stream
        self._shown = stream.isatty()
        self._next = time.monotonic() + PROGRESS_EVERY_S

    def count(self, verdict: Parsed) -> None:
        if "error" in verdict:
            self.first_error = self.first_error or str(verdict["error"])
        if "skipped" in verdict:
            self.unrecorded.append(str(verdict["skipped"]))
        other = verdict.get("other_reading")
        self.both.add(verdict.get("valid") is True, other, other is not None and other["valid"])
        self.add(1, verdict.get("valid") is True, "error" in verdict)

    def add(self, lines: int, valid: int, errors: int) -> None:
        self.lines += lines
        self.valid += valid
        self.errors += errors
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_EVERY_S
            self._show()

    def finish(self) -> None:
        if self._shown:
            self._show("\n")

    def _show(self, end: str = "") -> None:
        self._stream.write(f"\r{self.lines} lines, {self.valid} valid, {self.errors} errors{end}")
        self._stream.flush()
