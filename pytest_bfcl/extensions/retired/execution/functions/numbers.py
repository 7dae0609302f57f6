"""Whole numbers: factorials, divisors, Fibonacci, binary and roman notation; lists of numbers.

Of lists: means, deviations, vectors, matrices, regression, sorting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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


NUMBERS = (
    math_factorial, math_gcd, math_lcm, get_prime_factors, get_fibonacci_sequence, get_fibonacci_number,
    calculate_permutations, add_binary_numbers, to_roman_numeral, digit_sum,
)  # fmt: skip


Numbers = Sequence[float]


def calculate_mean(numbers: Numbers) -> float:
    """Arithmetic mean."""
    return sum(numbers) / len(numbers)


def calculate_standard_deviation(numbers: Numbers) -> float:
    """Standard deviation of a whole population."""
    mean = sum(numbers) / len(numbers)
    return float((sum((number - mean) ** 2 for number in numbers) / len(numbers)) ** 0.5)


def calculate_cosine_similarity(vectorA: Numbers, vectorB: Numbers) -> float:
    """Cosine of the angle between two vectors."""
    product = sum(vectorA[i] * vectorB[i] for i in range(len(vectorA)))
    length_a = sum(value**2 for value in vectorA) ** 0.5
    length_b = sum(value**2 for value in vectorB) ** 0.5
    return float(product / (length_a * length_b))


def calc_binomial_probability(n: int, k: int, p: float) -> float:
    """Probability of ``k`` successes in ``n`` independent trials."""
    if n > 5_000:
        raise ValueError("at most 5000 trials here")
    ways = math.factorial(n) / (math.factorial(k) * math.factorial(n - k))
    return ways * (p**k * (1 - p) ** (n - k))


def linear_regression(x: Numbers, y: Numbers, point: float) -> float:
    """The value at ``point`` of the least-squares line through the points."""
    count = len(x)
    sum_x, sum_y = sum(x), sum(y)
    products = sum(a * b for a, b in zip(x, y, strict=True))
    squares = sum(a**2 for a in x)
    slope = (count * products - sum_x * sum_y) / (count * squares - sum_x**2)
    return slope * point + (sum_y - slope * sum_x) / count


def mat_mul(matA: Sequence[Numbers], matB: Sequence[Numbers]) -> list[list[float]]:
    """The matrix product: as many rows as ``matA``, as many columns as ``matB``."""
    product: list[list[float]] = [[0 for _ in range(len(matB[0]))] for _ in range(len(matA))]
    for i in range(len(matA)):
        for j in range(len(matB[0])):
            for k in range(len(matB)):
                product[i][j] += matA[i][k] * matB[k][j]
    return product


def sort_array(array: Sequence[Any], reverse: bool = False) -> list[Any]:
    """The values in rising order, or falling."""
    return sorted(array, reverse=reverse)


def moving_average(numbers: Numbers, window: int) -> list[float]:
    """The mean of every ``window`` values in a row."""
    if not 1 <= window <= len(numbers):
        raise ValueError("the window must fit into the list")
    return [sum(numbers[i : i + window]) / window for i in range(len(numbers) - window + 1)]


def summarise_numbers(numbers: Numbers) -> dict[str, float]:
    """Smallest, largest, mean and median of a list."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return {"smallest": ordered[0], "largest": ordered[-1], "mean": sum(ordered) / len(ordered), "median": median}


SERIES = (
    calculate_mean, calculate_standard_deviation, calculate_cosine_similarity, calc_binomial_probability,
    linear_regression, mat_mul, sort_array, moving_average, summarise_numbers,
)  # fmt: skip
