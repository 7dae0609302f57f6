"""Runs held against each other: two runs entry by entry, many runs of one model, a server against a reference."""

from __future__ import annotations

from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")
