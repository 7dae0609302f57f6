from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.failures import UsageError, Verdict
from pytest_bfcl.formats.table import find_decoder
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.lines import DamagedLine, json_line
from pytest_bfcl.runs.replay_lines import (
    entry_from_line,
    is_unanswered,
    offered_names,
    read_replay_lines,
    transcript_from_line,
)
from pytest_bfcl.runs.results import result_record
from pytest_bfcl.transcript import OtherReading, Reply, Served, ToolCall
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


TEXT = {"id": "simple_python_1", "category": "simple_python", "output": "[f(a=1)]"}


@pytest.mark.parametrize(
    ("more", "told", "mode"),
    [
        ({"mode": "fc"}, "prompt", "fc"),
        ({}, "fc", "fc"),
        ({"model": "openai:gpt-4o@fc"}, None, "fc"),
        ({"model": "openai:gpt-4o@prompt"}, None, "prompt"),
        ({"decoder": "hermes"}, None, "prompt"),
        ({"output": ""}, None, "prompt"),
        ({"output": []}, None, "prompt"),
        ({"id": "format_sensitivity_0:x:y", "category": "format_sensitivity"}, None, "prompt"),
    ],
)
def test_who_says_the_mode_of_a_text(more: dict[str, Any], told: Any, mode: str) -> None:
    assert transcript_from_line({**TEXT, **more}, told).mode == mode


@pytest.mark.parametrize("more", [{}, {"output": {"role": "assistant", "content": "No."}}, {"model": "gpt-4o"}])
def test_a_text_proves_no_mode(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r'simple_python_1: the mode of this text .* "mode"') as caught:
        transcript_from_line({**TEXT, **more})
    assert "\n" not in str(caught.value)


def test_native_calls_come_in_two_spellings() -> None:
    line = {"id": "live_simple_1-2-0", "mode": "fc", "underscore_names": True}
    long = transcript_from_line(line | {"output": [{"name": "a_b", "arguments": "{bad"}]})
    short = transcript_from_line(line | {"output": [{"a_b": "{bad"}]})
    assert long.category == "live_simple"
    assert long.first_reply.tool_calls == short.first_reply.tool_calls == (ToolCall("a_b", "{bad"),)
    assert transcript_from_line(line | {"output": []}).first_reply == Reply("")
    assert transcript_from_line(line | {"output": None}).first_reply == Reply(None)


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
    # A second round changes nothing any more.
    second = line_of(again)
    assert {name: second[name] for name in ("output", "latency_s", "problems", "tool_results")} == {
        name: line[name] for name in ("output", "latency_s", "problems", "tool_results")
    }


def test_a_trajectory_is_taken_as_decoded() -> None:
    line = {
        "id": "multi_turn_base_0",
        "category": "multi_turn_base",
        "trajectory": [[["ls()", "cd(folder='a')"], "I am done"], [[]]],
    }
    transcript = transcript_from_line(line)
    assert transcript.decoded
    first, text, empty = transcript.steps
    assert first.calls == ["ls()", "cd(folder='a')"]
    assert first.reply.text == "[ls(), cd(folder='a')]"
    assert text.calls is None
    assert text.error
    assert empty.calls == []
    assert line_of(transcript)["trajectory"] == line["trajectory"]


