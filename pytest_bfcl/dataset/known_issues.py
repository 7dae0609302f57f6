"""Entries known to be broken: shown as their own line in reports, never skipped silently."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pytest_bfcl.transcript import Mode

Kind = Literal["unpassable", "ambiguous", "wrong_answer"]


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """One known issue: the entry, in which modes, what kind, why, and the data version it was seen in.

    ``unpassable``: no correct reply passes the official rules; ``ambiguous``: a correct reply may fail;
    ``wrong_answer``: the expected answer is wrong.
    """

    id: str
    modes: tuple[Mode, ...]
    kind: Kind
    why: str
    dataset: str


def known_issues(dataset_version: str) -> list[KnownIssue]:
    """The issues of a data version; none for versions without a review (and for our own data)."""
    return [issue for issue in _all() if issue.dataset == dataset_version]


@cache
def _all() -> tuple[KnownIssue, ...]:
    import tomllib

    text = Path(__file__).with_name("known_issues.toml").read_text(encoding="utf-8")
    issues = tomllib.loads(text).get("issues", [])
    return tuple(KnownIssue(**{**issue, "modes": tuple(issue["modes"])}) for issue in issues)
