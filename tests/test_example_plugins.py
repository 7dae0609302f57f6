"""examples/plugin-package: in a folder of its own, found by entry points, used in a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
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
    """What an installer makes of the package: the code, and the entry points of its project file."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE / "bfcl_example", site / "bfcl_example")
    info = site / "bfcl_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bfcl-example\nVersion: 1.0\n")
    offered = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [f"[{group}]\n{name} = {value}\n" for group, points in offered.items() for name, value in points.items()]
    (info / "entry_points.txt").write_text("".join(lines))
    return site


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
