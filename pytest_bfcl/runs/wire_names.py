"""How native names went over the wire in a folder of results: with the dots of the functions, or with underscores.

The official evaluator takes the spelling from its table of models; folders of other servers, and of models nobody
registered, prove it themselves: a called name with the dot of an offered function, or that name with an underscore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

Names = Literal["auto", "dots", "underscores"]
NAMES: tuple[Names, ...] = ("auto", "dots", "underscores")

Offered = Callable[[str], Iterable[str]]
"""Entry id → documented names of the functions it offers; empty for an unknown id."""

ENOUGH = 50
"""Proofs after which the rest of a folder is not read: one would do if models never invented a spelling."""


def proven_underscores(results: Iterable[tuple[str, Any]], offered: Offered) -> bool | None:
    """Whether dots became underscores, from pairs of entry id and stored result; ``None`` without any proof.

    Where both spellings occur the more frequent one counts: the other is the model's own mistake.
    """
    dots = underscores = 0
    for entry_id, result in results:
        called = {name for name in called_names(result) if "." in name or "_" in name}
        if not called:
            continue
        documented = {name for name in offered(entry_id) if "." in name}
        dots += len(called & documented)
        underscores += len(called & ({name.replace(".", "_") for name in documented}))
        if dots + underscores >= ENOUGH:
            break
    return None if dots == underscores else underscores > dots


def called_names(result: object) -> Iterator[str]:
    """The names of the native calls in a stored result: objects with one key, at any depth of lists."""
    pending = [result]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += item
        elif isinstance(item, Mapping) and len(item) == 1:
            yield from (name for name in item if isinstance(name, str))
