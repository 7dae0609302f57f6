"""What a GitHub job receives: annotations (missed gates, the worst regressions), and its summary page.

Annotations are lines on standard output that the runner obeys (workflow commands of GitHub Actions); it shows ten of a
kind. The summary page is a file named by ``$GITHUB_STEP_SUMMARY``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.runs.summary_types import CheckSummary, GateSummary, Summary

SHOWN = 10
"""Annotations of a kind that a job shows."""


def are_wanted(environment: Mapping[str, str]) -> bool:
    """Whether this is a job of GitHub's."""
    return environment.get("GITHUB_ACTIONS") == "true"


def annotation_lines(gate: GateSummary) -> Iterator[str]:
    """At most ten errors and ten warnings, the worst first."""
    missed = [check for check in gate["checks"] if not check["ok"]]
    yield from islice((_command("error", f"gate {check['name']} missed", check["why"]) for check in missed), SHOWN)
    yield from islice((_command("warning", title, text) for title, text in _regressed(missed)), SHOWN)


def _regressed(missed: list[CheckSummary]) -> Iterator[tuple[str, str]]:
    """An entry once, though several groups hold it."""
    told: set[str] = set()
    for check in missed:
        for entry in check.get("entries") or []:
            if entry not in told:
                told.add(entry)
                yield f"{check['name']}: {entry.split()[0] if entry.strip() else ''}", entry


def _command(kind: str, title: str, message: str) -> str:
    name = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def append_step_summary(summary: Summary, environment: Mapping[str, str]) -> str | None:
    """Append the summary as Markdown to the file that GitHub shows with a job, where there is one.

    Why that could not be, in words; else ``None``.
    """
    path = environment.get("GITHUB_STEP_SUMMARY")
    if not path:
        return None
    from pytest_bfcl.reporting.markdown import write_markdown

    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(write_markdown(summary))
    except OSError as error:
        return f"the step summary could not be written: {error}"
    return None
