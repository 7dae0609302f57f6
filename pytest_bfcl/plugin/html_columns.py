"""Extra columns for pytest-html: category, tag, reason. Transcripts stay in pages of their own."""

from __future__ import annotations

import html
import json
from typing import Any

import pytest

COLUMNS = ("category", "tag", "reason")


class Columns:
    """The hooks of pytest-html."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Names of our columns, before the last one."""
        for name in COLUMNS:
            cells.insert(-1, f'<th class="sortable" data-column-type="{name}">{name.capitalize()}</th>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Values of our columns; empty for tests that are not entries."""
        text = getattr(report, "bfcl", None)
        record = json.loads(text) if text else {}
        for name in COLUMNS:
            cells.insert(-1, f"<td>{html.escape(str(record.get(name) or ''))}</td>")
