"""Entries on servers from npm and PyPI: who knows the way passes, doing nothing does not, trials do not meet.

The servers are looked for on the path and in ``BFCL_MCP_SERVERS`` (folders, separated as in a path, with executables).
"""

from __future__ import annotations

import http.server
import json
import os
import shlex
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytest_bfcl
from pytest_bfcl.dataset import open_files
from pytest_bfcl.settings import Settings

pytest.importorskip("mcp")
pytestmark = pytest.mark.slow

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
ENTRIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "memory": ("mcp-server-memory", "MEMORY_FILE_PATH={workdir}/m.json {server}", {
        "question": "Remember: Ada likes tea.",
        "expect": [{"call": "read_graph", "contains": {"entities": [{"name": "Ada"}]}, "turn": 0},
                   {"state": {"file": "m.json"}, "contains": {"observations": ["likes tea"]}}],
        "possible_answer": [[f"create_entities(entities=[{ADA!r}])"]],
    }),
    "filesystem": ("mcp-server-filesystem", "{server} {workdir}", {
        "question": "Write hello.txt with the text hello.", "files": {"old.txt": "old"},
        "expect": [{"state": {"file": "hello.txt"}, "equals": "hello"}, {"called": "write_file"}],
        "possible_answer": [["write_file(path='/workdir/hello.txt', content='hello')"]],
    }),
    "everything": ("mcp-server-everything", "{server} stdio", {
        "question": "Add 2 and 3.", "expect": [{"called": "get-sum", "arguments": {"a": 2, "b": 3}}],
        "possible_answer": [["get_sum(a=2, b=3)"]],
    }),
    "git": ("mcp-server-git", "{server} --repository {workdir}", {
        "question": "Make a branch called trial.",
        "expect": [{"call": "git_branch", "arguments": {"repo_path": "/workdir", "branch_type": "local"},
                    "contains": "trial"}],
        "possible_answer": [["git_create_branch(repo_path='/workdir', branch_name='trial')"]],
    }),
    "time": ("mcp-server-time", "{server} --local-timezone UTC", {
        "question": "What is 12:00 UTC in Tokyo?",
        "expect": [{"called": "convert_time", "arguments": {"time": "12:00", "target_timezone": "Asia/Tokyo"}}],
        "possible_answer": [["convert_time(source_timezone='UTC', time='12:00', target_timezone='Asia/Tokyo')"]],
    }),
    "sqlite": ("mcp-server-sqlite", "{server} --db-path {workdir}/shop.db", {
        "question": "Put an apple into the table fruit.",
        "expect": [{"state": {"file": "shop.db", "sql": "SELECT name FROM fruit"}, "contains": [["apple"]]}],
        "possible_answer": [["create_table(query='CREATE TABLE fruit (name TEXT)')",
                             "write_query(query=\"INSERT INTO fruit VALUES ('apple')\")"]],
    }),
    "fetch": ("mcp-server-fetch", "{server} --ignore-robots-txt", {
        "question": "What does the page say?", "expect": [{"called": "fetch", "arguments": {"url": "{page}"}}],
        "possible_answer": [["fetch(url='{page}')"]],
    }),
}  # fmt: skip


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    """The address of a page on this machine."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html><body><p>All is well.</p></body></html>")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()


@pytest.mark.parametrize("name", ENTRIES)
def test_the_way_passes_and_doing_nothing_does_not(name: str, tmp_path: Path, page: str) -> None:
    program, command, told = ENTRIES[name]
    server = shutil.which(program, path=os.pathsep.join(
        [os.environ.get("BFCL_MCP_SERVERS", ""), os.environ.get("PATH", "")]))  # fmt: skip
    if server is None:
        pytest.skip(f"{program} is not installed (npm, PyPI; name its folder with BFCL_MCP_SERVERS)")
    line = {"id": f"{name}_0", "category": "mcp", "mcp": name, **told}
    (tmp_path / "own.jsonl").write_text(json.dumps(line).replace("{page}", page) + "\n")
    where = command.replace("{server}", shlex.quote(server))
    before = {"git": "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first"}
    setup = {name: f"sh -c {shlex.quote(before[name])}"} if name in before else {}
    data = open_files([tmp_path / "own.jsonl"])
    entry = data.load(data.index("mcp")[0])
    settings = Settings(mcp={name: where}, mcp_setup=setup, repeat=2)
    for model in ("oracle:@fc", "oracle:@prompt", "idle:@fc"):
        lines = pytest_bfcl.run([entry], model, settings=settings).records
        wanted = ["failed" if model == "idle:@fc" else "passed"] * 2
        assert [each["outcome"] for each in lines] == wanted, [(each["reason"], each["detail"]) for each in lines]
