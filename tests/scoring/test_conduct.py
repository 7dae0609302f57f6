"""What a server did, told by one line: calls, silence, endings, figures."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.scoring.conduct import Conduct, ConductTally, conduct_line
from pytest_bfcl.scoring.cost import (
    Usage,
    cost_usd,
    deviation,
    mean,
    percentile95,
    samples,
)

DATE = "simple_python"


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
