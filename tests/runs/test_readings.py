"""How stored replies are read where their lines do not say it, and what is told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.training.rewards import reward
from pytest_bfcl.rescoring import open_data, score_lines
from pytest_bfcl.session.evaluation import run
from tests.runs.test_folder_families import ENTRY, folder

DOTS, UNDER = "shop.find", "shop_find"


def lines(*names: str, **more: Any) -> list[dict[str, Any]]:
    """One right native call a name, without a word about mode or spelling."""
    return [
        {"id": f"simple_python_{n}", "category": "simple_python", **ENTRY, **more,
         "output": {"role": "assistant", "content": None, "tool_calls": [
             {"id": "c", "type": "function", "function": {"name": name, "arguments": '{"what": "tea"}'}}]}}
        for n, name in enumerate(names)
    ]  # fmt: skip


def valid(found: list[dict[str, Any]], **how: Any) -> list[bool]:
    return [verdict["valid"] for verdict in score_lines(found, **how)]


@pytest.mark.parametrize("name", [DOTS, UNDER])
def test_a_stored_message_needs_nothing_said(name: str) -> None:
    assert valid(lines(name)) == [True]
    assert reward(ENTRY, lines(name)[0]["output"]) == 1.0


def test_the_verb_tells_once_what_it_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = {**lines(DOTS)[0], "id": "simple_python_7", "output": "[shop.find(what='tea')]"}
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in [*lines(UNDER, UNDER), text]))

    def scored(*options: str) -> tuple[int, list[Any], str]:
        code = main(["score", str(file), *options])
        out, err = capsys.readouterr()
        return code, [json.loads(line).get("valid") for line in out.splitlines()], err

    code, verdicts, told = scored()
    assert (code, verdicts) == (1, [True, True, None])
    assert told.count("native calls prove it); names with underscores (2 ") == 1
    assert "line 3: simple_python_7: the mode of this text is not known" in told
    assert scored("--mode", "prompt")[:2] == (0, [True, True, True])
    assert scored("--mode", "fc", "--names", "dots")[:2] == (0, [False, False, False])
    folder_of = tmp_path / "verdicts"
    assert scored("--mode", "prompt", "-n", "2", "-o", str(folder_of))[0] == 0
    assert sum(file.read_text().count('"valid":true') for file in folder_of.rglob("*.jsonl")) == 3


CONTRADICTED = {
    # a model whose calls the leaderboard expects with dots; texts expected of a prompting model; dots, not underscores
    "qwen3-235b-a22b-instruct-2507-FC": (lambda: [{UNDER: '{"what": "tea"}'}], "evidence", [False, True]),
    "Qwen_Qwen3-8B": (lambda: [{UNDER: '{"what": "tea"}'}], "evidence", [False, True]),
    "gpt-4o-2024-11-20-FC": (lambda: [{DOTS: '{"what": "tea"}'}], "leaderboard", [True, False]),
}


@pytest.fixture(scope="module")
def own_data(own_file: Path) -> Any:
    return open_data(own_file)


@pytest.fixture(scope="module")
def own_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tea.jsonl"
    entry = {
        "id": "simple_python_0",
        "category": "simple_python",
        **ENTRY,
        "question": [[{"role": "user", "content": "Tea?"}]],
    }
    path.write_text(json.dumps(entry) + "\n")
    return path


@pytest.mark.parametrize("model", CONTRADICTED)
def test_both_scores_where_calls_contradict_the_table(
    own_data: Any, own_file: Path, tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stored, by, both = CONTRADICTED[model]
    path = folder(tmp_path, model, stored())
    result = run(own_data, f"replay:{path}", out=tmp_path / "run")
    (line,) = result.records
    assert [line["outcome"] == "passed", line["other_reading"]["outcome"] == "passed"] == both
    assert line["other_reading"]["by"] == by
    ((name, summary),) = result.summary["models"].items()
    assert summary["remarks"] == [
        "the calls contradict the benchmark's table of models: "
        "the leaderboard says 0.0 % (0 of 1), the evidence says 100.0 % (1 of 1); "
        f"these verdicts follow the {line['other_reading']['followed']}"
    ]
    assert line["other_reading"]["followed"] != by
    (asked,) = result.summary["fingerprint"]["models"]
    assert "prove it)" in asked["read_as"]
    assert result.notes == (f"{name}: {asked['read_as']}",)
    assert main(["score", str(path), "--data", str(own_file)]) == 0
    assert "the leaderboard says 0.0 % (0 of 1), the evidence says 100.0 % (1 of 1)" in capsys.readouterr().err
    again = run(own_data, f"replay:{tmp_path / 'run'}")  # a run of it is read the same way
    assert again.summary["models"][name]["remarks"] == summary["remarks"]


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"id": "simple_python_0", "output": [{"name": name, "arguments": "{}"}], **more}
