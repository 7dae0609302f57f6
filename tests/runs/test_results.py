from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.checkers import reasons
from pytest_bfcl.failures import AdapterError, Verdict
from pytest_bfcl.runs import results
from pytest_bfcl.runs.lines import DamagedLine, json_line
from pytest_bfcl.runs.results import (
    ResultsFile,
    StoredResults,
    conversation_fields,
    error_record,
    read_results,
    record_key,
    result_record,
    skipped_record,
    written,
)
from pytest_bfcl.transcript import Call, OtherReading, Reply, Served, Step, ToolCall, Transcript, Turn
from tests.runs.samples import SPEC, conversation, single

CONTRACT = {
    "id", "category", "model", "mode", "repeat", "outcome", "tag", "reason", "corrected_outcome", "corrected_reason",
    "detail", "output", "calls", "underscore_names", "tool_results", "reasoning", "input_tokens", "output_tokens",
    "latency_s", "finish_reasons", "attempts", "cost_usd", "extra", "started_at", "duration_s", "worker",
}  # fmt: skip


def test_a_conversation_is_nested_turn_by_turn() -> None:
    entry, transcript = conversation()
    record = result_record(entry, transcript, Verdict.passed(), Verdict.passed(), worker="gw1")
    assert set(record) >= CONTRACT
    assert record["output"] == [[[{"name": "ls", "arguments": "{}"}], "Empty."], ["Welcome."]]
    assert record["calls"] == [[["ls()"], None], [None]]
    assert record["tool_results"] == [[['{"files": []}'], []], [[]]]
    assert record["reasoning"] == [["hm", None], [None]]
    assert record["latency_s"] == [[1.0, 0.25], [0.5]]
    assert record["finish_reasons"] is None
    assert record["problems"] == [[None, None], ["length"]]
    assert record["forced_quit"] is True
    assert record["extra"]["classes"] == ["GorillaFileSystem"]


@pytest.mark.parametrize("rules", ["official", "corrected"])
def test_both_verdicts_are_kept_whichever_leads(rules: str) -> None:
    entry, transcript = conversation()
    official, corrected = Verdict.wrong(reasons.STATE), Verdict.passed()
    record = result_record(entry, transcript, official, corrected, corrected_rules=("C1", "C17"), rules=rules)
    assert record["outcome"] == ("failed" if rules == "official" else "passed")
    assert record["corrected_outcome"] == "passed"
    assert record["corrected_reason"] == "(C1, C17)"
    assert record["corrected_rules"] == ["C1", "C17"]
    worse = result_record(
        entry, transcript, Verdict.passed(), Verdict.wrong(reasons.UNDUE_ATTEMPT), corrected_rules=["C8"]
    )
    assert worse["corrected_reason"] == "irrelevance_error:malformed_call (C8)"
    if rules == "corrected":
        assert record["official_outcome"] == "failed"
        assert record["official_reason"] == "multi_turn:instance_state_mismatch"


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def test_damage_is_reported_with_its_line_and_older_lines_stand_in(tmp_path: Path) -> None:
    good = json_line(single("simple_python_1"))
    path = write(
        tmp_path / "results.jsonl",
        good,
        b"no json\n",
        json_line(single("simple_python_2")).replace(b'"outcome":', b'"outcome"'),
        good.replace(b'"outcome":', b'"outcome"'),
        b'{"model": "m"}\n',
        good[:100],
    )
    damaged: list[DamagedLine] = []
    assert [r["id"] for r in read_results(path, damaged.append)] == ["simple_python_1"]
    assert sorted(d.line for d in damaged) == [2, 3, 4, 5, 6]


def test_keys_with_escapes_are_the_same_key(tmp_path: Path) -> None:
    record = single() | {"id": 'odd "id" é\n'}
    ascii_line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    path = write(tmp_path / "r.jsonl", json_line(record), ascii_line)
    assert len(list(read_results(path))) == 1
    plain: Any = single()
    assert results._quick_key(json_line(plain)) == record_key(plain)  # the key alone, without parsing the line


def test_values_that_are_no_json_are_written_all_the_same() -> None:
    odd: Any = single() | {"mode": "fc", "reason": None, "decoder": "python", "calls": [{"f": {"x": float("inf")}}]}
    assert json.loads(written(odd))["calls"] != odd["calls"]
    assert json.loads(written(odd | {"decoder": None, "reason": "value_error:others"}))["calls"] != odd["calls"]
    assert json.loads(written(odd | {"decoder": None, "calls": [{"f": {"x": 1}}]}))["calls"] == [{"f": {"x": 1}}]


def test_reading_again_gives_the_same_and_sees_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    first, second = single(valid=False), {**single(valid=True), "id": "simple_python_9"}
    path.write_bytes(json_line(first) + b"{torn\n" + json_line(second))
    file = ResultsFile(path)
    for _ in range(3):
        damaged: list[DamagedLine] = []
        assert list(file.records(damaged.append)) == [first, second]
        assert [line.line for line in damaged] == [2]
    with path.open("ab") as lines:
        lines.write(json_line({**first, "outcome": "passed"}) + b'{"id": "simple_python_9"}\n')
    for _ in range(2):
        damaged = []
        assert [record["outcome"] for record in file.records(damaged.append)] == ["passed", second["outcome"]]
        assert [line.line for line in damaged] == [2, 5]
    assert next(file.records()) == {**first, "outcome": "passed"}  # left in the middle
    assert len(list(file.records())) == 2


