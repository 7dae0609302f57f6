"""Our tails against scipy's, over counts and degrees of freedom from 1 to ten million."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_bfcl.scoring.distributions import normal_tail, student_tail

DISTANCES = st.one_of(st.floats(0, 5), st.floats(0, 1e6), st.sampled_from([1e-12, 1e-6, 37.0]))


@settings(deadline=None)  # the first one imports scipy
@given(DISTANCES)
@pytest.mark.slow
def test_the_normal_tail(distance: float) -> None:
    from scipy.special import ndtr

    assert normal_tail(distance) == pytest.approx(float(ndtr(-distance)), rel=1e-9, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(DISTANCES, st.one_of(st.floats(0.5, 50), st.floats(0.5, 1e7), st.integers(1, 40)))
def test_students_tail(distance: float, freedom: float) -> None:
    from scipy.special import stdtr

    assert student_tail(distance, freedom) == pytest.approx(float(stdtr(freedom, -distance)), rel=1e-9, abs=1e-15)
