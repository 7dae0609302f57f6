"""Reports of finished runs: HTML and Markdown, each from a run directory to a file.

These names load on first use: a run that leaves its report to another process loads little of this room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.late_names import late_names

if TYPE_CHECKING:
    from pytest_bfcl.reporting.links import page_name as page_name
    from pytest_bfcl.reporting.markdown import write_markdown as write_markdown
    from pytest_bfcl.reporting.report import write_report as write_report

_HOMES = {
    "page_name": "links",
    "write_markdown": "markdown",
    "write_report": "report",
}

__all__ = ["page_name", "write_markdown", "write_report"]

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__, _HOMES)
