"""TicketAPI: a queue of tickets."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.domains.words import PEOPLE, note, title, topic
from pytest_bfcl.extensions.training.generating.moves import Domain, Gift, Kind, Measure, Move, State, one_of, whole
from pytest_bfcl.json_types import Parsed


def world(rng: Random) -> Parsed:
    """A few tickets of one user, one of them resolved."""
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


def _of(*states: str) -> Any:
    def draw(desk: Any, rng: Random) -> object:
        found = [each["id"] for each in desk.ticket_queue if each["status"] in states]
        return rng.choice(found) if found else None

    return draw


def _changes(desk: Any, given: Any) -> bool:
    ticket: Any = next((each for each in desk.ticket_queue if each["id"] == given["ticket_id"]), {})
    return any(ticket.get(key) != value for key, value in given["updates"].items())


def _in_queue(config: Parsed, given: Any) -> Parsed:
    found: Parsed = next(each for each in config["ticket_queue"] if each["id"] == given["ticket_id"])
    return found


def _settled(config: Parsed, given: Any, fails: Any) -> None:
    _in_queue(config, given)["status"] = "Resolved" if fails else "Open"


def _is_settled(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    _settled(config, given, holds)


def _urgent(config: Parsed, given: Any, value: Any) -> None:
    _in_queue(config, given)["priority"] = int(value)


_TICKET = ("ticket {}", "ticket number {}", "ticket #{}")
_MADE = Gift(lambda r: r["id"], ("that ticket", "the [new|fresh] ticket"), ("the ticket titled {title}",))

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
        "urgency": Kind(whole(2, 5), ("priority {}", "priority level {}"), vague=("another priority",), told=("{}.", "Make it {}.")),
        "state": Kind(one_of("Open", "Resolved"), ("{}",)),
        "fix": Kind(lambda desk, rng: note(rng, topic(rng)), ('"{}"',), vague=("what we did about it",), told=("The resolution is {}.", "Write {}.")),
        "user": Kind(lambda desk, rng: desk.ticket_queue[0]["created_by"]),
        "password": Kind(one_of("grille#4", "Zinc-and-Tin", "oldKettle22", "fjord_91")),
    },
    moves=(
        Move("create_ticket",
             ("[open|raise|file] a [support |]ticket titled {title} with {priority} [and|plus] [the description|details] {description}",
              "[create|submit|log] a [support |]ticket, {priority}, title {title}, description {description}"),
             {"title": "title", "priority": "urgency", "description": "message"}, weight=3,
             gives={"ticket": _MADE, "open_ticket": _MADE}),
        Move("get_ticket", ("[show|give] me [the details of |]{ticket_id}", "[pull up|retrieve|check|look at] {ticket_id}"), {"ticket_id": "ticket"}, ("What is {ticket_id} about?",),
             gives={"message": Gift(lambda r: r["description"], ("the same description",), ("the same description as {ticket_id}",))}, weight=1.5,
             measure=Measure("priority", lambda r: r["priority"], (2, 3, 4), _urgent, ("ticket", lambda a, r: a["ticket_id"])),
             state=State("[it is|its status is|it shows as] [resolved|Resolved]", lambda a, r, v: r["status"] == "Resolved", _is_settled)),
        Move("edit_ticket", ("[change|update] {ticket_id} to {updates}", "set {ticket_id} to {updates}"),
             {"ticket_id": "ticket", "updates": "urgency"}, shape={"updates": "priority"}, fits=_changes),
        Move("edit_ticket", ("rename {ticket_id} to {updates}", "give {ticket_id} the title {updates}"),
             {"ticket_id": "ticket", "updates": "title"}, shape={"updates": "title"}, fits=_changes),
        Move("resolve_ticket", ("resolve {ticket_id} with the resolution {resolution}", "mark {ticket_id} as resolved, [noting|writing] {resolution}",
                                "set {ticket_id} as resolved with {resolution}"),
             {"ticket_id": "open_ticket", "resolution": "fix"}, weight=2, fails=_settled),
        Move("close_ticket", ("close {ticket_id}", "shut {ticket_id}[| for good]"), {"ticket_id": "open_ticket"}, weight=1.5),
        Move("get_user_tickets", ("list my tickets with the status {status}",), {"status": "state"},
             ("Which of my tickets have the status {status}?",), once=True),
        Move("get_user_tickets", ("list all my tickets",), {}, ("Which tickets have I opened?",), once=True),
    ),
    scenes=("I'm going through the tickets.", "There are some problems to report.", "Let's work on the ticket queue."),
    first=Move("ticket_login", ("log [me |][in|on] to the [ticket system|ticketing|helpdesk] as {username}, password {password}", "[sign|log] in to [my|the] ticket [account|system] as {username} with the password {password}"),
               {"username": "user", "password": "password"}, once=True, weight=2),
    locked=lambda desk: not desk.current_user,  # type: ignore[attr-defined]
)  # fmt: skip
