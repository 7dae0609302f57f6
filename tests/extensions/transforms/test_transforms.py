"""The same entry put otherwise: what is right stays right, and something has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import GROUPS
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.dataset.transforms import read_transforms, split_id, transform
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings

TRANSFORMS = tuple(entry_points.offered("transforms"))

TOOL: dict[str, Any] = {
    "name": "get_weather",
    "description": "Tells the weather. Also the wind.",
    "parameters": {
        "type": "dict",
        "properties": {
            "town": {"type": "string", "description": "Where to look. In any country."},
            "unit": {"type": "string", "enum": ["C", "F", "K"], "description": "Scale."},
        },
        "required": ["town"],
    },
}
OTHER = {**TOOL, "name": "weatherLog", "description": "Lists what was measured."}
LINE = {
    "id": "one",
    "category": "multiple",
    "question": [[{"role": "system", "content": "Be Kind."}, {"role": "user", "content": "How warm is Riga today?"}]],
    "function": [TOOL, OTHER],
    "possible_answer": [{"get_weather": {"town": ["Riga"], "unit": ["C", ""]}}],
}


@pytest.fixture
def data(tmp_path: Path) -> Any:
    (tmp_path / "own.jsonl").write_text(json.dumps(LINE) + "\n")
    return open_dataset(tmp_path / "own.jsonl")


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_changes_something_and_is_the_same_each_time(data: Any, name: str) -> None:
    plain, made = data.entry("one"), data.entry(f"one~{name}")
    assert made.id == f"one~{name}"
    assert (made.function, made.question) != (plain.function, plain.question)
    assert made == data.entry(f"one~{name}")
    assert plain == data.entry("one"), "the entry itself is left alone"
    assert split_id(made.id) == ("one", name)


def test_what_each_does(data: Any) -> None:
    made = {name: data.entry(f"one~{name}") for name in TRANSFORMS}
    assert [doc["name"] for doc in made["shuffle-tools"].function] == ["weatherLog", "get_weather"]
    assert [doc["name"] for doc in made["rename-tools"].function] == ["getWeather", "weather_log"]
    assert list(made["rename-tools"].possible_answer[0]) == ["getWeather"]
    assert list(made["rename-parameters"].possible_answer[0]["get_weather"]) == ["town_value", "unit_value"]
    assert made["rename-parameters"].function[0]["parameters"]["required"] == ["town_value"]
    assert len(made["distractors"].function) == 4
    enum = made["enum-order"].function[0]["parameters"]["properties"]["unit"]["enum"]
    assert sorted(enum) == ["C", "F", "K"]
    assert enum != ["C", "F", "K"]
    short = made["short-descriptions"].function[0]
    assert short["description"] == "Tells the weather."
    assert short["parameters"]["properties"]["town"]["description"] == "Where to look."
    said = {name: entry.question[0][1]["content"] for name, entry in made.items()}
    assert said["lower-case"] == "how warm is riga today?"
    assert said["upper-case"] == "HOW WARM IS RIGA TODAY?"
    assert said["whitespace"].split() == ["How", "warm", "is", "Riga", "today?"]
    assert made["lower-case"].question[0][0]["content"] == "Be Kind.", "only the user's words"


@pytest.mark.parametrize("mode", ["fc", pytest.param("prompt", marks=pytest.mark.slow)])
def test_the_oracle_passes_under_every_one(mode: str) -> None:
    """Every bundled entry whose kind a transform applies to; a few of the long conversations."""
    settings = Settings(transforms=TRANSFORMS)
    found = run("bundled", f"oracle:@{mode}", settings=settings, categories=["single_turn"])
    assert [record["id"] for record in found.records if record["outcome"] != "passed"] == []
    (model,) = found.summary["models"].values()
    assert set(model["robustness"]) == set(TRANSFORMS)
    for cell in model["robustness"].values():
        assert (cell["accuracy"], cell["transformed"], cell["difference"]) == (1.0, 1.0, 0.0)
        assert cell["pairs"] > 150
    plain = run("bundled", f"oracle:@{mode}", categories=["single_turn"])
    assert found.counts.keys() == plain.counts.keys()
    scores = [next(iter(each.summary["models"].values()))["categories"] for each in (found, plain)]
    assert scores[0] == scores[1], "transformed entries are in no score"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_oracle_passes_official_conversations_too(official: Any, mode: str) -> None:
    """All four categories under every transform fail what they fail untouched, and that is nearly nothing."""
    refs = [ref for name in GROUPS["multi_turn"] for ref in official.index(name)]
    failed: dict[str, set[str]] = {}
    for name in (None, *TRANSFORMS):
        put = refs if name is None else [list(official.variants(ref, (name,)))[1] for ref in refs]
        found = run([official.load(ref) for ref in put], f"oracle:@{mode}")
        assert len(found.records) == 800
        failed[name or ""] = {split_id(line["id"])[0] for line in found.records if line["outcome"] != "passed"}
    assert all(each == failed[""] for each in failed.values())
    assert len(failed[""]) < 5


CONVERSATION = ("multi_turn_miss_func", "multi_turn_base")


def conversation(kind: str, transformed: str) -> Any:
    data = open_data("bundled")
    return data.entry(f"{data.index(kind)[0].id}~{transformed}")


@pytest.mark.parametrize("kind", CONVERSATION)
def test_renamed_conversations_know_no_old_names(kind: str) -> None:
    """Whoever calls what is not offered gets an error, in the names of the conversation."""
    from pytest_bfcl.checkers.state import executor_of

    plain, tools, parameters = (
        open_data("bundled").entry(open_data("bundled").index(kind)[0].id),
        conversation(kind, "rename-tools"),
        conversation(kind, "rename-parameters"),
    )
    assert not {doc["name"] for doc in plain.all_functions} & {doc["name"] for doc in tools.all_functions}
    assert [len(docs) for docs in tools.missed_function.values()] == [
        len(docs) for docs in plain.missed_function.values()
    ]
    call = next(text for turn in plain.possible_answer for text in turn if "=" in text)
    told = executor_of(tools).execute(call)
    assert told.startswith("Error during execution: name ")
    own = executor_of(parameters)
    assert "unexpected keyword argument" in own.execute(call)
    name = call.partition("(")[0]
    document = next(doc for doc in plain.all_functions if doc["name"] == name)
    required = document["parameters"]["required"]
    if required:
        text = own.execute(f"{name}()")
        assert "missing" in text
        assert not any(f"'{each}'" in text for each in required)


def test_a_model_that_calls_old_names_fails_and_one_that_calls_a_distractor_is_answered() -> None:
    import asyncio

    from pytest_bfcl.checkers import judge
    from pytest_bfcl.conversation.engine import converse
    from pytest_bfcl.models import as_model
    from pytest_bfcl.models.oracle import answer
    from pytest_bfcl.transcript import Reply, ToolCall

    data = open_data("bundled")
    plain = data.entry(data.index("multi_turn_base")[0].id)

    def verdict(entry: Any, reply: Any) -> Any:
        model = as_model(reply, "own:model", mode="fc")
        transcript = asyncio.run(converse(entry, model, settings=Settings(), texts=data.texts))
        return judge(entry, transcript), [text for step in transcript.steps for text in step.results]

    def old(request: Any) -> Reply:
        return answer(plain, "fc", request.turn, request.step)

    for name in ("rename-tools", "rename-parameters"):
        found, results = verdict(conversation("multi_turn_base", name), old)
        assert not found.valid
        assert any(text.startswith("Error during execution: ") for text in results)

    entry = conversation("multi_turn_base", "distractors")
    distractor = entry.function[-1]["name"]

    def curious(request: Any) -> Reply:
        if request.step == 0:
            return Reply(tool_calls=(ToolCall(distractor, '{"days": 7}', "a"),))
        return answer(request.entry, "fc", request.turn, request.step - 1)

    found, results = verdict(entry, curious)
    assert found.valid
    assert any('"days": 7' in text for text in results)


def test_words_of_ones_own(tmp_path: Path, data: Any) -> None:
    path = tmp_path / "auf deutsch.jsonl"
    path.write_text(json.dumps({"id": "one", "question": "Wie warm ist es heute in Riga?"}) + "\n")
    names, rewordings = read_transforms([str(path), "lower-case"])
    assert names == ("auf-deutsch", "lower-case")
    data.rewordings = rewordings
    made = data.entry("one~auf-deutsch")
    assert [message["content"] for message in made.question[0]] == ["Be Kind.", "Wie warm ist es heute in Riga?"]
    with pytest.raises(HarnessError, match="not here"):
        transform(data.entry("one"), "auf-spanisch", rewordings)


@pytest.mark.parametrize("text", ["{", "7", "{}", '{"id": "a"}', '{"id": "a", "question": 7}', ""])
def test_a_file_of_words_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "words.jsonl"
    path.write_text(text)
    for wrong in (str(path), str(tmp_path / "absent.jsonl"), "no-such"):
        with pytest.raises(UsageError):
            read_transforms([wrong])
