"""TicketAPI: a queue of tickets."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.moves import domain_of
from pytest_bfcl.extensions.training.generating.words import PEOPLE, note, title, topic
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


def _open_ticket(desk: Any, rng: Random) -> object:
    found = [each["id"] for each in desk.ticket_queue if each["status"] == "Open"]
    return rng.choice(found) if found else None


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


DOMAIN = domain_of("tickets", "TicketAPI", world, {
    "any_ticket": lambda desk, rng: rng.choice([each["id"] for each in desk.ticket_queue]),
    "open_ticket": _open_ticket, "creator": lambda desk, rng: desk.ticket_queue[0]["created_by"], "changes": _changes,
    "settled": _settled, "is_settled": _is_settled, "urgent": _urgent,
})  # fmt: skip
