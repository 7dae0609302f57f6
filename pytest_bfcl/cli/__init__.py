"""The ``pytest-bfcl`` console script: one module a verb, imported only when it is used.

A verb module has ``add_arguments(parser)`` and ``run(args) -> int``; its docstring is its help. Other packages add
verbs by entry points ``pytest_bfcl.verbs``; their module's ``SUMMARY`` is the line in `pytest-bfcl --help`. Exit codes
(docs/contracts.md): 0 fine, 1 a problem was found, 2 usage.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_bfcl import __version__, entry_points
from pytest_bfcl.collector import no_collections
from pytest_bfcl.failures import BenchmarkError, UsageError, did_you_mean, instead_of
from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    from pytest_bfcl.runs.lines import LeftOut


HABITS: list[tuple[str, str, str]] = [
    # verb (a pattern), what argparse said (a pattern), what to type
    ("run", r"arguments: -m\b", "--categories NAMES selects here, -m is pytest's"),
    ("run", r"arguments: -k\b", "--ids FILE selects here, -k is pytest's"),
    ("run", r"arguments: -n\b", "--concurrency N asks so many at once, -n is pytest's"),
    ("run", r"required: --model", "for instance --model openai:gpt-4o, or --model lexical: to try it"),
    ("compare", r"arguments: --(baseline|against|before|after|run)\b", "name both: pytest-bfcl compare BEFORE AFTER"),
    ("compare", r"arguments: (-o|--out)\b", "--html FILE, --markdown FILE or --json FILE"),
    ("explain", r"arguments: ([^-]|--(against|baseline|base|compare)\b)", "pytest-bfcl compare BEFORE AFTER --causes"),
    ("report", r"arguments: [^-]", "one run at a time; pytest-bfcl compare A B puts two side by side"),
    ("report", r"arguments: (-o|--out)\b", "it stands in the run; pytest-bfcl view site writes elsewhere"),
    ("report", r"arguments: (--open|--serve|--port)\b", "pytest-bfcl view RUN opens it in a browser"),
    ("report", r"arguments: --format\b", "pytest-bfcl export RUN --format NAME -o DIR"),
    ("score", r"arguments: --model\b", "score judges outputs you have; pytest --model SPEC asks a model"),
    ("score", r"required: PATH", "outputs you have: a .jsonl, a run directory or a result/ folder"),
    ("models", r"arguments: [^-]", "--model PROVIDER:NAME shows one"),
    ("models", r"arguments: --list\b", "without an option it lists them"),
    ("doctor", r"arguments: (?!-|https?:|wire|parser)", "--model PROVIDER:NAME names the model"),
    ("doctor", r"arguments: https?:", "--base-url URL, with --model PROVIDER:NAME"),
    ("wire", r"arguments: (--model|--base-url)\b", "write pytest --model PROVIDER:NAME --bfcl-base-url URL -m wire"),
    ("fetch", r"arguments: (official|--data|--offline)", "it fetches the official data alone, or takes it --from PATH"),
    ("merge|leaderboard|site|split", r"required: .*-o", "it is where to write"),
    ("split", r"arguments: --(test|ratio|size)\b", "--train SHARE is the share to train on"),
    ("new", r"(invalid choice|required: what)", "write pytest-bfcl new entry --from-python MODULE:FUNCTION"),
    ("schema", r"invalid choice", "it prints the schema of an entry or of a result line"),
]  # fmt: skip


def usual_way(verb: str, message: str) -> str:
    """The corrected command; empty if argparse's message is enough."""
    return next((told for name, said, told in HABITS if re.fullmatch(name, verb) and re.search(said, message)), "")


VERBS = {
    "fetch": "download the official data into the cache",
    "run": "run models without pytest",
    "merge": "join the parts of a sharded run",
    "models": "list providers and what they need",
}
"""The verbs of the core: module and line of help."""

FORMS = {"export.report": "pytest_bfcl.cli.report"}
"""Further forms of the core's verbs: ``VERB.FORM`` → the module."""

READER_GONE = 141
"""The exit code of a process that SIGPIPE ended, as a shell gives it (128 + 13): no error of the verb."""

USUAL = ("fetch", "run", "score", "compare", "leaderboard", "explain", "export", "view")
"""The verbs that help lists first."""

