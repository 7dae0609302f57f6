"""Orders, bookings, nutrition, dates, trips."""

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


FUNCTIONS = (
    order_food, book_room, calculate_nutritional_needs, days_between, add_days, weekday_name, travel_minutes,
    fuel_needed, weekly_schedule,
)  # fmt: skip
