"""Domains of official entries' functions (maths, travel, cloud …): a table of ours, made by ``scripts/domains.py``."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).with_name("domains.json")


@lru_cache(maxsize=1)
def domains() -> dict[str, str]:
    """Id of a single-turn entry → domain; conversations have the classes they act on instead."""
    listed: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return {entry_id: domain for domain, ids in listed.items() for entry_id in ids.split()}
