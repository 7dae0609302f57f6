"""What a server did, told by one line: calls, silence, endings, figures."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.scoring.conduct import Conduct, ConductTally, conduct_line, conduct_of
from pytest_bfcl.scoring.cost import (
    Usage,
    cost_usd,
    deviation,
    mean,
    percentile95,
    samples,
)
from tests.scoring.samples import line

CALL = [{"name": "now", "arguments": "{}"}]
DATE = "simple_python"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"output": CALL, "call_form": {"calls": 1, "broken": 1}}, {"called": True, "form": {"calls": 1, "broken": 1}}),
        ({"output": CALL}, {"called": True, "form": None}),
        ({"output": "[now()]", "calls": [{"now": {}}]}, {"called": True, "form": {"calls": 0}}),
        ({"output": "No.", "calls": []}, {"form": {"calls": 0}}),
        ({"output": "", "reasoning": "hm"}, {"form": {"calls": 0}, "reasoning_only": True}),
        ({"output": None, "reasoning": None}, {"form": {"calls": 0}, "empty": True}),
        ({"output": []}, {"form": {"calls": 0}, "empty": True}),
        ({"output": "x", "detail": {"lost_call": "hermes"}}, {"form": {"calls": 0}, "lost": True}),
        (
            {"output": [[CALL, "done"], [""]], "reasoning": [["a", None], ["b"]], "call_form": {"calls": 1},
             "finish_reasons": [["tool_calls", "stop"], [None]], "latency_s": [[1, 2], [None]]},
            {"called": True, "form": {"calls": 1}, "reasoning_only": True, "latency_s": 3.0,
             "finish": frozenset(["tool_calls", "stop"])},
        ),
        ({"output": [["", CALL]], "call_form": {"calls": 1}}, {"form": {"calls": 1}, "empty": True}),
        ({"output": "No.", "attempts": 2}, {"form": {"calls": 0}, "retried": True}),
        ({"output": [[], []]}, {"form": {"calls": 0}, "empty": True}),
    ],
)  # fmt: skip
def test_what_a_line_tells(fields: dict[str, Any], told: dict[str, Any]) -> None:
    assert conduct_of(line("a_1", DATE, **fields)) == Conduct("a_1", DATE, True, **told)  # type: ignore[arg-type]


def test_an_error_tells_nothing_else() -> None:
    found = conduct_of(line("a_1", DATE, "error", output=CALL))  # type: ignore[arg-type]
    assert found == Conduct("a_1", DATE, None)
    tally = ConductTally()
    tally.add(found)
    assert tally.to_dict() is None


def test_a_summary_says_what_calls_were_worth() -> None:
    tally = ConductTally()
    for form in ({"calls": 2, "unknown": 1}, {"calls": 2}):
        tally.add(Conduct("a", DATE, True, called=True, form=form))  # type: ignore[arg-type]
    tally.add(Conduct("b", DATE, True, form={"calls": 0}, empty=True))
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


def test_the_specifications_numbers() -> None:
    values = [1, 2, 3, 4]
    assert (mean(values), round(deviation(values) or 0, 2), percentile95(values)) == (2.5, 1.29, pytest.approx(3.85))
    assert cost_usd(Usage([], [10**6], [10**6]), 1.75, 14) == 15.75
    assert cost_usd(Usage([4 * 3600.0]), None, None) is None  # nobody gave an hourly price
    assert cost_usd(Usage([3600.0]), None, None, server_price=50.0) == 0.5


def test_without_the_numbers_there_is_no_cost() -> None:
    assert cost_usd(Usage([1.0], [5], []), 1.0, 1.0) is None  # latency does not stand in
    assert cost_usd(Usage([], [5], [5]), None, 1.0) is None
    assert mean([]) is None
    assert deviation([1]) is None
    assert percentile95([]) is None
