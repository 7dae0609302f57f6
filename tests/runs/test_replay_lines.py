from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.failures import Verdict
from pytest_bfcl.runs.lines import json_line
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.runs.results import result_record
from pytest_bfcl.runs.wire_names import ENOUGH, spelling_of
from pytest_bfcl.transcript import Reply, ToolCall
from tests.runs.samples import conversation, line_of

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


def test_a_result_line_replays_what_was_recorded() -> None:
    entry, transcript = conversation()
    line = json.loads(json_line(result_record(entry, transcript, Verdict.passed(), Verdict.passed())))
    again = transcript_from_line(line)
    assert [[s.reply for s in t.steps] for t in again.turns] == [
        [Reply(tool_calls=(ToolCall("ls", "{}"),), reasoning="hm", input_tokens=9, output_tokens=2, latency_s=1.0),
         Reply("Empty.", input_tokens=12, output_tokens=1, latency_s=0.25)],
        [Reply("Welcome.", input_tokens=15, output_tokens=1, latency_s=0.5, problem="length")],
    ]  # fmt: skip
    assert again.steps[0].results == ['{"files": []}']
    assert (again.forced_quit, again.decoded, again.model, again.mode) == (True, False, transcript.model, "fc")
    second, same = line_of(again), ("output", "latency_s", "problems", "tool_results")
    assert [second[name] for name in same] == [line[name] for name in same], "a second round changes nothing any more"


def test_the_spelling_of_most_calls_counts_and_some_are_enough() -> None:
    results = iter([("a", [{"a_b": "{}"}]), *[("a", [{"a.b": "{}"}, {"my_a_b": "{}"}])] * ENOUGH])
    found = spelling_of(results, lambda entry_id: ["a.b"])
    assert (found.underscores, found.dots, len(list(results))) == (1, ENOUGH - 1, 1)


STORED: dict[str, Any] = {"id": "multi_turn_base_1", "mode": "fc", "output": [["a", "b"], ["c"]]}
