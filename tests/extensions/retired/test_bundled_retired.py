"""The bundled entries of retired categories: enough, the oracle passes them all, named wrong calls fail as named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.conversation.services import Services
from pytest_bfcl.dataset.categories import GROUPS
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.verified import known_issues
from pytest_bfcl.explaining.terminal import failure_text
from pytest_bfcl.fetching.official import VERSION
from pytest_bfcl.reporting.score_lines import table_lines
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.selection.selection import categories_to_run
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.transcript import Mode

DATA = Path(__file__).parents[3] / "data"
EXECUTED = ("exec_simple", "exec_multiple", "exec_parallel", "exec_parallel_multiple", "rest", "sql")
CATEGORIES = (*EXECUTED, "chatable")

REASONS = {
    "executable_decoder:decoder_failed", "simple_exec_checker:wrong_count", "value_error:exec_result_count",
    "executable_checker:execution_error", "executable_checker:wrong_result",
    "executable_checker:wrong_result_real_time", "executable_checker:wrong_result_type:list_length",
    "executable_checker:wrong_result_type:dict_key_not_found", "executable_checker:wrong_result_type:dict_extra_key",
    "executable_checker:cannot_find_match", "executable_checker_rest:wrong_count",
    "executable_checker_rest:execution_error", "executable_checker_rest:wrong_status",
    "executable_checker_rest:wrong_length", "executable_checker_rest:wrong_key", "sql_checker:wrong_count",
    "sql_checker:wrong_func_name", "sql_checker:refused", "sql_checker:execution_error", "sql_checker:wrong_result",
    "chat:call_made", "chat:no_text",
}  # fmt: skip


def rows(category: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{category}.jsonl").read_text(encoding="utf-8").splitlines()]


WRONG = [
    pytest.param(category, row["id"], wrong, id=f"{row['id']}-{index}")
    for category in CATEGORIES
    for row in rows(category)
    for index, wrong in enumerate(row["wrong"])
]


@pytest.fixture(scope="module")
def bundled() -> DataSet:
    return open_data("bundled")


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    with Services() as made:
        yield made


@pytest.mark.parametrize(("category", "entry_id", "wrong"), WRONG)
def test_wrong_call_fails_with_named_reason(
    bundled: DataSet, services: Services, category: str, entry_id: str, wrong: dict[str, Any]
) -> None:
    line = {"id": entry_id, "category": category, "mode": wrong["mode"], "output": wrong["output"]}
    line["underscore_names"] = wrong["mode"] == "fc"
    entry = bundled.entry(entry_id)
    transcript = services.execute(entry, transcript_from_line(line))
    verdict = judge(entry, transcript)
    assert (verdict.outcome, verdict.reason) == ("failed", wrong["reason"])
    assert judge(entry, transcript, "corrected").reason == wrong["reason"]
    text = failure_text(entry, transcript, verdict)
    assert wrong["reason"] in text
    assert "rule" in text


def test_every_reason_is_provoked() -> None:
    assert {wrong["reason"] for category in CATEGORIES for row in rows(category) for wrong in row["wrong"]} == REASONS


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_oracle_passes_all(mode: str) -> None:
    result = run("bundled", f"oracle:@{mode}", categories=CATEGORIES)
    assert {name: count[0] for name, count in result.counts.items()} == {name: len(rows(name)) for name in CATEGORIES}
    (model,) = result.summary["models"].values()
    assert model["groups"]["retired"]["accuracy"] == 1.0
    assert model["overall"]["value"] is None
    assert "retired categories (no part of any overall score)" in table_lines(model, result.summary["fingerprint"])
    assert not set(CATEGORIES) & set(categories_to_run(open_data("bundled"))), "they run only when named"


def test_a_stored_run_is_judged_by_what_it_saw(tmp_path: Path) -> None:
    """Results stand in the line: no service is asked again, not even when none is there."""
    from pytest_bfcl.rescoring import score_lines

    run("bundled", "oracle:@fc", categories=["rest", "sql", "exec_parallel"], out=tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert all(line["tool_results"] for line in lines)
    nowhere = f"replay:{tmp_path / 'nothing'}"
    assert all(verdict["valid"] for verdict in score_lines(lines, "bundled", rest=nowhere))


@pytest.mark.parametrize("mode", get_args(Mode))
def test_the_oracle_on_the_official_archive(official: DataSet, mode: Mode) -> None:
    """What it cannot pass is what the known issues say: answers that contradict their own rules (docs/retired.md)."""
    result = run(official, f"oracle:@{mode}", categories=["retired"])
    retired = {ref.id for name in GROUPS["retired"] for ref in official.index(name)}
    known = {issue.id for issue in known_issues(VERSION) if issue.kind == "unpassable" and mode in issue.modes}
    assert {record["id"]: record["detail"] for record in result.records if record["outcome"] == "error"} == {}
    assert {record["id"] for record in result.records if record["outcome"] == "failed"} == known & retired
    skipped = [record for record in result.records if record["outcome"] == "skipped"]
    assert all(record["detail"]["error"].startswith("needs a recorded provider") for record in skipped)
    assert sum(count[1] for count in result.counts.values()) == 634
    assert len(skipped) == 176
