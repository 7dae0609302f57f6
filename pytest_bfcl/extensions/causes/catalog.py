"""The causes by name (``catalog.toml``): whose fault each is, what happened, how often it must agree, what to try."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

Whose = Literal["server", "template", "parser", "model", "data", "unknown"]
Strength = Literal["sure", "habit", "loose"]
"""``sure``: a unique trace, named whenever it recurs. ``habit``: also made by mistake, named if it is the rule.
``loose``: like any mistake, named only if it is confined to one kind of place."""


class Kind(NamedTuple):
    """A kind of cause. ``title`` may contain ``{told}``, the parameter; ``next`` is a key of `NEXT`."""

    whose: Whose
    title: str
    strength: Strength = "sure"
    vague: bool = False
    """Whether it only says what kind of part is wrong: a rule that foretells what is said counts more (`learning`)."""
    next: str = "again"
    told: Literal["if one", "apart", "only one"] = "if one"
    """Use of the parameter: named if nearly all are equal; or each value is a cause, and single ones are one changing
    cause; or each value is always a cause."""


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
KINDS: Mapping[str, Kind] = {name: Kind(**row) for name, row in _TABLE["kinds"].items()}
NEXT: Mapping[str, tuple[str, ...]] = {name: tuple(options) for name, options in _TABLE["next"].items()}
"""The possible changes; the first that the run did not have is advised."""
