from __future__ import annotations

import math
from itertools import pairwise

import pytest

from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.statistics import (
    PairTally,
    Spread,
    Tally,
    category_interval,
    chance,
    cluster_of,
    holm,
    interval,
    paired_spread,
    spread_of,
    stratum_of,
    student975,
    wilson,
)


@pytest.mark.parametrize("total", [1, 2, 5, 16, 100, 1053])
def test_wilson_is_scipys(total: int) -> None:
    from scipy.stats import binomtest

    for correct in {0, 1, total // 3, total // 2, total - 1, total}:
        expected = binomtest(correct, total).proportion_ci(confidence_level=0.95, method="wilson")
        assert wilson(correct, total) == pytest.approx((expected.low, expected.high), abs=1e-14)
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("correct", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_has_the_published_numbers(correct: int, total: int, low: float, high: float) -> None:
    """Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17, 1998, table I."""
    assert [round(bound, 4) for bound in wilson(correct, total)] == [low, high]


def test_students_quantiles_are_scipys() -> None:
    from scipy.special import stdtrit

    for freedom in (*range(1, 40), 1.01, 2.5, 3.8, 28.9, 30.5, 60, 199, 5000, 1e7):
        assert student975(freedom) == pytest.approx(stdtrit(freedom, 0.975), abs=1e-7)
    assert student975(0.3) == student975(1)
    assert student975(math.inf) == pytest.approx(1.959964, abs=1e-6)
    values = [student975(f) for f in (1, 5, 29, 30, 100, 1e6)]
    assert all(a > b for a, b in pairwise(values))


@pytest.mark.parametrize(
    ("entry_id", "category", "cluster", "stratum"),
    [
        ("simple_python_12", "simple_python", "simple_python_12", "simple_python"),
        ("multi_turn_base_7", "multi_turn_base", "7", "multi_turn"),
        ("multi_turn_miss_func_7", "multi_turn_miss_func", "7", "multi_turn"),
        ("memory_rec_sum_31-student-2", "memory_rec_sum", "student", "memory"),
        ("live_multiple_1052-279-0", "live_multiple", "279", "live_multiple"),
        ("web_search_no_snippet_5", "web_search_no_snippet", "5", "web_search"),
        ("format_sensitivity_30:ret_fmt=json:parallel_3", "format_sensitivity", "parallel_3", "format_sensitivity"),
        ("my-entry", "live_simple", "my-entry", "live_simple"),
        ("x_1", "unknown", "x_1", "unknown"),
    ],
)
def test_which_entries_stand_together(entry_id: str, category: str, cluster: str, stratum: str) -> None:
    assert cluster_of(entry_id, category) == cluster
    assert stratum_of(category) == stratum


def tally(*clusters: tuple[int, int]) -> Tally:
    found = Tally()
    for number, (passed, total) in enumerate(clusters):
        for position in range(total):
            found.add(str(number), position < passed)
    return found


def test_independent_entries_have_the_binomial_error() -> None:
    found = tally(*[(1, 1)] * 60, *[(0, 1)] * 40)
    assert spread_of({"parallel": 1.0}, {"parallel": found}).variance == pytest.approx(0.6 * 0.4 / 99, rel=1e-9)
    assert category_interval("parallel", found) == wilson(60, 100)


def test_clusters_that_agree_widen_the_interval() -> None:
    alike = tally(*[(4, 4)] * 15, *[(0, 4)] * 10)
    mixed = tally(*[(2, 4)] * 10, *[(3, 4)] * 10, *[(2, 4)] * 5)
    wide, narrow = category_interval("live_simple", alike), category_interval("live_simple", mixed)
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > 1.8 * (wilson(60, 100)[1] - wilson(60, 100)[0])
    # Never narrower than if the entries were independent.
    assert narrow == pytest.approx(wilson(60, 100), abs=2e-3)
    assert category_interval("live_simple", Tally()) is None


def test_five_scenarios_count_as_five() -> None:
    found = tally((30, 31), (28, 31), (5, 31), (10, 31), (29, 31))
    spread = spread_of({"memory_kv": 1.0}, {"memory_kv": found})
    assert spread.freedom == 4
    assert spread.half_width > 0.3


def test_extreme_scores_are_not_certain() -> None:
    low, high = category_interval("parallel", tally(*[(1, 1)] * 20)) or (0, 0)
    assert high == 1.0
    assert 0.8 < low < 0.85
    assert spread_of({"parallel": 1.0}, {"parallel": tally(*[(1, 1)] * 20)}).variance > 0
    assert spread_of({}, {}) == Spread(0.0, math.inf)


def test_a_sample_of_everything_has_no_sampling_error() -> None:
    found = {"parallel": tally(*[(1, 1)] * 30, *[(0, 1)] * 20)}
    full = spread_of({"parallel": 1.0}, found).variance
    assert spread_of({"parallel": 1.0}, found, {"parallel": 50}).variance == 0
    assert spread_of({"parallel": 1.0}, found, {"parallel": 100}).variance == pytest.approx(full / 2)


def test_intervals_stay_in_range() -> None:
    assert interval(0.99, Spread(0.01, math.inf)) == (pytest.approx(0.794, abs=1e-3), 1.0)


def test_paired_differences() -> None:
    found = PairTally()
    for number in range(100):
        found.add(str(number), number >= 20, number >= 10)
    assert (found.improved, found.regressed, found.difference) == (10, 0, 0.1)
    spread = paired_spread({"parallel": 1.0}, {"parallel": found})
    assert spread.variance == pytest.approx(0.1 * 0.9 / 99, rel=0.2)
    same = PairTally()
    same.add("a", True, True)
    assert paired_spread({"parallel": 1.0}, {"parallel": same}).variance > 0


def test_chance_belongs_to_the_interval() -> None:
    for difference in (0.01, 0.05, 0.2):
        for freedom in (4, 30.5, math.inf):
            spread = Spread((difference / student975(freedom)) ** 2, freedom)
            assert interval(difference, spread)[0] == pytest.approx(0, abs=1e-9)
            assert chance(difference, spread) == pytest.approx(0.05, abs=1e-4)
    assert chance(0.0, Spread(0.0, math.inf)) == 1.0
    assert chance(-0.1, Spread(0.0, math.inf)) == 0.0


def test_holm_has_the_published_numbers() -> None:
    """The worked example of Holm's step-down procedure: 0.01, 0.04, 0.03, 0.005 at four hypotheses."""
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert found == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert holm({}) == {}
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}


def false_alarms(runs: int) -> float:
    """Share of comparisons of two equally good models in which the gate sees a regression."""
    import numpy as np

    from pytest_bfcl.scoring.comparison import Judged, compare

    source = np.random.default_rng(7)
    names = ("simple_python", "multiple", "live_simple", "irrelevance", "multi_turn_base", "memory_kv")
    alarms = 0
    for _ in range(runs):
        sides: list[dict[tuple[str, int], Judged]] = [{}, {}]
        for name in names:
            for number in range(40):
                rate = source.beta(4, 2)  # an entry's difficulty is the same for both
                entry = f"{name}_{number}"
                for side in sides:
                    outcome = "passed" if source.random() < rate else "failed"
                    side[entry, 1] = Judged(entry, name, outcome, None, None)
        alarms += compare(*sides).regression
    return alarms / runs


def test_two_equal_models_are_rarely_told_apart() -> None:
    assert false_alarms(100) <= 0.08  # 2.5 % expected: losses are one side of 5 %


# Coverage: 2,000 simulated runs of a model whose true scores are known.

LAYOUT = {
    "simple_python": (40, 1),
    "live_simple": (30, 3),
    "live_multiple": (60, 3),
    "irrelevance": (60, 1),
    "live_irrelevance": (40, 2),
}
"""Category → (clusters, entries in each)."""
MULTI_TURN_CLUSTERS = 40
SCENARIOS = 5


@pytest.mark.parametrize("correlated", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_95_percent_interval_of_overall_covers_the_truth(correlated: bool) -> None:
    assert 0.93 <= coverage(2000, correlated) <= 0.97


def test_the_95_percent_interval_of_a_category_covers_the_truth() -> None:
    """Wilson's, over independent entries and over clusters of three."""
    import numpy as np

    source = np.random.default_rng(11)
    for clusters, each, concentration in ((200, 1, None), (80, 3, 4)):
        inside = 0
        for _ in range(2000):
            found = fill(rates(source, 0.7, clusters, concentration), each, source)
            low, high = category_interval("live_simple", found) or (0, 0)
            inside += low <= 0.7 <= high
        assert 0.93 <= inside / 2000 <= 0.97


@pytest.mark.slow
def test_the_95_percent_interval_of_a_difference_covers_the_truth() -> None:
    """Two models, 70 % and 75 %, over the same entries of unequal difficulty, clustered and not."""
    import numpy as np

    source = np.random.default_rng(12)
    for clusters, each in ((200, 1), (60, 4)):
        inside = 0
        for _ in range(2000):
            easy = source.beta(3.5, 1.5, clusters) - 0.7  # a cluster's difficulty is the same for both models
            pairs = PairTally()
            rate = np.clip(0.7 + easy, 0, 1)[:, None]
            before = (source.random((clusters, each)) < rate).tolist()
            after = (source.random((clusters, each)) < rate * 0.95).tolist()
            for number, (olds, news) in enumerate(zip(before, after, strict=True)):
                for old, new in zip(olds, news, strict=True):
                    pairs.add(str(number), old, new)
            low, high = interval(pairs.difference, paired_spread({"live_simple": 1.0}, {"live_simple": pairs}), -1, 1)
            inside += low <= -0.035 <= high
        assert 0.93 <= inside / 2000 <= 0.97


def coverage(runs: int, correlated: bool) -> float:
    """Share of simulated runs whose interval contains the true overall."""
    import numpy as np

    source = np.random.default_rng(20260301)
    covered = runs
    truth = 0.1 * 0.8 + 0.1 * 0.7 + 0.1 * 0.85 + 0.3 * 0.5 + 0.4 * 0.45
    for _ in range(runs):
        found = simulated(source, correlated)
        sizes = {name: category.total for name, category in found.items()}
        weights = aggregate.category_weights(aggregate.OVERALL, sizes)
        value = sum(weight * found[name].passed / found[name].total for name, weight in weights.items())
        low, high = interval(value, spread_of(weights, found))
        covered -= not low <= truth <= high
    return covered / runs


def simulated(source: object, correlated: bool) -> dict[str, Tally]:
    """One run: clusters have pass rates of their own around the category's when ``correlated``."""
    import numpy as np

    assert isinstance(source, np.random.Generator)
    means = {
        "simple_python": 0.8,
        "live_simple": 0.7,
        "live_multiple": 0.7,
        "irrelevance": 0.85,
        "live_irrelevance": 0.85,
    }
    found: dict[str, Tally] = {}
    for name, (clusters, each) in LAYOUT.items():
        found[name] = fill(rates(source, means[name], clusters, 4 if correlated else None), each, source)
    shared = rates(source, 0.5, MULTI_TURN_CLUSTERS, 1.5 if correlated else None)
    for name in ("base", "miss_func", "miss_param", "long_context"):
        found[f"multi_turn_{name}"] = fill(shared, 1, source)
    web = rates(source, 0.45, 50, 3 if correlated else None)
    for name in ("base", "no_snippet"):
        found[f"web_search_{name}"] = fill(web, 1, source)
    memory = rates(source, 0.45, SCENARIOS, 12 if correlated else None)
    for name in ("kv", "vector", "rec_sum"):
        found[f"memory_{name}"] = fill(memory, 12, source)
    return found


def rates(source: object, mean: float, clusters: int, concentration: float | None) -> object:
    import numpy as np

    assert isinstance(source, np.random.Generator)
    if concentration is None:
        return np.full(clusters, mean)
    return source.beta(mean * concentration, (1 - mean) * concentration, clusters)


def fill(rate: object, each: int, source: object) -> Tally:
    import numpy as np

    assert isinstance(source, np.random.Generator)
    passed = source.binomial(each, rate)  # type: ignore[arg-type]
    found = Tally({str(n): [int(p), each] for n, p in enumerate(passed)})
    found.passed, found.total = int(passed.sum()), each * len(passed)
    return found
