from __future__ import annotations

import random

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import CategoryScore

SIZES = {name: CATEGORIES[name].official_size for name in GROUPS["all_scoring"]}


def scores(seed: int) -> dict[str, CategoryScore]:
    source = random.Random(seed)
    return {name: CategoryScore(source.randint(0, size) / size, size) for name, size in SIZES.items()}


def by_hand(a: dict[str, CategoryScore]) -> float:
    def m(*names: str) -> float:
        return sum(a[name].accuracy for name in names) / len(names)

    live = [a[f"live_{kind}"] for kind in ("simple", "multiple", "parallel", "parallel_multiple")]
    non_live = (
        m("simple_python", "simple_java", "simple_javascript") + 3 * m("multiple", "parallel", "parallel_multiple")
    ) / 4
    pooled = sum(s.accuracy * s.total for s in live) / sum(s.total for s in live)
    multi = m(*GROUPS["multi_turn"])
    agentic = (m(*GROUPS["web_search"]) + m(*GROUPS["memory"])) / 2
    return 0.1 * non_live + 0.1 * pooled + 0.1 * m("irrelevance", "live_irrelevance") + 0.3 * multi + 0.4 * agentic


@pytest.mark.parametrize("seed", range(5))
def test_overall_follows_the_formula(seed: int) -> None:
    found = scores(seed)
    assert aggregate.value(aggregate.OVERALL, found) == pytest.approx(by_hand(found), abs=1e-12)


def test_neither_relevance_nor_format_sensitivity_enter_overall() -> None:
    needed = set(aggregate.categories_in(aggregate.OVERALL))
    assert needed == set(GROUPS["all_scoring"]) - {"live_relevance"}


def test_groups_without_a_formula_are_pooled() -> None:
    assert aggregate.formula("single_turn") == aggregate.Pooled(GROUPS["single_turn"])
    assert aggregate.formula("memory") is aggregate.MEMORY
    with pytest.raises(KeyError):
        aggregate.formula("nothing")
