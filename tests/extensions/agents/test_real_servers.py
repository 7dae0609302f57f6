"""Entries on servers from npm and PyPI: who knows the way passes, no adversary does, and a server's faults are found.

The servers are looked for on the path and in ``BFCL_MCP_SERVERS`` (folders, separated as in a path, with executables).
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import pytest_bfcl
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.opening import open_files
from pytest_bfcl.session.proof import weakness_of
from pytest_bfcl.settings import Settings
from tests.extensions.agents.faulty_proxy import FAULTS

pytest.importorskip("mcp")
pytestmark = pytest.mark.slow

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
EVE = {"name": "Eve", "entityType": "person", "observations": ["likes coffee"]}
TABLES = [
    ("create_table", "CREATE TABLE fruit (name TEXT, count INTEGER)"),
    ("create_table", "CREATE TABLE orders (id INTEGER, what TEXT)"),
    ("write_query", "INSERT INTO fruit VALUES ('fig', 3)"),
    ("write_query", "INSERT INTO orders VALUES (1, 'fig')"),
    ("write_query", "INSERT INTO orders VALUES (2, 'pear')"),
]
COMMANDS = {
    "memory": "MEMORY_FILE_PATH={workdir}/m.json {server}",
    "filesystem": "{server} {workdir}",
    "everything": "{server} stdio",
    "git": "{server} --repository {workdir}",
    "time": "{server} --local-timezone UTC",
    "sqlite": "{server} --db-path {workdir}/shop.db",
    "tasks": "TASK_MANAGER_FILE_PATH={workdir}/t.json {server}",
}
PROGRAMS = {"tasks": "mcp-taskmanager"}
"""What is called otherwise than ``mcp-server-…``."""
PLAN = {
    "originalRequest": "Paint the fence",
    "tasks": [{"title": title, "description": "x"} for title in ("Buy", "Mix")],
}
SETUPS = {
    "tasks": [{"call": "request_planning", "arguments": PLAN}],
    "memory": [{"call": "create_entities", "arguments": {"entities": [EVE]}}],
    "sqlite": [{"call": tool, "arguments": {"query": query}} for tool, query in TABLES],
}
REPOSITORY = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first"
STATUS = {"call": "git_status", "arguments": {"repo_path": "/workdir"}}
FRUIT = {"state": {"file": "shop.db", "sql": "SELECT name, count FROM fruit ORDER BY name"}}
ENTRIES: dict[str, tuple[str, list[dict[str, Any]], list[str], dict[str, Any]]] = {
    "memory_new": ("Remember: Ada likes tea.",
        [{"call": "read_graph", "contains": {"entities": [ADA]}}], [f"create_entities(entities=[{ADA!r}])"], {}),
    "filesystem_write": ("Write hello.txt with the text hello.",
        [{"state": {"file": "hello.txt"}, "equals": "hello"}],
        ["write_file(path='/workdir/hello.txt', content='hello')"], {"files": {"old.txt": "old"}}),
    "filesystem_move": ("Move a.txt into the folder done.",
        [{"state": {"file": "done/a.txt"}, "equals": 1}, {"state": {"file": "a.txt"}, "exists": False}],
        ["move_file(source='/workdir/a.txt', destination='/workdir/done/a.txt')"],
        {"files": {"a.txt": "1", "b.txt": "2", "done/c.txt": "3"}}),
    "everything_sum": ("Add 2 and 3.",
        [{"called": "get-sum", "arguments": {"a": 2, "b": 3}}, {"max_calls": 1}], ["get_sum(a=2, b=3)"], {}),
    "git_branch": ("Make a branch called trial.",
        [{"call": "git_branch", "arguments": {"repo_path": "/workdir", "branch_type": "local"}, "contains": "trial"}],
        ["git_create_branch(repo_path='/workdir', branch_name='trial')"], {}),
    "git_stage": ("Stage a.txt, and nothing else.",
        [{**STATUS, "contains": "new file:   a.txt", "only": ["*"]},
         {**STATUS, "matches": r"Untracked[^:]*:[\s\S]*b\.txt"}],
        ["git_add(repo_path='/workdir', files=['a.txt'])"],
        {"files": {"a.txt": "1", "b.txt": "2"}, "allows": {"vandal": "branches are not looked at"}}),
    "time_zone": ("What is 12:00 UTC in Tokyo?",
        [{"called": "convert_time", "arguments": {"time": "12:00", "target_timezone": "Asia/Tokyo"}}],
        ["convert_time(source_timezone='UTC', time='12:00', target_timezone='Asia/Tokyo')"], {}),
    "sqlite_insert": ("Put seven apples into the table fruit.",
        [{**FRUIT, "equals": [["apple", 7], ["fig", 3]]}],
        ["write_query(query=\"INSERT INTO fruit VALUES ('apple', 7)\")"], {}),
    "sqlite_delete": ("Cancel order 1.",
        [{"state": {"file": "shop.db", "sql": "SELECT id FROM orders"}, "equals": [[2]]}],
        ["write_query(query='DELETE FROM orders WHERE id = 1')"], {}),
    "tasks_more": ("Add the task Wash to the request.",
        [{"state": {"file": "t.json", "path": "$.requests[*].tasks[*].title"}, "equals": [["Buy", "Mix", "Wash"]]}],
        ["add_tasks_to_request(requestId='req-1', tasks=[{'title': 'Wash', 'description': 'x'}])"], {}),
}  # fmt: skip


def played(name: str, tmp_path: Path, fault: str = "") -> tuple[DataSet, Entry, Settings]:
    """The set, its entry and where its server is; skips where that is not installed."""
    kind = name.partition("_")[0]
    program = PROGRAMS.get(kind, f"mcp-server-{kind}")
    server = shutil.which(program, path=os.pathsep.join(
        [os.environ.get("BFCL_MCP_SERVERS", ""), os.environ.get("PATH", "")]))  # fmt: skip
    if server is None:
        pytest.skip(f"{program} is not installed (npm, PyPI; name its folder with BFCL_MCP_SERVERS)")
    question, expect, way, more = ENTRIES[name]
    line = {"id": f"{name}_0", "category": "mcp", "mcp": kind, "question": question, "expect": expect, **more}
    line |= {"possible_answer": [way], "setup": SETUPS.get(kind, [])}
    (tmp_path / "own.jsonl").write_text(json.dumps(line) + "\n")
    proxy = f"{sys.executable} {Path(__file__).with_name('faulty_proxy.py')} {shlex.quote(fault)} {{workdir}} "
    where = COMMANDS[kind].replace("{server}", (proxy if fault else "") + shlex.quote(server))
    setup = {kind: f"sh -c {shlex.quote(REPOSITORY)}"} if kind == "git" else {}
    data = open_files([tmp_path / "own.jsonl"])
    return data, data.load(data.index("mcp")[0]), Settings(mcp={kind: where}, mcp_setup=setup)


@pytest.mark.parametrize("name", ENTRIES)
def test_the_way_passes_and_no_adversary_does(name: str, tmp_path: Path) -> None:
    data, entry, settings = played(name, tmp_path)
    for mode in ("fc", "prompt"):
        (line,) = pytest_bfcl.run([entry], f"oracle:@{mode}", settings=settings).records
        assert line["outcome"] == "passed", (line["reason"], line["detail"])
    assert asyncio.run(weakness_of(entry, data.texts, settings)) is None


HURT = {"write_file": "filesystem_write", "move_file": "filesystem_move", "git_add": "git_stage",
        "git_create_branch": "git_branch", "write_query": "sqlite_insert"}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_server_is_found(fault: str, tmp_path: Path) -> None:
    name = "sqlite_delete" if fault == "forgets the condition" else HURT[FAULTS[fault][0]]
    _, entry, settings = played(name, tmp_path, fault)
    (line,) = pytest_bfcl.run([entry], "oracle:@fc", settings=settings).records
    assert line["outcome"] == "failed", fault
