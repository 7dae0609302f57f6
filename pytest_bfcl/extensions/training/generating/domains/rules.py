"""The few rules of domains that need code: values drawn from a simulator, fits, parts of results, edits of worlds.

An edit (`.moves.Edit`) changes a configuration so that a call has the wanted result, or so that something holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from pytest_bfcl.extensions.lab.literals import listed
from pytest_bfcl.extensions.training.generating.domains.worlds import DOORS, STEMS
from pytest_bfcl.extensions.training.generating.language import HANDLES, PEOPLE, TOPICS, note, term, topic
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators.file_tree import Directory, File
from pytest_bfcl.simulators.toolkit import DISTANCES, FARES, NEAREST_AIRPORTS, USD_RATES, ZIP_CODES

_MONTHS = listed("January February March April May June July August September October November December")
_FARES = sorted(FARES)
_TOWNS = sorted(town for town, code in ZIP_CODES.items() if sum(code in way for way in DISTANCES) > 1)
"""Towns with several known ways."""
_STREETS = ("Mill Lane", "Harbor Road", "Juniper Street", "Old Quarry Way", "Station Square", "Linden Avenue")

# -- values ------------------------------------------------------------------------------------------------------------


def _one_of(found: list[Any], rng: Random) -> object:
    """One of the values; ``None`` without any."""
    return rng.choice(found) if found else None


def _here(kind: type) -> Callable[[Any, Random], object]:
    return lambda fs, rng: _one_of(
        sorted(name for name, node in fs._current_dir.contents.items() if isinstance(node, kind)), rng
    )


def _theme(fs: Any) -> str:
    return fs.root.name if fs.root.name in TOPICS else "garden"


def _new_file(fs: Any, rng: Random) -> str:
    first = rng.choice(["new", "final", "copy_of", "more", "my"])
    return f"{first}_{term(rng, _theme(fs))}_{rng.choice(STEMS)}.txt"


def _new_folder(fs: Any, rng: Random) -> str:
    return f"{term(rng, _theme(fs))}_{rng.choice(['2026', '2027', 'box', 'stuff', 'corner', 'backup'])}"


def _since(first: date, days: int) -> Callable[[object, Random], str]:
    return lambda simulator, rng: (first + timedelta(days=rng.randrange(days))).isoformat()


def _written(day: str, rng: Random) -> str:
    found = date.fromisoformat(day)
    month = _MONTHS[found.month - 1]
    return rng.choice([day, f"{month} {found.day}, {found.year}", f"{found.day} {month} {found.year}"])


DRAWS: Mapping[str, Callable[[Any, Random], object]] = {
    "file": _here(File), "folder": _here(Directory), "new_file": _new_file, "new_folder": _new_folder,
    "text": lambda fs, rng: note(rng, _theme(fs)), "pattern": lambda fs, rng: term(rng, _theme(fs)),
    "some_symbols": lambda bot, rng: rng.sample(sorted(bot.stocks), 3),
    "origin": lambda travel, rng: rng.choice(_FARES)[0], "destination": lambda travel, rng: rng.choice(_FARES)[1],
    "day": _since(date(2027, 1, 10), 600), "born": _since(date(1955, 1, 10), 16_000), "written": _written,
    "cards": lambda travel, rng: _one_of(
        [card for card, told in travel.credit_card_list.items() if told["balance"] > 5_000], rng),
    "city": lambda travel, rng: rng.choice(sorted(NEAREST_AIRPORTS)),
    "currency": lambda travel, rng: rng.choice(sorted({*USD_RATES} - {"USD"})),
    "holder": lambda travel, rng: f"{travel.user_first_name} {travel.user_last_name}",
    "until": lambda travel, rng: f"{rng.randint(1, 12):02}/20{rng.randint(28, 33)}",
    "address": lambda car, rng: f"{rng.randint(2, 98)} {rng.choice(_STREETS)}, {rng.choice(sorted(ZIP_CODES))}",
    "town": lambda car, rng: rng.choice(_TOWNS),
    "others": lambda app, rng: _one_of([n for n, number in app.user_map.items() if number != app.current_user], rng),
    "stranger": lambda app, rng: rng.choice([name for name in PEOPLE if name not in app.user_map]),
    "receiver": lambda app, rng: rng.choice([each for each in app.user_map.values() if each != app.current_user]),
    "tweets": lambda feed, rng: _one_of(
        sorted(number for number, tweet in feed.tweets.items() if tweet["username"] != feed.username), rng),
    "authors": lambda feed, rng: rng.choice(sorted({tweet["username"] for tweet in feed.tweets.values()})),
    "tags": lambda feed, rng: [f"#{each}" for each in sorted({term(rng, topic(rng)) for _ in range(2)})],
    "handles": lambda feed, rng: [f"@{each}" for each in rng.sample(HANDLES, rng.randint(1, 2))],
    "account": lambda feed, rng: rng.choice([h for h in HANDLES if h not in (feed.username, *feed.following_list)]),
    "followed": lambda feed, rng: _one_of(feed.following_list, rng),
    "tagged": lambda feed, rng: rng.choice(sorted(each[1:] for tweet in feed.tweets.values() for each in tweet["tags"])),
    "any_ticket": lambda desk, rng: rng.choice([each["id"] for each in desk.ticket_queue]),
    "open_ticket": lambda desk, rng: _one_of([t["id"] for t in desk.ticket_queue if t["status"] == "Open"], rng),
    "creator": lambda desk, rng: desk.ticket_queue[0]["created_by"],
    "several": lambda sums, rng: [round(rng.randrange(21, 899) / 10 + 0.05, 2) for _ in range(rng.randint(3, 5))],
    "signed": lambda sums, rng: rng.choice((-1, 1)) * (rng.randrange(12, 900) + 0.5),
}  # fmt: skip

# -- fits and parts of results -----------------------------------------------------------------------------------------


def _at_top(fs: Any, given: Any) -> bool:
    """Whether edits of the first folder are seen from here."""
    return fs._current_dir.parent is None


def _changes(desk: Any, given: Any) -> bool:
    ticket: Any = next((each for each in desk.ticket_queue if each["id"] == given["ticket_id"]), {})
    return any(ticket.get(key) != value for key, value in given["updates"].items())


def _numbers(result: Any) -> object:
    """The lines of a file as numbers, if they are."""
    try:
        return [float(each) for each in result["file_content"].splitlines()] or None
    except ValueError:
        return None


LOOKS: Mapping[str, Callable[..., Any]] = {
    "at_top": _at_top, "below_top": lambda fs, given: not _at_top(fs, given), "changes": _changes,
    "two_files": lambda fs, given: given["file_name1"] != given["file_name2"],
    "watched": lambda bot, given: given["symbol"] in bot.watch_list,
    "unwatched": lambda bot, given: given["stock"] not in bot.watch_list,
    "some_door_open": lambda car, given: car.remainingUnlockedDoors > 0,
    "passenger_locked": lambda car, given: car.doorStatus["passenger"] == "locked" and car.engine_state == "stopped",
    "numbers": _numbers, "words": lambda result: result["file_content"] if _numbers(result) is None else None,
    "user_number": lambda result: int(result["user_id"][3:]), "matches": lambda result: len(result["results"]),
    "first_id": lambda result: result[0]["id"] if len(result) == 1 else None,
    "result_number": lambda result: result["result"] if isinstance(result["result"], int | float) else None,
    "last_one": lambda given, result, value: result["result"] == given["numbers"][-1],
}  # fmt: skip

# -- edits -------------------------------------------------------------------------------------------------------------


def _top(config: Parsed) -> Parsed:
    (root,) = config["root"].values()
    found: Parsed = root["contents"]
    return found


def _worded(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    file = _top(config)[given["file_name"]]
    words = (file["content"].split() * 30)[: int(value)]
    file["content"] = "\n".join(" ".join(words[n : n + 7]) for n in range(0, len(words), 7))


def _empty_file(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    file = _top(config)[given["file_name"]]
    file["content"] = "" if holds else file["content"] or "not empty any more"


def _there(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    if holds:
        _top(config)[value] = {"type": "file", "content": f"kept {len(value)}"}


def _taken(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    if holds:
        _top(config)[given["destination"]] = {"type": "file", "content": "kept for later"}


def _poor(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    config["account_info"]["balance"] = round(given["price"] * given["amount"] * (0.6 if holds else 5) + 7.25, 2)


def _empty_card(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    config["credit_card_list"][given["card_id"]]["balance"] = 0 if holds else 18_450 + len(given["card_id"])


def _too_full(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    room = 50 - given["fuelAmount"]
    config["fuelLevel"] = round(max(room + 0.85, 1.0) if holds else room - 0.65, 2)


def _unready(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    config |= {"engineState": "stopped", "remainingUnlockedDoors": 0, "doorStatus": dict.fromkeys(DOORS, "locked"),
               "brakePedalStatus": "released" if holds else "pressed", "brakePedalForce": 0.0 if holds else 1000.0}  # fmt: skip


def _running(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    _unready(config, given, value, not holds)
    config["engineState"] = "running" if holds else "stopped"


def _nobody(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    users = config["user_map"]
    if holds and (number := users.pop(given["user"], None)):
        users[f"{given['user']}-Lou"] = number


def _known(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    users = config["user_map"]
    last = list(users)[-1]
    if holds:
        config["user_map"] = {value if name == last else name: number for name, number in users.items()}


def _received(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    config["inbox"] = [{_writer(config, n): f"Number {n}."} for n in range(int(value))]
    config["message_count"] = int(value)


def _found(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    """A number of messages with the word that is searched for."""
    kept = [each for each in config["inbox"] if given["keyword"].lower() not in str(each).lower()]
    told = [{_writer(config, n): f"The {given['keyword']}, part {n}."} for n in range(int(value))]
    config |= {"inbox": kept + told, "message_count": len(kept) + len(told)}


def _writer(config: Parsed, number: int) -> str:
    users = [each for each in config["user_map"].values() if each != "USR001"]
    return str(users[number % len(users)])


def _gone(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    if holds:
        config["tweets"].pop(str(given["tweet_id"]))


def _busy(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    """A number of one account's tweets: as the last ones, or without those that are too many."""
    tweets, name = config["tweets"], given["username"]
    own = [number for number, tweet in tweets.items() if tweet["username"] == name]
    for number in own[int(value) :]:
        tweets.pop(number)
    for _ in range(int(value) - len(own)):
        number = config["tweet_counter"]
        tweets[str(number)] = {"id": number, "username": name, "content": f"Note {number}.", "tags": [], "mentions": []}
        config["tweet_counter"] = number + 1


EDITS: Mapping[str, Callable[[Parsed, Any, Any, bool], object]] = {
    "worded": _worded, "empty_file": _empty_file, "there": _there, "taken": _taken, "poor": _poor,
    "empty_card": _empty_card, "too_full": _too_full, "unready": _unready, "running": _running, "nobody": _nobody,
    "known": _known, "received": _received, "found": _found, "gone": _gone, "busy": _busy,
    "is_found": lambda config, given, value, holds: _found(config, given, 2 if holds else 0, holds),
    "as_drawn": lambda config, given, value, holds: None,
}  # fmt: skip
RULES: Mapping[str, Callable[..., Any]] = {**DRAWS, **LOOKS, **EDITS}
