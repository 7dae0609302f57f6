"""The starting configurations of simulators, drawn for each task."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from pytest_bfcl.extensions.lab.literals import listed
from pytest_bfcl.extensions.training.generating.language import (
    FAMILIES,
    HANDLES,
    PEOPLE,
    line,
    note,
    term,
    title,
    topic,
)
from pytest_bfcl.json_types import Parsed

DOORS = ("driver", "passenger", "rear_left", "rear_right")
STEMS = listed("analysis budget diary draft ideas list log minutes notes plan proposal report results summary todo")
_FOLDERS = listed(
    "archive archives backup data documents drafts finished inbox plans projects reports research results shared temp workspace"
)
_INVENTED = listed(
    "ALDR BRIO CLEM DUNE EMBR FERN GLEN HALO IRIS JUTE KELP LARK MOSS NORD OATS PLUM QUAY REED SAGE TARN"
)
_LISTED = listed("AAPL GOOG MSFT NVDA TSLA")
_SECRETS = ("kelp.Forest9", "Mosaic-41", "two!Lanterns", "paper_boat7", "north&south3")


def files(rng: Random) -> Parsed:
    """A folder of one theme with some folders and files in it."""
    theme = topic(rng)
    contents: Parsed = {}
    for name in rng.sample(_FOLDERS, rng.randint(2, 3)):
        contents[name] = {"type": "directory", "contents": _files(rng, theme, rng.randint(2, 3))}
    contents |= _files(rng, theme, rng.randint(4, 6))
    return {"root": {theme: {"type": "directory", "contents": contents}}}


def _files(rng: Random, theme: str, count: int) -> Parsed:
    made: Parsed = {}
    while len(made) < count:
        if rng.random() < 0.3:
            name = f"{term(rng, theme)}_readings.txt"
            content = "\n".join(str(rng.randrange(21, 399) / 10 + 0.05) for _ in range(rng.randint(4, 6)))
        else:
            name = f"{term(rng, theme)}_{rng.choice(STEMS)}.txt"
            content = "\n".join(line(rng, theme) for _ in range(rng.randint(11, 14)))
        made.setdefault(name, {"type": "file", "content": content})
    return made


def broker(rng: Random) -> Parsed:
    """A broker's account with some stocks and orders."""
    symbols = rng.sample(_INVENTED, 5) + rng.sample(_LISTED, 2)
    stocks = {symbol: _stock(rng) for symbol in symbols}
    first = rng.randint(200, 900)
    orders = {}
    for number, state in enumerate(rng.sample(["Pending", "Open", "Completed", "Pending"], 3), first):
        symbol = rng.choice(symbols)
        orders[str(number)] = {
            "id": number, "order_type": rng.choice(["Buy", "Sell"]), "symbol": symbol,
            "price": stocks[symbol]["price"], "amount": rng.randint(2, 40), "status": state,
        }  # fmt: skip
    balance = rng.randint(3_000, 20_000) + rng.choice([0.25, 0.5, 0.75])
    return {
        "stocks": stocks, "orders": orders, "order_counter": first + 3, "authenticated": rng.random() < 0.8,
        "market_status": "Open", "watch_list": rng.sample(symbols, 2), "transaction_history": [],
        "account_info": {"account_id": rng.randint(10_000, 99_999), "balance": balance,
                         "binding_card": rng.randint(10**15, 10**16 - 1)},
        "random_seed": rng.randint(1, 10**6),
    }  # fmt: skip


def _stock(rng: Random) -> Parsed:
    price = rng.randrange(1_205, 44_995, 5) / 100 + 0.01
    return {
        "price": round(price, 2), "percent_change": rng.randrange(-480, 480) / 100 + 0.005,
        "volume": rng.randrange(110, 4_000) / 1000, "MA(5)": round(price * 0.98, 2), "MA(20)": round(price * 1.03, 2),
    }  # fmt: skip


def travel(rng: Random) -> Parsed:
    """A traveller with four cards, logged in or not."""
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


