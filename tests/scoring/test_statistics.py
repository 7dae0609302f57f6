from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_bfcl.scoring.distributions import student_tail
from pytest_bfcl.scoring.statistics import (
    PairTally,
    Spread,
    Tally,
    category_interval,
    chance,
    cluster_of,
    holm,
    interval,
    noise_floor,
    spread_of,
    stratum_of,
    student975,
    wilson,
)


@pytest.mark.slow  # scipy.stats takes a second; the published table below is looked at in every run
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


def test_an_interval_reaches_what_was_seen_of_everything() -> None:
    for total in range(1, 60):
        assert (wilson(total, total)[1], wilson(0, total)[0]) == (1.0, 0.0)


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
        ("mine_1-2-3", "simple_python", "mine_1-2-3", "simple_python"),
    ],
)
def test_which_entries_stand_together(entry_id: str, category: str, cluster: str, stratum: str) -> None:
    assert cluster_of(entry_id, category) == cluster
    assert stratum_of(category) == stratum


def tally(*clusters: tuple[int, int]) -> Tally:
    found = Tally()
    for number, (passed, total) in enumerate(clusters):
        for position in range(total):
            found.add(str(number), position < passed, f"{number}-{position}")
    return found


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


def test_a_sample_of_everything_has_no_sampling_error() -> None:
    found = {"parallel": tally(*[(1, 1)] * 30, *[(0, 1)] * 20)}
    full = spread_of({"parallel": 1.0}, found).variance
    assert spread_of({"parallel": 1.0}, found, {"parallel": 50}).variance == 0
    assert spread_of({"parallel": 1.0}, found, {"parallel": 100}).variance == pytest.approx(full / 2)


def test_paired_differences() -> None:
    found = PairTally()
    for number in range(100):
        found.add(str(number), number >= 20, number >= 10, str(number))
    assert (found.improved, found.regressed, found.mean) == (10, 0, 0.1)
    spread = spread_of({"parallel": 1.0}, {"parallel": found})
    assert spread_of({"parallel": 1.0, "multiple": 0.5}, {"parallel": found, "multiple": PairTally()}) == spread
    assert spread.variance == pytest.approx(0.1 * 0.9 / 99, rel=0.2)
    same = PairTally()
    same.add("a", True, True, "a")
    assert spread_of({"parallel": 1.0}, {"parallel": same}).variance > 0


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


def test_the_floor_of_noise_counts_clusters_and_one_flip_more() -> None:
    alone = noise_floor([[1, 1]] * 200, [1] * 200)
    assert alone == pytest.approx(1.96 * 1 / 200, rel=0.02)
    flips = noise_floor([[1, 0]] * 50 + [[0, 1]] * 50, [1] * 100)
    assert flips == pytest.approx(1.96 * 101**0.5 / 100, rel=0.02)
    # The same flips, all of a scenario's up or down together: the scenarios are what is counted.
    together = noise_floor([[20, 0], [0, 20], [20, 0], [0, 20], [20, 0]], [20] * 5)
    assert together > 3.5 * flips
    assert noise_floor([[1, 0], [3, 2], [0, 0]], [1, 4, 2]) == pytest.approx(0.3732, abs=1e-4)
    assert noise_floor([[1, 1]] * 3, [1] * 3) == pytest.approx(0.5485, abs=1e-4)  # 4.303·√(3 ⁄ 20.51) ⁄ 3
    assert noise_floor([[1, 0, 0]] * 30, [1] * 30) == pytest.approx(1.97 * 21**0.5 / 30, rel=0.01)
    # Of one cluster in two runs nothing is known.
    assert noise_floor([[1, 1]], [1]) == noise_floor([[20, 20]], [20]) == noise_floor([[1, 0]] * 2, [1, 1]) == 1.0


DISTANCES = st.one_of(st.floats(0, 5), st.floats(0, 1e6), st.sampled_from([1e-12, 1e-6, 37.0]))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DISTANCES, st.one_of(st.floats(0.5, 50), st.floats(0.5, 1e7), st.integers(1, 40)))
def test_students_tail(distance: float, freedom: float) -> None:
    from scipy.special import stdtr

    assert student_tail(distance, freedom) == pytest.approx(float(stdtr(freedom, -distance)), rel=1e-9, abs=1e-15)


def test_a_question_asked_several_times_is_one_question() -> None:
    tally = Tally()
    for cluster, passed, question in (("c", True, "a"), ("c", False, "a"), ("c", True, "b"), ("d", True, "d")):
        tally.add(cluster, passed, question)
    assert (tally.total, tally.sum) == (4, 3)
    assert tally.entries == {"a": [1, 2], "b": [1, 1], "d": [1, 1]}
    assert tally.clusters == {"c": [2, 3], "d": [1, 1]}
