"""Simulators by class name: built-in, registered, from installed packages; isolation between instances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.simulators import (
    Simulator,
    create_simulator,
    documents_of,
    execution,
    register_simulator,
    simulator_class,
    simulator_names,
    tool,
)


class Lamp(Simulator):
    name = "Lamp"
    summary = "A lamp."

    def load(self, config: dict[str, Any], **context: Any) -> None:
        self.on = config.get("on", False)

    @tool(writes=True)
    def switch(self, on: bool = True, colours: list[str] = ["white"]) -> bool:  # noqa: B006 - tests its copy
        """Switch the lamp.

        Args:
            on: Whether it
                shall be on.
            colours: ``white`` or others.

        Returns:
            on (boolean): Whether it is on.
        """
        self.on = on
        return self.on


def test_unknown_classes_are_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'NoSuchAPI'.*TradingBot.*register_simulator"):
        create_simulator("NoSuchAPI")
    with pytest.raises(UsageError, match="no package offers 'borrowed'"):
        create_simulator("MathAPI", kind="borrowed")


def test_own_simulators_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_registered", {})
    assert register_simulator(Lamp) is Lamp
    assert create_simulator("Lamp", {"on": True}).public_state() == {"on": True}
    assert "Lamp" in simulator_names()
    with pytest.raises(TypeError):
        register_simulator(dict)  # type: ignore[type-var]


def test_installed_packages_offer_simulators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toaster_api.py").write_text(
        "from pytest_bfcl.simulators import Simulator, tool\n"
        "class Toaster(Simulator):\n"
        "    name = 'Toaster'\n"
        "    @tool(writes=False)\n"
        "    def toast(self):\n"
        "        'Toast.'\n"
        "        return 'done'\n"
    )
    info = tmp_path / "toaster-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toaster\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pytest_bfcl.simulators]\nToaster = toaster_api:Toaster\nBroken = toaster_api:missing\nWrong = json:loads\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert create_simulator("Toaster").call("toast") == "done"
    assert {"Toaster", "Broken"} <= set(simulator_names())
    for name in ("Broken", "Wrong"):
        with pytest.raises(UsageError, match=name):
            create_simulator(name)


def test_documents_come_from_signature_and_docstring() -> None:
    assert Lamp.documents() == [
        {
            "name": "switch",
            "description": "A lamp. Switch the lamp.",
            "parameters": {
                "type": "dict",
                "properties": {
                    "on": {"type": "boolean", "description": "Whether it shall be on.", "default": True},
                    "colours": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "`white` or others.",
                        "default": ["white"],
                    },
                },
                "required": [],
            },
            "response": {"type": "dict", "properties": {"on": {"type": "boolean", "description": "Whether it is on."}}},
        }
    ]
    Lamp.documents()[0]["parameters"]["properties"]["colours"]["default"].append("red")
    assert Lamp.documents()[0]["parameters"]["properties"]["colours"]["default"] == ["white"]


@pytest.mark.parametrize("class_name", [*execution.BUILT_IN, "MemoryAPI_vector"])
def test_every_tool_is_described_to_a_model(class_name: str) -> None:
    documents = documents_of(class_name)
    assert documents
    for document in documents:
        where = f"{class_name}.{document['name']}"
        summary = simulator_class(class_name).summary
        assert len(document["description"]) > len(summary) + 10, where
        for name, schema in document["parameters"]["properties"].items():
            assert schema["description"], f"{where}({name}) lacks a description"
            assert schema["type"] in ("string", "integer", "float", "boolean", "array", "dict"), f"{where}({name})"


@pytest.mark.parametrize("class_name", [*execution.BUILT_IN, "MemoryAPI_vector"])
@pytest.mark.golden
def test_signatures_agree_with_the_official_documents(class_name: str, official: Any) -> None:
    category = {"Memory": f"memory_{class_name[10:]}", "WebSea": "web_search_base"}.get(class_name[:6])
    entries = (official.load(ref) for ref in official.index(category or "multi_turn_base"))
    entry = next(entry for entry in entries if entry.involved_classes[0] == class_name)
    ours = {document["name"]: document["parameters"] for document in documents_of(class_name)}
    theirs = [document for document in entry.function if document["name"] in ours]
    assert len(theirs) == len(ours)
    for document in theirs:
        mine, parameters = ours[document["name"]], document["parameters"]
        if document["name"] != "purchase_insurance":  # documented in another order than it takes them
            assert list(mine["properties"]) == list(parameters["properties"]), document["name"]
        assert set(mine["required"]) == set(parameters["required"]), document["name"]
        for name, schema in parameters["properties"].items():
            assert mine["properties"][name]["type"] == schema["type"], f"{document['name']}({name})"
            if "default" in schema and schema["default"] != "None":
                assert mine["properties"][name]["default"] == schema["default"], f"{document['name']}({name})"
