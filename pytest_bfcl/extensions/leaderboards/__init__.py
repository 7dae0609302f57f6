"""Many runs in one table: ranked, over time, in the reference's files, as flat tables."""

from __future__ import annotations

from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")
