"""Simulators of users' own, with a data file of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.simulators import execution
from tests.plugin.conftest import Project, project, write_lines  # noqa: F401 - a fixture

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


REGISTERS = """
def pytest_bfcl_register_simulators(register):
    from kettle import Kettle
    register(Kettle, "MyApi")
"""


def test_mistakes_are_found_and_tools_are_described(
    project: Project,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a class that a hook registers; how packages offer theirs is in test_registry.py."""
    monkeypatch.setattr(execution, "_registered", dict(execution._registered))
    project.pytester.syspathinsert()
    (project.path / "kettle.py").write_text(KETTLE)
    project.pytester.makeconftest(REGISTERS)
    write_lines(project.path / "kitchen.jsonl", [ENTRY, HELD])
    project.script["multi_turn_base_0"] = [[[call("fill", litres=2)]], [[call("boil"), call("look")]]]
    project.script["multi_turn_miss_func_0"] = [
        [[call("fill", litres=1.5)]],
        "There is no way to boil it.",
        [[call("boil")], [call("look")]],
    ]
    result = project.run("kitchen.jsonl", data=None)
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "MyApi differs after this turn:" in text
    assert "litres: expected 1.75, is 2.25" in text
    assert "litres is 2, expected 1.5" in text
    records = {record["id"]: record for record in project.records()}
    assert records["multi_turn_base_0"]["reason"] == "multi_turn:instance_state_mismatch"
    held = records["multi_turn_miss_func_0"]
    assert held["tool_results"] == [[['{"litres": 1.75}'], []], [[]], [['{"boiled": 1}'], ['{"litres": 1.75}'], []]]
    assert held["extra"]["quiet_turns"] == 1


def test_an_unknown_class_is_an_error_of_that_entry_that_says_what_to_do() -> None:
    (record,) = run([Entry.model_validate(ENTRY | {"category": "multi_turn_base"})], "oracle:@fc").records
    assert record["outcome"] == "error"
    assert "no simulator is called 'MyApi'" in record["detail"]["error"]
    assert "register_simulator" in json.dumps(record["detail"])
