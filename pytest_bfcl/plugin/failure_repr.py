"""What pytest prints for failed entries: the prepared text, coloured on a terminal; equal errors appear once."""

from __future__ import annotations

import copy
import re
import textwrap
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import pytest
from _pytest._code.code import ExceptionRepr, ReprEntryNative, ReprFileLocation, ReprTraceback

from pytest_bfcl.explaining.headlines import ALIKE, alike, ids_text, sign_of
from pytest_bfcl.plain_text import printable

Place = tuple[str, int]
"""File and line (one-based) of an entry."""


class FailureRepr(ExceptionRepr):
    """What pytest prints for a failed entry: plain as a string, coloured on a terminal. Report plugins read the parts
    that pytest's own representations have. ``reprcrash.message`` is what the short summary and junit show,
    ``reprcrash.path`` and ``lineno`` are the entry's position in its data file.
    """

    def __init__(self, text: str, message: str, place: Place = ("", 0)) -> None:
        text = printable(text)
        traceback = ReprTraceback([ReprEntryNative([text])], None, "native")
        super().__init__(traceback, ReprFileLocation(place[0], place[1], printable(message)))
        self.text = text

    def __str__(self) -> str:
        return self.text

    def toterminal(self, writer: Any) -> None:
        """Write the text in colour. Lines wider than the terminal continue below their value."""
        title, *lines = self.text.splitlines() or [""]
        writer.line(title, red=True, bold=True)
        for line in lines:
            for part in _wrapped(line, writer.fullwidth) if writer.hasmarkup else [line]:
                _write_line(writer, part)


_VALUE = re.compile(r"^ *(?:\S+ {2,}|(?=\S))")
_COLOURS = {"expected": "green", "called": "red", "reply": "red", "message": "red", "advice": "cyan", "^": "red"}


def _write_line(writer: Any, line: str) -> None:
    """One line: its label has its own colour, the mark at the error is red."""
    label = line.split(maxsplit=1)[0] if line.strip() else ""
    head, mark, tail = line.partition("<-- ")
    if mark:
        writer.write(head)
        writer.line(mark + tail, red=True, bold=True)
    elif label == "expected" and line.split()[1:] == ["called"]:  # the head of a table
        writer.line(line, bold=True)
    elif label in _COLOURS:
        at = line.index(label)
        writer.write(line[:at])
        writer.write(label, **{_COLOURS[label]: True})
        writer.line(line[at + len(label) :])
    else:
        writer.line(line)


