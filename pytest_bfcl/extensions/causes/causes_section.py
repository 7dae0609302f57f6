"""Why entries failed, as a section of a report's first page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.causes.of_runs import of_run
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.rendering import render
from pytest_bfcl.reporting.sources import Section

if TYPE_CHECKING:
    from pytest_bfcl.runs.directory import RunDirectory

TEMPLATES = Path(__file__).with_name("templates")


def causes(run: RunDirectory, lines: Sequence[Fields]) -> Section | None:
    """The causes of each model's failures."""
    from markupsafe import Markup

    found = [each for each in of_run(run, lines) if each.failed]
    body = Markup(render("causes.html.jinja", TEMPLATES, causes=found, run=_shown(run.path)))
    return Section("causes", "Causes", body, first=True) if found else None


def _shown(path: Path) -> str:
    """The path to type from here; its name if it is elsewhere."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return path.name
