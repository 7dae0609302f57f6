"""Our tails against scipy's, over counts and degrees of freedom from 1 to ten million."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_bfcl.scoring.distributions import coin_tail, normal_tail, student_tail

DISTANCES = st.one_of(st.floats(0, 5), st.floats(0, 1e6), st.sampled_from([1e-12, 1e-6, 37.0]))


@settings(deadline=None)  # the first one imports scipy
@given(DISTANCES)
def test_the_normal_tail(distance: float) -> None:
    from scipy.special import ndtr

    assert normal_tail(distance) == pytest.approx(float(ndtr(-distance)), rel=1e-9, abs=1e-300)


@settings(max_examples=300, deadline=None)
@given(DISTANCES, st.one_of(st.floats(0.5, 50), st.floats(0.5, 1e7), st.integers(1, 40)))
def test_students_tail(distance: float, freedom: float) -> None:
    from scipy.special import stdtr

    assert student_tail(distance, freedom) == pytest.approx(float(stdtr(freedom, -distance)), rel=1e-9, abs=1e-15)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.integers(1, 60), st.integers(1, 10_000_000)), st.one_of(st.floats(-4, 4), st.floats(-1e3, 1e3)))
def test_the_binomial_tail(tosses: int, off: float) -> None:
    """Held against scipy's beta function: its binomial one (``bdtr``) is wrong by 1e-4 for millions of tosses."""
    from scipy.special import betainc

    heads = min(tosses, max(0, round(tosses / 2 + off * math.sqrt(tosses) / 2)))
    expected = float(betainc(tosses - heads, heads + 1, 0.5)) if heads < tosses else 1.0
    assert coin_tail(heads, tosses) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("tosses", [1, 2, 7, 40, 1000])
def test_few_tosses_are_counted(tosses: int) -> None:
    for heads in range(0, tosses + 1, max(1, tosses // 20)):
        exact = sum(math.comb(tosses, k) for k in range(heads + 1)) / 2**tosses
        assert coin_tail(heads, tosses) == pytest.approx(exact, rel=1e-12)
