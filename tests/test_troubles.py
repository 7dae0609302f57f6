"""Trouble is raised by values: every kind is used, and no raise of ours spells one out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest_bfcl
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

PACKAGE = Path(pytest_bfcl.__file__).parent
RECORDED_ONLY = {"AdapterTrouble.INFERENCE"}
"""Read from others' result files; nothing of ours raises it."""
CHOSEN_BY_NAME = {"HarnessTrouble.SETUP", "HarnessTrouble.CALL"}
"""The phase of a test, looked up by pytest's word for it."""


def test_every_kind_is_used_and_none_is_spelled_out() -> None:
    """A kind nobody raises is a reason nobody can get; a text is one nobody explains."""
    used, spelled = set(), []
    for path in PACKAGE.rglob("*.py"):
        if not re.search(r"Trouble|AdapterError|HarnessError", text := path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used.add(f"{node.value.id}.{node.attr}")
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("AdapterError", "HarnessError"):
                spelled += (
                    [f"{path.name}:{node.lineno}"] if node.args and isinstance(node.args[0], ast.Constant) else []
                )
    kinds = {f"{type(kind).__name__}.{kind.name}" for kind in (*AdapterTrouble, *HarnessTrouble)}
    assert kinds - used - CHOSEN_BY_NAME - RECORDED_ONLY == set()
    assert spelled == []