def _wrapped(line: str, width: int) -> list[str]:
    """A line in pieces of at most ``width`` columns; later pieces are indented to the value."""
    if len(line) <= width or width < 60:
        return [line]
    found = _VALUE.match(line)
    indent = min(found.end() if found else 0, width // 2)
    return textwrap.wrap(line, width, subsequent_indent=" " * indent, drop_whitespace=True, break_on_hyphens=False) or [
        line
    ]


def text_of(longrepr: object) -> str | None:
    """The text of one of these from a worker (plain data, or pytest's own class); else ``None``."""
    if isinstance(longrepr, str):
        return longrepr
    entries = getattr(getattr(longrepr, "reprtraceback", None), "reprentries", None)
    if isinstance(longrepr, FailureRepr) or not entries or not isinstance(entries[0], ReprEntryNative):
        return None
    return "\n".join(entries[0].lines)


def place_of(longrepr: object) -> Place:
    """File and line of a representation, if it has them."""
    crash = getattr(longrepr, "reprcrash", None)
    return (str(crash.path), int(crash.lineno)) if isinstance(crash, ReprFileLocation) else ("", 0)


class Folded:
    """What pytest's summary shows of entries, once; counts, exit code, files and failures' own texts stay.

    Equal errors are one error, and those that stopped the run none. Failures and errors leave pytest's short summary,
    which cuts their reasons: `lines` lists them instead. With ``-vv`` nothing changes; without ``f`` (errors: ``E``) in
    ``-r`` pytest's list is printed.
    """

    def __init__(self, stopped: Callable[[], str | None]) -> None:
        self._stopped = stopped
        self._aside: dict[str, list[Any]] = {}
        self._groups: dict[str, list[Any]] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        """Let the summary print each kind of error once, and none that stopped the run."""
        errors = terminalreporter.stats.get("error")
        if not errors or terminalreporter.config.get_verbosity() > 1:
            return (yield)
        why = self._stopped() or ""
        terminalreporter.stats["error"] = folded([report for report in errors if not _is_told_by(why, report)])
        try:
            return (yield)
        finally:
            terminalreporter.stats["error"] = errors

    @pytest.hookimpl(specname="pytest_terminal_summary", trylast=True)
    def before_short_summary(self, terminalreporter: Any) -> None:
        """Called after the failures and before the short summary."""
        if terminalreporter.config.get_verbosity() > 1:
            return
        for outcome, letter in (("error", "E"), ("failed", "f")):
            reports = terminalreporter.stats.get(outcome)
            if reports and letter in terminalreporter.reportchars:
                self._aside[outcome] = reports
                terminalreporter.stats[outcome] = [report for report in reports if not _is_ours(report)]
                for report in filter(_is_ours, reports):
                    reason = f"{outcome.upper()} {report.longrepr.reprcrash.message}"
                    self._groups.setdefault(reason, []).append(report)

    def put_back(self, terminalreporter: Any) -> None:
        """Undo it: later code counts the reports."""
        terminalreporter.stats.update(self._aside)
        self._aside = {}

    def lines(self) -> Iterator[str]:
        """A line a reason, most frequent first, with an entry as example; rare reasons list every entry. Uncut."""
        for reason, found in sorted(self._groups.items(), key=lambda item: -len(item[1])):
            outcome, _, told = reason.partition(" ")
            if len(found) > ALIKE:
                yield f"{reason}: {len(found):,}, e.g. {found[0].nodeid}"
            else:
                yield from (f"{outcome} {report.nodeid} - {told}" for report in found)


def _is_told_by(why: str, report: Any) -> bool:
    """Whether an entry's error says nothing beyond why the run stopped."""
    if not why or not _is_ours(report):
        return False
    told = report.longrepr.text.splitlines()[1:2]
    return bool(told) and told[0].strip().removeprefix("not sent: ") in why


def _is_ours(report: Any) -> bool:
    return isinstance(getattr(report, "longrepr", None), FailureRepr) and hasattr(report, "bfcl")


def folded(reports: Sequence[Any]) -> list[Any]:
    """The reports, with equal errors (apart from ids) represented by the first of them."""
    kept: list[Any] = []
    for group in alike(reports, _sign):
        kept += [_folded_report(group)] if len(group) > 1 else group
    return kept


def _folded_report(group: Sequence[Any]) -> Any:
    first = copy.copy(group[0])
    others = ids_text([_entry_id(report) for report in group[1:]])
    if not _is_ours(first):
        first.longrepr = f"{first.longrepr}\n  {len(group):,} lines have this error: this one, {others}"
        return first
    text = f"{first.longrepr.text}\n  {len(group):,} entries ended with this error: this one, {others}"
    message = f"{first.longrepr.reprcrash.message} ({len(group):,} entries)"
    first.longrepr = FailureRepr(text, message, place_of(first.longrepr))
    return first


def _sign(report: Any) -> str:
    """The key of equal reports; a report that is no entry's error equals no other."""
    if _is_ours(report):
        return sign_of(report.longrepr.text, _entry_id(report))
    if isinstance(report, pytest.CollectReport) and _entry_id(report).startswith("line "):
        return re.sub(r":\d+:(?: \S+_\d\S*:)?", ":", str(report.longrepr), count=1)
    return f"#{id(report)}"


def _entry_id(report: Any) -> str:
    return str(report.nodeid).rpartition("::")[2]
