"""Whole numbers and lists of numbers; orders, bookings, dates, trips, money over time; texts.

Of lists: means, deviations, vectors, matrices, regression, sorting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from pytest_bfcl.json_types import Parsed

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


_ACTIVITY = {1: 1.2, 2: 1.375, 3: 1.55, 4: 1.725, 5: 1.9}
_SPEED_KMH = {"walking": 5.0, "cycling": 16.0, "driving": 70.0}


def order_food(item: Sequence[str], quantity: Sequence[float], price: Sequence[float]) -> float:
    """Total price of an order; the three lists go together."""
    return sum(quantity[i] * price[i] for i in range(len(item)))


def book_room(
    room_type: str,
    price: float = 0.0,
    check_in_date: str = "",
    check_out_date: str = "",
    customer_id: str = "",
    discount_code: str | None = None,
) -> Parsed:
    """The confirmation of a booking; dates are taken as they are, no discount code is known."""
    return {
        "customer_id": customer_id,
        "room_number": room_type,
        "check_in_date": check_in_date,
        "check_out_date": check_out_date,
        "total_price": price,
    }


def calculate_nutritional_needs(
    weight: float, height: float, age: float, gender: str, activity_level: int, goal: str
) -> dict[str, float]:
    """Daily calories (Harris-Benedict, activity factor, 500 less or more by goal) and grams of nutrients."""
    if gender == "male":
        rest = 88.362 + 13.397 * weight + 4.799 * height - 5.677 * age
    else:
        rest = 447.593 + 9.247 * weight + 3.098 * height - 4.330 * age
    calories = rest * _ACTIVITY[activity_level] + {"lose": -500, "gain": 500}.get(goal, 0)
    return {
        "calories": calories,
        "proteins_g": calories * 0.30 / 4,
        "fats_g": calories * 0.25 / 9,
        "carbohydrates_g": calories * 0.45 / 4,
    }


def days_between(start: str, end: str) -> int:
    """Days from one date to another, both as YYYY-MM-DD."""
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


def add_days(start: str, days: int) -> str:
    """The date some days later (or earlier), as YYYY-MM-DD."""
    return (date.fromisoformat(start) + timedelta(days=days)).isoformat()


def weekday_name(day: str) -> str:
    """The English weekday of a date given as YYYY-MM-DD."""
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return names[date.fromisoformat(day).weekday()]


def travel_minutes(distance_km: float, means: str = "driving", speed_kmh: float | None = None) -> float:
    """Minutes a trip takes, at a usual speed or at the given one."""
    return distance_km / (speed_kmh if speed_kmh is not None else _SPEED_KMH[means]) * 60


def fuel_needed(distance_km: float, litres_per_100km: float) -> float:
    """Litres of fuel a trip takes."""
    return distance_km * litres_per_100km / 100


def weekly_schedule(tasks: Sequence[str], days: Sequence[str]) -> dict[str, list[str]]:
    """Tasks assigned to days in turn."""
    schedule: dict[str, list[str]] = {day: [] for day in days}
    for number, task in enumerate(tasks):
        schedule[days[number % len(days)]].append(task)
    return schedule


DAILY = (
    order_food, book_room, calculate_nutritional_needs, days_between, add_days, weekday_name, travel_minutes,
    fuel_needed, weekly_schedule,
)  # fmt: skip


MOST_YEARS = 10_000


def calculate_future_value(present_value: float, interest_rate: float, periods: int) -> float:
    """Value after ``periods`` with compound interest."""
    return present_value * (1 + interest_rate) ** periods


def mortgage_calculator(loan_amount: float, interest_rate: float, loan_period: int) -> float:
    """Monthly payment of a loan over years at a yearly rate."""
    monthly, months = interest_rate / 12, loan_period * 12
    return float(loan_amount * monthly * (1 + monthly) ** months / ((1 + monthly) ** months - 1))


def calculate_investment_value(
    initial_investment: float,
    annual_contribution: float,
    years: int,
    annual_return: float,
    inflation_rate: Sequence[float],
    adjust_for_inflation: bool = True,
) -> float:
    """Value after years of contributions; each year's inflation lowers the return and the contribution."""
    if years > MOST_YEARS:
        raise ValueError(f"at most {MOST_YEARS} years here")
    value = initial_investment
    for year in range(years):
        lost = inflation_rate[year] if adjust_for_inflation else 0
        value = value * (1 + annual_return - lost) + annual_contribution * (1 - lost)
    return value


def split_bill(total: float, people: int, tip_percent: float = 0) -> float:
    """What each person pays, tip included, in cents precision."""
    return round(total * (1 + tip_percent / 100) / people, 2)


def savings_plan(monthly_amount: float, months: int, yearly_rate: float = 0) -> list[Parsed]:
    """The balance at the end of every month, with monthly interest on the balance."""
    if months > 1_200:
        raise ValueError("at most 1200 months here")
    balance, plan = 0.0, []
    for month in range(1, months + 1):
        balance = round(balance * (1 + yearly_rate / 12) + monthly_amount, 2)
        plan.append({"month": month, "balance": balance})
    return plan


FINANCE = (calculate_future_value, mortgage_calculator, calculate_investment_value, split_bill, savings_plan)


MOST_CHARACTERS = 100_000


def count_words(text: str) -> int:
    """How many words, separated by blanks."""
    return len(text.split())


def letter_counts(text: str) -> dict[str, int]:
    """How often each letter occurs, in small letters, most frequent first."""
    letters = [letter for letter in text[:MOST_CHARACTERS].lower() if letter.isalpha()]
    return {letter: letters.count(letter) for letter in sorted(set(letters), key=lambda x: (-letters.count(x), x))}


def reverse_text(text: str) -> str:
    """The text backwards."""
    return text[::-1]


def shift_cipher(text: str, shift: int) -> str:
    """Every Latin letter moved on in the alphabet; case stays, all else too."""
    moved = []
    for letter in text:
        if letter.isascii() and letter.isalpha():
            first = ord("a") if letter.islower() else ord("A")
            letter = chr((ord(letter) - first + shift) % 26 + first)
        moved.append(letter)
    return "".join(moved)


def initials(name: str) -> str:
    """First letters of a name's parts, in capitals."""
    return "".join(part[0].upper() for part in name.split())


WORDS = (count_words, letter_counts, reverse_text, shift_cipher, initials)
