from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.extensions.boards.official_files import (
    inference_log,
    official_line,
)
from tests.runs.samples import conversation


def official(**line: Any) -> dict[str, Any]:
    return official_line({"id": "simple_python_1", "category": "simple_python", "output": "a", **line})


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ({"reasoning": "", "input_tokens": 0}, {"result": "a", "input_token_count": 0}),
        ({"output": [{"name": "f", "arguments": "{}"}], "reasoning": "r", "latency_s": 0.5, "output_tokens": 2},
         {"result": [{"f": "{}"}], "output_token_count": 2, "latency": 0.5, "reasoning_content": "r"}),
        ({"output": {"name": "f", "x": 1}}, {"result": {"name": "f", "x": 1}}),
        ({"output": {"arguments": "f"}}, {"result": {"arguments": "f"}}),
        ({"official": {"inference_log": ["l"]}}, {"result": "a", "inference_log": ["l"]}),
        ({"outcome": "error", "detail": {"error": "e"}}, {"result": "Error during inference: e", "traceback": ""}),
        ({"outcome": "error", "reason": "r", "official": {"traceback": "t"}},
         {"result": "Error during inference: r", "traceback": "t"}),
        ({"inference_error": "whole", "outcome": "failed"}, {"result": "whole", "traceback": ""}),
        ({"inference_error": True, "outcome": "failed"}, {"result": "a"}),
        ({"category": "no_such"}, {"result": "a"}),
    ],
)  # fmt: skip
def test_lines_as_the_reference_writes_them(line: dict[str, Any], written: dict[str, Any]) -> None:
    found = official(**line)
    assert found == {"id": "simple_python_1", **written}
    assert list(found) == ["id", *written]


def test_logs_of_conversations() -> None:
    line = {"id": "multi_turn_base_7", "category": "multi_turn_base", "reasoning": [[None, "r"]], "latency_s": [[1.0]],
            "output": [[[{"name": "f", "arguments": "{}"}], "done"], "odd"],
            "tool_results": [[["r1", "r2"]]]}  # fmt: skip
    entry, _ = conversation()
    log = [
        {
            "begin_of_turn_query": [{"role": "user", "content": "List"}],
            "step_0": [{"role": "assistant", "content": [{"f": "{}"}]}, {"role": "tool", "content": "r1"},
                       {"role": "tool", "content": "r2"}],
            "step_1": [{"role": "assistant", "content": "done"}],
        },
        {"begin_of_turn_query": [{"role": "user", "content": "Thanks"}],
        "step_0": [{"role": "assistant", "content": "odd"}]},
    ]  # fmt: skip
    assert official_line(line, entry) == {
        "id": "multi_turn_base_7", "result": [[[{"f": "{}"}], "done"], "odd"], "latency": [[1.0]], "inference_log": log,
        "reasoning_content": [[None, "r"]],
    }  # fmt: skip
    assert inference_log(line)[0]["begin_of_turn_query"] == []
    assert inference_log({"output": [[], [], []]}, entry)[2]["begin_of_turn_query"] == []
    assert official_line({**line, "official": {"inference_log": ["kept"]}, "reasoning": [[None]]}, entry)[
        "inference_log"
    ] == ["kept"]
    assert "reasoning_content" not in official_line({**line, "reasoning": [[None, ""]]}, entry)
    assert inference_log({}) == []
