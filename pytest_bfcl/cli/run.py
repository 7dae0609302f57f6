"""Run models over entries without pytest: in this process, or on a Ray cluster (--ray).

The same conversations, lines, run directory and report as `pytest --model …`; options are spelled as there, with or
without bfcl- in front. Naming an existing run directory (-o) goes on with it: nothing answered is asked again. Gates,
samples, shards and single entries are pytest's. Exit code 0 all passed, 1 something failed or ended in an error,
2 stopped (Ctrl-C, budget, endpoint down; results are kept) or usage.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.failures import UsageError
from pytest_bfcl.settings import APIS, REASONING_POLICIES, THINK, Price, Settings, check_header, check_parameter

if TYPE_CHECKING:
    from pytest_bfcl.cluster import Cluster
    from pytest_bfcl.dataset import DataSet
    from pytest_bfcl.evaluation import RunResult
    from pytest_bfcl.runs import ResultLine

PROGRESS_EVERY_S = 1.0
FULL_REPORT = 20_000
"""Results up to which every entry gets a page unless something else is asked for."""


class Field(NamedTuple):
    """An option that is a field of `Settings`; without it the field keeps its default."""

    name: str
    field: str
    help: str
    kind: Callable[[str], Any] = str
    choices: Sequence[str] = ()


def _above(least: float, kind: type[int] | type[float]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = kind(text)
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} does not fit: a number of at least {least:g}")
        return value

    read.__name__ = "number"
    return read


def _temperature(text: str) -> float | None:
    return None if text.lower() == "none" else float(_above(0, float)(text))


FIELDS = (
    Field(
        "mode", "mode", "native calls (fc), calls written as text (prompt), or auto", choices=("auto", "fc", "prompt")
    ),
    Field("concurrency", "concurrency", "requests in flight (on a cluster: of all actors together)", _above(1, int)),
    Field("timeout", "timeout_s", "seconds without a byte before a request is given up", _above(0.001, float)),
    Field("retries", "retries", "how often a failed request is repeated", _above(0, int)),
    Field("temperature", "temperature", "sampling temperature; none lets the provider decide", _temperature),
    Field("max-tokens", "max_tokens", "limit of a reply", _above(1, int)),
    Field("base-url", "base_url", "base URL of an OpenAI-compatible endpoint"),
    Field("api", "api", "wire format", choices=APIS),
    Field("reasoning", "reasoning", "reasoning of earlier replies in later requests", choices=REASONING_POLICIES),
    Field("decoder", "decoder", "format of calls that a server leaves in the text"),
    Field("think", "think", "<think>…</think> in texts", choices=THINK),
    Field("template", "template", "render prompts here and ask for text completions"),
    Field("repeat", "repeat", "run every entry K times", _above(1, int)),
    Field("budget", "budget_usd", "stop when so many USD are spent", _above(0, float)),
    Field("search", "search", "where the web search comes from"),
    Field("rest", "rest", "who answers the requests of retired categories"),
    Field("max-errors", "max_errors_pct", "errors allowed, in percent of the entries", _above(0, float)),
    Field("rules", "rules", "which rules give the headline verdict", choices=("official", "corrected")),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""

    def add(name: str, **more: Any) -> None:
        parser.add_argument(f"--{name}", f"--bfcl-{name}", **more)

    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE.jsonl", help="entries of your own, instead of --data"
    )
    add("model", action="append", metavar="SPEC", required=True, help="provider:name[@fc|@prompt]; repeatable")
    add(
        "data",
        default="auto",
        metavar="SET",
        help="auto, bundled, official, verified, a folder or file (default: auto)",
    )
    add("categories", action="append", metavar="NAMES", help="categories or groups, comma-separated; repeatable")
    for each in FIELDS:
        add(each.name, dest=each.field, type=each.kind, choices=each.choices or None, default=argparse.SUPPRESS,
            help=each.help)  # fmt: skip
    add("stream", action="store_true", help="ask for server-sent events and measure the time to the first token")
    add("price", type=_price, metavar="IN,OUT", help="USD per million tokens")
    add("param", action="append", default=[], metavar="NAME=VALUE", help="a further field of every request; repeatable")
    add("header", action="append", default=[], metavar="'NAME: VALUE'", help="an HTTP header; repeatable")
    add("report", choices=("none", "index", "full"), help="HTML report (default: full, beyond 20,000 results index)")
    parser.add_argument(
        "-o", "--out", "--bfcl-out", type=Path, metavar="DIR",
        help="run directory (default: reports/<time>-<model>); an existing run is continued",
    )  # fmt: skip
    ray = parser.add_argument_group("on a Ray cluster", 'needs the extra: pip install "pytest-bfcl[ray]" on every node')
    ray.add_argument(
        "--ray", nargs="?", const="auto", metavar="ADDRESS",
        help="HOST:PORT, auto (the cluster of this machine, or RAY_ADDRESS), or local (one is started for this run)",
    )  # fmt: skip
    ray.add_argument("--ray-actors", type=_above(1, int), metavar="N", help="processes that hold conversations")
    ray.add_argument("--ray-cpus", type=_above(0, float), default=1.0, metavar="CPUS", help="what each reserves (1)")
    ray.add_argument(
        "--ray-own-keys", action="store_true", help="send no API keys: actors find them in their nodes' environment"
    )


def run(args: argparse.Namespace) -> int:
    """Run, summarise, write the report; what people should know goes to standard output."""
    from pytest_bfcl.dataset import open_files
    from pytest_bfcl.evaluation import open_data
    from pytest_bfcl.evaluation import run as carry_out
    from pytest_bfcl.runs import default_path
    from pytest_bfcl.simulators import documents_of

    data = open_files(args.files, documents_of) if args.files else open_data(args.data)
    models = list(dict.fromkeys(args.model))
    names = [name for text in args.categories or [] for name in text.replace(",", " ").split()] or None
    out = args.out or default_path(models)
    settings = _settings(args)
    cluster = _cluster(args)
    progress = _Progress(sys.stderr)
    try:
        result = carry_out(
            data, models, out=out, settings=settings, categories=names, progress=progress, cluster=cluster
        )
    except KeyboardInterrupt:
        print(f"\nstopped: interrupted; what was answered is kept in {out}")
        print(f"to go on: the same command with -o {shlex.quote(str(out))}")
        return 2
    finally:
        progress.finish()
    return _told(result, data, out, args.report)


def _settings(args: argparse.Namespace) -> Settings:
    chosen = {each.field: getattr(args, each.field) for each in FIELDS if hasattr(args, each.field)}
    parameters = dict(_pair("--param", text, "=", check_parameter) for text in args.param)
    headers: dict[str, str] = {}
    for text in args.header:
        name, value = _pair("--header", text, ":")
        try:
            check_header(name, value)
        except ValueError as error:
            raise UsageError(f"--header: {error}") from None
        headers[name] = value
    return Settings(**chosen, stream=args.stream, price=args.price or Price(), parameters=parameters, headers=headers)


def _pair(option: str, text: str, mark: str, check: Callable[[str], None] | None = None) -> tuple[str, Any]:
    import json

    name, found, value = (part.strip() for part in text.partition(mark))
    if not found:
        raise UsageError(f"{option}: written NAME{mark}VALUE")
    if check is None:
        return name, value
    try:
        check(name)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _price(text: str) -> Price:
    parts = [part.partition("=")[2] or part for part in text.split(",")]
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if not 1 <= len(values) <= 2 or min(values) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} does not fit: IN,OUT in USD per million tokens")
    return Price(values[0], values[-1])


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
