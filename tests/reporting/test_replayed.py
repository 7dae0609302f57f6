"""What pages find again: results of calls nobody recorded, the memory a question was asked with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_bfcl.reporting.report import write_report
from pytest_bfcl.reporting.sources import results_again
from pytest_bfcl.session.evaluation import open_data, run


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played") / "run"
    run("bundled", "oracle:", categories=["multi_turn_base"], out=folder)
    return folder


def test_results_left_out_are_those_the_conversation_had(played: Path) -> None:
    data = open_data("bundled")
    lines = [json.loads(line) for line in (played / "results.jsonl").read_text().splitlines()]
    assert len(lines) > 10
    for line in lines:
        entry = data.load(data.find(line["id"]))
        assert results_again(line, entry) is None
        without = {**line, "tool_results": [[[] for _ in turn] for turn in line["tool_results"]]}
        assert results_again(without, entry) == line["tool_results"]
        assert results_again({**without, "output": "x"}, entry) is None
        assert results_again(without, None) is None


def test_a_page_says_that_results_were_found_again_and_which_are_errors(played: Path) -> None:
    path = played / "results.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["tool_results"] = [[[] for _ in turn] for turn in line["tool_results"]]
        line["outcome"], line["tag"], line["reason"] = "failed", "WRONG_ANSWER", "multi_turn:instance_state_mismatch"
        line["output"][0] = [[{"name": "cd", "arguments": '{"folder": "nowhere at all"}'}], "Done."]
        line["calls"][0] = [["cd(folder='nowhere at all')"], None]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_report(played)
    page = next((played / "entries").glob("multi_turn_base_0*.html")).read_text()
    assert "The recording has no results" in page
    assert re.search(r'class="result wrong"><b>error</b>', page)


def test_a_failed_memory_question_shows_what_was_stored(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run("bundled", "lexical:", categories=["memory_kv"], out=folder)
    write_report(folder)
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    failed = [line["id"] for line in lines if line["outcome"] == "failed"]
    assert failed
    for name in failed:
        page = (folder / "entries" / f"{name}.html").read_text()
        assert "What the memory held" in page
        assert "archival_memory" in page
    index = (folder / "index.html").read_text()
    static = index[index.index("<noscript>") : index.index("</noscript>")]
    assert [name for name in failed if f'href="entries/{name}.html"' not in static] == []
    assert ">Overall<" not in index[: index.index('id="scores"')]
