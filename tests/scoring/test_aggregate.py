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


@pytest.mark.parametrize("term", [aggregate.OVERALL, aggregate.OVERALL_V3, aggregate.NON_LIVE, aggregate.LIVE])
def test_weights_say_what_each_category_contributes(term: aggregate.Term) -> None:
    for names in (list(SIZES), ["simple_python", "live_simple", "live_multiple", "irrelevance"], ["live_parallel"]):
        found = {name: score for name, score in scores(3).items() if name in names}
        weights = aggregate.category_weights(term, {name: score.total for name, score in found.items()})
        value = aggregate.value(term, found)
        if value is None:
            assert weights == {}
        else:
            assert sum(weights.values()) == pytest.approx(1)
            assert sum(found[name].accuracy * weight for name, weight in weights.items()) == pytest.approx(value)


def test_missing_categories_are_left_out() -> None:
    partial = {
        "simple_python": CategoryScore(0.8, 400),
        "live_simple": CategoryScore(0.5, 4),
        "irrelevance": CategoryScore(2 / 3, 240),
    }
    assert aggregate.value(aggregate.NON_LIVE, partial) == 0.8
    assert aggregate.value(aggregate.AGENTIC, partial) is None
    assert aggregate.missing(aggregate.IRRELEVANCE, partial) == ["live_irrelevance"]


def test_neither_relevance_nor_format_sensitivity_enter_overall() -> None:
    needed = set(aggregate.categories_in(aggregate.OVERALL))
    assert needed == set(GROUPS["all_scoring"]) - {"live_relevance"}


def test_groups_without_a_formula_are_pooled() -> None:
    assert aggregate.formula("single_turn") == aggregate.Pooled(GROUPS["single_turn"])
    assert aggregate.formula("memory") is aggregate.MEMORY
    with pytest.raises(KeyError):
        aggregate.formula("nothing")
