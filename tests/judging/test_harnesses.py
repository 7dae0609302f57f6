"""Examples for other harnesses give the plugin's verdicts: broken arguments and abnormal endings over HTTP.

``BFCL_HARNESSES`` names a Python for each: ``lm_eval_play=/path/python,evalscope_play=/path/python``.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from pytest_bfcl.judge import Data
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.extensions.causes.faulty_server import Said, serving

EXAMPLES = Path(__file__).parents[2] / "examples" / "harnesses"
ENDINGS = ("length", "content_filter", "abort", "error", "max_time")
OUTCOMES = {"passed": "right", "failed": "wrong", "error": "not judged"}
PYTHONS = dict(each.split("=", 1) for each in os.environ.get("BFCL_HARNESSES", "").split(",") if each)


def trouble(said: Said) -> None:
    """30 % broken arguments; one reply in ten ends abnormally."""
    chance = said.rng.random()
    if said.calls and chance < 0.3:
        said.calls[0][1] = said.calls[0][1][:-1]
    elif chance > 0.9:
        said.finish = said.rng.choice(ENDINGS)


def chosen() -> list[str]:
    """50 single-turn and 20 multi-turn entries."""
    data = Data("bundled")
    single = [each for name in ("simple_python", "multiple", "parallel", "irrelevance") for each in data.ids(name)]
    turns = [each for name in ("multi_turn_base", "multi_turn_miss_func") for each in data.ids(name)]
    return single[:50] + turns[:20]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_verdict_for_verdict_the_plugins(name, tmp_path, monkeypatch):
    if name not in PYTHONS:
        pytest.skip(f"no harness for {name} (name a Python that has it with BFCL_HARNESSES)")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    ids = chosen()
    with serving() as server:
        server.bend = trouble
        result = run("bundled", "openai:faulty@fc", settings=Settings(base_url=server.url, retries=0), ids=ids)
        wanted = {line["id"]: OUTCOMES[line["outcome"]] for line in result.records}
        script = Path(__file__).with_name("harness_elsewhere.py")
        command = [PYTHONS[name], str(script), str(EXAMPLES), name, server.url, *ids]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == wanted
    assert len(wanted) == 70
    assert set(wanted.values()) == {"right", "wrong", "not judged"}
