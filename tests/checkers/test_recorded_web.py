"""Multi-turn entries that search the web: judged by what the conversation saw, without reaching anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.checkers.agentic import NotLookedUp, RecordedWeb, recorded_results
from pytest_bfcl.checkers.state import executor_of
from pytest_bfcl.cli import main
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.models import as_model
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.transcript import Reply, Step, ToolCall, Transcript, Turn

PAGE = "<html><head><title>{0}</title></head><body><p>{0} is about {1}.</p></body></html>"
SEARCH = "search_engine_query(keywords='bridge of Riga', max_results=1)"
ENTRY = {
    "id": "multi_turn_base_web_0",
    "category": "multi_turn_base",
    "question": [[{"role": "user", "content": "Look up the bridge of Riga."}],
                 [{"role": "user", "content": "Note it in a file."}]],
    "involved_classes": ["WebSearchAPI", "GorillaFileSystem"],
    "initial_config": {"GorillaFileSystem": {"root": {"home": {"type": "directory", "contents": {}}}}},
    "possible_answer": [[SEARCH], ["touch(file_name='bridge.txt')"]],
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    (tmp_path / "web").mkdir()
    for number, about in enumerate(("the bridge of Riga", "trams", "markets")):
        (tmp_path / "web" / f"page{number}.html").write_text(PAGE.format(f"Page {number}", about))
    (tmp_path / "own.jsonl").write_text(json.dumps(ENTRY) + "\n")
    return open_data(str(tmp_path / "own.jsonl"))


def asked(*calls: list[tuple[str, dict[str, Any]]]) -> Any:
    """A model that makes these calls, one list a turn."""

    def reply(request: Any) -> Reply:
        if request.step:
            return Reply(text="done")
        return Reply(
            tool_calls=tuple(ToolCall(n, json.dumps(a), f"c{i}") for i, (n, a) in enumerate(calls[request.turn]))
        )

    return as_model(reply, "own:searcher", mode="fc")


LOOKED = ("search_engine_query", {"keywords": "bridge of Riga", "max_results": 1})
NOTED = ("touch", {"file_name": "bridge.txt"})


def no_socket(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("a checker reached outside")


@pytest.mark.parametrize("spec", ["oracle:@fc", "oracle:@prompt"])
def test_an_oracle_passes(data: DataSet, spec: str) -> None:
    (record,) = run(data, spec).records
    assert (record["outcome"], record["reason"]) == ("passed", None)


def test_verdicts_come_from_recorded_results_alone(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ("search_engine_query", {"keywords": "trams", "max_results": 1})
    page = ("fetch_url_content", {"url": "no address"})
    both = [(name, {**arguments, "region": "wt-wt"}) for name, arguments in (LOOKED, LOOKED)]
    runs = {
        "right": asked([LOOKED], [NOTED]),
        "default named": asked([both[0]], [NOTED]),
        "more": asked([other, page, LOOKED, LOOKED], [NOTED]),
        "other": asked([other], [NOTED]),
        "state": asked([LOOKED], [("touch", {"file_name": "wrong.txt"})]),
    }
    found = {name: run(data, model, out=tmp_path / name).records[0] for name, model in runs.items()}
    reasons = {name: record["reason"] for name, record in found.items()}
    assert reasons == {
        "right": None,
        "default named": None,
        "more": None,
        "other": "multi_turn:execution_response_mismatch",
        "state": "multi_turn:instance_state_mismatch",
    }
    assert "bridge" in found["right"]["tool_results"][0][0][0]
    monkeypatch.setattr("socket.socket.connect", no_socket)
    for name in runs:
        path = tmp_path / name / "results.jsonl"
        (again,) = run(data, f"replay:{tmp_path / name}").records
        assert again["reason"] == reasons[name]
        judged = str(tmp_path / f"{name}.jsonl")
        assert main(["score", str(path), "--data", str(tmp_path / "own.jsonl"), "-o", judged]) == 0
        assert json.loads(Path(judged).read_text())["reason"] == reasons[name]
    capsys.readouterr()


def test_a_line_without_results_is_an_error_of_the_data(data: DataSet) -> None:
    entry = data.entry(ENTRY["id"])
    line = {"id": entry.id, "category": entry.category, "trajectory": [[[SEARCH]], [["touch(file_name='bridge.txt')"]]]}
    verdict = judge(entry, transcript_from_line(line))
    assert (verdict.outcome, verdict.reason) == ("error", "harness:search")
    assert "not recorded" in str(verdict.detail)
    asked = Step(Reply(), calls=["search_engine_query(nothing=1)", SEARCH], results=["no such argument", "found"])
    talk = Transcript(entry.id, entry.category, turns=[Turn([], [asked])])
    key = ("search_engine_query", "[('keywords', 'bridge of Riga'), ('max_results', 1), ('region', 'wt-wt')]")
    assert recorded_results(entry, talk, executor_of(entry)) == {key: ["found"]}
    quiet = {**line, "trajectory": [[], [["touch(file_name='bridge.txt')"]]]}
    assert judge(entry, transcript_from_line(quiet)).reason == "multi_turn:empty_turn_model_response"


def test_a_repeated_search_has_its_results_in_order_and_the_last_one_again() -> None:
    key = ("fetch_url_content", "[('mode', 'raw'), ('url', 'u')]")
    found = {key: ['{"n": 1}', "{'n': 2}", "Error during execution: gone", "plain"]}
    for _ in range(2):  # each judgement begins anew
        web = RecordedWeb(found)
        assert [web.fetch("u", "raw") for _ in range(2)] == [{"n": 1}, {"n": 2}]
        with pytest.raises(RuntimeError, match=r"^gone$"):
            web.fetch("u", "raw")
        assert [web.fetch("u", "raw") for _ in range(2)] == [{"content": "plain"}] * 2
        with pytest.raises(NotLookedUp, match="'url': 'u'"):
            web.fetch("u", "truncate")
