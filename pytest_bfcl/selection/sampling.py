"""A sample of entries, by category."""

from __future__ import annotations

import random
from collections.abc import Iterable

from pytest_bfcl.dataset.categories import category_of
from pytest_bfcl.selection.sharding import natural


def stratified_sample(ids: Iterable[str], total: int, seed: int) -> set[str]:
    """``total`` of the ids, each category in proportion to its size (largest remainders).

    The same for one seed, in whatever order the ids stand.
    """
    strata: dict[str, list[str]] = {}
    for entry_id in sorted(set(ids), key=natural):
        strata.setdefault(category_of(entry_id), []).append(entry_id)
    size = sum(map(len, strata.values()))
    if total >= size:
        return {entry_id for members in strata.values() for entry_id in members}
    exact = {name: total * len(members) / size for name, members in strata.items()}
    quota = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(strata, key=lambda name: (quota[name] - exact[name], name))
    for name in by_remainder[: total - sum(quota.values())]:
        quota[name] += 1
    return {
        entry_id
        for name, members in strata.items()
        for entry_id in random.Random(f"{seed}:{name}").sample(members, quota[name])
    }
