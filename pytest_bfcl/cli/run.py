"""Run models over entries without pytest: in this process, or on a Ray cluster (--ray).

The same conversations, lines, run directory and report as `pytest --model …`; options are spelled as there, with or
without bfcl- in front. Naming an existing run directory (-o) goes on with it: nothing answered is asked again. Gates,
shards and expectations are pytest's. Exit code 0 all passed, 1 something failed or ended in an error,
2 stopped (Ctrl-C, budget, endpoint down; results are kept) or usage.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.run_options import OPTIONS, Option, help_of, of_run
from pytest_bfcl.run_options import values as kinds

if TYPE_CHECKING:
    from pytest_bfcl.cluster import Cluster
    from pytest_bfcl.dataset import DataSet
    from pytest_bfcl.evaluation import RunResult
    from pytest_bfcl.runs import ResultLine

PROGRESS_EVERY_S = 1.0
ACTORS = Option("ray-actors", "processes that hold conversations", kinds.whole(1))
CPUS = Option("ray-cpus", "what each reserves", kinds.decimal(0))
FULL_REPORT = 20_000
"""Results up to which every entry gets a page unless something else is asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""

    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE.jsonl", help="entries of your own, instead of --data"
    )
    for option in of_run():
        if option.name != "out":
            _add(parser, option)
    parser.add_argument(
        "-o", "--out", "--bfcl-out", type=Path, metavar="DIR",
        help="run directory (default: reports/<time>-<model>); an existing run is continued",
    )  # fmt: skip
    ray = parser.add_argument_group("on a Ray cluster", 'needs the extra: pip install "pytest-bfcl[ray]" on every node')
    ray.add_argument(
        "--ray", nargs="?", const="auto", metavar="ADDRESS",
        help="HOST:PORT, auto (the cluster of this machine, or RAY_ADDRESS), or local (one is started for this run)",
    )  # fmt: skip
    ray.add_argument("--ray-actors", type=_kind(ACTORS), metavar="N", help="processes that hold conversations")
    ray.add_argument("--ray-cpus", type=_kind(CPUS), default=1.0, metavar="CPUS", help="what each reserves (1)")
    ray.add_argument(
        "--ray-own-keys", action="store_true", help="send no API keys: actors find them in their nodes' environment"
    )


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    more: Parsed = {"dest": option.key, "help": help_of(option).replace("%", "%%"), "required": option.name == "model"}
    if option.flag:
        more |= {"action": "store_true"}
    elif option.many:
        more |= {"action": "append", "metavar": option.metavar, "default": option.default}
    else:
        more |= {"metavar": option.metavar, "choices": option.choices or None, "default": option.default,
                 "type": _kind(option)}  # fmt: skip
    parser.add_argument(f"--{option.name}", f"--bfcl-{option.name}", **more)


def _kind(option: Option) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return option.convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} does not fit: {error}") from None

    return read


def run(args: argparse.Namespace) -> int:
    """Run, summarise, write the report; what people should know goes to standard output."""
    from pytest_bfcl.dataset import open_files
    from pytest_bfcl.dataset.selection import read_ids
    from pytest_bfcl.evaluation import open_data
    from pytest_bfcl.evaluation import run as carry_out
    from pytest_bfcl.run_options.reading import settings_of
    from pytest_bfcl.runs import default_path
    from pytest_bfcl.simulators import documents_of

    values = _values(args)
    data = open_files(args.files, documents_of) if args.files else open_data(values["data"])
    models = list(dict.fromkeys(values["model"]))
    names = [name for text in values["categories"] or [] for name in text.replace(",", " ").split()] or None
    out = args.out or default_path(models)
    settings = settings_of(values)
    ids = None if values["ids"] is None else [ref.id for ref in read_ids(values["ids"], data)]
    cluster = _cluster(args)
    progress = _Progress(sys.stderr)
    try:
        result = carry_out(
            data, models, out=out, settings=settings, categories=names, progress=progress, cluster=cluster,
            ids=ids, sample=values["sample"],
        )  # fmt: skip
    except KeyboardInterrupt:
        print(f"\nstopped: interrupted; what was answered is kept in {out}")
        print(f"to go on: the same command with -o {shlex.quote(str(out))}")
        return 2
    finally:
        progress.finish()
    return _told(result, data, out, values["report"])


def _values(args: argparse.Namespace) -> Parsed:
    """Option → its value; those that only a test session has keep their defaults."""
    return {option.name: getattr(args, option.key, option.default) for option in OPTIONS}


def _cluster(args: argparse.Namespace) -> Cluster | None:
    if args.ray is None:
        return None
    from pytest_bfcl.cluster import Cluster

    return Cluster(args.ray, args.ray_actors, args.ray_cpus, send_keys=not args.ray_own_keys)


def _told(result: RunResult, data: DataSet, out: Path, level: str | None) -> int:
    """Say what came of it, as `pytest --model` does; returns the exit code."""
    from pytest_bfcl.reporting import write_report
    from pytest_bfcl.reporting.printing import Printer

    printer = Printer()
    for note in result.notes:
        printer.line(note, "yellow")
    outcomes: Counter[str] = Counter()
    for name, model in result.summary["models"].items():
        printer.line(name, "bold")
        rows = []
        for category, found in model["categories"].items():
            outcomes.update(passed=found["passed"], failed=found["failed"], error=found["errors"])
            share = "-" if found["accuracy"] is None else f"{100 * found['accuracy']:.1f} %"
            judged = found["passed"] + found["failed"]
            rows.append((category, f"{found['passed']}/{judged}", share, str(found["errors"] or ""),
                         str(found["skipped"] or "")))  # fmt: skip
        if rows:
            printer.table(("category", "correct", "accuracy", "errors", "skipped"), rows)
        overall = model["overall"]
        told = "not claimed" if overall["value"] is None else f"{100 * overall['value']:.1f} %"
        printer.line(f"overall: {told}" + (f", {overall['why']}" if overall.get("why") else ""))
    if result.stopped:
        printer.line(f"stopped: {result.stopped}; results are kept", "red")
    printer.line(result.fingerprint.short())
    report = level or ("full" if sum(outcomes.values()) <= FULL_REPORT else "index")
    if report != "none":
        printer.line(f"report: {write_report(out, entry_source=data, level=report)}")  # type: ignore[arg-type]
    printer.line(f"run: {out}")
    if result.stopped or outcomes["error"]:
        printer.line(f"to ask for what is missing: the same command with -o {shlex.quote(str(out))}")
    return 2 if result.stopped else int(outcomes["failed"] + outcomes["error"] > 0)


class _Progress:
    """Counts lines, and shows them on a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._counts: Counter[str] = Counter()
        self._shown = stream.isatty()
        self._began = time.monotonic()
        self._next = self._began + PROGRESS_EVERY_S

    def __call__(self, record: ResultLine) -> None:
        """One more line."""
        self._counts[record["outcome"]] += 1
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_EVERY_S
            done = self._counts.total()
            rate = done / (time.monotonic() - self._began)
            told = ", ".join(f"{count} {name}" for name, count in sorted(self._counts.items()))
            self._stream.write(f"\r{done} entries, {rate:.0f}/s: {told}\x1b[K")
            self._stream.flush()

    def finish(self) -> None:
        """The line is over."""
        if self._shown:
            self._stream.write("\n")
