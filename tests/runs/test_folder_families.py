"""How stored replies are read where their lines do not say it: by the family of their folder, by what calls prove."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.training.rewards import reward
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.decoders import HANDLERS
from pytest_bfcl.formats.table import find_decoder
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.runs.official_layout import has_calls, output_of, reading_of
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.session.evaluation import run
from tests.plugin.conftest import write_lines

CALL = {"name": "shop.find", "arguments": {"what": "tea"}}
SHOP = {
    "name": "shop.find", "description": "Finds things.",
    "parameters": {"type": "dict", "properties": {"what": {"type": "string", "description": "What."}},
                   "required": ["what"]},
}  # fmt: skip
ENTRY = {"function": [SHOP], "possible_answer": [{"shop.find": {"what": ["tea"]}}]}
HERMES = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"


def folder(root: Path, model: str, *results: Any, category: str = "simple_python") -> Path:
    lines = [{"id": f"{category}_{n}", "result": result} for n, result in enumerate(results)]
    return write_lines(root / model / "non_live" / f"BFCL_v4_{category}_result.json", lines).parents[1]


def valid(path: Path, **options: Any) -> list[Any]:
    lines = ({**line, **ENTRY} for line in read_replay_lines(path, decoder=options.get("decoder")))
    return [line.get("valid", line) for line in score_lines(lines, **options)]


REGISTERED = {
    "Qwen_Qwen3-8B-FC": HERMES,
    "MadeAgents_Hammer2.1-7b": f"```\n[{json.dumps(CALL)}]\n```",
    "meta-llama_Llama-3.1-8B-Instruct-FC": json.dumps({"name": "shop.find", "parameters": {"what": "tea"}}),
    "Salesforce_xLAM-2-3b-fc-r": f"{json.dumps(CALL)}; {json.dumps(CALL)}",
    "katanemo_Arch-Agent-7B": [{"shop.find": {"what": "tea"}}],
    "ibm-granite_granite-3.1-8b-instruct": [{"shop.find": {"what": "tea"}}],
    "ibm-granite_granite-20b-functioncalling": f"<function_call> {json.dumps({**CALL, 'name': 'shop_find'})}",
    "THUDM_glm-4-9b-chat": 'shop_find\n{"what": "tea"}',
    "openbmb_MiniCPM3-4B-FC": "<|tool_call_start|>\n```python\nshop_find(what='tea')\n```\n<|tool_call_end|>",
    "google_functiongemma-270m-it-FC": (
        "<start_function_call>call:shop.find{what:<escape>tea<escape>}<end_function_call>"
    ),
    "microsoft_phi-4": "```python\n[shop.find(what='tea')]\n```",
    "mistralai_Ministral-8B-Instruct-2410": [{"shop.find": {"what": "tea"}}],
    "gemini-2.5-flash-FC": [{"shop_find": {"what": "tea"}}],
    "gpt-4o-2024-11-20-FC": [{"shop_find": '{"what": "tea"}'}],
    "command-a-03-2025-FC": [{"tool_name": "shop_find", "parameters": {"what": "tea"}}],
    "DM-Cito-8B-v3": [{"name": "shop.find", "arguments": {"what": "tea"}}],
    "gorilla-openfunctions-v2": "shop.find(what='tea')",
    "nvidia_llama-3.1-nemotron-ultra-253b-v1": "<TOOLCALL>[shop.find(what='tea')]</TOOLCALL>",
}


@pytest.mark.parametrize("model", REGISTERED)
def test_registered_models_are_read_by_their_family(tmp_path, model):
    expected = model != "Salesforce_xLAM-2-3b-fc-r"  # two calls where one is due: read, and wrong
    path = folder(tmp_path, model, REGISTERED[model], "No function fits.")
    assert valid(path) == [expected, False]


def test_a_folder_nobody_can_read_is_refused_with_what_to_do(tmp_path):
    path = folder(tmp_path, "my-finetune-FC", HERMES)
    with pytest.raises(UsageError, match="--decoder hermes"):
        list(read_replay_lines(path))
    assert valid(path, decoder="hermes") == [True]
    with pytest.raises(UsageError, match="unknown decoder"):
        list(read_replay_lines(path, decoder="nonsense"))


def test_a_lost_call_where_none_was_due_is_told_too(tmp_path):
    """The entry passes, as at the reference; but it is the server that passes, not the model."""
    lines = [{**ENTRY, "id": f"irrelevance_{n}", "mode": "fc", "output": text, "possible_answer": None}
             for n, text in enumerate(("I cannot help.", HERMES))]  # fmt: skip
    told = [(verdict["valid"], verdict["detail"].get("lost_call")) for verdict in score_lines(lines)]
    assert told == [(True, None), (True, "hermes")]


CALLS, TEXTS = [{"shop_find": "{}"}], "No."


DOTTED = [{"shop.find": "{}"}]
UNDERSCORES, WITH_DOTS = (f"names with {each} (1 of the called ones prove it)" for each in ("underscores", "dots"))


@pytest.mark.parametrize(
    ("model", "results", "how", "underscores", "other", "proof"),
    [
        ("somebody-FC", [DOTTED], {}, False, None, WITH_DOTS),
        ("somebody-FC", [TEXTS], {}, True, None, ""),
        ("somebody-FC", [DOTTED], {"underscore_names": True}, True, None, ""),
        ("gpt-4o-2024-11-20-FC", [CALLS], {}, True, None, ""),
        ("gpt-4o-2024-11-20-FC", [DOTTED], {}, False, ("leaderboard", "fc", True), WITH_DOTS),
        ("qwen3-235b-a22b-instruct-2507-FC", [CALLS], {}, False, ("evidence", "fc", True), UNDERSCORES),
        ("Qwen_Qwen3-8B", [CALLS], {}, False, ("evidence", "fc", True), f"native calls, {UNDERSCORES}"),
        ("Qwen_Qwen3-8B", [[{"find": "{}"}]], {}, False, ("evidence", "fc", True), "native calls"),
        ("Qwen_Qwen3-8B", [DOTTED], {}, False, ("evidence", "fc", False), f"native calls, {WITH_DOTS}"),
        ("Qwen_Qwen3-8B", [CALLS], {"mode": "prompt"}, False, None, ""),
        ("Qwen_Qwen3-8B", [TEXTS], {}, False, None, ""),
        *((model, [DOTTED], {}, False, None, "") for model in ("katanemo_Arch-Agent-7B", "DM-Cito-8B-v3")),
    ],
)  # fmt: skip
def test_what_calls_prove(
    tmp_path: Path, model: str, results: list[Any], how: Any, underscores: bool, other: Any, proof: str
) -> None:
    files = list(folder(tmp_path, model, *results).rglob("*.json"))
    found = reading_of(model, files, **{"mode": None, "underscore_names": None, "decoder": None, **how},
                       offered=lambda entry_id: ["shop.find"])  # fmt: skip
    assert (found.underscore_names, found.other and tuple(found.other)[:3], found.proof) == (underscores, other, proof)


def test_results_that_a_handler_stored_as_lists() -> None:
    stored = next(name for name in HANDLERS if find_decoder(name).stored)
    assert output_of(["a", "b"], stored, nested=False) == "a\nb"
    assert output_of([], stored, nested=False) == []
    as_json = [output_of(said, "handler:tool-calls-list", nested=False) for said in ("a", ["a"])]
    assert as_json == ["a", '["a"]']
    assert output_of([["a"], "b", {"c": 1}, 5], None, nested=True) == [["a"], ["b"], {"c": 1}, 5]
    assert output_of(["a", {"f": "{}"}], stored, nested=False) == ["a", {"name": "f", "arguments": '"{}"'}]


def test_the_first_lost_call_is_shown(tmp_path: Path) -> None:
    path = folder(tmp_path, "my-finetune", ["words", 7, [HERMES * 3]], "I cannot help.")
    with pytest.raises(UsageError, match="--decoder hermes reads this one") as caught:
        reading_of("my-finetune", list(path.rglob("*.json")), mode="fc", underscore_names=None, decoder=None)
    assert repr((HERMES * 3).strip()[:80]) in str(caught.value)
    assert [has_calls(each) for each in ("x", [], ["x"], [["x", {}]], {"f": 1})] == [False, False, False, True, False]


DOTS, UNDER = "shop.find", "shop_find"


def lines(*names: str, **more: Any) -> list[dict[str, Any]]:
    """One right native call a name, without a word about mode or spelling."""
    return [
        {"id": f"simple_python_{n}", "category": "simple_python", **ENTRY, **more,
         "output": {"role": "assistant", "content": None, "tool_calls": [
             {"id": "c", "type": "function", "function": {"name": name, "arguments": '{"what": "tea"}'}}]}}
        for n, name in enumerate(names)
    ]  # fmt: skip


@pytest.mark.parametrize("name", [DOTS, UNDER])
def test_a_stored_message_needs_nothing_said(name: str) -> None:
    assert [verdict["valid"] for verdict in score_lines(lines(name))] == [True]
    assert reward(ENTRY, lines(name)[0]["output"]) == 1.0


CONTRADICTED = {
    # a model whose calls the leaderboard expects with dots; texts expected of a prompting model; dots, not underscores
    "qwen3-235b-a22b-instruct-2507-FC": (UNDER, "evidence", [False, True]),
    "Qwen_Qwen3-8B": (UNDER, "evidence", [False, True]),
    "gpt-4o-2024-11-20-FC": (DOTS, "leaderboard", [True, False]),
}


@pytest.fixture(scope="module")
def own_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    question = [[{"role": "user", "content": "Tea?"}]]
    entry = {"id": "simple_python_0", "category": "simple_python", **ENTRY, "question": question}
    return write_lines(tmp_path_factory.mktemp("data") / "tea.jsonl", [entry])


@pytest.mark.parametrize("model", CONTRADICTED)
def test_both_scores_where_calls_contradict_the_table(
    own_file: Path, tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, by, both = CONTRADICTED[model]
    path = folder(tmp_path, model, [{name: '{"what": "tea"}'}])
    result = run(own_file, f"replay:{path}", out=tmp_path / "run")
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
    again = run(own_file, f"replay:{tmp_path / 'run'}")  # a run of it is read the same way
    assert again.summary["models"][name]["remarks"] == summary["remarks"]
