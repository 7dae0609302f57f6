"""Judge every line of a file of recorded outputs, without pytest and without a model.

  pytest-bfcl score replies.jsonl --data official -o verdicts.jsonl

Exit code 0 when every line could be judged, with any verdicts; 1 when a line could not; 2 for usage.
"""

from __future__ import annotations

import argparse
import glob
import gzip
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_bfcl import entry_points
from pytest_bfcl.collector import no_collections
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import say, say_data
from pytest_bfcl.runs.wire_names import NAMES
from pytest_bfcl.spread_json import spread_json

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.lines import LeftOut

SUMMARY = "judge recorded outputs line by line"
STREAM = "-"
PROGRESS_EVERY_S = 0.5
MOST_TOLD = 5
MOST_PROCESSES = 512


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
            f"--{name}", nargs="?", const="auto", metavar="ADDRESS", action=_Elsewhere, dest="feeder",
            help="judge on a cluster: HOST:PORT, auto or local; every node finds the files under the same path",
        )  # fmt: skip
    parser.add_argument(
        "-n",
        "--processes",
        type=_processes,
        default=1,
        metavar="N",
        help="number of processes on this machine, or auto",
    )
    parser.add_argument(
        "--data",
        default="auto",
        help="auto, bundled, official or a path (default: as recorded in the run, else auto)",
    )
    parser.add_argument("--rules", choices=("official", "corrected"), default="official", help="rules of the verdict")
    parser.add_argument(
        "--rest", default="auto", help="recorded requests of retired categories: replay:PATH (default: none)"
    )
    parser.add_argument(
        "--decoder",
        metavar="NAME|auto",
        help="format of calls in texts: a decoder's name, or auto (by the model's name)",
    )
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


class _Elsewhere(argparse.Action):
    """Stores the feeder's name with the address."""

    def __call__(self, parser: object, namespace: argparse.Namespace, address: object, option: object = None) -> None:
        namespace.feeder = (str(option)[2:], str(address))


