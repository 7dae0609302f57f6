"""TicketAPI: a queue of support tickets and one logged-in user (simulators spec §5)."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.toolkit import Simulator, tool

EDITABLE = ("title", "description", "status", "priority")
LOWEST_PRIORITY, HIGHEST_PRIORITY = 1, 5


class TicketAPI(Simulator):
    """A help desk.

    Tickets of a configuration may lack keys; looking for an id then raises `KeyError` at the first ticket without one,
    as in the reference.
    """

    name = "TicketAPI"
    summary = "Help desk: support tickets are opened, read, edited, resolved and closed in one queue."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the state; there is no long-context variant."""
        self.ticket_queue: list[Parsed] = config.get("ticket_queue", [])
        self.ticket_counter: int = config.get("ticket_counter", 1)
        self.current_user: str | None = config.get("current_user")

    def _find(self, ticket_id: int) -> JsonObject | None:
        for ticket in self.ticket_queue:
            if ticket["id"] == ticket_id:
                return ticket
        return None

    def _unknown(self, ticket_id: int) -> JsonObject:
        return self.fails("get_ticket.unknown", f"There is no ticket with the id {ticket_id}.", ticket_id)

    @tool(writes=True)
    def create_ticket(self, title: str, description: str = "", priority: int = 1) -> JsonObject:
        """Open a ticket and put it into the queue. Needs a login.

        Args:
            title: Title of the ticket.
            description: What the ticket is about.
            priority: Urgency, from 1 (lowest) to 5 (highest).

        Returns:
            id (integer): Id of the new ticket.
            title (string): Title of the ticket.
            description (string): What the ticket is about.
            status (string): `Open`.
            priority (integer): Urgency of the ticket.
            created_by (string): The user who opened the ticket.
        """
        if not self.current_user:
            return self.fails("create_ticket.logged_out", "Only a user who is logged in can open tickets.")
        if priority < LOWEST_PRIORITY or priority > HIGHEST_PRIORITY:
            return self.fails(
                "create_ticket.priority", f"The priority must be between {LOWEST_PRIORITY} and {HIGHEST_PRIORITY}."
            )
        ticket: JsonObject = {
            "id": self.ticket_counter,
            "title": title,
            "description": description,
            "status": "Open",
            "priority": priority,
            "created_by": self.current_user,
        }
        self.ticket_queue.append(ticket)
        self.ticket_counter += 1
        return ticket

    @tool(writes=False)
    def get_ticket(self, ticket_id: int) -> JsonObject:
        """Show one ticket. No login needed.

        Args:
            ticket_id: Id of the ticket.

        Returns:
            id (integer): Id of the ticket.
            title (string): Title of the ticket.
            description (string): What the ticket is about.
            status (string): State of the ticket, for instance `Open`, `Resolved` or `Closed`.
            priority (integer): Urgency, from 1 to 5.
            created_by (string): The user who opened the ticket.
        """
        ticket = self._find(ticket_id)
        return self._unknown(ticket_id) if ticket is None else ticket

    @tool(writes=True)
    def close_ticket(self, ticket_id: int) -> JsonObject:
        """Close a ticket. No login needed.

        Args:
            ticket_id: Id of the ticket.

        Returns:
            status (string): What happened.
        """
        ticket = self._find(ticket_id)
        if ticket is None:
            return self._unknown(ticket_id)
        if ticket["status"] == "Closed":
            return self.fails("close_ticket.again", f"Ticket {ticket_id} had been closed before.", ticket_id)
        ticket["status"] = "Closed"
        return {"status": self.say("close_ticket.done", f"Ticket {ticket_id} is now closed.", ticket_id)}

    @tool(writes=True)
    def resolve_ticket(self, ticket_id: int, resolution: str) -> JsonObject:
        """Mark a ticket as resolved and note how. No login needed.

        Args:
            ticket_id: Id of the ticket.
            resolution: How the ticket was resolved.

        Returns:
            status (string): What happened.
        """
        ticket = self._find(ticket_id)
        if ticket is None:
            return self._unknown(ticket_id)
        if ticket["status"] == "Resolved":
            return self.fails("resolve_ticket.again", f"Ticket {ticket_id} had been resolved before.", ticket_id)
        ticket["status"] = "Resolved"
        ticket["resolution"] = resolution
        return {"status": self.say("resolve_ticket.done", f"Ticket {ticket_id} is now resolved.", ticket_id)}

    @tool(writes=True)
    def edit_ticket(self, ticket_id: int, updates: Parsed) -> JsonObject:
        """Change fields of a ticket. No login needed.

        Args:
            ticket_id: Id of the ticket.
            updates: New values by field: any of `title`, `description`, `status` and `priority`. Fields that are
                left out or null stay as they are.

        Returns:
            status (string): What happened.
        """
        ticket = self._find(ticket_id)
        if ticket is None:
            return self._unknown(ticket_id)
        unknown = [key for key in updates.keys() if key not in EDITABLE]  # noqa: SIM118 - anything but a mapping raises
        if unknown:
            return self.fails(
                "edit_ticket.fields", f"These fields cannot be changed: {', '.join(unknown)}.", ", ".join(unknown)
            )
        ticket.update({key: value for key, value in updates.items() if value is not None})
        return {"status": self.say("edit_ticket.done", f"Ticket {ticket_id} is now changed.", ticket_id)}

    @tool(writes=True)
    def ticket_login(self, username: str, password: str) -> JsonObject:
        """Log in to the help desk. Opening tickets and listing own tickets need it.

        Args:
            username: Name of the user.
            password: Password of the user.

        Returns:
            success (boolean): Whether the login worked.
        """
        if not (username and password):
            return {"success": False}
        self.current_user = username
        return {"success": True}

    @tool(writes=False)
    def ticket_get_login_status(self) -> JsonObject:
        """Tell whether anybody is logged in to the help desk.

        Returns:
            login_status (boolean): True while a user is logged in.
        """
        return {"login_status": bool(self.current_user)}

    @tool(writes=True)
    def logout(self) -> JsonObject:
        """Log the current user out of the help desk.

        Returns:
            success (boolean): False when nobody was logged in.
        """
        if not self.current_user:
            return {"success": False}
        self.current_user = None
        return {"success": True}

    @tool(writes=False)
    def get_user_tickets(self, status: str | None = None) -> list[Parsed]:
        """List the tickets the current user opened. Needs a login.

        Args:
            status: Only tickets in this state, upper and lower case alike; without it all of them.

        Returns:
            tickets (array): The tickets, each with its id, title, description, status, priority and created_by.
        """
        if not self.current_user:
            return [self.fails("get_user_tickets.logged_out", "Only a user who is logged in has tickets to list.")]
        own = [ticket for ticket in self.ticket_queue if ticket["created_by"] == self.current_user]
        if status:
            own = [ticket for ticket in own if ticket["status"].lower() == status.lower()]
        return own
