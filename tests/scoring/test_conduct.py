"""What a server did, told by one line: calls, silence, endings, figures."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.scoring.conduct import BothReadings, Conduct, ConductTally, conduct_line, conduct_of, name_of
from pytest_bfcl.scoring.model_info import (
    Usage,
    cost_usd,
    deviation,
    mean,
    percentile95,
    samples,
)

DATE = "simple_python"


def test_two_readings_are_told_with_the_one_that_counts() -> None:
    found = BothReadings()
    for passed, by, other_passed in ((True, "leaderboard", False), (False, "leaderboard", False), (True, "x", True)):
        found.add(passed, {"by": by}, other_passed)
    assert str(found) == (
        "the leaderboard says 0.0 % (0 of 2), the evidence says 50.0 % (1 of 2); these verdicts follow the evidence"
    )
    assert str(BothReadings()) == ""


def test_a_summary_says_what_calls_were_worth() -> None:
    tally = ConductTally()
    for form in ({"calls": 2, "unknown": 1}, {"calls": 2}):
        tally.add(Conduct("a", DATE, True, called=True, form=form))  # type: ignore[arg-type]
    tally.add(Conduct("b", DATE, True, form={"calls": 0}, empty=True))
    tally.add(Conduct("c", DATE, None))
    assert tally.entries["errors"] == 1
    counts = tally.to_dict()
    assert counts is not None
    assert counts["valid_share"] == 0.75
    assert conduct_line(counts) == ("native calls: 4 in 2 of 3 entries; 1 with unknown names, 1 empty replies")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (1.5, [1.5]),
        (0, []),
        (-1, [-1]),
        (True, [1]),
        (None, []),
        ("3", []),
        ([1, 2], []),
        ([], []),
        ([[1, 0, 2], [], [None, "x", 3.5]], [1, 2, 3.5]),
        ([[1], 2], []),
    ],
)
def test_what_counts_as_a_sample(value: Any, found: list[float]) -> None:
    assert list(samples(value)) == found


@pytest.mark.parametrize(
    ("spec", "name"), [("openai:a", "a"), ("openai:a@fc", "a"), ("a@fc", "a@fc"), ("a:b:c@d@fc", "b:c@d"), ("", "")]
)
def test_the_name_of_a_model(spec: str, name: str) -> None:
    assert name_of(spec) == name


CALLS = [{"name": "f", "arguments": "{}"}]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"output": "x"}, {}),
        ({"output": ""}, {"empty": True}),
        ({"output": None, "reasoning": "hm"}, {"reasoning_only": True}),
        ({"output": [["", "x"]]}, {"empty": True}),
        ({"output": [["x", ""], ["y"]]}, {"empty": True}),
        ({"output": [["x"], [""]], "reasoning": [[None], ["hm"]]}, {"reasoning_only": True}),
        ({"output": [[""], ["x"]], "reasoning": [["hm"], [None]]}, {"reasoning_only": True}),
        ({"output": CALLS}, {"called": True, "form": {"calls": 1}}),
        ({"output": [["x", CALLS]]}, {"form": {"calls": 1}}),
        ({"output": [[CALLS, "x"]]}, {"called": True, "form": {"calls": 1}}),
        ({"output": "[f()]", "calls": [{"f": {}}]}, {"called": True}),
        ({"output": [["[f()]"]], "calls": [[["f()"]]]}, {"called": True}),
        ({"output": [["x"]], "calls": [[[]], [["f()"]]]}, {}),
        ({"output": "x", "calls": []}, {}),
        ({"output": "x", "calls": "f()"}, {}),
        ({"output": "x", "calls": 5}, {}),
        ({"output": "x", "finish_reasons": "stop"}, {"finish": frozenset({"stop"})}),
        ({"output": "x", "finish_reasons": ""}, {}),
        ({"output": "x", "finish_reasons": 7}, {}),
        ({"output": "x", "attempts": 2}, {"retried": True}),
        ({"output": [["x", "y"]], "attempts": [[1, 3]], "latency_s": [[1, 2.5]]}, {"retried": True, "latency_s": 3.5}),
        ({"output": "x", "output_tokens": "7"}, {}),
        ({"output": "x", "call_form": {"calls": 3}}, {"form": {"calls": 3}}),
        ({"output": "x", "detail": {"lost_call": "hermes"}}, {"lost": True}),
    ],
)
def test_what_one_line_says(fields: Any, found: Any) -> None:
    record: Any = {"id": "a", "category": DATE, "outcome": "passed", **fields}
    expected = {"form": {"calls": 0}, **found}
    assert conduct_of(record, {"calls": 1}) == Conduct("a", DATE, True, **expected)
    assert conduct_of({**record, "outcome": "error"}) == Conduct("a", DATE, None)


def test_the_specifications_numbers() -> None:
    values = [1, 2, 3, 4]
    assert (mean(values), round(deviation(values) or 0, 2), percentile95(values)) == (2.5, 1.29, pytest.approx(3.85))
    assert percentile95([*[0.0] * 10, 0.1, 1.3]) == 0.6399999999999991  # to the last bit, as the reference's
    assert percentile95([0.1, 2.7]) == 2.5700000000000003
    assert cost_usd(Usage([], [10**6], [10**6]), 1.75, 14) == 15.75
    assert cost_usd(Usage([3600.0], [10**6], []), 1.75, 14, 50.0) is None  # never the hourly price instead
    assert cost_usd(Usage([4 * 3600.0]), None, None) is None  # nobody gave an hourly price
    assert cost_usd(Usage([3600.0]), None, None, server_price=50.0) == 0.5
