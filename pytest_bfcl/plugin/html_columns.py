"""Extra columns for pytest-html: category, tag, reason, and a link to the entry's page in the run's report."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_bfcl.plugin.session import BfclSession

COLUMNS = ("category", "tag", "reason")


class Columns:
    """The hooks of pytest-html. Transcripts stay in pages of their own: a table holding them would open slowly."""

    def __init__(self, bfcl: BfclSession) -> None:
        self.bfcl = bfcl

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Names of our columns, before the last one."""
        for name in COLUMNS:
            cells.insert(-1, f'<th class="sortable" data-column-type="{name}">{name.capitalize()}</th>')
        cells.insert(-1, "<th>Transcript</th>")

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Values of our columns; empty for tests that are not entries."""
        text = getattr(report, "bfcl", None)
        record = json.loads(text) if text else {}
        for name in COLUMNS:
            cells.insert(-1, f"<td>{html.escape(str(record.get(name) or ''))}</td>")
        cells.insert(-1, f"<td>{self._link(record) if record else ''}</td>")

    def _link(self, record: dict[str, Any]) -> str:
        from pytest_bfcl.reporting.links import ENTRIES, page_name

        if self.bfcl.run is None:
            return ""
        models = [model.model for model in self.bfcl.run.fingerprint.models]
        page = self.bfcl.run_path / ENTRIES / page_name(record, models)
        target = Path(str(self.bfcl.config.getoption("htmlpath", None) or "report.html"))
        folder = self.bfcl.config.invocation_params.dir / target.parent
        return f'<a href="{html.escape(os.path.relpath(page, folder))}">page</a>'
