"""MessageAPI: contacts and messages of a group."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.domains.words import PEOPLE, note, term, topic
from pytest_bfcl.extensions.training.generating.moves import TEXT, Domain, Gift, Kind, Measure, Move, State
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


def _theme(rng: Random) -> str:
    return topic(rng)


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
    """So many messages with the word that is searched for."""
    users = [number for number in config["user_map"].values() if number != "USR001"]
    kept = [each for each in config["inbox"] if given["keyword"].lower() not in str(each).lower()]
    config["inbox"] = kept + [{users[n % len(users)]: f"The {given['keyword']}, part {n}."} for n in range(int(value))]
    config["message_count"] = len(config["inbox"])


def _is_found(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    _found(config, given, 2 if holds else 0)


def _id_of(given: Any, result: Any) -> object:
    return result["user_id"]


DOMAIN = Domain(
    "MessageAPI",
    world,
    kinds={
        "person": Kind(_others, again=True, vague=("somebody from the group",), told=("I mean {}.", "{}.", "It's {}.")),
        "stranger": Kind(_stranger, vague=("someone",), told=("The name is {}.", "{}.")),
        "receiver": Kind(lambda app, rng: rng.choice([n for n in app.user_map.values() if n != app.current_user]),
                         ("{}", "user {}"), vague=("one of them",), told=("To {}.", "It should go to {}."), form=r"USR\d+"),
        "message": Kind(lambda app, rng: note(rng, _theme(rng)), ('"{}"', 'the message "{}"'), vague=("a quick note",),
                        told=("It should say {}.", "The text is {}.", "Just write {}."), form=TEXT),
        "keyword": Kind(lambda app, rng: term(rng, topic(rng)), ('"{}"', "the word {}"), vague=("a certain word",),
                        told=("I mean {}.", "{}.")),
        "own_id": Kind(lambda app, rng: "USR001"),
    },
    moves=(
        Move("get_user_id", ("[look up|get|retrieve] [the |][user id|ID] of {user}", "[find out|see|determine] [which|what] [user |]id {user} has"), {"user": "person"},
             ("What is the user id of {user}?",), weight=1.5, fails=_nobody, leads=("send_message",),
             gives={"receiver": Gift(lambda r: r["user_id"], ("that user", "that person"), ("{user} (by the id you found)",))},
             measure=Measure("user id", lambda r: int(r["user_id"][3:]), (), None, ("receiver", _id_of))),
        Move("add_contact", ("add {user_name} as a [new |]contact", "make {user_name} a new contact", "[create|register] a contact [named|called] {user_name}"), {"user_name": "stranger"},
             gives={"receiver": Gift(lambda r: r["user_id"], ("the new contact",), ("{user_name} (the new contact)",))}),
        Move("send_message", ("send {receiver_id} {message}", "[write|dispatch|deliver|text] {message} to {receiver_id}", "[send|pass] {message} [over |along |]to {receiver_id}",
                              "message {receiver_id}[: | with ]{message}"),
             {"receiver_id": "receiver", "message": "message"}, weight=4, leads=("view_messages_sent",)),
        Move("delete_message", ("[delete|remove|retract] the [latest|last|most recent] message to {receiver_id}", "take back the last message that went to {receiver_id}"),
             {"receiver_id": "receiver"}),
        Move("search_messages", ("[search|comb|look through] the messages for {keyword}",), {"keyword": "keyword"},
             ("Which messages mention {keyword}?",), measure=Measure("number of matches", lambda r: len(r["results"]), (2, 3, 4), _found),
             state=State("[there is|you find] such a message", lambda a, r, v: bool(r["results"]), _is_found)),
        Move("view_messages_sent", ("[show|list] me all messages [that were|I have|I've] sent", "[review|display|view|check] [all |]the messages [I sent|I've sent|sent so far]"), {},
             ("What has been sent so far?", "Which messages have I sent?"), once=True, weight=2),
        Move("list_users", ("list all users", "[show|tell] me who is in the messenger"), {}, ("Who is in the messenger?",), once=True,
             state=State("{value} is [already |]in there", lambda a, r, v: v in r["user_list"], _known, "stranger")),
        Move("get_message_stats", ("[show|give] me the message statistics", "[check|review] my message statistics"), {}, once=True,
             measure=Measure("received count", lambda r: r["stats"]["received_count"], (3, 4, 5, 6), _received)),
    ),
    scenes=("I have some messages to take care of.", "Let's catch up with the group.", "I need to get word to a few people."),
    first=Move("message_login", ("log me in to the messenger as {user_id}", "[sign|log] in to the messages with the user id {user_id}"),
               {"user_id": "own_id"}, once=True, weight=2),
    locked=lambda app: not app.current_user,  # type: ignore[attr-defined]
)  # fmt: skip
