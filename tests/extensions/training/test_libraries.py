"""Trainers' adapters with the trainers themselves (slow).

``BFCL_TRAINERS`` names a Python with OpenEnv, one with TRL, verifiers and SkyRL-gym, one with verl, and one with SkyRL,
separated as on a path. ``BFCL_VERL_INTERACTIONS`` is a folder with a verl that still has interactions (0.7).
``make slow`` installs them.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.session.evaluation import open_data
from tests.extensions.training.oracle_server import serving_oracle

REPOSITORY = Path(__file__).resolve().parents[3]
PYTHONS = [path for path in os.environ.get("BFCL_TRAINERS", "").split(os.pathsep) if path]
LIMIT_S = 1200
BUNDLED = open_data("bundled")

pytestmark = pytest.mark.slow


@cache
def python_with(module: str) -> str:
    for python in PYTHONS:
        looked = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
        if subprocess.run([python, "-c", looked], check=False, cwd=REPOSITORY).returncode == 0:
            return python
    pytest.skip(f"no Python with {module} in BFCL_TRAINERS")


def program_of(module: str, program: list[str], folder: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """A program that ended well, in the Python of a trainer's module."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(REPOSITORY), path])),
                   "HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "TRL_EXPERIMENTAL_SILENCE": "1"}  # fmt: skip
    command = [python_with(module), *program]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def library(name: str, folder: Path, *arguments: str, module: str = "", path: str = "") -> Any:
    """The JSON object that a program of `libraries` prints last."""
    program = ["-m", f"tests.extensions.training.libraries.run_{name}", *arguments]
    lines = program_of(module or name, program, folder, path).stdout.splitlines()
    line = [each for each in lines if "{" in each][-1]
    return json.loads(line[line.index("{") :])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of random weights and its tokenizer."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    program = [python_with("torch"), str(REPOSITORY / "tests/extensions/serving/tiny_model.py"), str(folder)]
    subprocess.run(program, check=True, capture_output=True)
    return folder


def test_trl_takes_two_steps_with_the_reward_function(tiny: Path, tmp_path: Path) -> None:
    """One completion of each pair is the oracle's: what TRL was told of the others is between."""
    found = library("trl", tmp_path, "reward", str(tiny))
    assert found["steps"] == 2
    assert found["moved"]
    assert len(found["rewards"]) == 2
    assert all(0.5 <= reward <= 1.0 for reward in found["rewards"])


def test_trl_takes_two_steps_on_prompts_with_native_tools(tiny: Path, tmp_path: Path) -> None:
    found = library("trl", tmp_path, "native", str(tiny))
    assert found["steps"] == 2
    assert found["right"] == [1.0] * 6


def test_trl_takes_two_steps_through_environments(tiny: Path, tmp_path: Path) -> None:
    """Calls of an oracle go through TRL's parser and loop to our methods; its partners of random words do not."""
    found = library("trl", tmp_path, "environment", str(tiny))
    assert found["steps"] == 2
    assert found["moved"]
    assert [pair[0] for pair in found["pairs"]] == [1.0] * len(found["pairs"])
    assert any(pair[1] < 1.0 for pair in found["pairs"])
    assert found["failed_calls"] == [0.0] * len(found["failed_calls"])


def test_trl_takes_two_steps_through_rollouts(tiny: Path, tmp_path: Path) -> None:
    """User turns come when they are due, and a function that is held out stands nowhere before it is handed over."""
    found = library("trl", tmp_path, "rollout", str(tiny))
    assert found["steps"] == 2
    assert found["moved"]
    assert [pair[0] for pair in found["pairs"]] == [1.0] * 2
    assert all(pair[1] < 1.0 for pair in found["pairs"])
    assert all(reached == all_turns for reached, all_turns in found["turns"])
    assert {told for told, _ in found["shown"]} == {False, True}
    assert [told for told, _ in found["shown"]] == [due for _, due in found["shown"]]


CATEGORIES = [
    "simple_java", "parallel", "live_irrelevance", "multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param",
]  # fmt: skip


def test_verifiers_evaluates_a_right_server(tmp_path: Path) -> None:
    with serving_oracle(BUNDLED.load(ref) for name in CATEGORIES for ref in BUNDLED.index(name)) as (url, oracle):
        found = library("verifiers", tmp_path, url, *CATEGORIES)
    assert len(found["whole"]) == sum(len(BUNDLED.index(name)) for name in CATEGORIES)
    sure = {entry.id for entry in oracle.told_apart}
    assert len(sure) > 50
    poor = [each for each in found["whole"] if each["reward"] != {"bfcl": 1.0} or not each["ok"]]
    assert [each for each in poor if each["id"] in sure] == []
    assert sum(each["turns"] for each in found["whole"] + found["cut"]) == oracle.asked
    for each in found["cut"]:  # two requests of a longer conversation
        assert each["turns"] == 2, each
        assert each["reward"] == {"bfcl": 0.0}
        assert each["metrics"]["done"] == 0.0
    assert all(each["errors"] and not each["ok"] for each in found["down"])


