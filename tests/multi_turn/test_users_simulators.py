"""Simulators of users' own, by hook and by entry point, with a data file of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.conftest import Project, project  # noqa: F401 - a fixture

KETTLE = '''
from pytest_bfcl.simulators import Simulator, tool


class Kettle(Simulator):
    """A kettle."""

    summary = "Remote control of a kettle."

    def load(self, config, **context):
        self.litres = config.get("litres", 0.0)
        self.boiled = 0
        self._secret = "not compared"

    @tool(writes=True)
    def fill(self, litres: float) -> dict:
        """Fill water into the kettle.

        Args:
            litres: Litres to add.

        Returns:
            litres (float): Litres in the kettle now.
        """
        self.litres += litres
        return {"litres": self.litres}

    @tool(writes=True)
    def boil(self) -> dict:
        """Boil the water.

        Returns:
            boiled (integer): How often water was boiled so far.
        """
        self.boiled += 1
        return {"boiled": self.boiled}

    @tool(writes=False)
    def look(self) -> dict:
        """Tell how much water there is.

        Returns:
            litres (float): Litres in the kettle.
        """
        return {"litres": self.litres}
'''
ENTRY = {
    "id": "multi_turn_base_0",
    "question": [
        [{"role": "user", "content": "Fill one and a half litres into the kettle."}],
        [{"role": "user", "content": "Boil it, and tell me how much is in it."}],
    ],
    "initial_config": {"MyApi": {"litres": 0.25}},
    "involved_classes": ["MyApi"],
    "possible_answer": [["fill(litres=1.5)"], ["boil()", "look()"]],
}
HELD = {
    **ENTRY,
    "id": "multi_turn_miss_func_0",
    "question": [*ENTRY["question"], []],  # type: ignore[misc]
    "missed_function": {"2": ["boil"]},
    "possible_answer": [["fill(litres=1.5)"], [], ["boil()", "look()"]],
}


def call(name: str, **arguments: Any) -> dict[str, str]:
    return {"name": name, "arguments": json.dumps(arguments)}


def write(path: Path) -> None:
    (path / "kettle.py").write_text(KETTLE)
    (path / "kitchen.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in (ENTRY, HELD)))


def by_hook(path: Path) -> None:
    (path / "conftest.py").write_text(
        "import sys; sys.path.insert(0, __import__('os').path.dirname(__file__))\n"
        "def pytest_bfcl_register_simulators(register):\n"
        "    from kettle import Kettle\n"
        "    register(Kettle, 'MyApi')\n"
    )


def by_entry_point(path: Path) -> None:
    info = path / "kettles-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kettles\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pytest_bfcl.simulators]\nMyApi = kettle:Kettle\n")


@pytest.fixture(params=[pytest.param(by_hook, marks=pytest.mark.slow), by_entry_point])
def kitchen(
    request: pytest.FixtureRequest,
    project: Project,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Project:
    """A project with a simulator of its own and two entries about it."""
    write(project.path)
    request.param(project.path)
    monkeypatch.setenv("PYTHONPATH", f"{project.path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return project


def run(kitchen: Project, model: str, out: str = "run") -> pytest.RunResult:
    return kitchen.run("kitchen.jsonl", model=model, data=None, subprocess=True, out=out)


def test_mistakes_are_found_and_tools_are_described(kitchen: Project) -> None:
    kitchen.script["multi_turn_base_0"] = [[[call("fill", litres=2)]], [[call("boil"), call("look")]]]
    kitchen.script["multi_turn_miss_func_0"] = [
        [[call("fill", litres=1.5)]],
        "There is no way to boil it.",
        [[call("boil")], [call("look")]],
    ]
    result = run(kitchen, "scripted:script.json")
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "MyApi differs after this turn:" in text
    assert "litres: expected 1.75, is 2.25" in text
    assert "litres is 2, expected 1.5" in text
    records = {record["id"]: record for record in kitchen.records()}
    assert records["multi_turn_base_0"]["reason"] == "multi_turn:instance_state_mismatch"
    held = records["multi_turn_miss_func_0"]
    assert held["tool_results"] == [[['{"litres": 1.75}'], []], [[]], [['{"boiled": 1}'], ['{"litres": 1.75}'], []]]
    assert held["extra"]["quiet_turns"] == 1


def test_an_unknown_class_is_an_error_of_that_entry_that_says_what_to_do(project: Project) -> None:  # noqa: F811
    write(project.path)
    result = run(project, "oracle:@fc")
    result.assert_outcomes(errors=2)
    assert "no simulator is called 'MyApi'" in result.stdout.str()
    assert "register_simulator" in result.stdout.str()
