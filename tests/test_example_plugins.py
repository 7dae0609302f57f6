"""examples/plugin-package: installed into a folder of its own, found by entry points, used in a run."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "plugin-package"
DOCUMENT = {"name": "count", "description": "Counts.", "parameters": {"type": "dict", "required": ["amount"],
            "properties": {"amount": {"type": "integer", "description": "How much."}}}}  # fmt: skip
ENTRIES = [
    {"id": "simple_python_0", "question": [[{"role": "user", "content": "Count to two."}]], "function": [DOCUMENT],
     "possible_answer": [{"count": {"amount": [2]}}]},
    {"id": "chatable_0", "category": "simple_python", "question": [[{"role": "user", "content": "Say hello."}]],
     "function": [DOCUMENT], "possible_answer": [{"count": {"amount": [2]}}], "checker": "polite"},
]  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not all(
        map(importlib.util.find_spec, ("pip", "setuptools"))
    ):  # the dev extra has a setuptools that needs no wheel
        pytest.skip("installing needs pip and setuptools")
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(EXAMPLE, folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
               "--target", str(folder / "site"), str(source)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder / "site"


PLUGIN = ("pytest", "-q", "-p", "no:cacheprovider")
VERB = ("pytest_bfcl", "run")


def run(
    tmp_path: Path, installed: Path, *more: str, how: tuple[str, ...] = PLUGIN
) -> dict[str, tuple[str, str | None]]:
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in ENTRIES))
    command = [sys.executable, "-m", *how, "own.jsonl", "--bfcl-decoder", "shouting", "--bfcl-out", "run", *more]
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert (tmp_path / "run" / "one-line.txt").read_text().startswith("shout:"), done.stdout
    return {line["id"]: (line["outcome"], line["reason"]) for line in lines}


@pytest.mark.parametrize("how", [PLUGIN, pytest.param(VERB, marks=pytest.mark.slow)], ids=["pytest", "verb"])
def test_model_decoder_checker_and_reporter_take_part_in_a_run(
    tmp_path: Path, installed: Path, how: tuple[str, ...]
) -> None:
    verdicts = run(tmp_path, installed, "--model", "shout:thanks@prompt", how=how)
    assert verdicts == {"simple_python_0": ("passed", None), "chatable_0": ("passed", None)}


def test_the_simulator_is_found_and_a_missing_checker_is_an_error(tmp_path: Path, installed: Path) -> None:
    code = (
        "from pytest_bfcl.simulators import create_simulator\n"
        "counter = create_simulator('Counter', {'number': 1})\n"
        "assert counter.call('raise_by', {'amount': 2}) == '{\"number\": 3}'\n"
        "from pytest_bfcl.dataset.entry import Entry\nfrom pytest_bfcl.checkers.judge import judge\n"
        "from pytest_bfcl import Transcript as T\n"
        "def of(name): return judge(Entry(id='a', category='chatable', question=[], checker=name), T('a', 'a'))\n"
        "assert of('polite').reason == 'own:checker', of('polite')\n"
        "assert of('polite').detail['error'] == 'polite: it did not say please'\n"
        "assert of('nobody').reason == 'harness:checker'\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(installed)}, check=True, timeout=60
    )
