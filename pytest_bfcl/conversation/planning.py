"""How long a conversation will be: the look-ahead starts long ones early."""

from __future__ import annotations

from pytest_bfcl.dataset.categories import CATEGORIES

REQUESTS = {"multi_turn": 12.0, "web_search": 10.0, "memory": 4.0, "memory_prereq": 25.0}
"""Requests an entry of a group usually takes; entries of other groups take one."""

TURN_REQUESTS = 3.0
"""Requests a turn usually takes in conversations whose calls are executed."""


def expected_requests(category: str, turns: int | None = None) -> float:
    """About how many requests an entry of this category (and that many turns) takes.

    Only the order of starting depends on it: without the turns, which differ eightfold, the longest conversations may
    come last and leave most places empty at the end.
    """
    row = CATEGORIES.get(category)
    if row is None:
        return 1.0
    if turns and row.multi_step and row.checker != "answer":
        return TURN_REQUESTS * turns
    return REQUESTS.get("multi_turn" if row.checker == "state" else row.group, 1.0)
