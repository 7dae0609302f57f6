"""How many entries a wanted precision takes."""

from __future__ import annotations

import math

from pytest_bfcl.scoring.statistics import Z95


def entries_needed(half_width: float, population: int, rate: float = 0.5) -> int:
    """Entries to draw of ``population`` so that a 95 % interval is at most ``± half_width`` (a fraction) wide.

    The interval is about what all of them would give (finite-population correction). ``rate`` is the expected accuracy;
    one half needs most.
    """
    if population <= 1:
        return population
    endless = Z95**2 * rate * (1 - rate) / half_width**2
    return min(population, math.ceil(endless / (1 + (endless - 1) / population)))


def half_width(entries: int, rate: float = 0.5) -> float:
    """Half the width of a 95 % interval of the ability behind so many independent entries (a fraction)."""
    return Z95 * math.sqrt(rate * (1 - rate) / entries) if entries else 1.0
