"""The causes by name (``catalog.toml``): whose fault each is, what happened, how much has to agree, what to try."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

Whose = Literal["server", "template", "parser", "model", "data", "unknown"]
Strength = Literal["sure", "habit", "loose"]
"""``sure``: a trace that nothing else leaves, named wherever it recurs. ``habit``: also made by mistake, named where it
is the rule. ``loose``: what any mistake looks like, named only where it is confined to one kind of place."""


class Kind(NamedTuple):
    """A kind of cause. ``title`` may hold ``{told}``, the parameter; ``next`` is a key of `NEXT`."""

    whose: Whose
    title: str
    strength: Strength = "sure"
    next: str = "again"
    told: Literal["if one", "apart", "only one"] = "if one"
    """Of the parameter: given where nearly all have the same; another one is another cause, and those that stand for
    themselves are one that changes; another one is another cause always."""


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
KINDS: Mapping[str, Kind] = {name: Kind(**row) for name, row in _TABLE["kinds"].items()}
NEXT: Mapping[str, tuple[str, ...]] = {name: tuple(options) for name, options in _TABLE["next"].items()}
"""What to change, the first that the run did not have already."""
