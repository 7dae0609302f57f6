"""Long-context constants: texts that the long-context variants add to simulators' states and results.

The official texts come with the fetched data (simulators spec §9) and are passed as ``texts``. Ours have the same
names, shapes and sizes, use our own words, and are equal on every machine. All values are shared between simulators:
copy what goes into a state.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pytest_bfcl.json_types import Fields, Parsed

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def constants(texts: Fields | None = None) -> Fields:
    """The long-context constants by name: the given ones, and our own for missing ones."""
    if not texts:
        return own_constants()
    return texts if _makers().keys() <= texts.keys() else {**own_constants(), **texts}


@cache
def own_constants() -> Fields:
    """Our own constants (read-only mapping, made once)."""
    return _Constants({name: make(random.Random(f"bfcl {name}")) for name, make in _makers().items()})


class _Constants(Mapping[str, Any]):
    """Read-only, one object in a process: copies are itself, a pickle only refers to it."""

    def __init__(self, values: Parsed) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __deepcopy__(self, memo: object) -> _Constants:
        return self

    def __reduce__(self) -> tuple[Callable[[], Fields], tuple[()]]:
        return own_constants, ()


@cache
def _makers() -> dict[str, Callable[[random.Random], Any]]:
    return {
        "WATCH_LIST_EXTENSION": lambda rng: [*_symbols(rng, 1000), ...],
        "TRANSACTION_HISTORY_EXTENSION": _transactions,
        "MA_5_EXTENSION": lambda rng: _numbers(rng, 150, 190),
        "MA_20_EXTENSION": lambda rng: _numbers(rng, 155, 185),
        "TECHNOLOGY_EXTENSION": lambda rng: ["AAPL", "GOOG", "MSFT", "NVDA", *_symbols(rng, 996)],
        "AUTOMOBILE_EXTENSION": lambda rng: ["TSLA", "F", "GM", *_symbols(rng, 997)],
        "ORDER_DETAIL_EXTENSION": _order_details,
        "FILE_CONTENT_EXTENSION": lambda rng: _prose(rng, "report", 3251),
        "POPULATE_FILE_EXTENSION": lambda rng: [
            f"photo_{number}.jpg" for number in rng.sample(range(10**9, 10**10), 30)
        ],
        "CAR_STATUS_METADATA_EXTENSION": _car_status,
        "LONG_WEATHER_EXTENSION": _weather,
        "PARKING_BRAKE_INSTRUCTION": lambda rng: _prose(rng, "brake", 9710),
        "INTERMEDIARY_CITIES": _cities,
        "CREDIT_CARD_EXTENSION": _cards,
        "BOOKING_RECORD_EXTENSION": _bookings,
        "FILES_TAIL_USED": lambda rng: list(_words()["untouched_files"]),
    }


@cache
def _words() -> Parsed:
    """Material of our texts, by topic: ``patterns``, and words for each of their places."""
    return tomllib.loads(Path(__file__).with_name("long_context.toml").read_text(encoding="utf-8"))


def _symbols(rng: random.Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choices(_LETTERS, k=rng.randint(2, 5)))] = None
    return list(found)


def _numbers(rng: random.Random, low: int, high: int) -> list[float]:
    return [rng.randint(low * 100, high * 100) / 100 for _ in range(2000)]


def _transactions(rng: random.Random) -> list[Parsed]:
    def stamp() -> str:
        day = f"{rng.randint(2021, 2023)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        return (
            f"{day} {rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}.{rng.randint(0, 999999):06}"
        )

    return [
        {"type": rng.choice(["deposit", "withdrawal"]), "amount": rng.randint(100, 900_000) / 100, "timestamp": stamp()}
        for _ in range(1000)
    ]


def _fill(rng: random.Random, pattern: str, words: Mapping[str, Sequence[str]]) -> str:
    """One sentence: every ``{kind}`` replaced by a random word of that kind."""
    parts = pattern.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        kind, _, rest = part.partition("}")
        filled.append(rng.choice(words[kind]) + rest)
    sentence = "".join(filled)
    return sentence[0].upper() + sentence[1:]


def _prose(rng: random.Random, topic: str, size: int) -> str:
    """Running text of exactly ``size`` characters, ending in a full stop."""
    words = _words()[topic]
    text = ""
    while len(text) < size:
        text += _fill(rng, rng.choice(words["patterns"]), words) + " "
    return text[: size - 1].rstrip(" .,").ljust(size - 1, ".") + "."


def _order_details(rng: random.Random) -> dict[str, str]:
    topics = ("profile", "market", "chart", "accounts", "hazards", "prospects", "track_record", "environment")
    patterns = (
        "Observers of {symbol} note a {adjective} {noun} this {period}.",
        "The {noun} of {symbol} has been {adjective} compared with its peers.",
        "For the coming {period}, {symbol} plans to keep its {noun} {adjective}.",
    )
    words = {
        "symbol": ("{symbol}",),
        "adjective": ("stable", "broad", "cautious", "growing", "modest", "well documented"),
        "noun": ("order book", "product range", "cash position", "supply chain", "dividend policy", "customer base"),
        "period": ("quarter", "year", "season"),
    }
    return {topic: " ".join(_fill(rng, rng.choice(patterns), words) for _ in range(12)) for topic in topics}


def _car_status(rng: random.Random) -> str:
    parts = ("Pump", "Valve", "Sensor", "Filter", "Lamp", "Relay", "Fan", "Hinge", "Belt", "Gauge")
    places = ("Front", "Rear", "Left", "Right", "Upper", "Lower", "Cabin", "Roof", "Boot", "Axle")
    states = ("Normal", "Closed", "Standby", "Checked", "Idle", "Sealed")
    text = ""
    while len(text) < 6503:
        text += f"{rng.choice(places)}{rng.choice(parts)}{rng.randint(1, 99)}: {rng.choice(states)}; "
    return text[:6502].rstrip(" ;:").ljust(6502, ".") + "."


def _weather(rng: random.Random) -> dict[str, dict[str, float]]:
    return {
        f"-{day}_day": {
            "windSpeed": rng.randint(0, 60) / 2,
            "humidity": rng.randint(60, 190) / 2,
            "precipitation": rng.randint(0, 40) / 2,
            "uvIndex": rng.randint(0, 10),
            "visibility": rng.randint(2, 40) / 2,
            "airPressure": rng.randint(1960, 2080) / 2,
            "dewPoint": rng.randint(-20, 40) / 2,
        }
        for day in range(1, 16)
    }


def _cities(rng: random.Random) -> list[str]:
    first = ("Alder", "Birch", "Copper", "Dun", "Elm", "Fen", "Glass", "Heron", "Iron", "Juniper", "Kettle", "Lark")
    more = ("Moss", "Nettle", "Otter", "Pebble", "Quarry", "Reed", "Salt", "Thistle", "Umber", "Vine", "Wren", "Yarrow")
    last = ("bridge", "by", "combe", "dale", "ferry", "gate", "haven", "holt", "mere", "moor", "stead", "wick")
    titles = ("", "Lower ", "Upper ", "East ")
    names = [f"{title}{start}{end}" for title in titles for start in first + more for end in last]
    return rng.sample(names, 826)


def _cards(rng: random.Random) -> dict[str, Parsed]:
    holders = ("Ada Birch", "Ben Cole", "Cleo Dunn", "Dov Ernst", "Eva Frost", "Finn Gray", "Gia Holm", "Hugo Ives")
    numbers = [str(number) for number in rng.sample(range(10**15, 10**16), 22)]
    return {
        number: {
            "card_number": number,
            "expiration_date": f"{rng.randint(1, 12):02}/{rng.randint(26, 31)}",
            "cardholder_name": rng.choice(holders),
            "card_verification_number": rng.randint(100, 999),
            "balance": float(rng.randint(10, 300) * 50),
        }
        for number in numbers
    }


def _bookings(rng: random.Random) -> dict[str, Parsed]:
    cards = list(_cards(random.Random("bfcl CREDIT_CARD_EXTENSION")))
    airports = ("SFO", "LAX", "JFK", "ORD", "BOS", "RMS", "SBK", "MPC")
    found: dict[str, Parsed] = {}
    for number in range(16):
        start, end = rng.sample(airports, 2)
        found[f"booking_{rng.randint(10, 99)}{number:02}"] = {
            "card_id": rng.choice(cards),
            "travel_date": f"2023-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            "travel_from": start,
            "travel_to": end,
            "travel_class": rng.choice(["economy", "business", "first"]),
            "travel_cost": float(rng.randint(10, 90) * 10),
            "transaction_id": f"payment_{number + 1:03}",
        }
    return found
