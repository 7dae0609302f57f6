"""Reports of finished runs: HTML, Markdown, CSV and the leaderboard, each from a run directory to a file."""

from pytest_bfcl.reporting.leaderboard import write_leaderboard
from pytest_bfcl.reporting.links import page_name
from pytest_bfcl.reporting.markdown import write_markdown
from pytest_bfcl.reporting.report import write_report

__all__ = ["page_name", "write_leaderboard", "write_markdown", "write_report"]
