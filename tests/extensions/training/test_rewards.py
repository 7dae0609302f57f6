"""Rewards: strict and graded, and the signatures trainers call."""

import json

import pytest

from pytest_bfcl.extensions.training.rewards import MOST_PARTIAL, batch_rewards, compute_score, reward, reward_function
from pytest_bfcl.failures import HarnessError, UsageError
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
RIGHT = "[water.plant(plant='fern', ml=250)]"


@pytest.mark.parametrize(
    "output",
    [
        RIGHT,
        Reply(text=RIGHT),
        {"role": "assistant", "content": RIGHT},
        [{"role": "user", "content": "water it"}, {"role": "assistant", "content": RIGHT}],
    ],
)
def test_right_answers_in_text(output):
    assert reward(ENTRY, output) == 1.0


@pytest.mark.parametrize(
    "output",
    [
        [{"name": "water_plant", "arguments": '{"plant": "fern", "ml": 200}'}],
        Reply(tool_calls=(ToolCall("water_plant", '{"plant": "fern", "ml": 200}'),)),
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "1", "function": {"name": "water_plant", "arguments": '{"plant": "fern", "ml": 200}'}}
        ]},
    ],
)  # fmt: skip
def test_right_native_calls(output):
    assert reward(ENTRY, output, underscore_names=True) == reward(ENTRY, output) == 1.0  # the called name proves it
    assert reward(ENTRY, output, underscore_names=False) == 0.0


@pytest.mark.parametrize("output", ["", None, "no", "[water.plant(plant='fern')]", "[", [], [{"a": "1"}], [{"a": {}}]])
def test_wrong_answers_earn_nothing_and_raise_nothing(output):
    assert reward(ENTRY, output) == 0.0


@pytest.mark.parametrize(
    "output", [7, {"a": 1}, [3], {"error": "rate limit"}, object(), [{"role": "user", "content": ""}]]
)
def test_an_output_of_unknown_shape_is_no_bad_policy(output):
    with pytest.raises(UsageError):
        reward(ENTRY, output)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("I will water it.", 0.0),
        ("[other(x=1)]", 0.0),
        ("[water.plant(plant='rose', ml=1, warm=True)]", 0.09),
        ("[water.plant(plant='fern', ml=1, warm=True)]", 0.09 + 0.81 / 81),
        ("[water.plant(plant='fern', ml=999)]", 0.09 + 0.81 / 16),
        ("[water.plant(plant='fern', ml=200, x=1)]", 0.09 + 0.81 * 16 / 81),
        ("[water.plant(plant='fern', ml=200), water.plant(plant='fern', ml=200)]", MOST_PARTIAL / 4),
        (RIGHT, 1.0),
    ],
)
def test_graded_reward(output, expected):
    assert reward(ENTRY, output, partial=True) == pytest.approx(expected)


def test_graded_reward_of_parallel_calls():
    one = "[water.plant(plant='ivy', ml=100)]"
    assert reward(PARALLEL, one, partial=True) == pytest.approx(MOST_PARTIAL / 2)
    both = "[water.plant(plant='ivy', ml=100), water.plant(plant='fern', ml=1)]"
    assert reward(PARALLEL, both, partial=True) == pytest.approx((0.9 + 0.09 + 0.81 / 16) / 2)
    assert reward(PARALLEL, both.replace("ml=1)", "ml=200)"), partial=True) == 1.0


def test_graded_rewards_stay_below_a_right_answer():
    many = "[" + ", ".join(f"water.plant(plant='fern', ml={n})" for n in range(200)) + "]"
    assert reward(ENTRY, many, partial=True) < 0.01


def test_no_partial_credit_where_no_call_is_due():
    entry = {"function": [DOCUMENT]}
    assert reward(entry, "Nothing here fits.") == 1.0
    assert reward(entry, RIGHT, partial=True) == 0.0


def test_corrected_rules():
    assert reward(ENTRY, f"```python\n{RIGHT}\n```") == 0.0
    assert reward(ENTRY, f"```python\n{RIGHT}\n```", rules="corrected") == 1.0


def test_java_and_javascript_entries():
    document = {**DOCUMENT, "parameters": {**DOCUMENT["parameters"], "required": ["plant"]}}
    entry = {
        "category": "simple_javascript",
        "function": [document],
        "possible_answer": [{"water.plant": {"plant": ["fern"]}}],
    }
    document["parameters"]["properties"]["plant"]["type"] = "String"
    assert reward(entry, "water.plant(plant='fern')") == 1.0