OTHERS_VERBS = {
    "site": "pytest-bfcl view site RUN… -o DIR",
    "stability": "pytest-bfcl compare stability RUN…",
    "report": "pytest-bfcl export report RUN",
    "prove": "pytest-bfcl score prove FOLDER",
    "audit": "pytest-bfcl validate audit DATA",
    "schema": "pytest-bfcl validate schema",
    "contamination": "pytest-bfcl validate training FILE --against official",
    "import": "pytest-bfcl new log FILE -o FILE",
    "generate": "pytest-bfcl new tasks -o DIR",
    "split": "pytest-bfcl new split DATA -o FILE",
    "baseline": "pytest-bfcl comment baseline -o DIR",
    "wire": "pytest --model SPEC -m wire runs the checks; pytest-bfcl doctor wire --list explains them",
    "audit-parser": "pytest-bfcl doctor wire --parser vllm:NAME",
    "evaluate": "pytest --model PROVIDER:NAME asks and judges in one run; outputs you have: pytest-bfcl score PATH",
    "eval": "outputs you have: pytest-bfcl score PATH; a model: pytest --model PROVIDER:NAME",
    "scores": "pytest-bfcl leaderboard RUN… -o DIR",
    "results": "runs lie under reports/; pytest-bfcl view shows them",
    "test-categories": "pytest --markers lists the categories",
    "test": "pytest --model PROVIDER:NAME",
    "list": "pytest-bfcl models lists providers, pytest --markers categories, pytest-bfcl view runs",
    "download": "pytest-bfcl fetch",
    "install": "pytest-bfcl fetch brings the data, pytest-bfcl doctor says what is missing",
    "diff": "pytest-bfcl compare BEFORE AFTER",
    "gate": "pytest --model PROVIDER:NAME --bfcl-fail-under GROUP=PCT; of two runs: pytest-bfcl compare A B --fail",
    "init": "pytest-bfcl new entry begins an entry of your own; a run needs no set-up",
    "convert": "pytest-bfcl export RUN --format NAME -o DIR",
    "show": "pytest-bfcl view RUN, or open RUN/index.html",
    "serve": "pytest --model vllm:NAME --bfcl-serve starts an engine",
    "help": "pytest-bfcl --help, pytest-bfcl VERB --help",
    "version": "pytest-bfcl --version",
    "-V": "pytest-bfcl --version",
    "-v": "pytest-bfcl --version",
}
"""Verbs of bfcl-eval and other common words → the verb that does the same here."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Breaks lines between words only, never inside ``--option`` or ``provider:name``."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        words = " ".join(text.split())
        return textwrap.wrap(words, width, break_on_hyphens=False, break_long_words=False)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """An option with its value once, without its spelling that begins with ``--bfcl-``."""
        names = [name for name in action.option_strings if not name.startswith("--bfcl-")]
        if not names:
            return super()._format_action_invocation(action)
        value = "" if action.nargs == 0 else f" {self._format_args(action, action.dest.upper())}"
        return f"{', '.join(names)}{value}"


class Parser(argparse.ArgumentParser):
    """Reports an error in one line, with the option that may be meant."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        _, _, unknown = message.partition("unrecognized arguments: ")
        name = next((word.partition("=")[0] for word in unknown.split() if word.startswith("-")), "")
        names = [each for action in self._actions for each in action.option_strings]
        meant = usual_way(self.prog.rpartition(" ")[2], message) or (did_you_mean(name, names) if name else "")
        message = re.sub(r"^argument (\S+): invalid float value: (.*)", r"\1: \2 is not a number", message)
        message = re.sub(r"^argument (\S+): invalid int value: (.*)", r"\1: \2 is not a whole number", message)
        text = f"{message}; {meant}" if meant else message
        self.exit(2, f"{self.prog}: {text} (see {self.prog} --help)\n")

    def format_help(self) -> str:
        """A docstring as help, without markup."""
        return super().format_help().replace("`", "")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help and errors through `pytest_bfcl.plain_text`."""
        if message:
            say(message.removesuffix("\n"), file=file or sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code: `READER_GONE` if who reads its output (``head``, ``less``) went away."""
    try:
        code = _main(argv)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        return code
    except BrokenPipeError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):  # what is still held is not written when the interpreter ends
            with suppress(OSError, AttributeError):  # it has no file, or does not exist
                os.dup2(nothing, stream.fileno())
        os.close(nothing)
        return READER_GONE


