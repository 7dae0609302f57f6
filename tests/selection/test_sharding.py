"""Samples and shards: pure functions over ids, the same in whatever order these stand."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_bfcl.dataset.categories import category_of
from pytest_bfcl.selection.sharding import (
    ShardItem,
    deal,
    shard_of,
    stratified_sample,
)


def items(*ids: str, label: str = "") -> list[ShardItem]:
    return [ShardItem(each, label) for each in ids]


def test_each_unit_goes_to_the_lightest_part() -> None:
    """A scenario is one unit, and as heavy as all of it."""
    asked = items("memory_kv_0-x-0", "a_1", "memory_kv_1-x-1", "a_2", "memory_kv_2-x-2", "a_3", "a_4")
    assert deal(asked, 2) == [[[0, 2, 4], [6]], [[1], [3], [5]]]
    assert deal(asked[:1] + items("memory_kv_1-x-1", label="m-r2"), 2) == [[[0]], [[1]]], "a repeat has its own memory"


def test_shards_are_the_same_in_whatever_order_the_selection_stands() -> None:
    asked = [ShardItem(f"simple_python_{n}", label) for n in range(11) for label in ("a:b", "a:b-r2")]
    asked += [ShardItem(f"memory_kv_{n}-{who}-{n}", "a:b") for n in range(5) for who in ("student", "finance")]
    asked += items("mine", "9" * 5000, "x_" + "9" * 5000)
    for count in (1, 2, 3, 40):
        parts = [shard_of(asked, index, count) for index in range(1, count + 1)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == len(asked)
        assert parts == [shard_of(asked[::-1], index, count) for index in range(1, count + 1)]
        homes = [number for number, part in enumerate(parts) for each in part if "student" in each.entry_id]
        assert len(set(homes)) == 1


def test_a_write_stage_goes_with_its_questions_and_weighs_nothing() -> None:
    stages = items(*(f"memory_kv_prereq_{n}-x-{n}" for n in range(9)))
    asked = [*stages, *items("memory_kv_0-x-0", "chatable_0", "chatable_1", "chatable_2")]
    assert shard_of(asked, 1, 2) == {*stages, *items("memory_kv_0-x-0", "chatable_1")}
    assert shard_of(asked, 2, 2) == set(items("chatable_0", "chatable_2"))
    alone = [shard_of(stages, index, 2) for index in (1, 2)]
    assert sorted(map(len, alone)) == [0, 9], "named alone it is dealt as a unit of its own"


def test_samples_are_stratified_and_repeatable() -> None:
    ids = [f"simple_python_{n}" for n in range(80)] + [f"multiple_{n}" for n in range(20)]
    chosen = stratified_sample(ids, 10, seed=0)
    assert Counter(map(category_of, chosen)) == {"simple_python": 8, "multiple": 2}
    assert chosen == stratified_sample([*ids[::-1], *ids], 10, seed=0)
    assert chosen != stratified_sample(ids, 10, seed=1)
    assert stratified_sample(ids, 500, seed=0) == stratified_sample(ids, 100, seed=0) == set(ids)


@pytest.mark.parametrize(
    ("total", "quota"),
    [(0, {}), (1, {"parallel": 1}), (2, {"parallel": 1, "multiple": 1}), (4, {"parallel": 2, "multiple": 1, "sql": 1})],
)
def test_largest_remainders_come_first_then_names(total: int, quota: dict[str, int]) -> None:
    ids = [f"{name}_{n}" for name, size in (("parallel", 5), ("multiple", 3), ("sql", 3)) for n in range(size)]
    assert Counter(map(category_of, stratified_sample(ids, total, seed=0))) == quota
