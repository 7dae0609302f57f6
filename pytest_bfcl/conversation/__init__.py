"""Entry and model in, transcript out: prompts, turns and steps, look-ahead. Knows nothing of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.late_names import late_names

if TYPE_CHECKING:
    from pytest_bfcl.conversation.budget import Budget as Budget
    from pytest_bfcl.conversation.budget import conversation_cost as conversation_cost
    from pytest_bfcl.conversation.budget import reply_cost as reply_cost
    from pytest_bfcl.conversation.calls import fill_calls as fill_calls
    from pytest_bfcl.conversation.engine import converse as converse
    from pytest_bfcl.conversation.journal import HeldSnapshots as HeldSnapshots
    from pytest_bfcl.conversation.journal import Journal as Journal
    from pytest_bfcl.conversation.journal import Snapshots as Snapshots
    from pytest_bfcl.conversation.lookahead import LookAhead as LookAhead
    from pytest_bfcl.conversation.lookahead import RunStopped as RunStopped
    from pytest_bfcl.conversation.played import PlayedConversation as PlayedConversation
    from pytest_bfcl.conversation.played import Player as Player
    from pytest_bfcl.conversation.services import Services as Services
    from pytest_bfcl.conversation.services import is_executed as is_executed
    from pytest_bfcl.conversation.switching import ModeSwitch as ModeSwitch

_HOMES = {
    "Budget": "budget",
    "HeldSnapshots": "journal",
    "Journal": "journal",
    "LookAhead": "lookahead",
    "ModeSwitch": "switching",
    "PlayedConversation": "played",
    "Player": "played",
    "RunStopped": "lookahead",
    "Services": "services",
    "Snapshots": "journal",
    "conversation_cost": "budget",
    "converse": "engine",
    "fill_calls": "calls",
    "is_executed": "services",
    "reply_cost": "budget",
}

__all__ = sorted(_HOMES)

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__, _HOMES)
