"""One text under every split of its deltas: which of them changes what a streaming parser finds, and the smallest."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from pytest_bfcl.extensions.formats.installed_parser import Calls, InstalledParser, pairs_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.limits import DecodeError

MOST_CUTS = 1_500
"""Places of a text that are cut one at a time; of a longer text every second, third …"""
EVEN = (1, 2, 3, 4, 5, 8, 13, 21)
"""Lengths of deltas that are tried throughout, in atoms."""
SCATTERED = 40
"""Splits at random places, the same for every text of a length."""
MOST_SHRINKS = 400

T = TypeVar("T")

Cuts = tuple[int, ...]
Found = list[tuple[str, Any]] | str
"""Names and parsed arguments, or the parser's failure in words."""


@dataclass(frozen=True, slots=True)
class StreamedText:
    """What a parser made of one text.

    ``whole``: of the unstreamed text; ``splits``: how many were tried, ``failing`` of them came to something else;
    ``deltas`` and ``streamed``: the smallest of those that cut the text at all, and what it came to. ``by_tokens``:
    whether it fails token by token, as servers stream.
    """

    whole: Found
    splits: int = 0
    failing: int = 0
    by_tokens: bool = False
    deltas: tuple[str, ...] = ()
    streamed: Found = field(default_factory=list)


def calls_or_failure(read: Callable[[], Calls]) -> Found:
    """The calls, or the failure as text."""
    try:
        return pairs_of(read())
    except DecodeError as error:
        return str(error)


def under_every_split(parser: InstalledParser, text: str, functions: Sequence[Fields] = ()) -> StreamedText:
    """The parser on one text, whole and cut at every single place, evenly, and by tokens.

    A parser that raises on the whole text is expected to find nothing in a stream.
    """
    whole = calls_or_failure(lambda: parser.whole(text, functions))
    wanted: Found = [] if isinstance(whole, str) else whole

    def wrong(splits: Sequence[Cuts]) -> list[tuple[Cuts, Found]]:
        streamed = parser.streamed(text, functions, splits)
        told = [(cuts, _calls_or_error(each)) for cuts, each in zip(splits, streamed, strict=True)]
        return [(cuts, found) for cuts, found in told if found != wanted]

    atoms = parser.atoms(text, functions)
    splits = splits_of(atoms)
    failing = wrong(splits)
    if not failing:
        return StreamedText(whole, len(splits))
    smallest, found = min(failing, key=lambda each: (not each[0], len(each[0]), each[0]))
    smallest, found = shrunk(smallest, found, wrong)
    deltas = deltas_of(atoms, smallest)
    by_tokens = any(cuts == token_cuts(atoms) for cuts, _ in failing)
    return StreamedText(whole, len(splits), len(failing), by_tokens, deltas, found)


def splits_of(atoms: Sequence[str]) -> list[Cuts]:
    """Every split that is tried: uncut, one cut at each place, deltas of even lengths, tokens, scattered cuts."""
    count = len(atoms)
    step = 1 + count // MOST_CUTS
    splits: list[Cuts] = [(), *((place,) for place in range(1, count, step))]
    splits += (tuple(range(length, count, length)) for length in EVEN if length < count)
    dice = random.Random(count)
    scattered = (_scattered(dice, count) for _ in range(SCATTERED if count > 2 else 0))
    return list(dict.fromkeys([*splits, token_cuts(atoms), *scattered]))


def _scattered(dice: random.Random, count: int) -> Cuts:
    return tuple(sorted(dice.sample(range(1, count), dice.randint(1, min(count - 1, 40)))))


def deltas_of(atoms: Sequence[str], cuts: Cuts) -> tuple[str, ...]:
    """The pieces that arrive."""
    return tuple("".join(atoms[start:end]) for start, end in pairwise((0, *cuts, len(atoms))))


def token_cuts(atoms: Sequence[str]) -> Cuts:
    """Where a server's tokens end: around special ones, else every four characters."""
    cuts, run = [], 0
    for place, atom in enumerate(atoms):
        if len(atom) > 1 or run == 4 or (place and len(atoms[place - 1]) > 1):
            cuts.append(place)
            run = 0
        run += 1
    return tuple(cut for cut in cuts if cut)


def shrunk(cuts: Cuts, found: T, wrong: Callable[[Sequence[Cuts]], list[tuple[Cuts, T]]]) -> tuple[Cuts, T]:
    """Fewer cuts of the same split that still fail: halves first, then one by one."""
    tried, size = 0, len(cuts) // 2
    while size and tried < MOST_SHRINKS:
        fewer = [cuts[:start] + cuts[start + size :] for start in range(0, len(cuts), size)]
        tried += len(fewer)
        still = wrong([each for each in fewer if each])
        if still:
            cuts, found = still[0]
            size = min(size, len(cuts) // 2 or (1 if len(cuts) > 1 else 0))
        else:
            size //= 2
    return cuts, found


def _calls_or_error(streamed: Calls | DecodeError) -> Found:
    return str(streamed) if isinstance(streamed, DecodeError) else calls_or_failure(lambda: streamed)
