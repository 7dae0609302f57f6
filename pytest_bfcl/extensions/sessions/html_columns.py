"""Extra columns for pytest-html: category, tag, reason, cost, latency, and a link to the entry's page.

Transcripts stay in their own pages, because thousands of them in one file would be slow to open.
"""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.settings import level_for

if TYPE_CHECKING:
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.run import Run

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
        from pytest_bfcl.reporting.links import page_link

        models = self._models if len(self._models) > 1 else [str(record.get("model") or "")]
        return f"{quote(Path(os.path.relpath(self._run, self._folder)).as_posix())}/{page_link(record, models)}"
