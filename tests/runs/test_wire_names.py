"""The spelling of native names in other people's result folders is proven by their calls."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.runs.wire_names import called_names, spelling_of

OFFERED = {"a_0": ["tea.brew", "pour"], "a_1": ["tea_cup"], "a_2": ["kettle.boil"]}


def _offered(entry_id: str) -> list[str]:
    return OFFERED.get(entry_id, [])


@pytest.mark.parametrize(
    ("results", "underscores"),
    [
        ([("a_0", [{"tea.brew": "{}"}])], False),
        ([("a_0", [{"tea_brew": "{}"}])], True),
        ([("a_0", [[[{"tea_brew": "{}"}]]])], True),
        ([("a_1", [{"tea_cup": "{}"}])], None),  # an underscore of its own proves nothing
        ([("a_1", [{"tea.cup": "{}"}])], None),  # invented
        ([("b_9", [{"tea.brew": "{}"}])], None),  # an entry nobody knows
        ([("a_0", "tea_brew()")], None),
        ([("a_0", [{"tea.brew": "{}"}]), ("a_0", [{"tea.brew": "{}"}]), ("a_2", [{"kettle_boil": "{}"}])], False),
        ([("a_0", [{"tea.brew": "{}"}]), ("a_2", [{"kettle_boil": "{}"}])], None),
    ],
)
def test_calls_prove_the_spelling(results: list[tuple[str, Any]], underscores: bool | None) -> None:
    assert spelling_of(results, _offered).proven is underscores


def test_deep_lists_are_read_without_recursion() -> None:
    deep: Any = [{"a.b": "{}"}]
    for _ in range(100_000):
        deep = [deep]
    assert list(called_names(deep)) == ["a.b"]
