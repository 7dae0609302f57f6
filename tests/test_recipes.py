"""The recipes of docs/architecture.md: six changes, each a patch of at most three files, applied to a copy and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECIPES = tomllib.loads(Path(__file__).with_name("recipes.toml").read_text(encoding="utf-8"))
MOST_FILES = 3
CHECKS = """
import json, os, sys
for name, check in json.loads(sys.argv[1]).items():
    os.makedirs(f"checks/{name}")
    os.chdir(f"checks/{name}")
    exec(compile(check, name, "exec"), {})
    os.chdir("../..")
"""


@pytest.mark.slow
def test_every_recipe_takes_three_files_and_works(tmp_path: Path) -> None:
    """All in one copy and one process, whose traceback names the recipe."""
    shutil.copytree(ROOT / "pytest_bfcl", tmp_path / "pytest_bfcl", copy_function=_linked)
    (tmp_path / "data").symlink_to(ROOT / "data")
    for name, recipe in RECIPES.items():
        assert len({edit["path"] for edit in recipe["edits"]}) <= MOST_FILES, name
        for edit in recipe["edits"]:
            _apply(tmp_path / "pytest_bfcl" / edit["path"], edit.get("old", ""), edit["new"])
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, json.dumps({name: recipe["check"] for name, recipe in RECIPES.items()})],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def _apply(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8") if old else ""
    assert text.count(old) == 1 or not old, f"{path.name} has changed: the recipe no longer fits"
    path.unlink(missing_ok=True)  # a link to the file of this repository
    path.write_text(text.replace(old, new) if old else new, encoding="utf-8")


def _linked(source: str, target: str) -> None:
    """A file of the copy: a link where the disk allows it, since no check writes to one."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
