"""Where the sides may differ: each a reason that docs/fidelity.md gives, and how such a case is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from pytest_bfcl.simulators import ERROR_PREFIX

BOUNDS = re.compile(
    f"{ERROR_PREFIX}"
    "(the result (is too large|has .* characters)|the (number is too long|exponent is too large)|too many decimal|"
    "at most .* can be computed|a (tweet|file|name) (holds|has) at most|directories can be nested|"
    "the file system is full|results handed on as arguments are too large|the memory would have|"
    "(find|du): (there are too many|directories are))"
)
"""How the simulators refuse work above a bound (`Oversized`)."""
NAMED = re.compile(r"parity\w*_instance\.")
SCORE = re.compile(r'(?<="similarity_score": )-?[\d.e-]+')


def rounded(text: str) -> str:
    """A result with its similarity scores as far as every processor computes them alike."""
    return SCORE.sub(lambda found: f"{float(found[0]):.5f}", text)


REASONS: dict[str, Callable[[str, str], bool]] = {
    "texts of the vector memory are texts": lambda ours, theirs: f"{ERROR_PREFIX}a text is needed" in ours,
    "mpmath of another release words an error otherwise": lambda ours, theirs: "has no attribute 'rstrip'" in ours,
    "work has a bound": lambda ours, theirs: BOUNDS.search(ours) is not None,
    "similarity scores differ by processor": lambda ours, theirs: rounded(ours) == rounded(theirs),
    "a tool's name before a bracket in a text becomes an instance's": lambda ours, theirs: bool(NAMED.search(theirs)),
}
"""Reason → whether a text of ours and one of the reference's are of its kind."""


def excused(request: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """The documented reason for which two answers differ; the empty text where there is none."""
    first = next(_parted(ours, theirs), None)  # what comes after may follow from it
    if request["do"] == "judge":
        return "an empty reply never passes" * (ours["error_type"] == "reply:nothing_said")
    if first is None:
        return ""
    return next((reason for reason, holds in REASONS.items() if holds(*first)), "")


def _parted(ours: Any, theirs: Any) -> Iterator[tuple[str, str]]:
    """Texts that are not the same on both sides, in order."""
    if isinstance(ours, str) and isinstance(theirs, str) and ours != theirs:
        yield ours, theirs
    elif isinstance(ours, list) and isinstance(theirs, list):
        for here, there in zip(ours, theirs, strict=False):
            yield from _parted(here, there)
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        for key, here in ours.items():
            yield from _parted(here, theirs.get(key))
