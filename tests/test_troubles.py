"""Trouble is raised by values: every kind is used, and no raise of ours spells one out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest_bfcl
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

ELSEWHERE = {"AdapterTrouble.INFERENCE", "HarnessTrouble.SETUP", "HarnessTrouble.CALL"}
"""Read from others' result files, and looked up by pytest's word for the phase of a test."""


def test_every_kind_is_used_and_none_is_spelled_out() -> None:
    """A kind nobody raises is a reason nobody can get; a text is one nobody explains."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in Path(pytest_bfcl.__file__).parent.rglob("*.py"))
    used = set(re.findall(r"\b(?:Adapter|Harness)Trouble\.[A-Z_]+", code))
    assert {f"{type(kind).__name__}.{kind.name}" for kind in (*AdapterTrouble, *HarnessTrouble)} - used <= ELSEWHERE
    assert re.findall(r"\b(?:Adapter|Harness)Error\(\s*f?[\"'].*", code) == []
