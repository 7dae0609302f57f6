"""The file system's quirks and bounds (simulators spec §1)."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest

from pytest_bfcl.simulators import ERROR_PREFIX, CallExecutor
from pytest_bfcl.simulators.gorilla_file_system import MAX_FILE_CHARS, GorillaFileSystem
from pytest_bfcl.simulators.long_context import own_constants
from tests.patience import patience


def directory(**contents: Any) -> dict[str, Any]:
    return {"type": "directory", "contents": contents}


def file(content: str = "") -> dict[str, Any]:
    return {"type": "file", "content": content}


@pytest.fixture
def system() -> GorillaFileSystem:
    return make()


def make() -> GorillaFileSystem:
    return GorillaFileSystem({"root": {"home": directory(d=directory(e=directory(), x=file("1")), f=file("b\na\n"))}})


def run(system: GorillaFileSystem, *calls: str) -> list[str]:
    return CallExecutor({"GorillaFileSystem": system}).execute_all(calls)


def test_a_moved_directory_keeps_the_old_parent_of_its_children(system: GorillaFileSystem) -> None:
    results = run(system, "mv('d', 'renamed')", "cd('renamed')", "cd('e')", "cd('..')", "pwd()", "ls()")
    assert results[3:] == [
        "{}",
        '{"current_working_directory": "/home/d"}',
        '{"current_directory_content": ["e", "x"]}',
    ]


def test_dots_are_ordinary_names_for_mv(system: GorillaFileSystem) -> None:
    assert "error" not in run(system, "mv('f', '.')")[0]
    assert run(system, "ls(a=True)") == ['{"current_directory_content": ["d", "."]}']
    assert "error" in run(system, "cat('.')")[0]
    assert run(system, "echo('x', '.')")[0].startswith(ERROR_PREFIX)


def test_a_directory_copied_into_itself_hangs_nothing() -> None:
    one, two = make(), make()
    for system in (one, two):
        assert "error" not in run(system, "cp('d', 'd')")[0]
    start = time.perf_counter()
    for command in ("find('.')", "find(name='nothing')", "du()", "du(human_readable=True)"):
        assert run(one, command)[0].startswith(ERROR_PREFIX), command
    assert one.public_state() == two.public_state()
    assert one.public_state() != make().public_state()
    assert copy.deepcopy(one.public_state()) == one.public_state()
    assert run(one, *["cd('d')"] * 50, "pwd()", *["cd('..')"] * 50)
    assert repr(one.public_state())
    assert one.root.to_dict()
    run(one, "rm('d')")
    assert run(one, "find()") == ['{"matches": ["./f"]}']
    assert time.perf_counter() - start < patience(2)


def test_doubling_a_shared_tree_hangs_nothing() -> None:
    one, two = make(), make()
    start = time.perf_counter()
    for system in (one, two):
        for _ in range(60):
            run(system, "cp('d', 'copy')", "mv('copy', 'd')", "cd('d')", "mv('copy', 'n')", "cd('/')", "cp('d', 'q')")
            run(system, "rm('d')", "mv('q', 'd')")
        run(system, "find(name='nothing')", "du()")
    assert one.public_state() == two.public_state()
    assert one.root.to_dict()["type"] == "directory"
    assert time.perf_counter() - start < patience(5)


def test_bounds(system: GorillaFileSystem) -> None:
    assert run(system, "mkdir('" + "n" * 300 + "')")[0].startswith(ERROR_PREFIX)
    system.call("echo", {"content": "a" * MAX_FILE_CHARS, "file_name": "f"})
    assert system.call("echo", {"content": "a" * (MAX_FILE_CHARS + 1), "file_name": "f"}).startswith(ERROR_PREFIX)
    deep = GorillaFileSystem()
    results = run(deep, *["mkdir('d')", "cd('d')"] * 100)
    assert results[0] == "None"
    assert results[-2].startswith(ERROR_PREFIX) or "error" in results[-2]
    flat = GorillaFileSystem()
    run(flat, *[f"mkdir('{n}')" for n in range(200)])
    moved = run(flat, *[f"mv('{n}', '{n + 1}')" for n in range(199)])
    assert any(text.startswith(ERROR_PREFIX) for text in moved)
    assert copy.deepcopy(flat.public_state()) == flat.public_state()


def test_long_context_fills_files_and_directories() -> None:
    texts = own_constants()
    untouched = texts["FILES_TAIL_USED"][0]
    config = {"root": {"home": directory(d=directory(x=file("1")), f=file("2"), **{untouched: file("3")})}}
    root = GorillaFileSystem(config, long_context=True).public_state()["root"]
    assert root.contents["f"].content == "2" + texts["FILE_CONTENT_EXTENSION"]
    assert root.contents[untouched].content == "3"
    assert list(root.contents) == ["d", "f", untouched], "a directory with a directory inside gets no files"
    assert list(root.contents["d"].contents) == ["x", *texts["POPULATE_FILE_EXTENSION"]]
    given = GorillaFileSystem(config, long_context=True, texts={**texts, "FILE_CONTENT_EXTENSION": "!"})
    assert given.root.contents["f"].content == "2!"
    assert GorillaFileSystem({}, long_context=True).root.contents == {}
    clash = {"root": {"home": directory(**{texts["POPULATE_FILE_EXTENSION"][0]: file()})}}
    with pytest.raises(ValueError, match="long-context"):
        GorillaFileSystem(clash, long_context=True)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".", ["./d", "./d/e", "./d/x", "./f"]),
        ("d", ["d/e", "d/x"]),
        ("./d/", ["./d/e", "./d/x"]),
        ("/d", ["/d/e", "/d/x"]),
        ("/", ["/d", "/d/e", "/d/x", "/f"]),
        ("f", None),
        ("d/x", None),
        ("..", None),
        ("", None),
        ("//", None),
        ("d//e", None),
    ],
)
def test_paths_of_find(system: GorillaFileSystem, path: str, found: list[str] | None) -> None:
    result = system.invoke("find", (path,))
    assert result.get("matches") == found
