"""MessageAPI: users, one shared inbox, messages by receiver (simulators spec §3)."""

from __future__ import annotations

import random
from typing import Any

from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.toolkit import Simulator, tool

SEED = 200191
FIRST_ID, LAST_ID = 10_000, 99_999

DEFAULT_USERS = (("Alice", "USR001"), ("Bob", "USR002"), ("Catherine", "USR003"), ("Daniel", "USR004"))
DEFAULT_INBOX = (
    ("USR002", "Can we talk about the plan on Monday?"),
    ("USR003", "Please send me the latest draft."),
    ("USR004", "Please send me the latest draft."),
)


class MessageAPI(Simulator):
    """A team messenger.

    ``inbox`` is a list of one-key objects receiver id → message; values of configurations that are not texts are passed
    through. ``generated_ids`` is compared, so the number of messages ever sent matters.
    """

    name = "MessageAPI"
    summary = "Team messenger: users are known by name and by id, and one inbox keeps the messages that were sent."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the state; there is no long-context variant."""
        self._random = random.Random(config.get("random_seed", SEED))
        self.generated_ids: set[int] = config.get("generated_ids", set())
        self.user_count: int = config.get("user_count", len(DEFAULT_USERS))
        self.user_map: dict[str, str] = config.get("user_map", dict(DEFAULT_USERS))
        self.inbox: list[Parsed] = config.get("inbox", self._default_inbox())
        self.message_count: int = config.get("message_count", len(DEFAULT_INBOX))
        self.current_user: str | None = config.get("current_user")

    def _default_inbox(self) -> list[Parsed]:
        return [{user: self.say(f"inbox.{n}", text)} for n, (user, text) in enumerate(DEFAULT_INBOX)]

    def _draw_id(self) -> int:
        while (drawn := self._random.randint(FIRST_ID, LAST_ID)) in self.generated_ids:
            pass
        self.generated_ids.add(drawn)
        return drawn

    @tool(writes=False)
    def list_users(self) -> JsonObject:
        """List the names of all users.

        Returns:
            user_list (array): Names, in the order the users were added.
        """
        return {"user_list": list(self.user_map)}

    @tool(writes=False)
    def get_user_id(self, user: str) -> JsonObject:
        """Look up the id of a user by name.

        Args:
            user: Name of the user, exactly as listed.

        Returns:
            user_id (string): Id of the user, for instance `USR001`.
        """
        if user not in self.user_map:
            return self.fails("get_user_id.unknown", f"There is no user called {user!r}.", user)
        return {"user_id": self.user_map[user]}

    @tool(writes=True)
    def message_login(self, user_id: str) -> JsonObject:
        """Log in as a user. Sending, deleting and reading messages need a login.

        Args:
            user_id: Id of the user to log in as.

        Returns:
            login_status (boolean): Whether the login worked.
            message (string): What happened.
        """
        if user_id not in self.user_map.values():
            return {
                "login_status": False,
                "message": self.say("message_login.unknown", f"No user has the id '{user_id}'.", user_id),
            }
        self.current_user = user_id
        return {"login_status": True, "message": self.say("message_login.done", f"Logged in as '{user_id}'.", user_id)}

    @tool(writes=False)
    def message_get_login_status(self) -> JsonObject:
        """Tell whether anybody is logged in to the messenger.

        Returns:
            login_status (boolean): True while a user is logged in.
        """
        return {"login_status": bool(self.current_user)}

    @tool(writes=True)
    def send_message(self, receiver_id: str, message: str) -> JsonObject:
        """Send a message to a user. Needs a login.

        Args:
            receiver_id: Id of the user who receives the message.
            message: Text of the message.

        Returns:
            sent_status (boolean): Whether the message was sent.
            message_id (dict): The new message's id under `new_id`.
            message (string): What happened.
        """
        if not self.current_user:
            return self.fails("send_message.logged_out", "Nobody is logged in.")
        if receiver_id not in self.user_map.values():
            return self.fails("send_message.unknown", f"No user has the id '{receiver_id}'.", receiver_id)
        drawn = self._draw_id()
        self.inbox.append({receiver_id: message})
        self.message_count += 1
        return {
            "sent_status": True,
            "message_id": {"new_id": drawn},
            "message": self.say("send_message.done", f"Your message is on its way to '{receiver_id}'.", receiver_id),
        }

    @tool(writes=True)
    def delete_message(self, receiver_id: str) -> JsonObject:
        """Delete the latest message that was sent to a user. Needs a login.

        Args:
            receiver_id: Id of the user who received the message.

        Returns:
            deleted_status (boolean): Whether a message was deleted.
            receiver_id (string): The id given.
            message (string): What happened.
        """
        if not self.current_user:
            return self.fails("send_message.logged_out", "Nobody is logged in.")
        for item in reversed(self.inbox):
            if _first(item)[0] == receiver_id:
                self.inbox.remove(item)
                return {
                    "deleted_status": True,
                    "receiver_id": receiver_id,
                    "message": self.say(
                        "delete_message.done", f"The latest message to '{receiver_id}' is deleted.", receiver_id
                    ),
                }
        return self.fails("delete_message.unknown", f"There is no message to '{receiver_id}'.", receiver_id)

    @tool(writes=False)
    def view_messages_sent(self) -> JsonObject:
        """Show all sent messages, grouped by receiver. Needs a login.

        Returns:
            messages (dict): Receiver id and the list of that receiver's messages, oldest first.
        """
        if not self.current_user:
            return self.fails("send_message.logged_out", "Nobody is logged in.")
        grouped: dict[str, list[Any]] = {}
        for receiver, text in map(_first, self.inbox):
            grouped.setdefault(receiver, []).append(text)
        return {"messages": grouped}

    @tool(writes=True)
    def add_contact(self, user_name: str) -> JsonObject:
        """Add a user; the next free id is assigned. No login needed.

        Args:
            user_name: Name of the new user.

        Returns:
            added_status (boolean): Whether the user was added.
            user_id (string): Id of the new user.
            message (string): What happened.
        """
        if user_name in self.user_map:
            return self.fails("add_contact.name", f"There is already a user called '{user_name}'.", user_name)
        self.user_count += 1
        user_id = f"USR{self.user_count:03d}"
        if user_id in self.user_map.values():
            return self.fails("add_contact.id", f"The id {user_id} is already taken.", user_id)
        self.user_map[user_name] = user_id
        return {
            "added_status": True,
            "user_id": user_id,
            "message": self.say("add_contact.done", f"'{user_name}' is now among the users.", user_name),
        }

    @tool(writes=False)
    def search_messages(self, keyword: str) -> JsonObject:
        """Search all sent messages for a text, upper and lower case alike. Needs a login.

        Args:
            keyword: Text to look for.

        Returns:
            results (array): Objects with `receiver_id` and `message`, oldest first.
        """
        if not self.current_user:
            return self.fails("send_message.logged_out", "Nobody is logged in.")
        wanted = keyword.lower()
        found = [(receiver, text) for receiver, text in map(_first, self.inbox) if wanted in text.lower()]
        return {"results": [{"receiver_id": receiver, "message": text} for receiver, text in found]}

    @tool(writes=False)
    def get_message_stats(self) -> JsonObject:
        """Count the messages and the users who received any. Needs a login.

        Returns:
            stats (dict): `received_count`, all messages, and `total_contacts`, different receivers.
        """
        if not self.current_user:
            return self.fails("send_message.logged_out", "Nobody is logged in.")
        receivers = {receiver for receiver, _ in map(_first, self.inbox)}
        return {"stats": {"received_count": len(self.inbox), "total_contacts": len(receivers)}}


def _first(item: Fields) -> tuple[str, Any]:
    """Receiver and message of an inbox item; further keys are ignored."""
    return next(iter(item.items()))
