from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_bfcl.checkers import reasons
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, Verdict
from pytest_bfcl.runs import (
    DamagedLine,
    EntryKey,
    error_record,
    json_line,
    read_results,
    record_key,
    result_record,
    skipped_record,
    to_rerun,
)
from pytest_bfcl.runs.results import ResultsFile
from tests.runs.samples import SPEC, conversation, single

CONTRACT = {
    "id", "category", "model", "mode", "repeat", "outcome", "tag", "reason", "corrected_outcome", "corrected_reason",
    "detail", "output", "calls", "underscore_names", "tool_results", "reasoning", "input_tokens", "output_tokens",
    "latency_s", "finish_reasons", "attempts", "cost_usd", "extra", "started_at", "duration_s", "worker",
}  # fmt: skip


def test_a_single_turn_line_has_plain_values() -> None:
    record = single(valid=False)
    assert set(record) >= CONTRACT
    assert list(record)[:5] == ["id", "category", "model", "mode", "repeat"]
    assert record["outcome"] == "failed"
    assert (record["tag"], record["reason"]) == ("WRONG_ANSWER", "value_error:string")
    assert record["output"] == [{"name": "f_x", "arguments": '{"a": 1}'}]
    assert record["calls"] == [{"f.x": {"a": 1}}]
    assert (record["input_tokens"], record["latency_s"], record["attempts"]) == (20, 0.5, 1)
    assert record["tool_results"] is None
    assert record["underscore_names"] is True


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
    if rules == "corrected":
        assert record["official_outcome"] == "failed"
        assert record["official_reason"] == "multi_turn:instance_state_mismatch"


def test_a_corrected_failure_names_its_reason_and_the_rule() -> None:
    entry, transcript = conversation()
    corrected = Verdict.wrong(reasons.UNDUE_ATTEMPT)
    record = result_record(entry, transcript, Verdict.passed(), corrected, corrected_rules=["C8"])
    assert record["corrected_reason"] == "irrelevance_error:malformed_call (C8)"


def test_errors_and_skipped_entries_have_lines_of_the_same_shape() -> None:
    verdict = AdapterError("quota", "no money left", advice="pay").verdict
    error = error_record("simple_java_3", "simple_java", SPEC, "fc", verdict, repeat=2)
    assert set(error) >= CONTRACT
    assert (error["outcome"], error["tag"], error["reason"]) == ("error", "ADAPTER_ERROR", "adapter:quota")
    assert error["corrected_outcome"] == "error"
    assert error["detail"] == {"error": "no money left", "advice": "pay"}
    assert error["output"] is None
    skipped = skipped_record("web_search_base_1", "web_search_base", SPEC, "fc", "no search key")
    assert set(skipped) >= CONTRACT
    assert (skipped["outcome"], skipped["tag"]) == ("skipped", None)
    assert skipped["detail"]["error"] == "no search key"


def test_the_hops_of_a_web_question_are_kept() -> None:
    entry = Entry(id="web_search_base_1", category="web_search_base", question=[[]], num_hops=3)
    _, transcript = conversation()
    assert result_record(entry, transcript, Verdict.passed(), Verdict.passed())["extra"] == {"hops": 3}


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def test_the_last_line_of_a_key_counts(tmp_path: Path) -> None:
    path = write(
        tmp_path / "results.jsonl",
        json_line(single("simple_python_1", valid=False)),
        json_line(single("simple_python_2")),
        json_line(single("simple_python_1")),
        json_line(single("simple_python_1", valid=False, repeat=2)),
    )
    found = [(r["id"], r["repeat"], r["outcome"]) for r in read_results(path)]
    assert found == [
        ("simple_python_1", 1, "passed"),
        ("simple_python_2", 1, "passed"),
        ("simple_python_1", 2, "failed"),
    ]


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


def test_lines_in_other_key_orders_and_spacings_are_read(tmp_path: Path) -> None:
    record = dict(reversed(single("simple_python_1").items()))
    path = write(tmp_path / "r.jsonl", (json.dumps(record, indent=None) + "\n").encode(), json_line(single()))
    assert [r["id"] for r in read_results(path)] == ["simple_python_1"]


def test_keys_with_escapes_are_the_same_key(tmp_path: Path) -> None:
    record = single() | {"id": 'odd "id" é\n'}
    ascii_line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    path = write(tmp_path / "r.jsonl", json_line(record), ascii_line)
    assert len(list(read_results(path))) == 1


def test_missing_and_errored_entries_run_again() -> None:
    planned = [EntryKey(SPEC, "fc", f"simple_python_{n}") for n in range(1, 6)]
    verdict = AdapterError("timeout", "slow").verdict
    records = [
        single("simple_python_1"),
        single("simple_python_2", valid=False),
        error_record("simple_python_3", "simple_python", SPEC, "fc", verdict),
        skipped_record("simple_python_4", "simple_python", SPEC, "fc", "later"),
    ]
    assert [key.entry_id for key in to_rerun(records, planned)] == [f"simple_python_{n}" for n in (3, 4, 5)]
    assert record_key(records[0]) == planned[0]


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
