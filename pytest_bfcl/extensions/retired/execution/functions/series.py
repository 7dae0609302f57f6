"""Lists of numbers: means, deviations, vectors, matrices, regression, sorting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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


FUNCTIONS = (
    calculate_mean, calculate_standard_deviation, calculate_cosine_similarity, calc_binomial_probability,
    linear_regression, mat_mul, sort_array, moving_average, summarise_numbers,
)  # fmt: skip
