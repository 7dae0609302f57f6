"""Agents of real libraries play official entries against an endpoint that knows the answers.

They are heavy neighbours and live in a Python of their own (``BFCL_AGENTS``, see `make slow`), or in this one.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.gateways.closing_proxy import closing_proxy
from tests.multi_turn.servers import REPOSITORY, mock_server

PYTHON = os.environ.get("BFCL_AGENTS", sys.executable)
LIBRARIES = {
    "pydantic_ai": "pydantic_ai",
    "openai_agents": "agents",
    "langgraph": "langgraph",
    "smolagents": "smolagents",
}
IDS = [f"multi_turn_base_{n}" for n in range(12)] + [f"simple_python_{n}" for n in range(4)]
IDS += [f"multi_turn_miss_func_{n}" for n in range(2)] + [f"parallel_{n}" for n in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_twenty_entries_have_the_verdicts_of_the_bare_model(library, tmp_path, official_dir):
    probe = subprocess.run([PYTHON, "-c", f"import {LIBRARIES[library]}, pytest_bfcl"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"{LIBRARIES[library]} is not installed in {PYTHON}")
    (tmp_path / "ids.txt").write_text("\n".join(IDS))
    with mock_server(official_dir) as url, closing_proxy(url) as closing:
        asked = closing if library == "smolagents" else url
        environment = {**os.environ, "AGENT_BASE_URL": f"{asked}/v1", "OPENAI_API_KEY": "none",
                       "PYTHONPATH": str(REPOSITORY)}  # fmt: skip
        verdicts = {}
        for spec in (f"agent:tests.gateways.library_agents:{library}", "openai:mock@fc"):
            out = tmp_path / spec.partition(":")[0]
            command = [PYTHON, "-m", "pytest", "--model", spec, "--bfcl-data", str(official_dir), "--bfcl-out",
                       str(out), "--bfcl-ids", "ids.txt", "--bfcl-base-url", f"{url}/v1", "-q", "-p",
                       "no:cacheprovider"]  # fmt: skip
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
            assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-2000:]
            lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
            verdicts[out.name] = {line["id"]: (line["outcome"], line["reason"]) for line in lines}
    assert len(verdicts["agent"]) == len(IDS)
    assert verdicts["agent"] == verdicts["openai"]
    assert sum(outcome == "passed" for outcome, _ in verdicts["agent"].values()) > 15


def test_the_page_shows_the_agents_that_are_tried():
    """At most 15 lines each, empty ones and imports not counted."""
    page = (REPOSITORY / "docs" / "agents.md").read_text(encoding="utf-8")
    source = (REPOSITORY / "tests" / "gateways" / "library_agents.py").read_text(encoding="utf-8")
    for library in LIBRARIES:
        begin = source.index(f"def {library}(")
        end = source.find("\n\n\n", begin)
        code = source[begin : end if end > 0 else None].strip()
        assert code in page
        lines = [line for line in code.splitlines() if line.strip() and "import" not in line]
        assert len(lines) <= 15, library
