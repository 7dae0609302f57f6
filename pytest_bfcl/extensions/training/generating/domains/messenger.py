"""MessageAPI: contacts and messages of a group."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.domains.words import PEOPLE, note, term, topic
from pytest_bfcl.extensions.training.generating.moves import Detour, Domain, Gift, Kind, Move
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


def _unknown(app: Any, rng: Random) -> Detour | None:
    if not app.current_user:
        return None
    name = str(_stranger(app, rng))
    words = rng.choice(
        [
            "Look up the user id of {n}. If there is no such user, add {n} as a contact.",
            "What is {n}'s user id? In case nobody of that name is known, add {n} to the contacts.",
            "Find {n}'s id for me, and if the name is unknown, make {n} a new contact.",
        ]
    )
    return Detour(words.format(n=name), ("get_user_id", {"user": name}), (("add_contact", {"user_name": name}),))


DOMAIN = Domain(
    "MessageAPI",
    world,
    kinds={
        "person": Kind(_others, again=True, vague=("somebody from the group",), told=("I mean {}.", "{}.", "It's {}.")),
        "stranger": Kind(_stranger, vague=("someone",), told=("The name is {}.", "{}.")),
        "receiver": Kind(lambda app, rng: rng.choice([n for n in app.user_map.values() if n != app.current_user]),
                         ("{}", "user {}"), vague=("one of them",), told=("To {}.", "It should go to {}.")),
        "message": Kind(lambda app, rng: note(rng, _theme(rng)), ('"{}"', 'the message "{}"'), vague=("a quick note",),
                        told=("It should say {}.", "The text is {}.", "Just write {}.")),
        "keyword": Kind(lambda app, rng: term(rng, topic(rng)), ('"{}"', "the word {}"), vague=("a certain word",),
                        told=("I mean {}.", "{}.")),
        "own_id": Kind(lambda app, rng: "USR001"),
    },
    moves=(
        Move("get_user_id", ("look up the user id of {user}", "find out which user id {user} has"), {"user": "person"},
             ("What is the user id of {user}?",), weight=2,
             gives={"receiver": Gift(lambda r: r["user_id"], ("that user", "that person"), ("{user} (by the id you found)",))}),
        Move("add_contact", ("add {user_name} as a contact", "make {user_name} a new contact"), {"user_name": "stranger"},
             gives={"receiver": Gift(lambda r: r["user_id"], ("the new contact",), ("{user_name} (the new contact)",))}),
        Move("send_message", ("send {receiver_id} {message}", "write {message} to {receiver_id}"),
             {"receiver_id": "receiver", "message": "message"}, weight=3),
        Move("delete_message", ("delete the latest message to {receiver_id}", "take back the last message that went to {receiver_id}"),
             {"receiver_id": "receiver"}),
        Move("search_messages", ("search the messages for {keyword}",), {"keyword": "keyword"},
             ("Which messages mention {keyword}?",)),
        Move("view_messages_sent", ("show me all messages that were sent",), {}, ("What has been sent so far?",), once=True),
        Move("list_users", ("list all users",), {}, ("Who is in the messenger?",), once=True),
        Move("get_message_stats", ("show me the message statistics",), {}, once=True),
    ),
    scenes=("I have some messages to take care of.", "Let's catch up with the group.", "I need to get word to a few people."),
    detours=(_unknown,),
    first=Move("message_login", ("log me in to the messenger as {user_id}", "sign in to the messages with the user id {user_id}"),
               {"user_id": "own_id"}, once=True),
    locked=lambda app: not app.current_user,  # type: ignore[attr-defined]
)  # fmt: skip
