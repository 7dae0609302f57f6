"""What a reader must know of a model's results before believing them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.reporting.markdown import write_markdown
from pytest_bfcl.reporting.score_lines import fact_lines
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
