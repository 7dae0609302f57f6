"""The oracle passes what can be passed, in every format and language."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.models import oracle
from pytest_bfcl.models.oracle import REFUSAL, answer, final_answer
from pytest_bfcl.transcript import Step, Transcript, Turn

SINGLE_TURN = [name for name, row in CATEGORIES.items() if row.group in ("non_live", "live")]

# data spec §8: what no answer of this kind can pass, because the answers or the reference's converters are broken.
UNPASSABLE = {
    ("simple_java", "fc"): {35, 36, 64, 65, 78, 83, 85, 86, 89, 90, 91},
    ("simple_java", "prompt"): {1, 35, 36, 65, 67, 68, 78, 83, 85, 86, 89, 90, 91},
}
UNPASSABLE_LIVE = {"live_simple_106-63-0", "live_simple_112-68-0", "live_multiple_862-181-3", "live_multiple_964-207-0"}


def verdict(entry, mode):
    transcript = Transcript(
        entry.id,
        entry.category,
        "oracle",
        mode,
        underscore_names=mode == "fc",
        turns=[Turn(steps=[Step(answer(entry, mode))])],
    )
    return judge(entry, transcript)


def failed(data, category, mode):
    entries = [data.load(ref) for ref in data.index(category)]
    return {entry.id: verdict(entry, mode).reason for entry in entries if not verdict(entry, mode).valid}


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_bundled_single_turn_data_can_be_passed(mode):
    data = open_dataset("bundled")
    wrong = {}
    for category in set(SINGLE_TURN) & set(data.categories()):
        wrong |= failed(data, category, mode)
    assert wrong == {}


@pytest.mark.parametrize("mode", ["fc", "prompt"])
@pytest.mark.parametrize("category", SINGLE_TURN)
def test_official_single_turn_data(official, category, mode):
    numbers = UNPASSABLE.get((category, mode), set())
    expected = {f"{category}_{n}" for n in numbers} | {i for i in UNPASSABLE_LIVE if i.rpartition("_")[0] == category}
    assert set(failed(official, category, mode)) == expected


def entry(category="simple_python", **fields):
    functions = [{
        "name": "shop.find",
        "description": "",
        "parameters": {
            "type": "dict",
            "properties": {
                "what": {"type": "string"}, "count": {"type": "integer"}, "tags": {"type": "array",
                "items": {"type": "string"}}, "box": {"type": "dict"}, "note": {"type": "string"},
            },
            "required": ["what"],
        },
    }]  # fmt: skip
    expected = [{"shop.find": {
        "what": ["a 'red' hat", "hat"], "count": [3], "tags": [["x", "y"]],
        "box": [{"w": [1, 2], "lid": ["", True]}], "note": ["", "later"],
    }}]  # fmt: skip
    fields = {
        "question": [[{"role": "user", "content": "?"}]],
        "function": functions,
        "possible_answer": expected,
    } | fields
    return Entry(id=f"{category}_0", category=category, **fields)


def test_first_values_and_omissions():
    call = answer(entry(), "fc").tool_calls[0]
    assert call.name == "shop_find"
    expected = {"what": "a 'red' hat", "count": 3, "tags": ["x", "y"], "box": {"w": 1}}
    assert json.loads(call.arguments) == expected


def conversation(**fields):
    function = {"name": "cd", "parameters": {"type": "dict", "properties": {"folder": {}, "force": {}}, "required": []}}
    late = {"name": "tail", "parameters": {"type": "dict", "properties": {"file": {}, "lines": {}}, "required": []}}
    return Entry(
        id="multi_turn_miss_func_0", category="multi_turn_miss_func", question=[[], []], function=[function],
        missed_function={1: [late]}, involved_classes=["GorillaFileSystem"],
        possible_answer=[["cd('docs', force=True)", "tail('a.txt', 3)"], []], **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("category", "functions", "calls"), [("live_relevance", 1, 1), ("live_relevance", 0, 0), ("irrelevance", 1, 0)]
)
def test_what_is_right_without_an_expected_call(category, functions, calls):
    given = {"question": [[{"role": "user", "content": "?"}]], "function": [{"name": "f"}] * functions}
    reply = answer(Entry(id=f"{category}_0", category=category, **given), "fc")
    assert (len(reply.tool_calls), reply.text) == (calls, None if calls else REFUSAL)


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [(["a.", "(b", "c"], "c"), (["(a)"], "(a)"), (["", "b"], "b"), ([7], "7"), ([], ""), (["x!", "y"], "y"),
    (["!x", "y"], "y")],
)  # fmt: skip
def test_which_final_answer_is_chosen(answers, chosen):
    item = Entry(id="memory_kv_0-student-0", category="memory_kv", question=[[]], possible_answer=answers)
    assert final_answer(item) == repr({"answer": chosen, "context": "taken from the ground truth"})


def test_what_is_expected_to_be_said_on_a_server():
    usual = {"answers": [], "said": False, "contains": None, "turn": None}
    expect = [{"answers": ["a", "b"]}, {"answers": ["c"], "turn": 0}, {"said": True, "contains": "d"},
              {"said": True, "contains": "e", "turn": 0}, {"said": True}]  # fmt: skip
    item = conversation().model_copy(update={"expect": [SimpleNamespace(**usual | each) for each in expect]})
    assert [oracle._expected_words(item, turn) for turn in (0, 1)] == [f"{oracle.CLOSING} c e", f"{oracle.CLOSING} a d"]
