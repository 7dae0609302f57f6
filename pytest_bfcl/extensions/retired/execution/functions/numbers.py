"""Whole numbers: factorials, divisors, Fibonacci, binary and roman notation."""

from __future__ import annotations

import math

MOST_TERMS = 5_000
"""Longest sequence and largest factorial: beyond it results no longer fit into a line."""


def math_factorial(n: int) -> int:
    """``n!``; 0 and negative numbers count as the empty product."""
    _limit(n)
    result = 1
    for factor in range(1, n + 1):
        result *= factor
    return result


def math_gcd(a: int, b: int) -> int:
    """Greatest common divisor, as Euclid found it."""
    while b != 0:
        a, b = b, a % b
    return a


def math_lcm(a: int, b: int) -> float:
    """Least common multiple, as a float."""
    return a * b / math_gcd(a, b)


def get_prime_factors(number: int) -> list[int]:
    """Prime factors in rising order, with repetition; at most 15 digits, which trial division settles in time."""
    if number > 10**15:
        raise ValueError("the number is too large to factorise here")
    factors: list[int] = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    if number > 1:
        factors.append(number)
    return factors


def get_fibonacci_sequence(n: int) -> list[int]:
    """The first ``n`` Fibonacci numbers, from 0."""
    _limit(n)
    sequence = [0, 1]
    while len(sequence) < n:
        sequence.append(sequence[-1] + sequence[-2])
    return sequence[:n]


def get_fibonacci_number(n: int) -> int:
    """Fibonacci number ``n - 1`` counted from 0: the first is 0, the second 1."""
    _limit(n)
    if n <= 0:
        raise ValueError("n must be positive")
    before, number = 0, 1
    for _ in range(n - 1):
        before, number = number, before + number
    return before


def calculate_permutations(n: int, k: int) -> float:
    """Ordered selections of ``k`` out of ``n``, as a float."""
    _limit(n)
    return math.factorial(n) / math.factorial(n - k)


def add_binary_numbers(a: str, b: str) -> str:
    """The sum of two binary numerals, without prefix."""
    return f"{int(a, 2) + int(b, 2):b}"


def to_roman_numeral(number: int) -> str:
    """A whole number from 1 to 3999 in roman numerals."""
    if not 1 <= number <= 3999:
        raise ValueError("roman numerals go from 1 to 3999")
    parts = []
    for value, sign in _ROMAN:
        count, number = divmod(number, value)
        parts.append(sign * count)
    return "".join(parts)


def digit_sum(number: int) -> int:
    """The sum of the decimal digits."""
    return sum(int(digit) for digit in str(abs(number)))


_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip


def _limit(n: int) -> None:
    if n > MOST_TERMS:
        raise ValueError(f"at most {MOST_TERMS} here")


FUNCTIONS = (
    math_factorial, math_gcd, math_lcm, get_prime_factors, get_fibonacci_sequence, get_fibonacci_number,
    calculate_permutations, add_binary_numbers, to_roman_numeral, digit_sum,
)  # fmt: skip
