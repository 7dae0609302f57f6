from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.details import StateDetails
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.boards.official_files import export_official, score_header
from pytest_bfcl.failures import AdapterError, Verdict
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.runs.results import error_record, result_record, skipped_record
from pytest_bfcl.runs.snapshots import snapshots_of
from pytest_bfcl.scoring.measurements import read_scores
from tests.runs.samples import SPEC, conversation, fingerprint, single

FOLDER = "openai_tiny@fc"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Data:
    """A data set of the entries given."""

    def __init__(self, *entries: Entry) -> None:
        self.entries = {entry.id: entry for entry in entries}

    def find(self, entry_id: str) -> str | None:
        return entry_id if entry_id in self.entries else None

    def load(self, ref: str) -> Entry:
        return self.entries[ref]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    entry, transcript = conversation()
    failed = Verdict.wrong(reasons.STATE, StateDetails(turn=0, error="state differs"))
    quota = AdapterError("quota", "no money").verdict
    with RunDirectory.create(tmp_path / "run", fingerprint()) as run:
        run.append(single("simple_python_10", valid=False))
        run.append(single("simple_python_2"))
        run.append(single("simple_python_2", repeat=2))
        run.append(error_record("simple_python_3", "simple_python", SPEC, "fc", quota))
        run.append(error_record("irrelevance_3", "irrelevance", SPEC, "fc", quota))
        run.append(skipped_record("simple_python_4", "simple_python", SPEC, "fc", "later"))
        run.append(result_record(entry, transcript, failed, failed))
        run.append(error_record("memory_kv_1-customer-1", "memory_kv", SPEC, "fc", quota))
        snapshots_of(run.path, SPEC).save("kv", "customer", "memory_kv_prereq_0-customer-0", {"core_memory": {}})
    return tmp_path / "run"


def test_results_are_sorted_and_have_the_fields_in_order(run: Path, tmp_path: Path) -> None:
    export_official(run, tmp_path / "out")
    lines = lines_of(tmp_path / "out" / "result" / FOLDER / "non_live" / "BFCL_v4_simple_python_result.json")
    assert [line["id"] for line in lines] == ["simple_python_2", "simple_python_3", "simple_python_10"]
    assert list(lines[0]) == ["id", "result", "input_token_count", "output_token_count", "latency"]
    assert lines[0]["result"] == [{"f_x": '{"a": 1}'}]
    assert lines[1] == {"id": "simple_python_3", "result": "Error during inference: no money", "traceback": ""}
    (turns,) = lines_of(tmp_path / "out" / "result" / FOLDER / "multi_turn" / "BFCL_v4_multi_turn_base_result.json")
    assert turns["result"] == [[[{"ls": "{}"}], "Empty."], ["Welcome."]]
    assert turns["latency"] == [[1.0, 0.25], [0.5]]
    assert turns["reasoning_content"] == [["hm", None], [None]]
    assert [list(turn) for turn in turns["inference_log"]] == [
        ["begin_of_turn_query", "step_0", "step_1"],
        ["begin_of_turn_query", "step_0"],
    ]
    snapshots = tmp_path / "out" / "result" / FOLDER / "agentic" / "memory" / "kv" / "memory_snapshot"
    assert (snapshots / "customer_final.json").is_file()
    assert (snapshots / "prereq_checkpoints" / "memory_kv_prereq_0-customer-0.json").is_file()


def test_scores_count_errors_as_the_reference_does(run: Path, tmp_path: Path) -> None:
    export_official(run, tmp_path / "out")
    scores = read_scores(tmp_path / "out" / "score")[FOLDER]
    python = scores["simple_python"]
    assert python.header == {"accuracy": 1 / 3, "correct_count": 1, "total_count": 3}
    assert list(python.failed) == ["simple_python_3", "simple_python_10"]
    assert scores["irrelevance"].header == {"accuracy": 1.0, "correct_count": 1, "total_count": 1}
    assert python.failed["simple_python_3"]["error_type"] == "ast_decoder:decoder_failed"
    assert scores["memory_kv"].failed["memory_kv_1-customer-1"]["error"]["error_type"] == "agentic:inference_error"
    assert scores["multi_turn_base"].total == 1


FRAME = ["id", "model_name", "test_category", "valid"]
RAW = ["model_result_raw", "model_result_decoded", "possible_answer"]


@pytest.mark.parametrize(
    ("category", "reason", "fields"),
    [
        ("simple_python", "ast_decoder:decoder_failed", ["error", "error_type", "prompt", RAW[0], RAW[2]]),
        ("simple_python", "ast_decoder:decoder_wrong_output_format", ["error", "error_type", "prompt", *RAW]),
        ("live_simple", "value_error:string", ["error", "error_type", "prompt", *RAW]),
        ("irrelevance", "irrelevance_error:decoder_success",
         ["prompt", "model_result", "decoded_result", "error", "error_type"]),
        ("multi_turn_base", "multi_turn:force_terminated",
         ["error", "prompt", "model_result", "possible_answer", "inference_log"]),
        ("multi_turn_base", "multi_turn:instance_state_mismatch", ["error", "prompt", *RAW, "inference_log"]),
        ("web_search_base", "agentic:no_last_message",
         ["error", "prompt", "model_result", "model_result_decoded", "possible_answer", "inference_log"]),
        ("web_search_base", "agentic:answer_not_found",
         ["error", "prompt", "model_result_raw", "last_non_fc_message", "possible_answer", "inference_log"]),
    ],
)  # fmt: skip
def test_failed_entries_have_the_fields_in_order(tmp_path: Path, category: str, reason: str, fields: list[str]) -> None:
    entry_id = f"{category}_1"
    question = [[{"role": "user", "content": "Q"}]]
    entry = Entry(id=entry_id, category=category, question=question, function=[{"name": "f"}], possible_answer=["a"])
    record = single(entry_id) | {"outcome": "failed", "reason": reason, "detail": {"error": "why", "called": "last"}}
    if category.startswith(("multi", "web")):
        record["output"] = [["text"]]
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps(record) + "\n")
    export_official(path, tmp_path / "out", dataset=Data(entry))  # type: ignore[arg-type]
    (line,) = read_scores(tmp_path / "out")[FOLDER][category].failed.values()
    assert list(line) == FRAME + fields
    assert line["possible_answer" if "possible_answer" in line else "id"] in (["a"], entry_id)
    if reason == "agentic:answer_not_found":
        assert line["prompt"] == question
        assert line["last_non_fc_message"] == "last"
    elif category.startswith(("multi", "web")):
        assert "function" not in line["prompt"]
    else:
        assert line["prompt"] == {"id": entry_id, "question": question, "function": [{"name": "f"}]}


# Recorded reference data.


@pytest.mark.golden
@pytest.mark.parametrize("name", ["strong", "middle", "weak", "partial"])
def test_score_headers_are_the_references(golden_dir: Path, name: str) -> None:
    headers = json.loads((golden_dir / "scoring" / "score_headers.json").read_text())[name]
    verdicts: dict[str, list[tuple[str | None, bool]]] = {}
    for line in read_replay_lines(golden_dir / "scoring" / f"{name}.jsonl.gz"):
        verdicts.setdefault(line["category"], []).append((line.get("config"), line["valid"]))
    for category, found in verdicts.items():
        header = score_header(category, found)
        assert header == headers[category]
        assert list(header) == list(headers[category])
