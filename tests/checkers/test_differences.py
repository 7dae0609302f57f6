"""What is told of states, calls and unknown reasons, at the edges."""

from __future__ import annotations

import pytest

from pytest_bfcl.checkers.json_calls import is_accepted
from pytest_bfcl.checkers.reasons import rule_of
from pytest_bfcl.checkers.state import MAX_DIFFERENCES, state_difference


@pytest.mark.parametrize(("count", "more"), [(MAX_DIFFERENCES, False), (MAX_DIFFERENCES + 1, True)])
def test_so_many_differences_are_told_and_the_rest_counted(count: int, more: bool) -> None:
    found = state_difference({f"a{n}": 0 for n in range(count)}, {f"a{n}": 1 for n in range(count)})
    assert ("…" in found) is more
    assert len(found) == MAX_DIFFERENCES + more


@pytest.mark.parametrize(
    ("value", "accepted", "fits"),
    [
        ({"b": 1, "a": "New York"}, {"a": "new-york", "b": 1}, True), ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, "X"], [1, "x"], True), ([1], [1, 2], False), (True, 1, False), (1, True, False), (1.0, 1, True),
    ],
)  # fmt: skip
def test_values_are_equal_as_json(value: object, accepted: object, fits: bool) -> None:
    assert is_accepted(value, [accepted]) is fits


def test_the_rule_of_an_unknown_reason_is_what_its_line_says() -> None:
    assert rule_of("no:such_reason", {"rule": "told"}) == "told"
    assert rule_of("no:such_reason", {"rule": 7}) == ""
    assert rule_of(None, {}) == ""
