"""What libraries raise for a model's mistakes stays the model's; what the agent itself does wrong does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pytest_bfcl
from pytest_bfcl.extensions.agents.episode import mistake_of, unknown_tool_in
from pytest_bfcl.session.evaluation import open_data


def error(package: str, name: str, text: str = "x", cause: BaseException | None = None) -> Exception:
    made: Exception = type(name, (Exception,), {"__module__": f"{package}.inner"})(text)
    made.__cause__ = cause
    return made


BROKEN = json.JSONDecodeError("Expecting value", "{", 1)


@pytest.mark.parametrize(
    ("raised", "is_models"),
    [
        (error("agents", "ModelBehaviorError"), True), (error("pydantic_ai", "UnexpectedModelBehavior"), True),
        (error("mine", "ModelBehaviorError"), False), (error("mine", "Odd", "Tool fly not found in agent a"), True),
        (error("mine", "Odd", cause=error("langgraph", "GraphRecursionError")), True),
        (ExceptionGroup("all", [error("smolagents", "AgentParsingError")]), True),
        (error("agents", "UserError", "Error running tool fly", BROKEN), True), (BROKEN, False),
        (ValueError("x"), False), (FileNotFoundError("prompt.txt not found"), False),
    ],
)  # fmt: skip
def test_whose_mistake_it_is(raised: BaseException, is_models: bool) -> None:
    assert (mistake_of(raised) is not None) is is_models


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ModelBehaviorError: Tool fly_high not found in agent agent", "fly_high"),
        ("E: Unknown tool name: 'fly'. Available: a", "fly"), ("E: max iterations of 3 reached", None),
        ("E: unknown function", "unknown_tool"),
    ],
)  # fmt: skip
def test_the_tool_that_was_called(text: str, name: str | None) -> None:
    assert unknown_tool_in(text) == name


@pytest.mark.parametrize(
    ("raised", "outcomes"),
    [
        (error("agents", "ModelBehaviorError", "Tool fly not found in agent a"), ["failed", "failed", "failed"]),
        (error("agents", "ModelBehaviorError", "odd arguments"), ["failed", "passed", "failed"]),
        (RuntimeError("out of order"), ["error", "error", "error"]),
    ],
)
def test_they_are_judged_as_a_bare_models(raised: Exception, outcomes: list[str]) -> None:
    def factory(episode: Any) -> Any:
        async def turn(message: str) -> str:
            raise raised

        return turn

    data = open_data("bundled")
    entries = [data.entry(each) for each in ("simple_python_0", "irrelevance_0", "multi_turn_base_0")]
    lines = pytest_bfcl.run(entries, pytest_bfcl.as_agent(factory)).records
    assert [line["outcome"] for line in lines] == outcomes
