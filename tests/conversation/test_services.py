"""What a category needs beside a model, and the memories of a process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.conversation import services as module
from pytest_bfcl.conversation.services import Services, skip_reason
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn


@pytest.fixture(scope="module")
def data() -> Any:
    return open_data("bundled")


@pytest.mark.parametrize(
    ("category", "settings", "modes", "stored", "said"),
    [
        ("no_such", {}, ["fc"], False, None), ("simple_python", {}, ["fc"], False, None),
        ("multi_turn_base", {}, ["fc"], False, None),
        ("format_sensitivity", {}, ["fc"], False, "about calls written as text"),
        ("format_sensitivity", {}, ["prompt"], False, None),
        ("format_sensitivity", {}, ["fc", "prompt"], False, None),
        ("format_sensitivity", {}, ["fc"], True, "about calls written"),
        ("web_search_base", {"search": "serpapi"}, ["fc"], False, "SERPAPI"),
        ("web_search_base", {"search": "serpapi"}, ["fc"], True, None),
        ("web_search_base", {}, ["fc"], False, None),
        ("mcp", {}, ["fc"], False, "entries on an MCP server need one: --bfcl-mcp"),
        ("mcp", {"mcp": {"m": "x"}}, ["fc"], False, None), ("mcp", {}, ["fc"], True, None),
        ("rest", {}, ["fc"], False, None),
        ("rest", {"rest": "replay:/no/such"}, ["fc"], False, "/no/such"),
    ],
)  # fmt: skip
def test_why_a_category_is_skipped(
    data: Any, category: str, settings: Any, modes: Any, stored: bool, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)
    found = skip_reason(category, data, Settings(**settings), modes, stored=stored)
    assert found is None if said is None else said in str(found)


def test_what_extras_bring(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.extras, "missing", lambda extra: [f"module of {extra}"])
    for category, said in (("memory_kv", "module of memory"), ("memory_rec_sum", None), ("simple_python", None)):
        found = skip_reason(category, data, Settings(), ["fc"])
        assert found is None if said is None else said in str(found)
    monkeypatch.setattr("pytest_bfcl.extensions.vector_memory.memory.encoder_problem", lambda: "no weights")
    assert skip_reason("memory_vector", data, Settings(), ["fc"]) == "no weights"
    monkeypatch.setattr(module, "missing_group", lambda group: f"{group} is not here")
    assert skip_reason("rest", data, Settings(), ["fc"]) == "retired is not here"
    assert "its SDK" in str(skip_reason("mcp", data, Settings(mcp={"m": "x"}), ["fc"]))
    monkeypatch.setattr("pytest_bfcl.entry_points.find", lambda kind, name: None)
    assert "no simulator is called 'MemoryAPI_vector'" in str(skip_reason("memory_vector", data, Settings(), ["fc"]))


def test_services_of_a_group_are_opened_once_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[Any] = []

    class Opened:
        def require(self, entry: Entry) -> None:
            log.append("required")

        def execute(self, entry: Entry, transcript: Transcript) -> Transcript:
            log.append("executed")
            return transcript

        def close(self) -> None:
            log.append("closed")

    def open_services(rest: str, **how: Any) -> Opened:
        log.append((rest, how["official"], how["process"]))
        return Opened()

    monkeypatch.setattr(module, "category_group", lambda group: SimpleNamespace(open_services=open_services))
    known = Entry(id="exec_simple_0", category="exec_simple", question=[])
    plain = Entry(id="simple_python_0", category="simple_python", question=[])
    said, empty = (Transcript("x_0", "exec_simple", turns=[Turn(steps=steps)]) for steps in ([Step(Reply("f()"))], []))
    done = Transcript("x_0", "exec_simple", turns=[Turn(steps=[Step(Reply("f()"), results=["1"])])])
    with Services("local", official=True) as services:
        for entry, transcript in ((known, said), (known, empty), (known, done), (plain, said)):
            services.require(entry)
            assert services.execute(entry, transcript) is transcript
    assert log == [("local", True, "main"), "required", "executed", "required", "required", "closed"]
