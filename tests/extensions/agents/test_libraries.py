"""Agents of real libraries play official entries against an endpoint that knows the answers.

They are heavy neighbours and live in Pythons of their own (``BFCL_AGENTS``, see `make slow`), or in this one.
"""

import json
import os
import signal
import subprocess
import sys
import time
from functools import cache

import pytest

from pytest_bfcl.dataset.opening import open_dataset
from tests.extensions.agents.closing_proxy import KINDS, closing_proxy, kind_of, mistaken, proxy
from tests.extensions.agents.library_agents import RECIPES
from tests.multi_turn.servers import REPOSITORY, mock_server

PYTHONS = [path for path in os.environ.get("BFCL_AGENTS", "").split(os.pathsep) if path] or [sys.executable]
LIBRARIES = {
    "pydantic_ai": "pydantic_ai",
    "openai_agents": "agents",
    "langgraph": "langgraph",
    "smolagents": "smolagents",
    "llama_index": "llama_index.llms.openai_like",
    "agno": "agno",
    "strands": "strands",
    "haystack": "haystack",
    "autogen": "autogen_agentchat",
    "google_adk": "google.adk",
}
COUNTS = {"simple_python": 30, "multiple": 15, "parallel": 10, "multi_turn_base": 25, "multi_turn_miss_func": 10,
          "memory_rec_sum": 10}  # fmt: skip
REPEATS = 2


def server_of(spec, option, url):
    """The option for a model of a server; an agent knows its own address."""
    return [] if spec.startswith("agent:") else [option, f"{url}/v1"]


def killed(command, out, **where):
    """Start a run and end all of it with SIGKILL when a fifth of it is there."""
    run = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **where
    )
    results, deadline = out / "results.jsonl", time.monotonic() + 300
    try:
        while time.monotonic() < deadline and run.poll() is None:
            if results.exists() and results.read_bytes().count(b"\n") >= sum(COUNTS.values()) * REPEATS // 5:
                break
            time.sleep(0.1)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()


@cache
def python_of(library):
    """The first Python in which it is installed."""
    probe = f"import {LIBRARIES[library]}, pytest_bfcl, xdist"
    for python in PYTHONS:
        if not subprocess.run([python, "-c", probe], capture_output=True).returncode:
            return python
    pytest.skip(f"{LIBRARIES[library]} is not installed in {', '.join(PYTHONS)}")


@pytest.fixture(params=LIBRARIES)
def library(request):
    """Its name, where it is installed."""
    python_of(request.param)
    return request.param


def played(library, folder, ids, url, command, breaks_off=False):
    """``agent``, ``openai`` → (id, repeat) → outcome and reason: with the library's agent and with the bare model.

    ``command(model, out)``: of the run, without the option of the server, for which ``url`` stands.
    """
    (folder / "ids.txt").write_text("\n".join(ids))
    found = {}
    with closing_proxy(url) as closing:
        asked = closing if library == "smolagents" else url
        environment = {**os.environ, "AGENT_BASE_URL": f"{asked}/v1", "OPENAI_API_KEY": "none",
                       "PYTHONPATH": str(REPOSITORY)}  # fmt: skip
        where = {"cwd": folder, "env": environment}
        for spec in (f"agent:tests.extensions.agents.library_agents:{library}", "openai:mock@fc"):
            out = folder / spec.partition(":")[0]
            started = command(spec, str(out))
            if breaks_off and out.name == "agent":
                killed(started, out, **where)
            done = subprocess.run(started, **where, capture_output=True, text=True, timeout=1800)
            assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-2000:]
            lines = map(json.loads, (out / "results.jsonl").read_text().splitlines())
            found[out.name] = {(line["id"], line["repeat"]): (line["outcome"], line["reason"])
                               for line in lines if line["id"] in ids}  # fmt: skip
    assert len(found["agent"]) == len(found["openai"])
    return found


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="groups of processes are killed")
def test_a_hundred_entries_have_the_verdicts_of_the_bare_model(library, tmp_path, official_dir):
    """Single, multi-turn and memory entries, twice, on two workers, broken off and gone on with."""
    data = open_dataset(official_dir)
    ids = [ref.id for name, count in COUNTS.items() for ref in data.index(name)[:count]]
    with mock_server(official_dir) as url:

        def command(spec, out):
            return [python_of(library), "-m", "pytest", "--model", spec, "--bfcl-data", str(official_dir),
                    "--bfcl-out", out, "--bfcl-ids", "ids.txt", *server_of(spec, "--bfcl-base-url", url), "-q",
                    "-p", "no:cacheprovider", "-n", "2", f"--bfcl-repeat={REPEATS}", "--bfcl-report=none"]  # fmt: skip

        found = played(library, tmp_path, ids, url, command, breaks_off=True)
    assert len(found["agent"]) == len(ids) * REPEATS
    assert found["agent"] == found["openai"]
    assert sum(outcome == "passed" for outcome, _ in found["agent"].values()) > 0.8 * len(found["agent"])


RECOVERS = {"smolagents": KINDS, "llama_index": ("broken arguments",)}
"""Libraries that mend a mistake or have the model mend it, so that the entry may pass."""
MISTAKEN = {"simple_python": 60, "multiple": 40, "parallel": 20, "irrelevance": 20, "multi_turn_base": 60}


@pytest.mark.slow
def test_the_models_mistakes_stay_the_models(library, tmp_path, official_dir):
    """Unknown tools, broken arguments, conversations that never end: no error, and the outcome of the bare model.

    Where the bare model has one request only, an agent that is asked again calls again: docs/agents.md says so.
    """
    data = open_dataset(official_dir)
    ids = [ref.id for name, count in MISTAKEN.items() for ref in data.index(name)[:count]]
    kinds = {each: kind_of(data.entry(each).question[0]) for each in ids}
    with mock_server(official_dir) as url, proxy(url, dict, mistaken) as odd:

        def command(spec, out):
            return [python_of(library), "-m", "pytest_bfcl", "run", "--model", spec, "--data", str(official_dir),
                    "-o", out, "--ids", "ids.txt", *server_of(spec, "--base-url", odd), "--report", "none",
                    "--concurrency", "8,agents=2"]  # fmt: skip

        found = played(library, tmp_path, ids, odd, command)
    agents, bare = ({each: outcome for (each, _), (outcome, _) in found[name].items()} for name in ("agent", "openai"))
    assert len(agents) == len(ids)
    others = {each: kinds[each] for each in ids if agents[each] != bare[each]}
    assert "error" not in agents.values(), others
    named = {each for each, kind in kinds.items() if kind == "no end" and not each.startswith("multi_turn")}
    named |= {each for each, kind in kinds.items() if kind in RECOVERS.get(library, ())}
    assert others.keys() <= named, others


def test_the_page_has_an_agent_of_each_library():
    """At most 17 lines each, empty ones and imports not counted."""
    assert RECIPES.keys() == LIBRARIES.keys()
    for name, code in RECIPES.items():
        assert len([line for line in code.splitlines() if line.strip() and "import" not in line]) <= 17, name
