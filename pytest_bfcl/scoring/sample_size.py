"""How many entries a wanted precision takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_bfcl.scoring.statistics import Z95, student975

ALIKE = 0.2
"""How alike the answers within a cluster are taken to be before a run. Three recorded runs have 0.17 to 0.37 within
live function documents and 0.40 to 0.49 between variants of a conversation."""


def entries_needed(half_width: float, population: int, rate: float = 0.5) -> int:
    """Entries to draw of ``population`` so that a 95 % interval is at most ``± half_width`` (a fraction) wide.

    The interval is about what all of them would give (finite-population correction). ``rate`` is the expected accuracy;
    one half needs most.
    """
    if population <= 1:
        return population
    endless = Z95**2 * rate * (1 - rate) / half_width**2
    return min(population, math.ceil(endless / (1 + (endless - 1) / population)))


def half_width(clusters: Sequence[int], rate: float = 0.5, alike: float = ALIKE) -> float:
    """Half the width of a 95 % interval of the ability behind entries in clusters of these sizes (a fraction).

    ``alike`` is the correlation of the answers within a cluster; clusters of one are independent entries.
    """
    entries = sum(clusters)
    if not entries:
        return 1.0
    doubled = 1 + (sum(size * size for size in clusters) / entries - 1) * alike
    quantile = Z95 if len(clusters) == entries else student975(len(clusters) - 1)
    return min(1.0, quantile * math.sqrt(rate * (1 - rate) / entries * doubled))
