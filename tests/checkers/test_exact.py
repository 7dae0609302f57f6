"""What is recognised as exactly right is right by the full check, under every set of rules.

Every kind of value against every kind of answer: `test_recorded.test_values`.
"""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.checkers import CORRECTED_RULES
from pytest_bfcl.checkers.ast import CallRules, check_call, check_calls
from pytest_bfcl.checkers.corrected import CORRECTED, OFFICIAL
from pytest_bfcl.checkers.entries import language_of, single_turn_calls
from pytest_bfcl.checkers.exact import all_exactly_right, exactly_right
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.transcript import Call
from tests.checkers.building import function

RULE_SETS = [OFFICIAL, CORRECTED, *(frozenset({name}) for name in CORRECTED_RULES),
             *(CORRECTED - {name} for name in CORRECTED_RULES)]  # fmt: skip
NAN = math.nan
DISH, SOUP = {"dish": "string"}, {"dish": ["soup"]}
NUMBER, LIST, ORDER = {"n": "float"}, {"n": "array<float>"}, {"order": "dict"}
ORDERED = {"order": [{"dish": ["soup", "stew"], "size": [2], "hot": ["", True], "sides": ["", ["rice"], NAN]}]}


def order(**values: Any) -> dict[str, Any]:
    return {"order": values}


@pytest.mark.parametrize(
    ("parameters", "accepted", "arguments", "right"),
    [
        (DISH, SOUP, {"dish": "soup"}, True),
        (DISH, SOUP, {"dish": "Soup"}, False),  # right, and left to the full check
        (DISH, SOUP, {"dish": "soup", "hot": True}, False),
        (DISH, {"dish": "soup"}, {"dish": "soup"}, False),
        ({**DISH, "size": "integer"}, SOUP, {"dish": "soup"}, False),  # required, though no answer names it
        ({"dish_": "string"}, {"dish": ["soup", ""]}, {}, True),
        ({"dish_": "string"}, {"dish": ["soup", ""]}, {"dish": ""}, False),
        ({"dish_": "string"}, SOUP, {}, False),
        (NUMBER, {"n": [2**53 - 1.0]}, {"n": 2**53 - 1}, True),
        (NUMBER, {"n": [float(2**53)]}, {"n": 2**53}, False),
        (NUMBER, {"n": [-float(2**53)]}, {"n": -(2**53)}, False),
        (NUMBER, {"n": [NAN]}, {"n": NAN}, False),
        (NUMBER, {"n": [True]}, {"n": 1}, False),
        ({"n": "integer"}, {"n": [1]}, {"n": True}, False),
        ({"n": "integer"}, {"n": [1.0]}, {"n": 1}, False),
        (LIST, {"n": [[1.0], ""]}, {"n": [1.0]}, True),
        (LIST, {"n": [[1.0]]}, {"n": [1]}, False),
        (LIST, {"n": [[1]]}, {"n": [1.0]}, False),
        (LIST, {"n": [[1.0], "x"]}, {"n": [1.0]}, False),
        (LIST, {"n": [[NAN]]}, {"n": [NAN]}, False),
        ({"n": {"type": "array", "items": {"type": "float"}, "default": [2.0]}}, {"n": [[1.0]]}, {"n": [1.0]}, False),
        (ORDER, ORDERED, order(dish="stew", size=2), True),
        (ORDER, ORDERED, order(dish="soup", size=2, hot=True), True),
        (ORDER, ORDERED, order(dish="soup"), False),
        (ORDER, ORDERED, order(dish="Soup", size=2), False),
        (ORDER, ORDERED, order(dish="soup", size=2.0), False),
        (ORDER, ORDERED, order(dish="soup", size=2, hot=""), False),
        (ORDER, ORDERED, order(dish="soup", size=2, sides=["rice"]), False),
        (ORDER, ORDERED, order(dish="soup", size=2, sides=NAN), False),
        (ORDER, ORDERED, order(dish="soup", size=2, cold=True), False),
        (ORDER, {"order": [{"dish": "soup"}]}, order(dish="soup"), False),
    ],
)
def test_what_is_recognised(
    parameters: dict[str, Any], accepted: dict[str, Any], arguments: dict[str, Any], right: bool
) -> None:
    document, answer, call = function("kitchen.serve", **parameters), {"kitchen.serve": accepted}, "kitchen.serve"
    assert exactly_right(Call(call, arguments), document, answer, False) is right
    assert exactly_right(Call("kitchen_serve", arguments), document, answer, True) is right
    assert not exactly_right(Call("kitchen_serve", arguments), document, answer, False)
    for rules in RULE_SETS if right else ():
        how = CallRules("python", False, rules, [document])
        assert check_call(Call(call, arguments), document, answer, how) is None, rules


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
                for rules in RULE_SETS:
                    how = CallRules("python", underscored, rules, entry.function)
                    assert check_calls(calls, entry.possible_answer, entry.rule, how).valid, (line["id"], rules)
    assert len(seen) > 1500
