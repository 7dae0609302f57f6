"""What a session without our arguments shows of us: columns of pytest-html, a note about own tests that were left out.

Transcripts stay in their own pages, because thousands of them in one file would be slow to open. Own tests next to the
benchmark are counted by name, without importing them.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plugin.pytest_internals import Sink
from pytest_bfcl.settings import level_for

if TYPE_CHECKING:
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.run import Run


FILES = 5_000
SECONDS = 1.0
SIZE = 2_000_000
"""Limits: a number of files, a time, and a largest size."""
_NAMES = re.compile(rb"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)([^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Naming:
    """The project's names of tests: patterns of files, functions, classes, and of skipped folders."""

    files: Sequence[str] = ("test_*.py", "*_test.py")
    functions: Sequence[str] = ("test",)
    classes: Sequence[str] = ("Test",)
    skipped: Sequence[str] = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Test functions of a project, and their files; ``all`` is false if a limit was reached."""

    tests: int
    files: int
    all: bool = True

    def hint_line(self, path: str, model: str) -> str:
        """The line, with the command to run them; ``path`` is their place."""
        least = "" if self.all else "at least "
        tests = "test function" if self.tests == 1 else "test functions"
        files = "file" if self.files == 1 else "files"
        return (
            f"{least}{self.tests} {tests} of your own in {self.files} {files} left out, this run is the benchmark's; "
            f"to run them name their path: pytest {path} --model {model}"
        )


def left_out_tests(session: Session, run: Run) -> LeftOutTests | None:
    """Reports left-out tests if the benchmark runs instead of own tests."""
    config, here = session.config, session.config.invocation_params.dir
    if not session.data.left_out:
        return None
    names = ("python_files", "python_functions", "python_classes", "norecursedirs")
    found = count_tests([here / place for place in session.data.left_out], Naming(*map(config.getini, names)))
    places = [os.path.relpath(here / place, here) for place in session.data.left_out]
    line = found.hint_line(shlex.join(places), session.specs[0].text)
    return LeftOutTests(f"bfcl: {line}", config) if found.tests else None


class LeftOutTests:
    """One line in the header; without a header in the summary."""

    def __init__(self, line: str, config: pytest.Config) -> None:
        self._line = line
        self._has_header = config.get_verbosity() >= 0 and not config.option.no_header

    def pytest_report_header(self) -> list[str]:
        """With a header: print there."""
        return [self._line]

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        """Without a header, and if the session was not refused."""
        if not self._has_header and exitstatus != pytest.ExitCode.USAGE_ERROR:
            Sink(terminalreporter).write_line(self._line, yellow=True)


def count_tests(places: Sequence[Path], naming: Naming) -> LeftOut:
    """The test functions below these places (a test with parameters counts once)."""
    until = time.monotonic() + SECONDS
    tests = files = 0
    for number, path in enumerate(dict.fromkeys(_test_files(places, naming))):
        if number == FILES or time.monotonic() > until:
            return LeftOut(tests, files, all=False)
        found = _tests_in(path, naming)
        tests += found
        files += found > 0
    return LeftOut(tests, files)


def _test_files(places: Sequence[Path], naming: Naming) -> Iterator[Path]:
    for place in places:
        if place.is_file():
            yield place
        for folder, inner, names in os.walk(place):
            inner[:] = sorted(name for name in inner if not _is_skipped(Path(folder, name), naming.skipped))
            yield from (Path(folder, name) for name in sorted(names) if _matches(name, naming.files))


def _is_skipped(folder: Path, patterns: Sequence[str]) -> bool:
    if folder.name == "__pycache__" or (folder / "pyvenv.cfg").is_file():
        return True
    return any(fnmatch(str(folder) if "/" in pattern else folder.name, pattern) for pattern in patterns)


def _tests_in(path: Path, naming: Naming) -> int:
    try:
        with path.open("rb") as file:
            text = file.read(SIZE)
    except OSError:
        return 0
    count, inside, indent = 0, False, b""
    for match in _NAMES.finditer(text):
        space, kind, name, rest = match.groups()
        if kind == b"class":
            if not space:
                inside, indent = _begins(name.decode(errors="replace"), naming.classes) or b"TestCase" in rest, b""
            continue
        if space and inside:
            indent = indent or space  # that of the class's body: functions inside functions are deeper
        if (not space or (inside and space == indent)) and _begins(name.decode(errors="replace"), naming.functions):
            count += 1
        inside = inside and bool(space)
    return count


def _begins(name: str, patterns: Sequence[str]) -> bool:
    """Whether pytest accepts the name: it has this beginning, or matches a pattern with wildcards."""
    return any(name.startswith(each) or ("*" in each and fnmatch(name, each)) for each in patterns)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, each) for each in patterns)


COLUMNS = ("category", "tag", "reason", "cost", "latency", "entry")


def columns(session: Session, run: Run) -> Columns | None:
    """The columns, if pytest-html is installed."""
    there = any(map(session.config.pluginmanager.hasplugin, ("html", "pytest_html.plugin")))
    return Columns(session, run) if there else None


class Columns:
    """The hooks of pytest-html."""

    def __init__(self, session: Session, run: Run) -> None:
        self._report = session.plan.report
        self._planned = run
        self._models = [spec.text for spec in session.specs]
        self._run = run.folder
        report = getattr(session.config.option, "htmlpath", None)
        directory = session.config.invocation_params.dir
        self._folder = (directory / os.path.expanduser(report or "report.html")).parent

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Names of our columns, before the last one."""
        for name in COLUMNS:
            cells.insert(-1, f'<th class="sortable" data-column-type="{name}">{name.capitalize()}</th>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: object, cells: list[str]) -> None:
        """Values of our columns; empty for tests that are not entries."""
        text = getattr(report, "bfcl", None)
        values = self._values(json.loads(text)) if text else {}
        for name in COLUMNS:
            cells.insert(-1, f'<td class="col-{name}">{values.get(name, "")}</td>')

    def _values(self, record: Parsed) -> dict[str, str]:
        """The cells of one record, as safe markup."""
        from pytest_bfcl.reporting.listing import total_of
        from pytest_bfcl.reporting.rendering import visible

        values = {name: html.escape(visible(str(record.get(name) or ""))) for name in ("category", "tag", "reason")}
        if record.get("cost_usd") is not None:
            values["cost"] = f"{record['cost_usd']:.6f}"
        latency = total_of(record.get("latency_s"))
        if latency is not None:
            values["latency"] = f"{latency:.3f}"
        if level_for(self._report, self._planned.planned) == "full":
            values["entry"] = f'<a href="{html.escape(self._link(record))}">page</a>'
        return values

    def _link(self, record: Parsed) -> str:
        """The entry's page, relative to the report."""
        from pytest_bfcl.reporting.rendering import page_link

        models = self._models if len(self._models) > 1 else [str(record.get("model") or "")]
        return f"{quote(Path(os.path.relpath(self._run, self._folder)).as_posix())}/{page_link(record, models)}"
