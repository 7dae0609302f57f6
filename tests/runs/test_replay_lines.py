from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.runs.wire_names import ENOUGH, spelling_of

CALL = {"name": "a_b", "arguments": "{}"}
NATIVE: dict[str, Any] = {
    "calls": [CALL],
    "short": [{"a_b": "{}"}],
    "a chat message": {"role": "assistant", "content": "Wait.", "tool_calls": [{"id": "c", "function": CALL}]},
    "tool_use blocks": [{"type": "text", "text": "Wait."}, {"type": "tool_use", "id": "c", "name": "a_b", "input": {}}],
    "items": [{"type": "reasoning", "summary": []}, {"type": "function_call", "call_id": "c", **CALL}],
}


@pytest.mark.parametrize("output", NATIVE.values(), ids=list(NATIVE))
def test_native_calls_prove_the_mode(output: Any) -> None:
    line = {"id": "irrelevance_1", "category": "irrelevance", "output": output}
    assert transcript_from_line(line).mode == transcript_from_line(line, "prompt").mode == "fc"
    nested = {"id": "multi_turn_base_1", "output": [["Hello."], [output, "Done."]]}
    assert transcript_from_line(nested).mode == "fc"
    assert transcript_from_line({**line, "mode": "prompt"}).mode == "prompt"  # what a line says counts


def test_the_spelling_of_most_calls_counts_and_some_are_enough() -> None:
    results = iter([("a", [{"a_b": "{}"}]), *[("a", [{"a.b": "{}"}, {"my_a_b": "{}"}])] * ENOUGH])
    found = spelling_of(results, lambda entry_id: ["a.b"])
    assert (found.underscores, found.dots, len(list(results))) == (1, ENOUGH - 1, 1)


STORED: dict[str, Any] = {"id": "multi_turn_base_1", "mode": "fc", "output": [["a", "b"], ["c"]]}
