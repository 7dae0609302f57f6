"""A verdict in words: one reading of its details for terminal, pages and summaries."""

from pytest_bfcl.explaining.explanation import Explanation, explain
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.explaining.terminal import failure_text

__all__ = ["Explanation", "explain", "failure_text", "headline"]