def test_skyrl_gym_plays_everything(tmp_path: Path) -> None:
    found = library("skyrl", tmp_path, module="skyrl_gym")
    assert found["poor"] == []
    assert found["entries"] > 200
    low, high = found["hostile"]
    assert 0.0 <= low <= high <= 1.0
    assert {"verdict", "graded"} <= {name.rpartition("/")[2] for name in found["metrics"]}


def test_openenv_serves_everything_and_bears_strangers(tmp_path: Path) -> None:
    found = library("openenv", tmp_path)
    assert found["poor"] == {"fc": [], "prompt": []}
    assert found["http"] == [1.0, 1.0]
    statuses = found["hostile"]["statuses"]
    assert found["hostile"]["alive"] == 200
    assert set(statuses) <= {200, 400, 413, 422}
    assert {200, 413, 422} <= set(statuses)
    assert found["hostile"]["slowest_s"] < 20
    assert found["sockets"] == ["error", "error", "observation", "reset"]


def test_verl_reads_our_rows_and_rewards_them(tiny: Path, tmp_path: Path) -> None:
    found = library("verl", tmp_path, "reward", str(tiny))
    assert found["read"] == found["written"] == len(found["right"])
    assert set(found["right"]) == {1.0}
    low, high = found["hostile"]
    assert 0.0 <= low <= high <= 1.0


def test_verls_agent_loop_plays_episodes(tiny: Path, tmp_path: Path) -> None:
    found = library("verl", tmp_path, "loop", str(tiny))
    assert [each for each in found["whole"] if each["reward"] != 1.0 or not each["own"]] == []
    assert all(each["logprobs"] == each["length"] for each in found["whole"])
    assert any(each["turns"] > 6 for each in found["whole"])
    assert all(each["length"] <= 40 for each in found["short"])
    assert {each["reward"] for each in found["short"] if each["id"].startswith("multi_turn")} == {0.0}


def learnt(likely: list[list[float]]) -> bool:
    """Whether each step made the right replies likelier, and in all more than the others."""
    right, others = zip(*likely, strict=True)
    rises = all(before < after for before, after in pairwise(right))
    return rises and right[-1] - right[0] > others[-1] - others[0]


def test_verl_takes_three_steps_through_its_agent_loop(tiny: Path, tmp_path: Path) -> None:
    """Each pair of rollouts has a right one, of a call and of a conversation with several turns."""
    found = library("verl_training", tmp_path, str(tiny), module="verl")
    assert [step["rewards"] for step in found["steps"]] == [[1.0, 0.0, 1.0, 0.0]] * 3
    assert max(found["steps"][0]["turns"]) > 6
    assert found["moved"]
    assert learnt([step["likely"] for step in found["steps"]])


def test_skyrl_takes_two_steps_through_its_generator(tiny: Path, tmp_path: Path) -> None:
    """As above, in SkyRL's own loop of training."""
    found = library("skyrl_training", tmp_path, str(tiny), module="skyrl")
    assert found["rewards"] == found["verdicts"] == [0.5, 0.5]
    assert found["moved"]
    assert learnt(found["likely"])


def test_verls_interactions_play_episodes(tmp_path: Path) -> None:
    folder = os.environ.get("BFCL_VERL_INTERACTIONS")
    if not folder:
        pytest.skip("verl has no interactions since 0.8: BFCL_VERL_INTERACTIONS names a folder with an older one")
    found = library("verl", tmp_path, "interaction", path=folder)
    assert found["poor"] == []
    assert found["entries"] > 200
    assert found["left"] == 0


EXAMPLES = {
    "trl_reward.py": "trl", "trl_environments.py": "trl", "verl_rows.py": "verl", "skyrl_env.py": "skyrl_gym",
    "openenv_server.py": "openenv", "verifiers_evaluation.py": "verifiers",
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_runs(name: str, tiny: Path, tmp_path: Path) -> None:
    arguments = [str(tiny)] if name.startswith("trl") else []
    with serving_oracle(map(BUNDLED.load, BUNDLED.index("simple_java"))) as (url, _):
        if name.startswith("verifiers"):
            arguments = [url, "simple_java"]
        done = program_of(EXAMPLES[name], [str(REPOSITORY / "examples/trainers" / name), *arguments], tmp_path)
    assert "reward" in done.stdout


def test_the_examples_are_all_there() -> None:
    found = {path.name for path in (REPOSITORY / "examples/trainers").glob("*.py")}
    assert found == {*EXAMPLES, "bfcl_environment.py"}
