"""Divides a selection: shards for several jobs, stripes for worker processes.

A memory scenario (its write stage and all its questions) is never split: the write stage fills the memory that the
questions read.
"""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from pytest_bfcl.dataset.categories import CATEGORIES, category_of

_PARTS = re.compile(r"\d+|\D+")
_WORD = 1 << 60
_PLACES = {name: number for number, name in enumerate(CATEGORIES)}

MOST_SHARDS = 9_999
"""Allowed numbers of parts."""


class ShardItem(NamedTuple):
    """One entry with one model, once. ``label`` distinguishes models and repeats of a run; empty: one of each."""

    entry_id: str
    label: str = ""


def scenario_of(entry_id: str) -> tuple[str, str] | None:
    """(memory category, scenario) of a memory question or write stage, ``None`` for every other entry.

    The scenario is the middle of the id's index (data spec §5); an id of another form means the whole category.
    """
    category = category_of(entry_id).removesuffix("_prereq")
    row = CATEGORIES.get(category)
    if row is None or not row.backend:
        return None
    parts = entry_id.rpartition("_")[2].split("-")
    return category, parts[1] if len(parts) == 3 else ""


def deal(asked: Sequence[ShardItem], count: int) -> list[list[list[int]]]:
    """Positions divided into ``count`` parts: part → units → positions. Deterministic, so controller and workers agree.

    A unit is one trial, or all of one memory scenario with one model and repeat. Each unit goes to the lightest part.
    """
    units: dict[Hashable, list[int]] = {}
    for position, each in enumerate(asked):
        units.setdefault(position if scenario_of(each.entry_id) is None else _unit(each), []).append(position)
    dealt: list[list[list[int]]] = [[] for _ in range(count)]
    loads = [0] * count
    for unit in units.values():
        lightest = loads.index(min(loads))
        dealt[lightest].append(unit)
        loads[lightest] += len(unit)
    return dealt


def shard_of(asked: Iterable[ShardItem], index: int, count: int) -> set[ShardItem]:
    """The ``index``-th (from 1) of ``count`` parts, equal for every order of the selection. So jobs may shuffle tests
    or name files in another order. A write stage next to its questions goes with them and counts nothing, as they add a
    missing one.
    """
    ordered = sorted(set(asked), key=_place)
    scenarios = {_unit(each) for each in ordered if not _is_stage(each)}
    dealt = [each for each in ordered if not (_is_stage(each) and _unit(each) in scenarios)]
    mine = {dealt[position] for unit in deal(dealt, count)[index - 1] for position in unit}
    units = {_unit(each) for each in mine if scenario_of(each.entry_id) is not None}
    return mine | {each for each in ordered if _is_stage(each) and _unit(each) in units}


def read_shard(text: str) -> tuple[int, int]:
    """``I/N`` as two numbers. Raises `ValueError` with what is allowed."""
    index, _, count = text.partition("/")
    if index.isdecimal() and count.isdecimal() and 1 <= int(index[:9]) <= int(count[:9]) <= MOST_SHARDS:
        return int(index[:9]), int(count[:9])
    raise ValueError("I/N with 1 <= I <= N" + (f", N at most {MOST_SHARDS:,}" if len(count) > 4 else ""))


def natural(entry_id: str) -> list[tuple[int, str]]:
    """A key that sorts ids by category in the table's order, then by number: ``_9`` before ``_10``."""
    place = _PLACES.get(category_of(entry_id), len(_PLACES))
    return [(place, ""), *map(_part, _PARTS.findall(entry_id))]


def _part(text: str) -> tuple[int, str]:
    """Numbers before words, short ones (without leading zeros) first; an id may hold thousands of digits."""
    return (len(text.lstrip("0")), text) if text.isdecimal() else (_WORD, text)


def _unit(asked: ShardItem) -> Hashable:
    return scenario_of(asked.entry_id), asked.label


def _is_stage(asked: ShardItem) -> bool:
    row = CATEGORIES.get(category_of(asked.entry_id))
    return row is not None and row.group == "memory_prereq"


def _place(asked: ShardItem) -> tuple[list[tuple[int, str]], str]:
    return natural(asked.entry_id), asked.label


def stratified_sample(ids: Iterable[str], total: int, seed: int) -> set[str]:
    """``total`` of the ids, each category in proportion to its size (largest remainders).

    The same for one seed, for any order of the ids.
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
