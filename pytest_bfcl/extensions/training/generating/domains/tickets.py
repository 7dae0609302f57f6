"""TicketAPI: a queue of tickets."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.domains.words import PEOPLE, note, title, topic
from pytest_bfcl.extensions.training.generating.moves import Detour, Domain, Gift, Kind, Move, one_of, whole
from pytest_bfcl.json_types import Parsed

_FIXES = (
    "Replaced the part.", "Cleaned and tested it.", "Asked the supplier, who sent a new one.", "It was a loose cable.",
    "Restarted it twice, works again.", "Found it behind the cabinet.", "Updated the list by hand.", "Reset the password.",
)  # fmt: skip


def world(rng: Random) -> Parsed:
    """A few tickets of one user, one of them resolved."""
    user, theme, first = rng.choice(PEOPLE).lower(), topic(rng), rng.randint(3, 70)
    states = ["Open", "Open", "Resolved"]
    rng.shuffle(states)
    queue = [
        {"id": first + n, "title": title(rng, theme), "description": note(rng, theme), "status": state,
         "priority": rng.randint(1, 5), "created_by": user}
        for n, state in enumerate(states)
    ]  # fmt: skip
    logged_in = rng.random() < 0.7
    return {"ticket_queue": queue, "ticket_counter": first + 3, "current_user": user if logged_in else None}


def _of(*states: str) -> Any:
    def draw(desk: Any, rng: Random) -> object:
        found = [each["id"] for each in desk.ticket_queue if each["status"] in states]
        return rng.choice(found) if found else None

    return draw


def _solved(desk: Any, rng: Random) -> Detour | None:
    done, waiting = _of("Resolved")(desk, rng), _of("Open")(desk, rng)
    if done is None or waiting is None:
        return None
    fix = rng.choice(_FIXES)
    words = rng.choice(
        [
            'Resolve ticket {a} with the resolution "{f}" If it is resolved already, resolve ticket {b} with the same words.',
            'Mark ticket {a} as resolved: "{f}" Should that be done already, do the same for ticket {b}.',
        ]
    )
    call = ("resolve_ticket", {"ticket_id": waiting, "resolution": fix})
    failing = ("resolve_ticket", {"ticket_id": done, "resolution": fix})
    return Detour(words.format(a=done, b=waiting, f=fix), failing, (call,))


def _unknown(desk: Any, rng: Random) -> Detour | None:
    if not desk.current_user:
        return None
    missing, urgency, name = desk.ticket_counter + rng.randint(9, 40), rng.randint(2, 5), title(rng, topic(rng))
    words = rng.choice(
        [
            'Raise ticket {a} to priority {p}. If there is no such ticket, open one titled "{t}" with that priority.',
            'Set the priority of ticket {a} to {p}; if that ticket does not exist, create one called "{t}" with priority {p}.',
        ]
    )
    failing = ("edit_ticket", {"ticket_id": missing, "updates": {"priority": urgency}})
    call = ("create_ticket", {"title": name, "priority": urgency})
    return Detour(words.format(a=missing, p=urgency, t=name), failing, (call,))


def _changes(desk: Any, given: Any) -> bool:
    ticket: Any = next((each for each in desk.ticket_queue if each["id"] == given["ticket_id"]), {})
    return any(ticket.get(key) != value for key, value in given["updates"].items())


_TICKET = ("ticket {}", "ticket number {}", "the ticket with the id {}")

DOMAIN = Domain(
    "TicketAPI",
    world,
    kinds={
        "ticket": Kind(lambda desk, rng: rng.choice([each["id"] for each in desk.ticket_queue]), _TICKET,
                       vague=("one of my tickets",), told=("I mean {}.", "{}."), again=True),
        "open_ticket": Kind(_of("Open"), _TICKET, vague=("that ticket",), told=("It's {}.", "{}.")),
        "title": Kind(lambda desk, rng: title(rng, topic(rng)), ('"{}"',), vague=("a proper title",),
                      told=("The title is {}.", "Call it {}.")),
        "message": Kind(lambda desk, rng: note(rng, topic(rng)), ('"{}"',)),
        "urgency": Kind(whole(2, 5), ("priority {}",), vague=("another priority",), told=("{}.", "Make it {}.")),
        "state": Kind(one_of("Open", "Resolved"), ("{}",)),
        "fix": Kind(one_of(*_FIXES), ('"{}"',), vague=("what we did about it",), told=("The resolution is {}.", "Write {}.")),
        "user": Kind(lambda desk, rng: desk.ticket_queue[0]["created_by"]),
        "password": Kind(one_of("grille#4", "Zinc-and-Tin", "oldKettle22", "fjord_91")),
    },
    moves=(
        Move("create_ticket",
             ("open a ticket titled {title} with {priority} and the description {description}",
              "create a ticket, {priority}, title {title}, description {description}"),
             {"title": "title", "priority": "urgency", "description": "message"}, weight=2.5,
             gives={"ticket": Gift(lambda r: r["id"], ("that ticket", "the new ticket"), ("the ticket titled {title}",)),
                    "open_ticket": Gift(lambda r: r["id"], ("that ticket", "the new ticket"), ("the ticket titled {title}",))}),
        Move("get_ticket", ("show me {ticket_id}", "pull up {ticket_id}"), {"ticket_id": "ticket"}, ("What is {ticket_id} about?",),
             gives={"message": Gift(lambda r: r["description"], ("the same description",), ("the same description as {ticket_id}",))}),
        Move("edit_ticket", ("change {ticket_id} to {updates}", "set {ticket_id} to {updates}"),
             {"ticket_id": "ticket", "updates": "urgency"}, weight=1.5, shape={"updates": "priority"}, fits=_changes),
        Move("edit_ticket", ("rename {ticket_id} to {updates}", "give {ticket_id} the title {updates}"),
             {"ticket_id": "ticket", "updates": "title"}, shape={"updates": "title"}, fits=_changes),
        Move("resolve_ticket", ("resolve {ticket_id} with the resolution {resolution}", "mark {ticket_id} as resolved, noting {resolution}"),
             {"ticket_id": "open_ticket", "resolution": "fix"}, weight=1.5),
        Move("get_user_tickets", ("list my tickets with the status {status}",), {"status": "state"},
             ("Which of my tickets have the status {status}?",), once=True),
        Move("get_user_tickets", ("list all my tickets",), {}, ("Which tickets have I opened?",), once=True),
    ),
    scenes=("I'm going through the tickets.", "There are some problems to report.", "Let's work on the ticket queue."),
    detours=(_solved, _unknown),
    first=Move("ticket_login", ("log me in to the ticket system as {username}, password {password}",),
               {"username": "user", "password": "password"}, once=True),
    locked=lambda desk: not desk.current_user,  # type: ignore[attr-defined]
)  # fmt: skip