def made(*steps: Step, **fields: Any) -> Transcript:
    return Transcript(
        "simple_python_1", "simple_python", SPEC, "fc", turns=[Turn(steps=list(steps))] if steps else [], **fields
    )


def test_every_field_of_a_single_turn_line() -> None:
    served = Served("m", "f", "i")
    reply = Reply("a", (ToolCall("f", "{}"),), "r", "stop", 1, 2, 0.5, 3, "length", 4, 0.1, None, served)
    transcript = made(Step(reply, [Call("f", {"x": 1}), "g()"], ["seen"]), Step(Reply("later")), decoder="hermes",
                      decoded=True, incomplete=True, forced_quit=True,
                      other_reading=OtherReading("evidence", "prompt", True))  # fmt: skip
    assert conversation_fields(transcript, nested=False) == {
        "output": [{"name": "f", "arguments": "{}"}], "calls": [{"f": {"x": 1}}, "g()"], "underscore_names": False,
        "tool_results": [[["seen"], []]], "reasoning": "r", "input_tokens": 1, "output_tokens": 2, "latency_s": 0.5,
        "finish_reasons": "stop", "attempts": 3, "problems": "length", "reasoning_tokens": 4, "first_token_s": 0.1,
        "served": served.to_dict(), "decoder": "hermes", "forced_quit": True, "decoded": True, "incomplete": True,
        "other_reading": {"by": "evidence", "mode": "prompt", "underscore_names": True, "decoder": None,
                          "followed": "leaderboard"},
    }  # fmt: skip
    nothing = dict.fromkeys(("output", "calls", "tool_results", "reasoning", "input_tokens", "output_tokens",
        "latency_s",
                             "finish_reasons", "attempts"))  # fmt: skip
    assert conversation_fields(made(), nested=False) == {**nothing, "underscore_names": False}
    failed = conversation_fields(made(inference_error="no"), nested=True)
    assert (failed["output"], failed["inference_error"], failed["tool_results"]) == ("no", "no", [])
    assert conversation_fields(made(Step(Reply("a"), None)), nested=True)["calls"] == [[None]]
    assert conversation_fields(made(Step(Reply("a"))), nested=True)["attempts"] == [[1]]


def test_lines_of_errors_keep_what_was_said() -> None:
    verdict = AdapterError("timeout", "slow").verdict
    transcript = made(Step(Reply("half")), extra={"a": 1}, started_at="2026", duration_s=2.0)
    line = error_record("simple_python_1", "simple_python", SPEC, "prompt", verdict, transcript=transcript,
                        cost_usd=0.5, worker="gw1", rules="corrected")  # fmt: skip
    picked = ("mode", "output", "extra", "started_at", "duration_s", "cost_usd", "worker", "rules", "official_outcome")
    assert [line[name] for name in picked] == [
        "prompt",
        "half",
        {"a": 1},
        "2026",
        2.0,
        0.5,
        "gw1",
        "corrected",
        "error",
    ]
    bare = error_record("x_1", "no_such_category", SPEC, "fc", verdict)
    assert (bare["repeat"], bare["extra"], bare["rules"], bare["output"]) == (1, {}, "official", None)
    skipped = skipped_record("simple_python_1", "simple_python", SPEC, "fc", "why", repeat=2, rules="corrected")
    assert (skipped["repeat"], skipped["corrected_outcome"], skipped["reason"]) == (2, "skipped", None)


def test_stored_results_are_a_sequence(tmp_path: Path) -> None:
    lines = [single(f"simple_python_{n}") for n in range(4)]
    torn = b"no json\n"
    path = write(tmp_path / "r.jsonl", *map(json_line, lines[:2]), torn, *map(json_line, lines[2:]))
    damaged: list[DamagedLine] = []
    stored = StoredResults.of(path, damaged.append)
    assert (len(stored), len(damaged), list(stored), stored[-1], stored[1:3]) == (4, 1, lines, lines[3], lines[1:3])
    with pytest.raises(IndexError):
        stored[4]


@pytest.mark.parametrize("why", ["gone", "changed while it was read"])
def test_a_file_that_changes_is_read_anew(tmp_path: Path, why: str) -> None:
    path = write(tmp_path / "r.jsonl", json_line(single("simple_python_1")), json_line(single("simple_python_2")))
    file = ResultsFile(path)
    reading = file.records()
    next(reading)
    if why == "gone":
        path.rename(tmp_path / "other")
        assert len(list(reading)) == 1
        with pytest.raises(OSError, match="No such file"):
            list(file.records())
        return
    with path.open("ab") as lines:
        lines.write(json_line(single("simple_python_3")))
    list(reading)
    assert len(list(file.records())) == 3


def test_lines_whose_key_is_no_utf8(tmp_path: Path) -> None:
    bad = json_line(single("simple_python_1")).replace(b"simple_python_1", b"simple\xff_1", 1)
    damaged: list[DamagedLine] = []
    assert list(read_results(write(tmp_path / "r.jsonl", bad, b"\n", json_line(single())), damaged.append)) == [
        single()
    ]
    assert [each.line for each in damaged] == [1]
