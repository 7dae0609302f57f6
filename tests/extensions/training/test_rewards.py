"""Rewards: strict and graded, and the signature that verl calls."""

import json

import pytest

from pytest_bfcl.extensions.training.rewards import MOST_PARTIAL
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.rewards import compute_score, reward
from pytest_bfcl.transcript import Reply, ToolCall

DOCUMENT = {
    "name": "water.plant",
    "description": "Water a plant.",
    "parameters": {
        "type": "dict",
        "properties": {
            "plant": {"type": "string", "description": "Which."},
            "ml": {"type": "integer", "description": "How much."},
            "warm": {"type": "boolean", "description": "Whether warm."},
        },
        "required": ["plant", "ml"],
    },
}
ENTRY = {
    "function": [DOCUMENT],
    "possible_answer": [{"water.plant": {"plant": ["fern"], "ml": [200, 250], "warm": ["", False]}}],
}
PARALLEL = {
    "function": [DOCUMENT],
    "possible_answer": [
        {"water.plant": {"plant": ["fern"], "ml": [200], "warm": [""]}},
        {"water.plant": {"plant": ["ivy"], "ml": [100], "warm": [""]}},
    ],
}
IRRELEVANT = {"function": [DOCUMENT]}
JAVASCRIPT = {
    "category": "simple_javascript",
    "function": [{**DOCUMENT, "parameters": {
        "type": "dict", "properties": {"plant": {"type": "String", "description": "Which."}}, "required": ["plant"],
    }}],
    "possible_answer": [{"water.plant": {"plant": ["fern"]}}],
}  # fmt: skip
RIGHT = "[water.plant(plant='fern', ml=250)]"
NATIVE = '{"plant": "fern", "ml": 200}'
FENCED = f"```python\n{RIGHT}\n```"


@pytest.mark.parametrize(("output", "entry", "options", "expected"), [
    (RIGHT, ENTRY, {}, 1.0),
    (Reply(text=RIGHT), ENTRY, {}, 1.0),
    ({"role": "assistant", "content": RIGHT}, ENTRY, {}, 1.0),
    ([{"role": "user", "content": "water it"}, {"role": "assistant", "content": RIGHT}], ENTRY, {}, 1.0),
    (FENCED, ENTRY, {}, 0.0),
    (FENCED, ENTRY, {"rules": "corrected"}, 1.0),
    ("water.plant(plant='fern')", JAVASCRIPT, {}, 1.0),
    ("Nothing here fits.", IRRELEVANT, {}, 1.0),
    (RIGHT, IRRELEVANT, {"partial": True}, 0.0),
    *((output, ENTRY, {}, 0.0) for output in
      ("", None, "no", "[water.plant(plant='fern')]", "[", [], [{"a": "1"}], [{"a": {}}])),
])  # fmt: skip
def test_a_verdict_is_all_or_nothing(output, entry, options, expected):
    assert reward(entry, output, **options) == expected


@pytest.mark.parametrize("output", [
    [{"name": "water_plant", "arguments": NATIVE}],
    Reply(tool_calls=(ToolCall("water_plant", NATIVE),)),
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "function": {"name": "water_plant", "arguments": NATIVE}}
    ]},
])  # fmt: skip
def test_the_called_name_proves_the_spelling(output):
    assert reward(ENTRY, output, underscore_names=True) == reward(ENTRY, output) == 1.0
    assert reward(ENTRY, output, underscore_names=False) == 0.0


@pytest.mark.parametrize(("entry", "output", "expected"), [
    (ENTRY, "I will water it.", 0.0),
    (ENTRY, "[other(x=1)]", 0.0),
    (ENTRY, "[water.plant(plant='rose', ml=1, warm=True)]", 0.09),
    (ENTRY, "[water.plant(plant='fern', ml=1, warm=True)]", 0.09 + 0.81 / 81),
    (ENTRY, "[water.plant(plant='fern', ml=999)]", 0.09 + 0.81 / 16),
    (ENTRY, "[water.plant(plant='fern', ml=200, x=1)]", 0.09 + 0.81 * 16 / 81),
    (ENTRY, "[water.plant(plant='fern', ml=200), water.plant(plant='fern', ml=200)]", MOST_PARTIAL / 4),
    (ENTRY, f"[{', '.join(['water.plant(plant=9)'] * 200)}]", 0.09 / 40_000),
    (ENTRY, RIGHT, 1.0),
    (PARALLEL, "[water.plant(plant='ivy', ml=100)]", MOST_PARTIAL / 2),
    (PARALLEL, "[water.plant(plant='ivy', ml=100), water.plant(plant='fern', ml=1)]", (0.99 + 0.81 / 16) / 2),
    (PARALLEL, "[water.plant(plant='ivy', ml=100), water.plant(plant='fern', ml=200)]", 1.0),
])  # fmt: skip
def test_graded_reward(entry, output, expected):
    assert reward(entry, output, partial=True) == pytest.approx(expected)


@pytest.mark.parametrize(("entry", "output", "error", "told"), [
    *((ENTRY, output, UsageError, None) for output in
      (7, {"a": 1}, [3], {"error": "rate limit"}, object(), [{"role": "user", "content": ""}])),
    ({"function": "nonsense", "possible_answer": []}, RIGHT, HarnessError, None),
    ({"category": "poetry", "function": [], "possible_answer": []}, RIGHT, HarnessError, None),
    ({}, "no", HarnessError, "'function'"),
    ({"function": []}, "no", HarnessError, "'function'"),
    ({**IRRELEVANT, "ground_truth": []}, "no", HarnessError, "'ground_truth'.*'possible_answer'"),
    ({**IRRELEVANT, "possible_answers": []}, "no", HarnessError, "'possible_answers'"),
])  # fmt: skip
def test_what_cannot_be_judged_is_not_the_policys_fault(entry, output, error, told):
    with pytest.raises(error, match=told):
        reward(entry, output)


OTHER = {"index": 3, "split": "train", "id": 17, "question": "How much?", "category": "irrelevance",
         "language": "java", "function": [],
         "possible_answer": [{"water.plant": {"plant": ["rose"], "ml": [1]}}]}  # fmt: skip
"""verl's data sets keep an index, a split, the question's text, and sometimes a category of their own."""
OWN = {"mode": "fc", "decoder": "hermes", "think": "strip", "names": "dots"}
HERMES = f'<think>Well.</think><tool_call>\n{{"name": "water.plant", "arguments": {NATIVE}}}\n</tool_call>'


@pytest.mark.parametrize(("text", "truth", "info", "expected"), [
    (RIGHT, json.dumps(ENTRY), None, 1.0),
    (RIGHT, ENTRY["possible_answer"], {"function": [DOCUMENT], "index": 3}, 1.0),
    (RIGHT, ENTRY["possible_answer"][0], {"function": json.dumps([DOCUMENT])}, 1.0),
    (RIGHT, ENTRY, OTHER, 1.0),
    (RIGHT, json.dumps(ENTRY), OTHER, 1.0),
    ("no", ENTRY, None, 0.0),
    (HERMES, ENTRY, OWN, 1.0),
])  # fmt: skip
def test_single_score_signature(text, truth, info, expected):
    assert compute_score("bfcl", text, truth, info) == expected


@pytest.mark.parametrize(("info", "options", "told"), [
    (OWN, {"mode": "prompt"}, "made with mode='fc'"), ({**OWN, "decoder": ""}, {}, "needs decoder="),
])  # fmt: skip
def test_options_that_contradict_a_row_are_refused(info, options, told):
    with pytest.raises(UsageError, match=told):
        compute_score("x", HERMES, ENTRY, info, **options)
