"""Skipped entries in words: how many will be, before the first is asked; how many were, at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_bfcl.scoring.aggregate import OVERALL, categories_in

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet

MOST_REASONS = 10


def skips_ahead(
    categories: Iterable[str], why: Callable[[str], str | None], data: DataSet, *, part: bool = False
) -> Iterator[str]:
    """Before the first request: which entries will be skipped, and whether the Overall score can be claimed.

    ``categories``: one an entry; ``why``: why a category is skipped, with the command that changes it; ``part``:
    whether other parts of the run ask the rest. Only runs on official data can claim Overall.
    """
    counts = Counter(categories)
    reasons: dict[str, list[str]] = {}
    for category in counts:
        if reason := why(category):
            reasons.setdefault(reason, []).append(category)
    needed = set(categories_in(OVERALL))
    whole = data.official and needed <= counts.keys()
    for reason, names in reasons.items():
        lost = " and Overall will not be claimed" if whole and needed.intersection(names) else ""
        yield f"{_entries(sum(counts[name] for name in names))} will be skipped{lost} ({', '.join(names)}): {reason}"
    if counts and data.official and not whole and not part:
        chosen = f"{len(needed & counts.keys())} of its {len(needed)} categories are selected"
        yield f"Overall will not be claimed, {chosen}: leave out -m, -k, ids, paths and --bfcl-categories to select all"


def skip_lines(skips: Mapping[str, int]) -> Iterator[str]:
    """Why entries were skipped, the commonest reasons first; services that are down give a reason an entry."""
    ranked = sorted(skips.items(), key=lambda item: -item[1])
    for reason, count in ranked[:MOST_REASONS]:
        yield f"{_entries(count)} skipped: {reason}"
    if rest := ranked[MOST_REASONS:]:
        yield f"{sum(count for _, count in rest)} more skipped for {len(rest)} other reasons (-rs lists them)"


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"