def _main(argv: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    verb, *rest = words or [""]
    try:
        with no_collections():
            if rest and rest[0] in forms_of(verb):
                form, *rest = rest
                verb = f"{verb} {form}"
            module = verb_module(verb)
    except UsageError as error:
        say(f"pytest-bfcl {verb}: {error}", file=sys.stderr)
        return 2
    if module is None:
        return _top_level(words, available())
    if argv is None:  # this is all that the process does: its modules are never searched, at its end neither
        gc.freeze()
    try:
        args = verb_parser(verb, module).parse_args(rest)
    except SystemExit as stop:  # argparse has said what is wrong, or printed its help
        return int(stop.code or 0)
    return _guarded(verb, module, args)


def available() -> dict[str, str]:
    """Verb → one line of help, for the installed verbs; of a package that cannot be imported, the reason."""
    told = dict(VERBS)
    for name, point in entry_points.offered("verbs").items():
        try:
            told.setdefault(name, str(getattr(entry_points.load(point, "verb"), "SUMMARY", point.value)))
        except UsageError as error:
            told.setdefault(name, str(error))
    return {name: told[name] for name in (*(name for name in USUAL if name in told), *told)}


def forms_of(verb: str) -> Mapping[str, Callable[[], ModuleType]]:
    """The further forms of a verb: its second word → the loader of the module."""
    found = {name: partial(import_module, module) for name, module in FORMS.items()}
    for name, point in entry_points.offered("forms").items():
        found.setdefault(name, partial(entry_points.load, point, "verb"))
    return {name.removeprefix(f"{verb}."): load for name, load in found.items() if name.startswith(f"{verb}.")}


def commands() -> list[str]:
    """Every installed verb and ``VERB FORM``."""
    verbs = list(available())
    return [*verbs, *(f"{verb} {form}" for verb in verbs for form in forms_of(verb))]


def verb_module(verb: str) -> ModuleType | None:
    """The module of a verb, or of a ``VERB FORM``; ``None`` if there is no such verb. Raises `UsageError`."""
    head, _, form = verb.partition(" ")
    if form:
        return forms_of(head)[form]()
    if verb in VERBS:
        return import_module(f"pytest_bfcl.cli.{verb.replace('-', '_')}")
    point = None if not verb or verb.startswith("-") else entry_points.find("verbs", verb)
    return None if point is None else entry_points.load(point, "verb")


def verb_parser(verb: str, module: ModuleType, width: int | None = None) -> argparse.ArgumentParser:
    """The parser of a verb; ``width`` is the width of its help, by default the terminal's."""
    parser = Parser(prog=f"pytest-bfcl {verb}", description=module.__doc__)
    parser.formatter_class = partial(HelpFormatter, width=width)
    module.add_arguments(parser)
    forms = {name: load().SUMMARY for name, load in forms_of(verb).items()}
    if forms:
        listed = "\n".join(f"  {verb} {name:<10} {text}" for name, text in forms.items())
        parser.epilog = f"{parser.epilog}\n\n" if parser.epilog else ""
        parser.epilog += f"further forms:\n{listed}"
    return parser


def _guarded(verb: str, module: ModuleType, args: argparse.Namespace) -> int:
    """Run a verb; users' mistakes become one message on standard error."""
    try:
        return int(module.run(args))
    except UsageError as error:
        say(f"pytest-bfcl {verb}: {error}", file=sys.stderr)
        return 2
    except BenchmarkError as error:
        say(f"pytest-bfcl {verb}: {error.message}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of the output went away
        raise
    except OSError as error:  # a file of the user's that cannot be read or written
        place = f" {error.filename}" if error.filename else ""
        say(f"pytest-bfcl {verb}: cannot use{place}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        say(f"pytest-bfcl {verb}: interrupted", file=sys.stderr)
        return 130


def tell_left_out(verb: str, *found: LeftOut) -> bool:
    """Report on standard error the damaged lines of each file; returns whether there were any."""
    for left_out in found:
        for text in left_out.sentences():
            say(f"pytest-bfcl {verb}: {text}", file=sys.stderr)
    return any(found)


def write_file(path: Path, text: str, *, append: bool = False) -> None:
    """Write a file that the user named, and its folder, whole or not at all."""
    from pytest_bfcl.runs.directory import refuse_overwriting
    from pytest_bfcl.runs.lines import staged

    refuse_overwriting(path)
    if path.is_dir():
        raise UsageError(f"cannot write {path}: Is a directory")
    try:
        before = path.read_bytes() if append and path.is_file() else b""
        with staged(path) as beside:
            beside.write_bytes(before + text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def write_files(texts: Mapping[Path | None, Callable[[], str]]) -> list[Path]:
    """Write the files that the user named (`write_file`); returns their paths."""
    named = {path: make for path, make in texts.items() if path is not None}
    for path, make in named.items():
        write_file(path, make())
    return list(named)


def _top_level(words: Sequence[str], verbs: dict[str, str]) -> int:
    listing = "\n".join(f"  {verb:<12} {text}" for verb, text in verbs.items())
    parser = Parser(
        prog="pytest-bfcl",
        usage="pytest-bfcl VERB [options]",
        description="The Berkeley Function-Calling Leaderboard: data, scores and comparisons.",
        epilog=f"verbs:\n{listing}\n\n`pytest-bfcl VERB --help` explains it; `pytest --model SPEC` runs the benchmark.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pytest-bfcl {__version__}")
    try:
        _, unknown = parser.parse_known_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    if unknown:
        meant = OTHERS_VERBS.get(unknown[0]) or instead_of(unknown[0], verbs)
        say(f"pytest-bfcl: no verb {unknown[0]!r}; {meant}", file=sys.stderr)
        return 2
    parser.print_help()
    return 0
