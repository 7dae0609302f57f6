"""Run models over entries without pytest, in this process or on a cluster (--ray).

The run directory, scores, gates and report equal those of `pytest --model …`. Options have the same names, with or
without bfcl- in front. If -o names an existing run, the command resumes it and sends no answered request again.

Exit code 0: all passed, or all gates met; 1: without a gate an entry failed or ended in an error, or a gate was missed;
2: stopped (Ctrl-C, budget, endpoint down; results are kept) or usage; 5: nothing selected.
"""

from __future__ import annotations

import _thread
import argparse
import os
import shlex
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import obeyed, say
from pytest_bfcl.run_options import OPTIONS, TITLE, Option, of_run
from pytest_bfcl.run_options.table import unfolded
from pytest_bfcl.session.feeders import Place, feeders

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.reporting.printing import Printer
    from pytest_bfcl.reporting.report import PagesAhead
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.scoring.gating import GateOptions
    from pytest_bfcl.session.evaluation import DryRun, RunResult

PROGRESS_EVERY_S = 1.0
NOTHING = "nothing is selected: no entry of the data is asked for"
SAME_SIGNAL_S = 0.3
MOST_PROBLEMS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""

    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.jsonl", help="your own entries, instead of --data")
    add_run_options(parser)


def add_run_options(parser: argparse.ArgumentParser, *, shown: bool = True) -> None:
    """The options of the requests, for verbs that run models; an option that was not given is not in the namespace.

    ``shown``: help lists them and a model is required; other verbs name `pytest-bfcl run --help` in one line.
    """
    if not shown:
        _add_hidden(parser)
        return
    group = parser.add_argument_group(TITLE)
    group.add_argument("--bfcl-help", action=_HelpPage, nargs="?", const="", help=argparse.SUPPRESS)
    for option in of_run():
        if option.name != "out":
            _add(group, option)
    group.add_argument(
        "-o", "--out", "--bfcl-out", type=Path, metavar="DIR",
        help="run directory (default: reports/<time>-<model>); an existing run is resumed",
    )  # fmt: skip
    for feeder in feeders().values():
        feeder.add_arguments(parser, _kind)


def _add_hidden(parser: argparse.ArgumentParser) -> None:
    other = argparse.ArgumentParser(add_help=False)
    add_run_options(other)
    for action in other._actions:
        action.help, action.required = argparse.SUPPRESS, False
        parser._add_action(action)
    parser.add_argument_group("options of a run", "Every option of `pytest-bfcl run` (pytest-bfcl run --help).")


class _HelpPage(argparse.Action):
    """Prints a help page and exits before required options are checked."""

    def __call__(self, parser: argparse.ArgumentParser, _: object, asked: object, option: str | None = None) -> None:
        """The action's argument: a group, an option, or nothing."""
        from pytest_bfcl.run_options.reading import help_page

        try:
            say(help_page(str(asked or ""), of_run()))
        except UsageError as error:
            parser.error(str(error))
        parser.exit()


def _add(group: argparse._ArgumentGroup, option: Option) -> None:
    more: Parsed = {
        "dest": option.key, "help": option.line.replace("%", "%%") if option.short else argparse.SUPPRESS,
        "required": option.name == "model",
        "default": False if option.flag else argparse.SUPPRESS,
    }  # fmt: skip
    if option.flag:
        more |= {"action": "store_true"}
    elif option.many:
        more |= {"action": "append", "metavar": option.metavar}
    else:
        more |= {"metavar": option.metavar, "type": _kind(option)}
    group.add_argument(f"--{option.name}", f"--bfcl-{option.name}", **more)


def _kind(option: Option) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return option.convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not valid: {error}") from None

    return read


