"""MessageAPI: contacts and messages of a group."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.moves import domain_of
from pytest_bfcl.extensions.training.generating.words import PEOPLE, note, topic
from pytest_bfcl.json_types import Parsed


def world(rng: Random) -> Parsed:
    """Four or five people who have written to each other."""
    theme = topic(rng)
    people = rng.sample(PEOPLE, rng.randint(4, 5))
    users = {name: f"USR{number:03}" for number, name in enumerate(people, 1)}
    inbox = [{users[name]: note(rng, theme)} for name in people[1:]]
    return {
        "user_map": users, "user_count": len(users), "inbox": inbox, "message_count": len(inbox),
        "current_user": "USR001" if rng.random() < 0.75 else None, "random_seed": rng.randint(1, 10**6),
    }  # fmt: skip


def _others(app: Any, rng: Random) -> object:
    others = [name for name, number in app.user_map.items() if number != app.current_user]
    return rng.choice(others) if others else None


def _stranger(app: Any, rng: Random) -> object:
    strangers = [name for name in PEOPLE if name not in app.user_map]
    return rng.choice(strangers)


def _nobody(config: Parsed, given: Any, fails: Any) -> None:
    users = config["user_map"]
    if fails and (number := users.pop(given["user"], None)):
        users[f"{given['user']}-Lou"] = number


def _known(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    users = config["user_map"]
    last = list(users)[-1]
    if holds:
        config["user_map"] = {value if name == last else name: number for name, number in users.items()}


def _received(config: Parsed, given: Any, value: Any) -> None:
    users = [number for number in config["user_map"].values() if number != "USR001"]
    config["inbox"] = [{users[n % len(users)]: f"Number {n}."} for n in range(int(value))]
    config["message_count"] = int(value)


def _found(config: Parsed, given: Any, value: Any) -> None:
    """A number of messages with the word that is searched for."""
    users = [number for number in config["user_map"].values() if number != "USR001"]
    kept = [each for each in config["inbox"] if given["keyword"].lower() not in str(each).lower()]
    config["inbox"] = kept + [{users[n % len(users)]: f"The {given['keyword']}, part {n}."} for n in range(int(value))]
    config["message_count"] = len(config["inbox"])


def _is_found(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    _found(config, given, 2 if holds else 0)


DOMAIN = domain_of("messenger", "MessageAPI", world, {
    "others": _others, "stranger": _stranger, "nobody": _nobody, "known": _known, "received": _received,
    "found": _found, "is_found": _is_found,
    "receiver": lambda app, rng: rng.choice([each for each in app.user_map.values() if each != app.current_user]),
    "user_number": lambda result: int(result["user_id"][3:]), "matches": lambda result: len(result["results"]),
})  # fmt: skip