@pytest.mark.parametrize(
    "line",
    [
        {"category": "simple_python", "output": "x"},
        {"id": "unknown_7", "output": "x"},
        {"id": "simple_python_1", "category": ["x"], "output": "x"},
        {"id": "simple_python_1"},
        {"id": "simple_python_1", "output": 7},
        {"id": "simple_python_1", "output": [7]},
        {"id": "multi_turn_base_1", "output": [[{"a": 1, "b": 2, "c": 3}]]},
        {"id": "multi_turn_base_1", "trajectory": "x"},
        {"id": "multi_turn_base_1", "trajectory": [["a()"], "b()"]},
        {"id": "multi_turn_base_1", "trajectory": [[[1]]]},
    ],
)
def test_other_shapes_are_usage_errors(line: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        transcript_from_line(line)


def test_a_line_may_bring_its_question() -> None:
    functions = [{"name": "f", "description": "", "parameters": {"type": "dict", "properties": {}, "required": []}}]
    line = {"id": "own", "category": "simple_java", "output": "f()", "function": functions}
    assert entry_from_line(line) is None
    entry = entry_from_line(line | {"possible_answer": [{"f": {}}]})
    assert entry is not None
    assert (entry.id, entry.language, entry.return_format, entry.question) == ("own", "java", "java", [])
    tagged = entry_from_line(
        line
        | {"category": "simple_python", "possible_answer": [], "return_format": "concise_xml", "tool_call_tag": True}
    )
    assert tagged is not None
    assert (tagged.return_format, tagged.tool_call_tag) == ("concise_xml", True)
    assert entry_from_line(line | {"category": "irrelevance"}) is not None
    with pytest.raises(UsageError, match="own: the line's own question is not usable: language"):
        entry_from_line(line | {"possible_answer": [], "language": "cobol"})


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


def test_damage_is_loud_unless_someone_listens(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(json_line(single()) + b"oops\n" + json_line(single("simple_python_2")))
    with pytest.raises(UsageError, match=r"a\.jsonl:2: not JSON"):
        list(read_replay_lines(path))
    damaged: list[DamagedLine] = []
    assert len(list(read_replay_lines(path, damaged.append))) == 2
    assert damaged[0].line == 2


def test_missing_sources_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        list(read_replay_lines(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match="holds neither"):
        list(read_replay_lines(tmp_path))


GOLDEN = [
    "ast_fuzz.jsonl.gz",
    "sql_outputs.jsonl.gz",
    "exec_outputs.jsonl.gz",
    "multi_turn_mutations.jsonl",
    "real_outputs",
]


@pytest.mark.golden
@pytest.mark.parametrize("name", GOLDEN)
def test_recorded_outputs_are_replay_lines(golden_dir: Path, name: str) -> None:
    path = golden_dir / name
    count = 0
    for file in sorted(path.glob("*.jsonl.gz")) if path.is_dir() else [path]:
        for line in read_replay_lines(file):
            again = line_of(transcript_from_line(line))
            field = "trajectory" if "trajectory" in line else "output"
            # An empty list and an empty text decode alike and are stored alike.
            assert again[field] == (line[field] if line[field] != [] or field == "trajectory" else "")
            count += 1
    assert count >= 1200


STORED: dict[str, Any] = {"id": "multi_turn_base_1", "mode": "fc", "output": [["a", "b"], ["c"]]}


@pytest.mark.parametrize(
    ("field", "stored", "name", "told"),
    [
        ("input_tokens", [[1, None], [3]], "input_tokens", [1, None, 3]),
        ("input_tokens", [[-1, "2"], [True]], "input_tokens", [None, None, None]),
        ("input_tokens", [[[1], {"a": 1}]], "input_tokens", [None, None, None]),
        ("input_tokens", 5, "input_tokens", [5, None, None]),
        ("input_tokens", [5, [6]], "input_tokens", [None, None, 6]),
        ("input_tokens", {"a": 1}, "input_tokens", [None, None, None]),
        ("attempts", [[0, 2], [None]], "attempts", [1, 2, 1]),
        ("reasoning", [["x", 7], [""]], "reasoning", ["x", None, ""]),
        ("problems", [["length"]], "problem", ["length", None, None]),
        ("finish_reasons", "stop", "finish_reason", ["stop", None, None]),
        ("served", [[{"model": "m"}, None], [{"model": "n"}]], "served", [Served("m", None, None), None,
                                                                        Served("n", None, None)]),
        ("served", {"id": "i"}, "served", [Served(None, None, "i"), None, None]),
    ],
)  # fmt: skip
def test_what_a_line_says_of_each_reply(field: str, stored: Any, name: str, told: list[Any]) -> None:
    transcript = transcript_from_line({**STORED, field: stored})
    assert [getattr(step.reply, name) for step in transcript.steps] == told


@pytest.mark.parametrize(
    ("results", "seen"),
    [(None, [[], [], []]), ([[["r", 1], []], [["s"]]], [["r", "1"], [], ["s"]]), ([[["r"]]], [["r"], [], []]),
     ([["x", ["y"]]], [[], ["y"], []]), ("x", [[], [], []])],
)  # fmt: skip
def test_results_of_each_step(results: Any, seen: list[Any]) -> None:
    assert [step.results for step in transcript_from_line({**STORED, "tool_results": results}).steps] == seen


def test_everything_a_line_says_of_its_conversation() -> None:
    other = {"by": "evidence", "mode": "prompt", "underscore_names": True, "decoder": "hermes"}
    line = {
        "id": "simple_python_1", "model": "m", "mode": "fc", "repeat": 3, "underscore_names": True, "decoder": "hermes",
        "forced_quit": True, "incomplete": True, "started_at": "2026", "duration_s": 1.5, "extra": {"a": 1},
        "other_reading": other, "output": "a",
    }  # fmt: skip
    whole = transcript_from_line(line)
    bare = transcript_from_line({"id": "simple_python_1", "mode": "x", "output": "a"})
    for name in line.keys() - {"id", "decoder", "other_reading", "output"}:
        assert getattr(whole, name) == line[name]
    assert whole.other_reading == OtherReading("evidence", "prompt", True, find_decoder("hermes").name)
    assert whole.decoder == find_decoder("hermes").name
    assert (bare.model, bare.mode, bare.repeat, bare.other_reading, bare.decoder) == ("", "prompt", 1, None, None)
    assert (bare.underscore_names, bare.forced_quit, bare.incomplete, bare.extra) == (False, False, False, {})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"repeat": 0.5}, "simple_python_1: repeat is 0.5, not a whole number from 1"), ({"repeat": -1},
         "repeat is -1"),
        ({"other_reading": {"by": "me", "mode": "fc"}}, "other_reading is"), ({"decoder": "nonsense"},
         "unknown decoder"),
        ({"other_reading": {"by": "evidence", "mode": "x"}}, "other_reading is"), ({"category": "x"},
         "unknown category 'x'"),
        ({"output": 7}, "simple_python_1: unreadable output in turn 0, step 0"),
    ],
)  # fmt: skip
def test_what_a_line_says_wrongly(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        transcript_from_line({**TEXT, "mode": "fc", **more})
    assert transcript_from_line({**TEXT, "mode": "fc", "repeat": 0, "other_reading": "x"}).repeat == 1


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


def test_a_trajectory_beside_a_null_output() -> None:
    line = {"id": "multi_turn_base_0", "output": None, "trajectory": [["text"]]}
    (step,) = transcript_from_line(line).steps
    assert (step.reply.text, step.calls, step.error) == ("text", None, "recorded as text that does not decode")
    assert line_of(transcript_from_line(line))["underscore_names"] is False


@pytest.mark.parametrize(
    ("line", "unanswered"),
    [
        ({"outcome": "error"}, True), ({"outcome": "skipped", "output": ""}, True), ({"outcome": "failed"}, False),
        ({"outcome": "error", "output": "x"}, False), ({"outcome": "error", "output": "x", "incomplete": True}, True),
        ({"outcome": "error", "trajectory": []}, False), ({"outcome": "passed", "output": "x"}, False),
    ],
)  # fmt: skip
def test_lines_without_an_answer(line: dict[str, Any], unanswered: bool) -> None:
    assert is_unanswered(line) is unanswered


def test_messages_of_libraries_keep_what_the_line_says_beside_them() -> None:
    output = {"role": "assistant", "content": "hi"}
    reply = transcript_from_line(
        {**TEXT, "mode": "prompt", "output": output, "latency_s": 2.0, "attempts": 3}
    ).first_reply
    assert (reply.text, reply.latency_s, reply.attempts) == ("hi", 2.0, 3)


def test_an_entry_in_a_line_of_classes() -> None:
    line = {"id": "multi_turn_base_1", "involved_classes": ["MathAPI"], "possible_answer": [[]], "question": [[]]}
    entry = entry_from_line(line)
    assert entry is not None
    assert (entry.involved_classes, entry.language) == (["MathAPI"], "python")
    assert entry_from_line({"id": "simple_python_1", "function": {}, "possible_answer": []}) is None
    assert entry_from_line({"id": "live_relevance_0-0-0", "function": []}) is not None


def test_names_that_entries_offer() -> None:
    data = open_dataset("bundled")
    assert offered_names(data, "nobody_1") == []
    stateful, single_turn = (data.index(name)[0] for name in ("multi_turn_base", "simple_python"))
    assert offered_names(data, stateful.id) == []
    assert offered_names(data, single_turn.id) == [each["name"] for each in data.load(single_turn).function]


def test_official_files_are_read_in_the_spelling_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "some-model-FC" / "BFCL_v4_simple_python_result.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"id": "simple_python_1", "result": [{"f": "{}"}]}) + "\n")
    found = {
        names: next(iter(read_replay_lines(file, names=names)))["underscore_names"]
        for names in ("auto", "dots", "underscores")
    }
    assert found == {"auto": True, "dots": False, "underscores": True}
