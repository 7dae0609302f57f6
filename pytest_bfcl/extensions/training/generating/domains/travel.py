"""TravelAPI: fares, bookings, cards and insurances."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from pytest_bfcl.extensions.lab.auditing.literals import listed
from pytest_bfcl.extensions.training.generating.moves import domain_of
from pytest_bfcl.extensions.training.generating.words import FAMILIES, PEOPLE
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators.tables import FARES, NEAREST_AIRPORTS, USD_RATES

_FARES = sorted(FARES)
_MONTHS = listed("January February March April May June July August September October November December")


def world(rng: Random) -> Parsed:
    """A traveller with two cards, logged in or not."""
    cards = [str(rng.randint(10**11, 10**12 - 1)) for _ in range(4)]
    logged_in = rng.random() < 0.6
    return {
        "credit_card_list": {
            card: {
                "card_number": str(rng.randint(4 * 10**15, 5 * 10**15)), "expiration_date": f"{rng.randint(1, 12):02}/2029",
                "cardholder_name": f"{rng.choice(PEOPLE)} {rng.choice(FAMILIES)}",
                "card_verification_number": rng.randint(100, 999), "balance": balance,
            }
            for card, balance in ((card, rng.randint(9_000, 30_000)) for card in cards)
        },
        "booking_record": {},
        "access_token": str(rng.randint(10**5, 10**6 - 1)) if logged_in else None,
        "token_type": "Bearer" if logged_in else None,
        "token_expires_in": 3600 if logged_in else None,
        "token_scope": "read_write" if logged_in else None,
        "user_first_name": rng.choice(PEOPLE),
        "user_last_name": rng.choice(FAMILIES),
        "budget_limit": None,
        "random_seed": rng.randint(1, 10**6),
    }  # fmt: skip


def _day(travel: object, rng: Random) -> str:
    return (date(2027, 1, 10) + timedelta(days=rng.randrange(600))).isoformat()


def _born(travel: object, rng: Random) -> str:
    return (date(1955, 1, 10) + timedelta(days=rng.randrange(16_000))).isoformat()


def _written(day: str, rng: Random) -> str:
    found = date.fromisoformat(day)
    month = _MONTHS[found.month - 1]
    return rng.choice([day, f"{month} {found.day}, {found.year}", f"{found.day} {month} {found.year}"])


def _cards(travel: Any, rng: Random) -> object:
    rich = [card for card, told in travel.credit_card_list.items() if told["balance"] > 5_000]
    return rng.choice(rich) if rich else None


def _poor(config: Parsed, given: Any, fails: Any) -> None:
    config["credit_card_list"][given["card_id"]]["balance"] = 9 if fails else 20_009


def _worth(config: Parsed, given: Any, value: Any) -> None:
    config["credit_card_list"][given["card_id"]]["balance"] = int(value)


def _emptied(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    _worth(config, given, 0 if holds else 18_450 + len(given["card_id"]))


DOMAIN = domain_of("travel", "TravelAPI", world, {
    "origin": lambda travel, rng: rng.choice(_FARES)[0], "destination": lambda travel, rng: rng.choice(_FARES)[1],
    "day": _day, "born": _born, "written": _written, "cards": _cards, "poor": _poor, "worth": _worth, "emptied": _emptied,
    "city": lambda travel, rng: rng.choice(sorted(NEAREST_AIRPORTS)),
    "currency": lambda travel, rng: rng.choice(sorted({*USD_RATES} - {"USD"})),
    "holder": lambda travel, rng: f"{travel.user_first_name} {travel.user_last_name}",
    "until": lambda travel, rng: f"{rng.randint(1, 12):02}/20{rng.randint(28, 33)}",
})  # fmt: skip
