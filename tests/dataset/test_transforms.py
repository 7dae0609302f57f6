"""The same entry put otherwise: what is right stays right, and something has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset import open_dataset
from pytest_bfcl.dataset.transforms import TRANSFORMS, read_transforms, split_id, transform
from pytest_bfcl.evaluation import open_data, run
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.settings import Settings

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


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_oracle_passes_under_every_one(mode: str) -> None:
    """Every bundled entry whose kind a transform applies to; a few of the long conversations."""
    settings = Settings(transforms=tuple(TRANSFORMS))
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


def test_the_oracle_passes_conversations_too() -> None:
    data = open_data("bundled")
    names = ("shuffle-tools", "enum-order", "short-descriptions", "whitespace", "upper-case")
    refs = [each for ref in data.index("multi_turn_miss_func")[:4] for each in data.variants(ref, names)]
    found = run([data.load(ref) for ref in refs], "oracle:@fc")
    assert [record["outcome"] for record in found.records] == ["passed"] * len(refs) == ["passed"] * 24


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
