"""The directory of one trial: real and short names, files and templates, what is read of it, commands in it."""

from __future__ import annotations

import asyncio
import os
import shlex
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.expectation import ABSENT, State
from pytest_bfcl.dataset.served_entry import TemplateCopy
from pytest_bfcl.extensions.agents import workdir as module
from pytest_bfcl.extensions.agents.workdir import Workdir, opened_workdir
from pytest_bfcl.failures import HarnessError


@pytest.fixture
def trial(tmp_path: Path) -> Workdir:
    (tmp_path / "w").mkdir()
    return Workdir("own_1", tmp_path / "w")


def test_files_and_templates(trial: Workdir, tmp_path: Path) -> None:
    source = tmp_path / "data"
    (source / "sub" / "deep").mkdir(parents=True)
    (source / "one.txt").write_text("1")
    (source / "sub" / "two.txt").write_text("22")
    (source / "sub" / "deep" / "three.txt").write_text("333")
    (source / "sub" / "link").symlink_to(source / "one.txt")
    (source / "sub" / "inside").symlink_to("deep")
    (source / "sub" / "hollow" / "more").mkdir(parents=True)
    (source / "empty").mkdir()
    trial.fill({"x/a.txt": "a\nb", "one": TemplateCopy(copy="one.txt"), "all": TemplateCopy(copy="sub"),
                "none": TemplateCopy(copy="empty")}, source)  # fmt: skip
    found = sorted(path.relative_to(trial.path).as_posix() for path in trial.path.rglob("*") if path.is_file())
    assert found == ["all/deep/three.txt", "all/two.txt", "one", "x/a.txt"]
    assert (trial.path / "x" / "a.txt").read_bytes() == b"a\nb"
    assert (trial.path / "none").is_dir()
    assert (trial.path / "all" / "hollow" / "more").is_dir()
    assert (trial.path / "all" / "inside").resolve() == trial.path / "all" / "deep", "links inside lead inside the copy"
    assert not (trial.path / "all" / "link").exists(), "links that lead out are not followed"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a": "../w"}, "there is no template '../w' beside the entry's file"),
        ({"a": "missing"}, "there is no template"),
        ({"a": "linked/secret"}, "there is no template 'linked/secret'"),
        ({"a": None}, "the template 'x' has no folder"),
        ({"a": "six", "b": "six"}, "the templates have more than 10 bytes"),
        ({"a": "big"}, "the templates have more than 10 bytes"),
        ({"a": "folder"}, "the templates have more than 10 bytes"),
        ({"a/b": "text", "a": "text"}, "files: a cannot be written"),
    ],
)  # fmt: skip
def test_templates_that_cannot_be_copied(
    trial: Workdir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(module, "MOST_COPIED", 10)
    source = tmp_path / "data"
    (source / "folder").mkdir(parents=True)
    for name, size in (("six", 6), ("big", 11), ("folder/a", 5), ("folder/b", 6)):
        (source / name).write_text("x" * size)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("key")
    (source / "linked").symlink_to(tmp_path / "outside")
    filled = {name: "text" if what == "text" else TemplateCopy(copy=what or "x") for name, what in files.items()}
    with pytest.raises(HarnessError, match=said) as caught:
        trial.fill(filled, None if files == {"a": None} else source)
    assert (caught.value.kind, str(caught.value).startswith("own_1: files: ")) == ("data", True)
    assert not (trial.path / "a").is_file() or files["a"] == "six"
    (source / "ten").write_text("x" * 10)
    trial.fill({"more": "x" * 50, "t": TemplateCopy(copy="ten")}, source)
    assert (trial.path / "t").exists()
    trial.fill({"t": TemplateCopy(copy="folder/a"), "u": TemplateCopy(copy="folder/a")}, source)


def test_what_is_read(trial: Workdir, tmp_path: Path) -> None:
    for name, text in (("a.json", '{"x": 1}'), ("b.txt", "words"), ("deep.json", "[" * 5000), ("sub/c.txt", "c")):
        (trial.path / name).parent.mkdir(exist_ok=True)
        (trial.path / name).write_text(text)
    (trial.path / "folder.txt").mkdir()
    (tmp_path / "secret").write_text("s")
    (trial.path / "out.txt").symlink_to(tmp_path / "secret")
    with sqlite3.connect(trial.path / "d.db") as base:
        base.execute("create table t (a)")
        base.execute("insert into t values (1)")
    assert trial.read(State(files="**/*.txt")) == ["b.txt", "sub/c.txt"]
    assert trial.read(State(file="a.json")) == {"x": 1}
    assert trial.read(State(file="b.txt")) == "words"
    assert trial.read(State(file="deep.json")) == "[" * 5000
    for name in ("none", "sub", "out.txt"):
        assert trial.read(State(file=name)) == {ABSENT: True}
    assert trial.read(State(file="d.db", sql="select a from t")) == [[1]]
    assert "out.txt" not in trial.read(State(files="*")), "links lead nowhere"
    for statement in ("select b from t", "delete from t", "attach 'x' as y", "select * from sqlite_master"):
        assert "error" in trial.read(State(file="d.db", sql=statement))


def test_reading_has_limits(trial: Workdir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_READ", 3)
    monkeypatch.setattr(module, "MOST_FILES", 2)
    for name in "abc":
        (trial.path / name).write_text("12345")
    assert trial.read(State(file="a")) == 123
    assert trial.read(State(files="*")) == ["a", "b"]


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def test_commands(trial: Workdir) -> None:
    asyncio.run(
        trial.run(
            f"NAME=x {python('import os; open(os.environ[chr(78)+chr(65)+chr(77)+chr(69)], chr(119))')}", "setup", 30
        )
    )
    assert (trial.path / "x").exists()
    for command, seconds, said in (
        (python("import sys; print('why\\n\\n', file=sys.stderr); sys.exit(3)"), 30,
        "ended with status 3\nit last said: why"),
        ("false", 30, "ended with status 1"), ("/no/such/program", 30, "cannot be started: No such file"),
        (python("import time; time.sleep(60)"), 0.3, "did not end within 0.3 s"),
    ):  # fmt: skip
        began = time.monotonic()
        with pytest.raises(HarnessError, match="own_1: the setup command") as caught:
            asyncio.run(trial.run(command, "setup", seconds))
        assert said in str(caught.value)
        assert caught.value.kind == "mcp"
        assert time.monotonic() - began < 20


def test_it_is_empty_and_goes_with_the_trial() -> None:
    async def work() -> Path:
        async with opened_workdir("own_1") as opened:
            assert list(opened.path.iterdir()) == []
            (opened.path / "file").write_text("x")
            return opened.path

    path = asyncio.run(work())
    assert path.name.startswith("bfcl-")
    assert not os.path.exists(path)