def test_broken_entries_are_not_the_policys_fault():
    with pytest.raises(HarnessError):
        reward({"function": "nonsense", "possible_answer": []}, RIGHT)
    with pytest.raises(HarnessError):
        reward({"category": "poetry", "function": [], "possible_answer": []}, RIGHT)


def test_hostile_outputs_are_only_judged():
    for output in ("[" * 5000, "water.plant(plant=__import__('os').system('true'))", "9**9**9", "a(" * 3000):
        assert reward(ENTRY, output, partial=True) <= MOST_PARTIAL


def test_batch():
    assert batch_rewards([ENTRY, ENTRY], [RIGHT, "no"]) == [1.0, 0.0]
    with pytest.raises(ValueError):
        batch_rewards([ENTRY], [])


def test_columns_as_trainers_pass_them():
    function = reward_function(partial=True)
    rewards = function(
        prompts=["p", "p"],
        completions=[[{"role": "assistant", "content": RIGHT}], "no"],
        function=[json.dumps([DOCUMENT])] * 2,
        possible_answer=[json.dumps(ENTRY["possible_answer"])] * 2,
        completion_ids=[[1], [2]],
        trainer_state=object(),
    )
    assert rewards == [1.0, 0.0]


def test_columns_with_ids():
    from pytest_bfcl.judging.entries import entry_of

    entry = entry_of(ENTRY | {"id": "simple_python_7"})
    by_id = reward_function({"simple_python_7": entry})
    assert by_id(completions=[RIGHT, "no"], entry_id=["simple_python_7"] * 2) == [1.0, 0.0]
    assert reward_function(lambda entry_id: entry)(completions=[RIGHT], id=["simple_python_7"]) == [1.0]
    with pytest.raises(HarnessError, match="entry_id"):
        by_id(completions=[RIGHT])


def test_single_score_signature():
    assert compute_score("bfcl", RIGHT, json.dumps(ENTRY)) == 1.0
    assert compute_score("bfcl", RIGHT, ENTRY["possible_answer"], {"function": [DOCUMENT]}) == 1.0
    assert compute_score("bfcl", RIGHT, ENTRY["possible_answer"][0], {"function": [DOCUMENT]}) == 1.0
    assert compute_score("bfcl", "no", ENTRY) == 0.0


def test_extra_info_of_a_trainer_does_not_touch_the_entry():
    """verl's data sets keep an index, a split, the question's text, and sometimes a category of their own there."""
    other = {"water.plant": {"plant": ["rose"], "ml": [1]}}
    extra = {"index": 3, "split": "train", "id": 17, "question": "How much?", "category": "irrelevance",
             "language": "java", "possible_answer": [other], "function": []}  # fmt: skip
    assert compute_score("bfcl", RIGHT, ENTRY, extra) == 1.0
    assert compute_score("bfcl", RIGHT, json.dumps(ENTRY), extra) == 1.0
    unrelated = {"index": 3, "split": "train", "function": [DOCUMENT]}
    assert compute_score("bfcl", RIGHT, ENTRY["possible_answer"], unrelated) == 1.0


def test_rows_say_how_replies_are_read():
    call = json.dumps({"name": DOCUMENT["name"], "arguments": {"plant": "fern", "ml": 200}})
    text = f"<think>Well.</think><tool_call>\n{call}\n</tool_call>"
    row = {"mode": "fc", "decoder": "hermes", "think": "strip", "names": "dots"}
    given = {"function": [[DOCUMENT]], "possible_answer": [ENTRY["possible_answer"]]}
    columns = {**given, **{name: [value] for name, value in row.items()}}
    assert reward_function()(completions=[text], **columns) == [1.0]
    assert compute_score("x", text, ENTRY, row) == 1.0
    with pytest.raises(UsageError, match="made with mode='fc'"):
        reward_function(mode="prompt")(completions=[text], **columns)
    with pytest.raises(UsageError, match="needs decoder="):
        reward_function()(completions=[text], **{**columns, "decoder": [""]})
    with pytest.raises(UsageError, match="needs decoder="):
        compute_score("x", text, ENTRY, {"mode": "fc"})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "'function'"),
        ({"function": []}, "'function'"),
        ({"function": [DOCUMENT], "ground_truth": ENTRY["possible_answer"]}, "'ground_truth'.*'possible_answer'"),
        ({"function": [DOCUMENT], "possible_answers": ENTRY["possible_answer"]}, "'possible_answers'"),
    ],
)
def test_fields_that_are_no_entry_earn_nothing(entry, message):
    with pytest.raises(HarnessError, match=message):
        reward(entry, "No call.")
