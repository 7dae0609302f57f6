from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import Verdict
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.lines import json_line
from pytest_bfcl.runs.readings import documented_names
from pytest_bfcl.runs.replay_lines import read_replay_lines, transcript_from_line
from pytest_bfcl.runs.results import result_record
from pytest_bfcl.runs.wire_names import ENOUGH, spelling_of
from pytest_bfcl.transcript import Reply, ToolCall
from tests.runs.samples import conversation, fingerprint, line_of, single

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


def test_every_kind_of_source_is_read(tmp_path: Path) -> None:
    lines = [single(f"simple_python_{n}") for n in range(3)]
    raw = b"".join(json_line(line) for line in lines)
    (tmp_path / "a.jsonl").write_bytes(raw)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(raw))
    with RunDirectory.create(tmp_path / "run", fingerprint()) as run:
        for line in (lines[0] | {"outcome": "error"}, *lines):
            run.append(line)
    for name in ("a.jsonl", "a.jsonl.gz", "run"):
        assert [line["id"] for line in read_replay_lines(tmp_path / name)] == [f"simple_python_{n}" for n in range(3)]


def test_official_files_are_read_in_the_spelling_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "some-model-FC" / "BFCL_v4_simple_python_result.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"id": "simple_python_1", "result": [{"f": "{}"}]}) + "\n")
    for names, underscores in (("auto", True), ("dots", False), ("underscores", True)):
        for source in (file, file.parent):
            (line,) = read_replay_lines(source, names=names)  # type: ignore[arg-type]
            assert line["underscore_names"] is underscores


def test_the_spelling_of_most_calls_counts_and_some_are_enough() -> None:
    results = iter([("a", [{"a_b": "{}"}]), *[("a", [{"a.b": "{}"}, {"my_a_b": "{}"}])] * ENOUGH])
    found = spelling_of(results, lambda entry_id: ["a.b"])
    assert (found.underscores, found.dots, len(list(results))) == (1, ENOUGH - 1, 1)


@pytest.mark.parametrize(
    ("entry", "names"),
    [({"function": [{"name": "f"}, {}, "g"]}, ["f", ""]), ({"function": None}, []), ({}, []), (None, []),
     (Entry(id="a", category="irrelevance", question=[[]], function=[{"name": "f"}]), ["f"])],
)  # fmt: skip
def test_names_of_the_functions_that_an_entry_has(entry: object, names: list[str]) -> None:
    assert documented_names(entry) == names


STORED: dict[str, Any] = {"id": "multi_turn_base_1", "mode": "fc", "output": [["a", "b"], ["c"]]}


@pytest.mark.parametrize(
    ("line", "texts", "error"),
    [
        ({"id": "simple_python_1", "output": None, "outcome": "error"}, [], None),
        ({"id": "simple_python_1", "output": None, "outcome": "skipped"}, [], None),
        ({"id": "simple_python_1", "output": None, "outcome": "failed"}, [None], None),
        ({"id": "simple_python_1", "output": "x", "outcome": "error"}, ["x"], None),
        ({"id": "simple_python_1", "output": "x", "inference_error": "e"}, ["x"], "e"),
        ({"id": "simple_python_1", "output": "Error during inference: e", "inference_error": True},
         ["Error during inference: e"], "Error during inference: e"),
        ({"id": "multi_turn_base_1", "output": [["a"], "b"]}, [], "[['a'], 'b']"),
        ({"id": "multi_turn_base_1", "output": "b", "inference_error": "e"}, [], "e"),
        ({"id": "memory_kv_1-customer-1", "output": "b", "inference_error": "e"}, [], "e"),
        ({"id": "memory_kv_1-customer-1", "output": "b"}, ["b"], None),
        ({"id": "simple_python_1", "output": "x", "trajectory": [["f()"]]}, ["x"], None),
    ],
)  # fmt: skip
def test_what_outputs_come_to(line: dict[str, Any], texts: list[Any], error: str | None) -> None:
    transcript = transcript_from_line({"mode": "prompt", **line})
    assert [step.reply.text for step in transcript.steps] == texts
    assert transcript.inference_error == error
    assert not transcript.decoded
    odd = transcript_from_line({"mode": "prompt", **line, "tool_results": 5})
    assert [step.results for step in odd.steps] == [[]] * len(texts)
