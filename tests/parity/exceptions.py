"""Where the sides may differ: each a reason that docs/fidelity.md gives, and how such a case is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from pytest_bfcl.simulators import ERROR_PREFIX

BOUNDS = re.compile(
    "the result (is too large|has .* characters)|the (number is too long|exponent is too large)|too many decimal|"
    "at most .* can be computed|a (tweet|file|name) (holds|has) at most|directories can be nested|"
    "the file system is full|results handed on as arguments are too large|the memory would have|"
    "(find|du): (there are too many|directories are)"
)
"""How the simulators refuse work above a bound (`Oversized`)."""


REASONS: dict[str, Callable[[str], bool]] = {
    "texts of the vector memory are texts": lambda ours: ours.startswith(f"{ERROR_PREFIX}a text is needed"),
    "mpmath of another release words an error otherwise": lambda ours: "object has no attribute 'rstrip'" in ours,
    "work has a bound": lambda ours: BOUNDS.match(ours.removeprefix(ERROR_PREFIX)) is not None,
}
"""Reason → whether a text of ours is of its kind."""


def excused(request: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """The documented reason for which two answers differ; the empty text where there is none."""
    first = next(_parted(ours, theirs), None)  # what comes after may follow from it
    if first is None or request["do"] == "judge":
        return ""
    results = re.findall(rf"{ERROR_PREFIX}[^'\"]*", first) or [first]  # prompting shows several in one text
    return next((reason for reason, holds in REASONS.items() if any(map(holds, results))), "")


def _parted(ours: Any, theirs: Any) -> Iterator[str]:
    """Texts of ours for which the other side says something else, in order."""
    if isinstance(ours, str) and ours != theirs:
        yield ours
    elif isinstance(ours, list) and isinstance(theirs, list):
        for here, there in zip(ours, theirs, strict=False):
            yield from _parted(here, there)
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        for key, here in ours.items():
            yield from _parted(here, theirs.get(key))
