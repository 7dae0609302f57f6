"""The recipes of docs/architecture.md: six changes, each a patch of at most three files, applied to a copy and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 3


class Edit(NamedTuple):
    """``new`` stands in place of ``old`` in a module; without ``old`` it is a new module."""

    path: str
    old: str
    new: str


class Recipe(NamedTuple):
    """The edits, and a script that fails unless they are enough."""

    edits: tuple[Edit, ...]
    check: str


PROVIDER = Recipe(
    (
        Edit(
            "models/plainly.py",
            "",
            '''"""A wire format of one text: ``{"said": ...}``."""
from pytest_bfcl.models.base import Api
from pytest_bfcl.transcript import Reply


class Plainly(Api):
    name, path = "plainly", "speak"

    def body(self, request, *, tools):
        return {"heard": str(request.messages)}

    def read(self, body):
        return Reply(text=body["said"])
''',
        ),
        Edit(
            "models/registry.py",
            '    if name == "completions":\n',
            '    if name == "plainly":\n'
            "        from pytest_bfcl.models.plainly import Plainly\n"
            "        return Plainly()\n"
            '    if name == "completions":\n',
        ),
        Edit("settings.py", '"completions", "anthropic")', '"completions", "anthropic", "plainly")'),
    ),
    """
import json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pytest_bfcl import run
from pytest_bfcl.settings import Settings

class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        heard = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        right = "heard" in heard and self.path == "/v1/speak"
        said = json.dumps({"said": "I heard you." if right else ""}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *args): pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
settings = Settings(base_url=url, api="plainly")
done = run("bundled", "vllm:small@prompt", out="run", settings=settings, categories=["simple_java"])
lines = [json.loads(line) for line in open("run/results.jsonl")]
assert lines and {line["output"] for line in lines} == {"I heard you."}, lines[0]
""",
)
CATEGORY = Recipe(
    (
        Edit(
            "checkers/loud.py",
            "",
            '''"""Whether a reply shouts."""
from pytest_bfcl.checkers import reasons
from pytest_bfcl.failures import Verdict


def check_loud(text):
    return Verdict.passed() if text.isupper() else Verdict.wrong(reasons.NO_CALL, {"expected": "capitals"})
''',
        ),
        Edit(
            "dataset/categories.py",
            '    rows += [Category(name, "own", "served"',
            '    rows.append(Category("loud", "own", "loud", scored=False))\n'
            '    rows += [Category(name, "own", "served"',
        ),
        Edit(
            "checkers/judge.py",
            "from pytest_bfcl.checkers.plugged import",
            "from pytest_bfcl.checkers.loud import check_loud\nfrom pytest_bfcl.checkers.plugged import",
        ),
        Edit(
            "checkers/judge.py",
            "    **dict.fromkeys(ELSEWHERE, ",
            '    "loud": (lambda judge, _: check_loud(reply_of(judge.transcript).text), reasons.ADAPTER_INFERENCE),\n'
            "    **dict.fromkeys(ELSEWHERE, ",
        ),
    ),
    """
import json
from pytest_bfcl.cli import main
tool = {"name": "f", "description": "d", "parameters": {"type": "dict", "properties": {}, "required": []}}
question = [[{"role": "user", "content": "Shout."}]]
entries = [{"id": f"loud_{n}", "question": question, "function": [tool]} for n in (0, 1)]
open("loud.jsonl", "w").write("".join(json.dumps(each) + "\\n" for each in entries))
said = [{"id": f"loud_{n}", "mode": "prompt", "output": text} for n, text in enumerate(("HELLO", "hello"))]
open("said.jsonl", "w").write("".join(json.dumps(each) + "\\n" for each in said))
main(["score", "said.jsonl", "--data", "loud.jsonl", "-o", "out.jsonl"])
assert [json.loads(line)["valid"] for line in open("out.jsonl")] == [True, False], open("out.jsonl").read()
""",
)
COLUMN = Recipe(
    (
        Edit(
            "extensions/boards/flat_table.py",
            '    Column("text", "text", "the reply, where it is text"),\n',
            '    Column("text", "text", "the reply, where it is text"),\n    Column("letters", "int", "its length"),\n',
        ),
        Edit(
            "extensions/boards/flat_table.py",
            "    calls = reply if isinstance(reply, list)",
            '    row["letters"] = len(reply) if isinstance(reply, str) else None\n'
            "    calls = reply if isinstance(reply, list)",
        ),
        Edit(
            "reporting/overview.py",
            '        "tokens in": rendering',
            '        "latencies": f"{len(latency)} figures",\n        "tokens in": rendering',
        ),
    ),
    """
