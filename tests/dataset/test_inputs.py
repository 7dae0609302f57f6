"""What an entry depends on: every part changes its own digest, and is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.inputs import changed_parts, command_files, inputs_of
from pytest_bfcl.settings import Settings


def parts(folder: Path, **changes: Any) -> dict[str, str]:
    told = {"id": "e", "category": "mcp", "mcp": "s", "question": [[]], "files": {"x": {"copy": "seed"}}, **changes}
    settings = Settings(
        mcp={"s": f"python {folder}/server.py"}, mcp_setup={"s": f"sh -c 'sqlite3 x < {folder}/fill.sql'"}
    )
    return inputs_of(Entry(**told).model_copy(update={"folder": folder}), settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "seed" / "sub").mkdir(parents=True)
    for name in ("seed/sub/a.txt", "server.py", "fill.sql"):
        (tmp_path / name).write_text("1")
    return tmp_path


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda at: (at / "seed/sub/a.txt").write_text("2"), "the template seed"),
        (lambda at: (at / "seed/empty").mkdir(), "the template seed"),
        (lambda at: (at / "seed/link").symlink_to("sub/a.txt"), "the template seed"),
        (lambda at: (at / "server.py").write_text("2"), "the server command's file server.py"),
        (lambda at: (at / "fill.sql").write_text("2"), "the setup command's file fill.sql"),
    ],
)
def test_what_changed_is_named(folder: Path, change: Any, named: str) -> None:
    before = parts(folder)
    assert changed_parts(before, parts(folder)) == []
    change(folder)
    assert changed_parts(before, parts(folder)) == [named]


def test_the_line_counts_and_links_outside_do_not(folder: Path) -> None:
    before = parts(folder)
    assert changed_parts(before, parts(folder, results=[{"call": "f", "result": "1"}])) == ["the entry"]
    (folder / "seed" / "out").symlink_to(folder / "server.py")
    assert changed_parts(before, parts(folder)) == []
    assert parts(folder, files={"x": {"copy": "none"}})["the template none"] == "missing"


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("./run fill.sql {workdir}/x", ["run", "fill.sql"]), ("https://x.example/fill.sql", []), ("sh 'unclosed", []),
        ("sh -c 'cat *.sql | sqlite3 {workdir}/x'", ["fill.sql"]), ("cp -r seed {workdir}", ["seed"]), ("ls seed", []),
        ("cp -r . {workdir}", []), ("python -m server", ["server.py"]), ("python -m seed.tool", ["seed/tool.py"]),
        ("sh -c 'cp seed/sub/*.txt {workdir}'", ["seed/sub/a.txt"]),
    ],
)  # fmt: skip
def test_the_files_of_a_command(folder: Path, command: str, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "run").write_text("#!/bin/sh")
    (folder / "seed" / "tool.py").write_text("")
    monkeypatch.chdir(folder)
    assert [path.as_posix() for path in command_files(command)] == files
