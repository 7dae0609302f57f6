"""Orders, bookings, nutrition, dates, trips; money over time; texts.

Money: interest, mortgages, investments, tips. Texts: counting, reversing, ciphers, initials.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from pytest_bfcl.json_types import Parsed

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
    """Tasks dealt out to days in turn."""
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
    """The balance at the end of every month, with monthly interest on what is there."""
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
