"""What is recognised as exactly right is right by the full check, under every set of rules."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_bfcl.checkers import CORRECTED_RULES
from pytest_bfcl.checkers.ast import CallRules, check_call, check_calls
from pytest_bfcl.checkers.corrected import CORRECTED, OFFICIAL
from pytest_bfcl.checkers.entries import language_of, single_turn_calls
from pytest_bfcl.checkers.exact import all_exactly_right, exactly_right
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.transcript import Call
from tests.checkers.building import function

ONE_EACH = [OFFICIAL, CORRECTED, *(frozenset({name}) for name in CORRECTED_RULES)]
ALL_BUT_ONE = [CORRECTED - {name} for name in CORRECTED_RULES]

texts = st.sampled_from(["", " ", "soup", "Soup", "-", "null", "True"])
integers = st.one_of(st.integers(-2, 2), st.sampled_from([2**53 - 1, 2**53, 2**53 + 1]))
floats = st.sampled_from([0.0, 1.0, 2.5, -0.0, float(2**53), math.inf, math.nan])
scalars = st.one_of(texts, integers, floats, st.booleans(), st.none())
values = st.one_of(
    scalars,
    st.lists(st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=2),
    st.dictionaries(st.sampled_from("ab"), scalars, max_size=2),
    st.tuples(scalars),
)
FITTING = {
    "string": texts, "any": texts, "integer": integers, "float": st.one_of(floats, integers), "boolean": st.booleans(),
}  # fmt: skip
ODD = ["array", "tuple", "dict", "number", "odd", 7]
NAN = math.nan
names = st.sampled_from(["dish", "size", "hot"])


def seldom(draw: st.DrawFn, odds: int = 7) -> bool:
    return draw(st.integers(1, odds)) == odds


@st.composite
def objects(draw: st.DrawFn) -> tuple[dict[str, Any], Any, list[Any]]:
    """The same for a parameter that is an object of alternatives by key."""
    allowed: list[Any] = draw(
        st.lists(
            st.dictionaries(st.sampled_from("abc"), st.lists(scalars, max_size=2), max_size=2), min_size=1, max_size=2
        )
    )
    chosen = [{key: draw(st.sampled_from(each)) for key, each in one.items() if each} for one in allowed]
    inner = {key: {"type": draw(st.sampled_from(sorted(FITTING)))} for key in "ab"}
    schema: dict[str, Any] = {"type": "dict"} | ({"properties": inner} if draw(st.booleans()) else {})
    if seldom(draw):
        schema["required"] = ["a"]
    if seldom(draw):
        schema["default"] = draw(values)
    if seldom(draw, 4):
        allowed.insert(draw(st.integers(0, len(allowed))), draw(st.one_of(st.just(""), values)))
    return schema, allowed, [*chosen, draw(values)]


@st.composite
def parameters(draw: st.DrawFn) -> tuple[dict[str, Any], Any, list[Any]]:
    """A schema, acceptable values that mostly fit it, and what to choose an argument from."""
    if seldom(draw, 4):
        return draw(objects())
    word = draw(st.sampled_from(sorted(FITTING)))
    schema: dict[str, Any] = {"type": word}
    fitting: st.SearchStrategy[Any] = FITTING[word]
    if seldom(draw, 3):
        schema = {"type": draw(st.sampled_from(["array", "tuple"])), "items": schema}
        fitting = st.lists(fitting, max_size=2)
    if seldom(draw):
        schema["type"] = draw(st.sampled_from(ODD + sorted(FITTING)))
    if seldom(draw):
        schema["default"] = draw(values)
    allowed = draw(st.lists(fitting, min_size=1, max_size=2))
    if seldom(draw, 4):
        allowed.insert(draw(st.integers(0, len(allowed))), draw(st.one_of(st.just(""), values)))
    return schema, draw(values) if seldom(draw, 20) else allowed, [*allowed, draw(fitting), draw(values)]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Call, dict[str, Any], dict[str, Any]]:
    """A call, a document and an answer, made so that they often fit."""
    properties, accepted, arguments = {}, {}, {}
    for name in draw(st.lists(names, unique=True, min_size=1)):
        properties[name], accepted[name], choice = draw(parameters())
        if not seldom(draw):
            arguments[name] = draw(st.sampled_from(choice))
            if seldom(draw, 5) and isinstance(arguments[name], (int, float)) and math.isfinite(arguments[name]):
                arguments[name] = draw(st.sampled_from([int, float, bool]))(arguments[name])  # equal or nearly
    if seldom(draw, 12):
        arguments[draw(st.one_of(names, st.none()))] = draw(values)
    if seldom(draw, 12):
        properties.pop(draw(names), None)
    required = draw(st.lists(names, max_size=1)) if seldom(draw, 4) else [*arguments]
    schema = {"type": "dict", "properties": properties, "required": required}
    called = draw(st.sampled_from(["kitchen.serve"] * 8 + ["kitchen_serve", "other"]))
    return Call(called, arguments), {"name": "kitchen.serve", "parameters": schema}, {"kitchen.serve": accepted}


rule_sets = st.one_of(st.sampled_from(ONE_EACH + ALL_BUT_ONE), st.frozensets(st.sampled_from(sorted(CORRECTED_RULES))))


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), rule_sets, st.sampled_from([False, False, False, True]))
@example((Call("serve", {"n": 2**53 + 1}), function(n="float"), {"serve": {"n": [float(2**53)]}}), OFFICIAL, False)
@example((Call("serve", {"n": math.nan}), function(n="float"), {"serve": {"n": [math.nan]}}), OFFICIAL, False)
@example((Call("serve", {"n": True}), function(n="integer"), {"serve": {"n": [1]}}), CORRECTED, False)
@example((Call("serve", {"n": [1]}), function(n="array<float>"), {"serve": {"n": [[1.0]]}}), OFFICIAL, False)
@example((Call("serve", {"n": ""}), function(n_="string"), {"serve": {"n": ["soup", ""]}}), CORRECTED, False)
def test_exactly_right_calls_pass_the_full_check(
    case: tuple[Call, dict[str, Any], dict[str, Any]], rules: frozenset[str], underscore_names: bool
) -> None:
    call, document, answer = case
    if exactly_right(call, document, answer, underscore_names):
        how = CallRules("python", underscore_names, rules, [document])
        assert check_call(call, document, answer, how) is None


def test_a_required_argument_that_the_answer_leaves_out_is_missed() -> None:
    document = function(dish="string", size="integer")
    assert not exactly_right(Call("serve", {"dish": "soup"}), document, {"serve": {"dish": ["soup"]}}, False)


@pytest.mark.parametrize("rules", ONE_EACH, ids=lambda rules: " ".join(sorted(rules)) or "official")
def test_plain_objects_are_recognised(rules: frozenset[str]) -> None:
    document = function(order="dict")
    allowed = {"dish": ["soup", "stew"], "size": [2], "hot": ["", True], "sides": ["", ["rice"], NAN]}
    answer = {"serve": {"order": [allowed]}}
    for order, right in (
        ({"dish": "stew", "size": 2}, True),
        ({"dish": "soup", "size": 2, "hot": True}, True),
        ({"dish": "soup"}, False),
        ({"dish": "Soup", "size": 2}, False),  # right, and left to the full check
        ({"dish": "soup", "size": 2.0}, False),
        ({"dish": "soup", "size": 2, "hot": ""}, False),
        ({"dish": "soup", "size": 2, "sides": ["rice"]}, False),  # likewise
        ({"dish": "soup", "size": 2, "sides": NAN}, False),
        ({"dish": "soup", "size": 2, "cold": True}, False),
    ):
        call = Call("serve", {"order": order})
        assert exactly_right(call, document, answer, False) is right
        assert not right or check_call(call, document, answer, CallRules("python", False, rules, [document])) is None


@pytest.mark.parametrize(
    ("rule", "calls", "answers", "right"),
    [
        ("simple", 1, 1, True),
        ("simple", 1, 2, False),  # the other answer is not looked at: the full check knows
        ("simple", 2, 2, False),
        ("multiple", 1, 1, True),
        ("multiple", 2, 2, False),
        ("parallel", 2, 2, True),
        ("parallel", 1, 2, False),
        ("parallel", 0, 0, False),
    ],
)
def test_the_pairing_rule_counts(rule: str, calls: int, answers: int, right: bool) -> None:
    document, call, answer = function(dish="string"), Call("serve", {"dish": "soup"}), {"serve": {"dish": ["soup"]}}
    assert all_exactly_right([call] * calls, [answer] * answers, [document], rule, False) is right


def test_answers_of_another_shape_are_left_to_the_full_check() -> None:
    call, document = Call("serve", {"dish": "soup"}), function(dish="string")
    for answers in (None, [], ["serve"], [{}], [{"cook": {"dish": ["soup"]}}], [{"serve": ["dish"]}]):
        assert not all_exactly_right([call], answers, [document], "multiple", False)
    with pytest.raises(HarnessError):
        check_calls([call], [], "simple", CallRules(functions=[document]))


@pytest.mark.slow
@pytest.mark.golden
def test_real_outputs(golden_dir: Path, official: DataSet) -> None:
    """The calls of every recorded output: exactly right ones pass under each rule alone and with each left out."""
    held: dict[str, Any] = {}
    seen: set[str] = set()
    for path in sorted((golden_dir / "real_outputs").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if line["id"] not in held:
                    held[line["id"]] = official.entry(line["id"])
                entry = held[line["id"]]
                if entry.row.checker != "ast" or language_of(entry) != "python":
                    continue
                transcript = transcript_from_line({**line, "category": entry.category})
                try:
                    calls = single_turn_calls(entry, transcript)
                except DecodeError:
                    continue
                underscored = transcript.underscore_names
                if not all_exactly_right(calls, entry.possible_answer, entry.function, entry.rule, underscored):
                    continue
                if (made := f"{line['id']} {calls}") in seen:  # several models say the same
                    continue
                seen.add(made)
                for rules in ONE_EACH + ALL_BUT_ONE:
                    how = CallRules("python", underscored, rules, entry.function)
                    assert check_calls(calls, entry.possible_answer, entry.rule, how).valid, (line["id"], rules)
    assert len(seen) > 1500
