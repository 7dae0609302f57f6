"""Tails of the normal and of Student's distribution, in plain floats.

Student's tail is the regularised incomplete beta function, by its continued fraction. Its factor is Loader's
saddle-point form (C. Loader, Fast and Accurate Computation of Binomial Probabilities, 2000): differences of gamma
functions of large counts would lose digits. The tests compare all of it with scipy.
"""

from __future__ import annotations

import math

_TINY = 1e-300
_SMALL = 15.0
"""Below it the error of Stirling's formula is taken from the gamma function, above from its series."""


def normal_tail(distance: float) -> float:
    """The probability of a standard normal value above ``distance``."""
    return 0.5 * math.erfc(distance / math.sqrt(2))


def student_tail(distance: float, freedom: float) -> float:
    """The probability of a Student value above ``distance`` (at least 0); ``freedom`` above 0."""
    square = distance * distance
    return 0.5 * _beta_tail(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square))


def _beta_tail(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function I_x(a, b); ``rest`` is 1 - x, kept apart for its digits."""
    if x <= 0:
        return 0.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1.0 - _beta_tail(b, a, rest, x)
    return _density(a, b, x, rest) / a * _fraction(a, b, x)


def _density(a: float, b: float, x: float, rest: float) -> float:
    """x^a (1-x)^b / B(a, b)."""
    total = a + b
    spread = math.sqrt(a * b / (2 * math.pi * total))
    errors = _stirling_error(total) - _stirling_error(a) - _stirling_error(b)
    return spread * math.exp(errors - _deviance(a, total * x) - _deviance(b, total * rest))


def _deviance(count: float, expected: float) -> float:
    """count·log(count/expected) + expected - count, without losing digits where the two are close."""
    off = count - expected
    if abs(off) >= 0.1 * (count + expected):
        return count * math.log(count / expected) - off
    ratio = off / (count + expected)
    found, power, step = off * ratio, 2 * count * ratio, 1
    while True:
        power *= ratio * ratio
        step += 2
        further = found + power / step
        if further == found:
            return found
        found = further


def _stirling_error(value: float) -> float:
    """log Γ(value + 1) minus Stirling's formula for it."""
    if value < _SMALL:
        return math.lgamma(value + 1) - (value + 0.5) * math.log(value) + value - 0.5 * math.log(2 * math.pi)
    square = value * value
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / value


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    front, back = 1.0, 1.0 / _off_zero(1 - (a + b) * x / (a + 1))
    found = back
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            back = 1.0 / _off_zero(1 + term * back)
            front = _off_zero(1 + term / front)
            found *= front * back
        if abs(front * back - 1) < 1e-15:
            break
    return found


def _off_zero(value: float) -> float:
    """The value, moved off zero."""
    return value if abs(value) > _TINY else _TINY