from pathlib import Path
from pytest_bfcl.cli import main
chosen = ["--data", "bundled", "--categories", "simple_java"]
assert main(["run", "--model", "lexical:@prompt", *chosen, "--out", "run"]) in (0, 1)
from pytest_bfcl.extensions.boards.flat_table import Source, write_table
import json
write_table(Path("rows.csv"), [Source("run", map(json.loads, open("run/results.jsonl")))])
assert ",letters," in open("rows.csv").readline()
page = next(Path("run").rglob("index.html")).read_text()
assert ">latencies</th>" in page and " figures</td>" in page
""",
)
GATE = Recipe(
    (
        Edit(
            "scoring/gating.py",
            "    expected: Any = None\n",
            "    expected: Any = None\n    fewest: int | None = None\n",
        ),
        Edit(
            "scoring/gating.py",
            "        return bool(self.fail_under) or ",
            "        return self.fewest is not None or bool(self.fail_under) or ",
        ),
        Edit(
            "scoring/gating.py",
            "        if self.verify is not None:\n            records = list(records)\n",
            "        records = list(records)\n"
            "        if self.options.fewest is not None:\n"
            '            passed = sum(line["outcome"] == "passed" for line in records)\n'
            "            ok = passed >= self.options.fewest\n"
            '            checks.append(GateCheck("fewest", "", ok, f"{passed} passed"))\n'
            "        if self.verify is not None:\n",
        ),
        Edit(
            "run_options/table.py",
            '    Option("max-errors", ',
            '    Option("fewest", "gate: so many entries pass", kinds.whole(1), None, "N", gate="fewest"),\n'
            '    Option("max-errors", ',
        ),
    ),
    """
from pytest_bfcl.cli import main
common = ["run", "--model", "oracle:", "--data", "bundled", "--categories", "simple_java"]
assert main([*common, "--fewest", "1", "--out", "good"]) == 0
assert main([*common, "--fewest", "1000", "--out", "bad"]) == 1
""",
)
RETRY = Recipe(
    (Edit("endpoints/faults.py", "frozenset((408, ", "frozenset((408, 418, "),),
    """
from pytest_bfcl.endpoints.faults import http_fault
assert http_fault(418, "a teapot, for now").retryable and not http_fault(417, "no").retryable
""",
)
TOOL = Recipe(
    (
        Edit(
            "simulators/ticket_api.py",
            "    @tool(writes=True)\n    def create_ticket(",
            '    @tool(writes=False)\n    def count_tickets(self) -> JsonObject:\n        """Count the tickets.\n\n'
            "        Returns:\n            count (integer): How many there are.\n"
            '        """\n        return {"count": len(self.ticket_queue)}\n\n'
            "    @tool(writes=True)\n    def create_ticket(",
        ),
    ),
    """
from pytest_bfcl.simulators import create_simulator
sim = create_simulator("TicketAPI", {"ticket_queue": [{"id": 1}]}, long_context=False)
assert '"count": 1' in str(sim.call("count_tickets", {})), sim.call("count_tickets", {})
""",
)
RECIPES = {"provider": PROVIDER, "category": CATEGORY, "column": COLUMN, "gate": GATE, "retry": RETRY, "tool": TOOL}


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
        assert len({edit.path for edit in recipe.edits}) <= MOST_FILES, name
        for edit in recipe.edits:
            _apply(edit, tmp_path / "pytest_bfcl" / edit.path)
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, json.dumps({name: recipe.check for name, recipe in RECIPES.items()})],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def _apply(edit: Edit, path: Path) -> None:
    text = path.read_text(encoding="utf-8") if edit.old else ""
    assert text.count(edit.old) == 1 or not edit.old, f"{edit.path} has changed: the recipe no longer fits"
    path.unlink(missing_ok=True)  # a link to the file of this repository
    path.write_text(text.replace(edit.old, edit.new) if edit.old else edit.new, encoding="utf-8")


def _linked(source: str, target: str) -> None:
    """A file of the copy: a link where the disk allows it, since no check writes to one."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
