"""A cause of a run's failures: its kind, its places, the entries that are right once it is undone.

Kinds have names (``catalog.toml``): whose fault each is, what happened, how often it must agree, what to try.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_bfcl.extensions.causes.cases import Case
from pytest_bfcl.extensions.causes.confined import Both, Where
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.table import find_decoder

Whose = Literal["server", "template", "parser", "model", "data", "unknown"]
Strength = Literal["sure", "habit", "loose"]
"""``sure``: a unique trace, named whenever it recurs. ``habit``: also made by mistake, named if it is the rule.
``loose``: like any mistake, named only if it is confined to one kind of place."""
LEAST_SURE, LEAST = 2, 3
"""Entries that must agree before a cause is named."""
ONE_ANSWER = 8
"""This number of replies with equal words is one answer to everything, which no model gives."""
ALWAYS, LEAST_PLACES, LEAST_OF_SOME = 0.9, 5, 8
"""Share and number of its places in which a rule has no exceptions; the number for one that is not everywhere."""


class Kind(NamedTuple):
    """A kind of cause. ``title`` may contain ``{told}``, the parameter; ``next`` is a key of `NEXT`."""

    whose: Whose
    title: str
    strength: Strength = "sure"
    vague: bool = False
    """Whether it only says what kind of part is wrong: a rule that foretells what is said counts more (`learning`)."""
    next: str = "again"
    always: Whose | Literal[""] = ""
    """Whose it is where it is a rule without exceptions."""
    of_one: Whose | Literal[""] = ""
    """Whose it is where one argument or function is affected."""
    told: Literal["if one", "apart", "only one"] = "if one"
    """Use of the parameter: named if nearly all are equal; or each value is a cause, and single ones are one changing
    cause; or each value is always a cause."""


_TABLE = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text(encoding="utf-8"))
KINDS: Mapping[str, Kind] = {name: Kind(**row) for name, row in _TABLE["kinds"].items()}
NEXT: Mapping[str, tuple[str, ...]] = {name: tuple(options) for name, options in _TABLE["next"].items()}
"""The possible changes; the first that the run did not have is advised."""


@dataclass
class Cause:
    """A cause of a run's failures. ``entries``: failed cases that are right after it and other named causes are undone;
    ``together``: those counted under another cause that also need this one undone. ``shown`` and ``exposed`` count its
    places and its possible places. ``where``: a common feature of its places, if it is not everywhere; ``inside``: its
    possible places that have it. ``level``: the part of calls that is affected, if it is one. ``evidence``: further
    proof besides the judgement.
    """

    key: str
    told: str = ""
    entries: list[Case] = field(default_factory=list)
    together: list[Case] = field(default_factory=list)
    shown: int = 0
    exposed: int = 0
    where: Where | Both | None = None
    inside: int = 0
    level: str = ""
    evidence: str = ""

    @property
    def kind(self) -> Kind:
        """Its row of the catalog."""
        return KINDS[self.key]

    @property
    def is_regular(self) -> bool:
        """Whether it is a rule without exceptions, which no model keeps to."""
        least, places = (LEAST_OF_SOME, self.inside) if self.where is not None else (LEAST_PLACES, self.exposed)
        return not self._of_one_argument and self.shown >= max(ALWAYS * places, least)

    @property
    def _of_one_argument(self) -> bool:
        """Whether only one argument or function is affected, as by a model that misreads its description."""
        where = self.where.first if isinstance(self.where, Both) else self.where
        if where is None or where.feature == "argument":
            return where is not None
        return where.feature == "functions" and len(where.value) == 1

    @property
    def whose(self) -> str:
        """Whose it is."""
        if self.key == "words" and self.told and self.shown >= ONE_ANSWER:
            return "server"
        if self.kind.of_one and self._of_one_argument:
            return self.kind.of_one
        if self.kind.always and self.is_regular:
            return "parser" if _OF_SHAPES.match(self.told) else self.kind.always
        if self.key.endswith("_learned") and _OF_SERVERS.match(self.told):
            return "server"
        if self.key == "key_lost" and isinstance(self.where, Where) and self.where.feature == "optional":
            return "model"
        return self.kind.whose

    @property
    def next(self) -> str:
        """What to change, a key of `NEXT`."""
        if self.key == "value_learned":
            return "prompt" if self._of_one_argument else "parser" if self.is_regular else self.kind.next
        return self.kind.next

    @property
    def title(self) -> str:
        """What happened, in words."""
        title = self.kind.title
        if not self.told and self.key != "name_same":
            title = re.sub(r" \({told}\)| after {told}", "", title).replace("`{told}`", "a changing text")
        told = _described(self.told) if self.key in _OF_NOTATIONS else self.told
        title = _TEXTS.sub(_SUBJECTS.get(self.level, "texts"), title)
        text = title.format(told=told or "changing ones")
        return f"{text}, only {self.where}" if self.where is not None else text


_OF_SERVERS = re.compile(r"only the first \d+ letters|turns|all calls|calls come")
"""Rules of limits and of what is kept of conversations."""
_OF_SHAPES = re.compile(r"lists|objects|always|values are inside|their position")
"""Rules of values that readers of calls make; others are of what is between them and the model."""
_TEXTS = re.compile(r"^texts\b")
_SUBJECTS = {"name": "names of functions", "key": "names of arguments"}


_OF_NOTATIONS = ("call_in_text", "call_in_thoughts", "text_notation")


def _described(notation: str) -> str:
    """A notation by name, with its signs if it is a served one."""
    try:
        return f"{notation}, {find_decoder(notation).what.partition(': ')[0]}"
    except UsageError:
        return notation


def least_entries(key: str) -> int:
    """Entries that must show a cause; rules were tested already in entries that they were not learned from."""
    return LEAST_SURE if KINDS[key].strength == "sure" or key.endswith("_learned") else LEAST