def run(args: argparse.Namespace) -> int:
    """Run, summarise, check the gates and write the report; messages for the user go to standard output."""
    from pytest_bfcl.reporting.report import PagesAhead
    from pytest_bfcl.run_options.profiles import fallback_of
    from pytest_bfcl.run_options.reading import gates_of, model_info_of, settings_of
    from pytest_bfcl.run_options.refusals import refuse_ineffective
    from pytest_bfcl.runs.directory import default_path, is_run
    from pytest_bfcl.session.evaluation import RunInterrupted, dry_run
    from pytest_bfcl.session.evaluation import run as carry_out

    given = vars(args)  # what was not typed is not there: --temperature none is None
    refuse_ineffective({option.name: given.get(option.key) for option in OPTIONS})
    values: Parsed = {
        option.name: given[option.key]
        if given.get(option.key, False) is not False
        else fallback_of(option, Path.cwd(), given.get("bfcl_profile"))
        for option in OPTIONS
    }
    settings = settings_of(values)
    models = list(dict.fromkeys(values["model"]))
    gates = gates_of(values)
    values = unfolded(values)
    if args.files and "bfcl_data" in given:
        raise UsageError(f"entries are named twice: {args.files[0]} and --data {given['bfcl_data']}; leave one out")
    data = _data(args.files, values, gates)
    asked: Parsed = {"settings": settings, "gates": gates, "model_info": model_info_of(values["model-info"])}
    asked |= _selection(values, data)
    if values["dry-run"]:
        return _print_dry_run(dry_run(data, models, out=args.out, precision=values.get("sample.precision"), **asked))
    out = args.out or default_path(models)
    place = _place(args)
    pages = PagesAhead(out, data, values["report"]) if place is None else None  # others' replies arrive later
    progress = _Progress(sys.stderr, pages)
    with _sigterm_interrupts():
        try:
            try:
                result = carry_out(data, models, out=out, progress=progress, cluster=place, said=print, **asked)
            finally:
                progress.finish()
            return _print_result(result, data, values, gates, pages)
        except RunInterrupted as stop:
            _print_result(stop.result, data, values | {"report": "none"}, gates, pages)  # whoever pressed Ctrl-C waits
        except KeyboardInterrupt:  # before the first request, or after the last
            known = f"; what was answered is kept in {out}" if is_run(out) else ""
            say(f"stopped: interrupted{known}; to resume: the same command with -o {shlex.quote(str(out))}")
        return 2


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Handles SIGTERM (sent by job schedulers and ``timeout``) like Ctrl-C: all answers are kept."""

    began: list[float] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not began or now > began[0] + SAME_SIGNAL_S:  # `timeout` sends it twice, to the process and to its group
            began.append(now)
            if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts jobs in the background so
                signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.raise_signal(signal.SIGINT)

    hook, again = sys.unraisablehook, list[threading.Timer]()

    def fell_into_a_finalizer(told: sys.UnraisableHookArgs) -> None:
        """Python prints an interrupt inside a finalizer and continues, so the interrupt is raised again a moment
        later."""
        if told.exc_type is not KeyboardInterrupt:
            hook(told)
            return
        again.append(threading.Timer(0.05, _thread.interrupt_main))
        again[-1].daemon = True
        again[-1].start()

    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, interrupt)
        sys.unraisablehook = fell_into_a_finalizer
    try:
        yield
    finally:
        if ours:
            for timer in again:
                timer.cancel()
            sys.unraisablehook = hook
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _data(files: list[Path], values: Parsed, gates: GateOptions) -> DataSet:
    """The files named, else the data set. Raises `UsageError`, also for a gate on data that ``auto`` selects."""
    from pytest_bfcl.dataset.opening import NOT_FETCHED, open_files
    from pytest_bfcl.scoring.gating import Gates
    from pytest_bfcl.session.evaluation import open_data
    from pytest_bfcl.simulators import documents_of

    if files:
        return open_files(files, documents_of)
    if values["data"] == "auto":
        Gates(gates).refuse_guessed_data()
    data = open_data(values["data"])
    if values["data"] == "auto" and data.name == "bundled":
        say(NOT_FETCHED)
    return data


def _selection(values: Parsed, data: DataSet) -> Parsed:
    """The arguments of `pytest_bfcl.run` that select entries."""
    from pytest_bfcl.selection.selection import read_ids

    names = [name for text in values["categories"] or [] for name in text.replace(",", " ").split()]
    ids = None if values["ids"] is None else [ref.id for ref in read_ids(values["ids"], data)]
    shard = None if values["shard"] is None else tuple(values["shard"])
    return {"categories": names or None, "ids": ids, "sample": values["sample"], "shard": shard}


def _place(args: argparse.Namespace) -> Place | None:
    """The place that holds conversations; ``None`` for this process. Raises `UsageError`."""
    places = [place for feeder in feeders().values() if (place := feeder.place_of(args)) is not None]
    if len(places) > 1:
        raise UsageError("a run has one cluster: name one of them")
    return places[0] if places else None


def _print_dry_run(found: DryRun) -> int:
    """Print the estimated requests of a run; returns the exit code."""
    from pytest_bfcl.reporting.printing import Printer
    from pytest_bfcl.session.whole_run import NOTHING_SELECTED

    printer = Printer()
    _print_problems(printer, found.problems)
    for line in found.lines:
        printer.line(line)
    if found.estimates:
        return int(bool(found.problems))
    printer.line(f"nothing is left to ask: {found.settled} verdicts are there" if found.settled else NOTHING)
    return int(bool(found.problems)) or NOTHING_SELECTED


def _print_result(
    result: RunResult, data: DataSet, values: Parsed, gates: GateOptions, pages: PagesAhead | None
) -> int:
    """Print the result, as `pytest --model` does; returns the exit code."""
    from pytest_bfcl.reporting.printing import Printer
    from pytest_bfcl.reporting.report import hand_out
    from pytest_bfcl.reporting.score_lines import nothing_answered, run_lines
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.session.estimate import skip_lines

    printer = Printer()
    for note in [*result.notes, *skip_lines(result.skips)]:
        printer.line(note, "yellow")
    if result.path is None:
        printer.line(NOTHING)
        return _print_gates(printer, result, gates, values["write-expected"])
    if result.stopped and nothing_answered(result.summary):
        _print_unanswered(printer, result)
        return _print_gates(printer, result, gates, values["write-expected"])
    for line, style in run_lines(result.summary, result.stopped):
        printer.line(line, style)
    printer.line(result.fingerprint.short())
    written, notes = hand_out(RunDirectory.open(result.path), result.summary, values["report"], data, ahead=pages)
    if written is not None:
        printer.line(f"report: {written}")
    for note in notes:
        printer.line(note, "yellow")
    printer.line(f"run: {result.path}")
    models = result.summary["models"].values()
    if result.stopped or any(found["errors"] for model in models for found in model["categories"].values()):
        printer.line(f"to resume: the same command with -o {shlex.quote(str(result.path))}")
    return _print_gates(printer, result, gates, values["write-expected"])


def _print_problems(printer: Printer, problems: Sequence[str]) -> None:
    """The first places of the data that cannot be used, and how to see all."""
    for problem in problems[:MOST_PROBLEMS]:
        printer.line(f"not usable: {problem}", "red")
    if (left := len(problems) - MOST_PROBLEMS) > 0:
        printer.line(f"… and {left:,} more: `pytest-bfcl validate FILE` lists them", "red")


def _print_unanswered(printer: Printer, result: RunResult) -> None:
    """A run without an answer has no scores: why it stopped, the error where that does not say it, how to resume."""
    first = next((record["detail"] for record in result.records if record["outcome"] == "error"), None) or {}
    for label, field in (("error", "error"), ("what to do", "advice")):
        if (told := str(first.get(field, ""))) and told.removeprefix("not sent: ") not in str(result.stopped):
            printer.line(f"{label}: {told}")
    printer.line(f"stopped: {result.stopped}", "red")
    printer.line(f"to resume: the same command with -o {shlex.quote(str(result.path))}")


def _print_gates(printer: Printer, result: RunResult, gates: GateOptions, write_expected: str | None) -> int:
    """The last lines: unusable places of the data, the file of expected failures, the gates' verdict."""
    from pytest_bfcl.reporting.markdown import annotation_lines
    from pytest_bfcl.scoring.expectations import Expectations
    from pytest_bfcl.scoring.gating import gate_lines, wrong_entries
    from pytest_bfcl.session.whole_run import trouble_of

    if write_expected is not None and result.path is not None:
        expected = Expectations(gates.expected)
        printer.line(expected.write(write_expected, result.records, result.fingerprint), "yellow")
    _print_problems(printer, result.problems)
    gate, troubles = result.summary["gate"], trouble_of(result.problems)
    unjudged = result.stopped or "nothing was selected"
    wrong = wrong_entries(result.summary)
    for line, good in gate_lines(gate, gates, unjudged=unjudged, troubles=troubles, wrong=wrong):
        printer.line(line, {True: "green", False: "red", None: ""}[good])
    for line in annotation_lines(gate, os.environ):
        obeyed(line)
    return result.exit_code


class _Progress:
    """Counts lines, shows the number on a terminal, and has pages packed."""

    def __init__(self, stream: IO[str], pages: PagesAhead | None) -> None:
        self._stream = stream
        self._pages = pages
        self._counts: Counter[str] = Counter()
        self._shown = stream.isatty()
        self._began = time.monotonic()
        self._next = self._began + PROGRESS_EVERY_S

    def __call__(self, record: ResultLine) -> None:
        """Count one more line."""
        self._counts[record["outcome"]] += 1
        if self._pages is not None:
            self._pages.take(record)
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_EVERY_S
            done = self._counts.total()
            rate = done / (time.monotonic() - self._began)
            told = ", ".join(f"{count} {name}" for name, count in sorted(self._counts.items()))
            self._stream.write(f"\r{done} entries, {rate:.0f}/s: {told}\x1b[K")
            self._stream.flush()

    def finish(self) -> None:
        """End the progress line."""
        if self._shown:
            self._stream.write("\n")
