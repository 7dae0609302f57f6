"""A user's tools as their server lists them: what is offered, what is valid, what is added later."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from pytest_bfcl.models import as_model
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from pytest_bfcl.tools.schemas import compile_tools
from pytest_bfcl.transcript import Reply, ToolCall
from tests.extensions.agents.odd import LATER, LISTED

COMMAND = shlex.join([sys.executable, str(Path(__file__).with_name("odd.py"))])
ENTRY = {
    "id": "odd_0", "category": "mcp", "mcp": "odd", "question": "No limit, please, then fly.",
    "expect": [{"call": "show", "contains": {"calls": ["set-limit {'limit': None}", "fly {'height': 1.5}"]},
                "only": ["$.calls"]},
               {"call": "show", "contains": "as a resource"}],
}  # fmt: skip
ASKED = [
    ("set-limit", {"limit": "none"}), ("set-limit", {"limit": None, "more": 1}), ("set_limit", {"limit": None}),
    ("store_tree", {"root": {"value": None, "next": {"value": 3}}}), ("learn", {}), ("fly", {"height": 1.5}),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["fc", pytest.param("prompt", marks=pytest.mark.slow)])
def test_tools_are_offered_as_they_are_listed(tmp_path: Path, mode: str) -> None:
    (tmp_path / "odd.jsonl").write_text(json.dumps(ENTRY) + "\n")
    offered: list[Any] = []

    def reply(request: Any) -> Reply:
        offered.append(compile_tools(request.functions))
        if request.step == len(ASKED):
            return Reply(text="Done.")
        name, arguments = ASKED[request.step]
        if mode == "prompt":
            name = name.replace("-", "_")
            return Reply(text=f"[{name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})]")
        return Reply(tool_calls=(ToolCall(name, json.dumps(arguments), "a"),))

    data = open_data(str(tmp_path / "odd.jsonl"))
    (line,) = run(data, as_model(reply, "own:model", mode=mode), settings=Settings(mcp={"odd": COMMAND})).records
    assert line["outcome"] == "passed", line["detail"]
    results = [each[0] for each in line["tool_results"][0][:-1]]
    assert results[0].startswith("Error during execution: invalid arguments: limit: 'none' is not")
    assert "'more' was unexpected" in results[1]
    assert results[2] == '{"done": "set-limit"}', "structured content, where there is no other"
    assert "root.next.value" in results[3]
    if mode == "fc":
        tools = {each["function"]["name"]: each["function"] for each in offered[0]}
        listed = {name: json.dumps(each["parameters"]) for name, each in tools.items()}
        assert listed == {name: json.dumps(schema) for name, schema in LISTED.items()}, "byte for byte"
        assert [each.get("description") for each in tools.values()] == ["Sets the limit.", *[None] * (len(tools) - 1)]
        assert [len(each) for each in offered] == [4] * 5 + [5] * 2, "the tool that was added is offered"
        assert offered[-1][-1]["function"]["parameters"] == LATER["fly"]


def test_ask_offers_them_too_and_carries_no_invalid_call_out() -> None:
    from pytest_bfcl.extensions.own.asking import ask_model
    from pytest_bfcl.extensions.own.recordings import Matching, Tape

    seen: list[Any] = []

    async def answer(request: Any) -> Reply:
        seen.append(compile_tools(request.functions))
        arguments = [{"limit": -1}, {"limit": None}]
        if request.step < 2:
            return Reply(tool_calls=(ToolCall("set-limit", json.dumps(arguments[request.step]), "a"),))
        return Reply(text="Done.")

    model = as_model(answer, "own:model", mode="fc")
    texts, tape = open_data("bundled").texts, Tape("ask", None, Matching(), live=True, note=False)
    asked = ask_model("x", (), model, Settings(), texts, tape, mcp=COMMAND, system=None, live_tools=False)
    got = asyncio.run(asked)
    assert json.dumps(seen[0][0]["function"]["parameters"]) == json.dumps(LISTED["set-limit"])
    assert got.results[0].startswith("Error during execution: invalid arguments: limit: -1")
    assert got.results[1] == '{"done": "set-limit"}'


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
@pytest.mark.parametrize("flag", ["--many", "--floods"])
def test_three_hundred_tools_of_odd_names_and_a_flood(tmp_path: Path, flag: str, mode: str) -> None:
    """Ten thousands of notifications and lines of errors before an answer neither block nor fill anything."""
    call = "tool_7(**{'a b': 7})" if flag == "--many" else "store_tree(root={'value': 'x'})"
    told = "tool/7 {'a b': 7}" if flag == "--many" else "store_tree {'root': {'value': 'x'}}"
    way = {**ENTRY, "expect": [{"call": "show", "contains": {"calls": [told]}}], "possible_answer": [[call]]}
    (tmp_path / "odd.jsonl").write_text(json.dumps(way) + "\n")
    data, settings = open_data(str(tmp_path / "odd.jsonl")), Settings(mcp={"odd": f"{COMMAND} {flag}"})
    (line,) = run(data, f"oracle:@{mode}", settings=settings).records
    assert line["outcome"] == "passed", line["detail"]
    (line,) = run(data, f"adversary:idle@{mode}", settings=settings).records
    assert line["outcome"] == "failed"