def car(rng: Random) -> Parsed:
    """A parked car."""
    locked = rng.random() < 0.4
    running = locked and rng.random() < 0.4
    doors = {door: "locked" if locked else rng.choice(["locked", "unlocked"]) for door in DOORS}
    return {
        "random_seed": rng.randint(1, 10**6), "fuelLevel": rng.randint(20, 240) / 10 + 0.05,
        "batteryVoltage": rng.randint(118, 132) / 10, "engineState": "running" if running else "stopped",
        "remainingUnlockedDoors": sum(state == "unlocked" for state in doors.values()), "doorStatus": doors,
        "acTemperature": rng.randint(17, 27) + 0.5, "fanSpeed": rng.randint(20, 80), "acMode": "auto",
        "humidityLevel": rng.randint(30, 60) + 0.5, "headLightStatus": "off",
        "parkingBrakeStatus": rng.choice(["released", "engaged"]), "parkingBrakeForce": 0.0, "slopeAngle": 0.0,
        "distanceToNextVehicle": 50.0, "cruiseStatus": "inactive", "destination": "None",
        "frontLeftTirePressure": rng.randint(27, 35) + 0.5, "frontRightTirePressure": rng.randint(27, 35) + 0.5,
        "rearLeftTirePressure": rng.randint(26, 34) + 0.5, "rearRightTirePressure": rng.randint(26, 34) + 0.5,
    }  # fmt: skip


def messenger(rng: Random) -> Parsed:
    """Four or five people who have written to each other."""
    theme = topic(rng)
    people = rng.sample(PEOPLE, rng.randint(4, 5))
    users = {name: f"USR{number:03}" for number, name in enumerate(people, 1)}
    inbox = [{users[name]: note(rng, theme)} for name in people[1:]]
    return {
        "user_map": users, "user_count": len(users), "inbox": inbox, "message_count": len(inbox),
        "current_user": "USR001" if rng.random() < 0.75 else None, "random_seed": rng.randint(1, 10**6),
    }  # fmt: skip


def posts(rng: Random) -> Parsed:
    """An account among others with some posts."""
    theme = topic(rng)
    names = rng.sample(HANDLES, 7)
    first = rng.randint(11, 60)
    tweets = {
        str(first + n): {
            "id": first + n, "username": name, "content": note(rng, theme), "tags": [f"#{term(rng, theme)}"], "mentions": [],
        }
        for n, name in enumerate(names[:5])
    }  # fmt: skip
    return {
        "username": names[0], "password": rng.choice(_SECRETS), "authenticated": rng.random() < 0.7, "tweets": tweets,
        "comments": {}, "retweets": {}, "following_list": names[5:6], "tweet_counter": first + 5,
    }  # fmt: skip


def tickets(rng: Random) -> Parsed:
    """A few tickets of one user, two of them resolved."""
    user, theme, first = rng.choice(PEOPLE).lower(), topic(rng), rng.randint(3, 70)
    states = ["Open"] * 4 + ["Resolved"] * 2
    rng.shuffle(states)
    queue = [
        {"id": first + n, "title": title(rng, theme), "description": note(rng, theme), "status": state,
         "priority": rng.randint(1, 5), "created_by": user}
        for n, state in enumerate(states)
    ]  # fmt: skip
    logged_in = rng.random() < 0.7
    return {"ticket_queue": queue, "ticket_counter": first + len(queue), "current_user": user if logged_in else None}


def sums(rng: Random) -> Parsed:
    """Nothing: sums over other calls' results have no state, so they are rarely alone in a task."""
    return {}


WORLDS: tuple[tuple[str, str, Callable[[Random], Parsed]], ...] = (
    ("files", "GorillaFileSystem", files), ("broker", "TradingBot", broker), ("travel", "TravelAPI", travel),
    ("car", "VehicleControlAPI", car), ("messenger", "MessageAPI", messenger), ("posts", "TwitterAPI", posts),
    ("tickets", "TicketAPI", tickets), ("sums", "MathAPI", sums),
)  # fmt: skip
"""Table, class name, world."""
