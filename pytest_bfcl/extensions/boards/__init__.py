"""Many runs: ranked in one table, compared with each other, and over time."""

from __future__ import annotations

from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")
