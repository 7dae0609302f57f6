"""How native names were sent in stored replies: with the functions' dots, or with underscores.

The official evaluator takes the spelling from its table of models; replies of other servers and unregistered models
prove it: a called name with the dot of an offered function, or that name with an underscore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Reply

Names = Literal["auto", "dots", "underscores"]
NAMES: tuple[Names, ...] = ("auto", "dots", "underscores")

Offered = Callable[[str], Iterable[str]]
"""Entry id → documented names of its functions; empty for an unknown id."""

ENOUGH = 50
"""Proofs after which the rest of a folder is not read; several, because models invent spellings."""


@dataclass(slots=True)
class Spelling:
    """Proofs for either spelling: names of called functions. If both occur, the more frequent one counts: the other is
    the model's own mistake.
    """

    dots: int = 0
    underscores: int = 0

    def add(self, called: Iterable[str], documented: Iterable[str]) -> None:
        """Count what the calls of one reply prove about the functions it was offered."""
        names = set(called)
        dotted = {name for name in documented if "." in name}
        underscored = {name.replace(".", "_") for name in dotted}
        dots, underscores = len(names & dotted), len(names & underscored)
        if not dots and not underscores:  # a prefix or a suffix may hide them
            dots, underscores = _inside(dotted, names), _inside(underscored, names)
        self.dots += dots
        self.underscores += underscores

    @property
    def proven(self) -> bool | None:
        """Whether dots became underscores; ``None`` without a proof."""
        return None if self.dots == self.underscores else self.underscores > self.dots

    @property
    def enough(self) -> bool:
        """Whether the proofs are sufficient."""
        return self.dots + self.underscores >= ENOUGH

    def __str__(self) -> str:
        found, other = ("underscores", "dots") if self.proven else ("dots", "underscores")
        against = f", {getattr(self, other)} with {other}" if getattr(self, other) else ""
        return f"names with {found} ({getattr(self, found)} of the called ones prove it{against})"


def _inside(known: set[str], names: set[str]) -> int:
    """Called names that have a known one in them."""
    return sum(any(each in name for each in known) for name in names) if known else 0


def spelling_of(results: Iterable[tuple[str, Any]], offered: Offered) -> Spelling:
    """What the calls of stored results prove, from pairs of entry id and result."""
    found = Spelling()
    for entry_id, result in results:
        if called := [name for name in called_names(result) if "." in name or "_" in name]:
            found.add(called, offered(entry_id))
            if found.enough:
                break
    return found


def proven_underscores(reply: Reply, functions: Iterable[Fields]) -> bool:
    """Whether the native calls of one reply prove that dots became underscores."""
    found = Spelling()
    found.add((call.name for call in reply.tool_calls), (str(each.get("name", "")) for each in functions))
    return bool(found.proven)


def called_names(result: object) -> Iterator[str]:
    """The names of the native calls in a stored result: objects with one key, at any depth of lists."""
    pending = [result]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += item
        elif isinstance(item, Mapping) and len(item) == 1:
            yield from (name for name in item if isinstance(name, str))
