"""Where the sides may differ: each a reason that docs/fidelity.md gives, and how such a case is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_bfcl.simulators import ERROR_PREFIX

REASONS: dict[str, Callable[[str, str], bool]] = {
    "texts of the vector memory are texts": lambda ours, theirs: ours.startswith(f"{ERROR_PREFIX}a text is needed"),
}
"""Reason → whether two results of a call are of its kind."""


def excused(request: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """The documented reason for which two answers differ; the empty text where there is none."""
    if request["do"] != "execute" or "raised" in theirs:
        return ""
    pairs = zip(ours["results"], theirs["results"], strict=True)
    first = next((pair for pair in pairs if pair[0] != pair[1]), None)  # what comes after may follow from it
    return next((reason for reason, holds in REASONS.items() if first and holds(*first)), "")