def _processes(text: str) -> int:
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise argparse.ArgumentTypeError(f"{text} is not valid: auto, or a number from 1 to {MOST_PROCESSES}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Judge and write; on a terminal, stderr shows the number of lines and of errors."""
    from pytest_bfcl.cli import tell_left_out
    from pytest_bfcl.runs.directory import refuse_overwriting
    from pytest_bfcl.runs.unpacked import unpacked

    with no_collections():
        from pytest_bfcl.rescoring import open_data, score_lines
        from pytest_bfcl.runs.lines import LeftOut
        from pytest_bfcl.runs.readings import Readings

    if args.out != STREAM:
        refuse_overwriting(Path(args.out), args.paths)
    if args.feeder is not None or args.processes > 1 or len(args.paths) > 1 or glob.has_magic(args.paths[0]):
        return _many(args)
    args.path = args.paths[0]
    progress = _Progress(sys.stderr)
    left_out = LeftOut()
    with ExitStack() as stack:
        if args.path != STREAM:
            args.path = str(stack.enter_context(unpacked(Path(args.path))))
        if is_folder(args.path):
            data = _data_of_run(Path(args.path)) if args.data == "auto" else open_data(args.data)
        else:
            data = args.data
        lines = stack.enter_context(_lines(args, left_out, data))
        write = stack.enter_context(_writer(args.out))
        readings = Readings(args.mode, args.names, args.decoder)
        ahead = stack.enter_context(_ahead(args, left_out))
        try:
            for verdict in score_lines(
                lines, data, args.rules, args.rest, args.decoder, args.think, readings=readings, ahead=ahead
            ):
                write(verdict)
                progress.count(verdict)
            for line in left_out.lines:
                write({"id": None, "error": str(line)})
            sys.stdout.flush()
        except BrokenPipeError:  # the reader of our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
    progress.finish()
    tell([*readings.sentences(), *filter(None, [str(progress.both)])])
    if skipped := progress.unrecorded:
        tell([f"{len(skipped)} lines without a verdict (valid: null), the first: {skipped[0]}"])
    if not progress.lines and not left_out.lines and args.path != STREAM:
        raise UsageError(f"{args.path} holds no lines to judge")
    if progress.errors:
        count = "1 line" if progress.errors == 1 else f"{progress.errors} lines"
        first = "" if progress.errors == 1 else ", the first"
        say(f"pytest-bfcl score: {count} of {args.path} not judged{first}: {progress.first_error}", file=sys.stderr)
    damaged = tell_left_out("score", left_out)
    return 1 if progress.errors or damaged else 0


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


def _many(args: argparse.Namespace) -> int:
    """Several files, here or on a cluster: verdicts in a folder, by model."""
    from pytest_bfcl.extensions.training.judging import Judging, judged_here
    from pytest_bfcl.extensions.training.pieces import pieces_of
    from pytest_bfcl.runs.unpacked import is_packed
    from pytest_bfcl.session.feeders import find_feeder

    if packed := next((path for path in args.paths if is_packed(Path(path))), None):
        raise UsageError(f"{packed} is an archive or a revision: judge archives one at a time, without -n")
    if args.out == STREAM:
        raise UsageError("several files, processes or hosts write a folder of verdicts: name one with -o")
    if Path(args.out).exists() and (not Path(args.out).is_dir() or any(Path(args.out).iterdir())):
        raise UsageError(f"{args.out} is there and no empty folder: name a new one with -o")
    how = Judging(
        os.path.abspath(args.out), args.data, args.rules, args.rest, args.decoder, args.think,
        mode=args.mode, names=args.names,
    )  # fmt: skip
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
    for each in bad[:MOST_TOLD]:
        say(f"pytest-bfcl score: {each.errors} lines of {each.path} not judged, the first: {each.first_error}",
              file=sys.stderr)  # fmt: skip
    return 1 if bad else 0


def is_folder(path: str) -> bool:
    """Whether a path is a folder of results, or an official result file, which is read as one."""
    from pytest_bfcl.runs.official_layout import result_files

    return Path(path).is_dir() or (Path(path).is_file() and bool(result_files(Path(path))))


@contextmanager
def _ahead(args: argparse.Namespace, left_out: LeftOut) -> Iterator[Iterator[Any]]:
    """The lines of a file again, for the evidence in their calls; none for a stream, or for a folder, which has it."""
    if args.path == STREAM or is_folder(args.path):
        yield iter(())
        return
    with _lines(args, left_out, args.data) as found:
        yield found


@contextmanager
def _lines(args: argparse.Namespace, left_out: LeftOut, data: DataSet | str) -> Iterator[Iterator[Any]]:
    """The input's lines: bytes of a file or of stdin, objects of a run directory or result folder.

    Damaged lines go to ``left_out``.
    """
    from pytest_bfcl.extensions.training.pieces import is_parquet, lines_of, pieces_of

    if args.path == STREAM:
        yield iter(sys.stdin.buffer)
        return
    source = Path(args.path)
    if is_folder(args.path):
        from pytest_bfcl.runs.replay_lines import read_replay_lines

        dataset = None if isinstance(data, str) else data
        yield read_replay_lines(source, left_out, args.decoder, args.names, dataset)
        return
    if source.is_file() and is_parquet(source):
        yield chain.from_iterable(map(lines_of, pieces_of([str(source)])))
        return
    with _opened_source(source) as file:
        if not isinstance(file, gzip.GzipFile) and (whole := spread_json(source)):
            raise UsageError(f"{source}: {whole}")
        yield _until_damaged(file, source)


def _opened_source(source: Path) -> Any:
    """The file, unpacked if its content (not its name, which may lack the suffix) is gzip."""
    from pytest_bfcl.runs.lines import open_regular

    try:
        with open_regular(source) as plain:
            packed = plain.read(2) == b"\x1f\x8b"
        return gzip.open(source, "rb") if packed else source.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from error


def _until_damaged(file: Any, source: Path) -> Iterator[bytes]:
    from pytest_bfcl.runs.lines import whole_lines

    try:
        yield from whole_lines(file)
    except (EOFError, OSError, zlib.error) as error:  # BadGzipFile is an OSError
        raise UsageError(f"{source} is damaged or unreadable: {error}") from error


@contextmanager
def _writer(out: str) -> Iterator[Any]:
    """A function that writes one verdict; the verb creates the target file at the start."""
    if out == STREAM:
        yield _line_writer(say_data)
        return
    target = Path(out)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _opened(target) as file:
            yield _line_writer(file.write)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error


def _opened(target: Path) -> Any:
    return gzip.open(target, "wt", encoding="utf-8") if target.suffix == ".gz" else target.open("w", encoding="utf-8")


def _line_writer(write: Callable[[str], object]) -> Any:
    encode = json.JSONEncoder(default=str, separators=(",", ":")).encode
    return lambda verdict: write(encode(verdict) + "\n")


class _Progress:
    """Counts verdicts and shows the number on a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        self.lines = self.errors = self.valid = 0
        self.first_error = ""
        self.unrecorded: list[str] = []
        from pytest_bfcl.scoring.conduct import BothReadings

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
            self._show("\r")

    def finish(self) -> None:
        if self._shown:
            self._show("\r", "\n")

    def _show(self, begin: str, end: str = "") -> None:
        self._stream.write(f"{begin}{self.lines} lines, {self.valid} valid, {self.errors} errors{end}")
        self._stream.flush()
