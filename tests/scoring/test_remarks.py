"""What a reader must know of a model's results before believing them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pytest_bfcl.reporting.markdown import write_markdown
from pytest_bfcl.reporting.score_lines import fact_lines
from pytest_bfcl.runs.summary_types import problem_of_summary
from pytest_bfcl.scoring.conduct import is_same_model
from pytest_bfcl.scoring.summary import summarise

CALL: dict[str, Any] = {"f": {}}


def record(number: int, calls: Any, category: str = "parallel", outcome: str = "failed") -> Any:
    return {"id": f"{category}_{number}", "category": category, "model": "openai:m@fc", "mode": "fc", "repeat": 1,
            "outcome": outcome, "calls": calls, "output": calls}  # fmt: skip


NEVER = [record(n, [CALL]) for n in range(3)]


@pytest.mark.parametrize(
    ("records", "told"),
    [
        (NEVER, "parallel: none of 3 replies with a call held two"),
        ([*NEVER, record(0, [CALL], "live_parallel"), record(1, [CALL], "live_parallel")],
         "parallel, live_parallel: none of 5 replies"),
        ([*NEVER, record(4, [CALL, CALL])], None),
        ([*NEVER, record(4, [CALL, CALL], "live_parallel", "passed")], "parallel: none of 3 replies"),
        ([*NEVER, record(0, [CALL, CALL], "simple_python")], "parallel: none of 3"),  # elsewhere it proves nothing
        (NEVER[:1], None),
        ([record(n, []) for n in range(9)], None),  # no call at all is another trouble
        ([record(n, None) for n in range(9)], None),
        ([record(n, [CALL], outcome="error") for n in range(9)], None),
        ([record(n, [CALL], "simple_python") for n in range(9)], None),
    ],
)  # fmt: skip
def test_never_two_calls(records: list[Any], told: str | None) -> None:
    summary = summarise(records)
    model = summary["models"]["openai:m@fc"]
    if told is None:
        assert "remarks" not in model
        return
    (remark,) = model["remarks"]
    assert remark.startswith(told)
    assert "this model, or its server, never makes two calls" in remark
    assert remark.endswith("pytest --model openai:m@fc -m wire -k calls_unstreamed")
    assert remark in fact_lines(model)
    assert "never makes two calls" in write_markdown(summary)  # as on the page: both tell its notices


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o", True), ("gpt-4o", "gpt-4o-2024-08-06", True), ("gpt-4", "gpt-4-0613", True),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True), ("gemini-1.5-pro", "gemini-1.5-pro-002", True),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", True),
        ("mistral-large-latest", "mistral-large-2411", True), ("llama3.2", "llama3.2:latest", True),
        ("openai/gpt-4o", "gpt-4o-2024-08-06", True), ("Qwen/Qwen3-8B", "qwen3-8b", True),
        ("us.anthropic.claude-3-5-sonnet", "claude-3-5-sonnet-20241022-v2:0", True), ("m", "models/m", True),
        ("gpt-4o", "gpt-4o-mini", False), ("gpt-4o", "gpt-4o-mini-2024-07-18", False), ("gpt-4", "gpt-4-32k", False),
        ("gpt-4-0613", "gpt-4-1106", False), ("gpt-4o-2024-08-06", "gpt-4o", False), ("qwen3", "qwen3-8b", False),
        ("gpt-4.1", "gpt-4", False), ("a", "b", False), ("llama3", "llama3-70", False),
    ],
)  # fmt: skip
def test_the_same_model(asked: str, served: str, same: bool) -> None:
    assert is_same_model(asked, served) is same


def line(number: int, served: Any = None, **fields: Any) -> Any:
    found = {"id": f"simple_python_{number}", "category": "simple_python", "model": "openai:gpt-4o@fc", "mode": "fc",
             "repeat": 1, "outcome": "passed", "detail": {}, **fields}  # fmt: skip
    return found | ({"served": served} if served is not None else {})


def of_model(model: str | None, reply_id: str | None = None) -> dict[str, str]:
    return {name: value for name, value in (("model", model), ("id", reply_id)) if value}


def test_others_and_repeated_ids_are_counted_and_told_once() -> None:
    summary = summarise([
        line(0, of_model("gpt-4o-2024-08-06", "a")), line(1, of_model("gpt-4o-mini", "b")), line(2),
        line(3, [[of_model("gpt-4o-mini", "b"), None], [of_model("\x1b[31mevil", "c")]]),
        line(4, of_model(None, "c")), line(5, outcome="error", tag="ADAPTER_ERROR", reason="adapter:ending",
                                           detail={"error": "x", "ending": "abort"}),
    ])  # fmt: skip
    assert problem_of_summary(summary) is None
    (model,) = summary["models"].values()
    assert model["other_models"] == {"gpt-4o-mini": 2, "\x1b[31mevil": 1}
    assert (model["repeated_ids"], model["endings"]) == (2, {"abort": 1})
    said = [told for told in fact_lines(model) if told.startswith(("unknown", "replies"))]
    assert said[0] == "unknown ending 'abort': 1"
    assert said[1].startswith("replies of another model than asked: gpt-4o-mini 2, ")
    assert said[2].startswith("replies with the id of an earlier one: 2 ")
    assert "\x1b" not in "".join(said)
    written = write_markdown(cast(Any, summary))
    assert all(word in written for word in ("gpt-4o-mini 2", "unknown ending", "id of an earlier one: 2"))


def test_a_server_with_a_new_name_each_time_is_counted_within_bounds() -> None:
    (model,) = summarise([line(n, of_model(f"m-{n}-x")) for n in range(200)])["models"].values()
    assert len(model["other_models"]) == 51
    assert model["other_models"]["others"] == 150
    assert "repeated_ids" not in model, "a reply without an id repeats none"
