"""Entry and model in, transcript out: prompts, turns and steps, look-ahead. Knows nothing of pytest."""

from pytest_bfcl.conversation.budget import Budget, conversation_cost, reply_cost
from pytest_bfcl.conversation.calls import fill_calls
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.execution import execute, is_executed
from pytest_bfcl.conversation.journal import HeldSnapshots, Journal, Snapshots
from pytest_bfcl.conversation.lookahead import Job, LookAhead, RunStopped
from pytest_bfcl.conversation.played import PlayedConversation, Player
from pytest_bfcl.conversation.services import Services
from pytest_bfcl.conversation.switching import ModeSwitch

__all__ = [
    "Budget",
    "HeldSnapshots",
    "Job",
    "Journal",
    "LookAhead",
    "ModeSwitch",
    "PlayedConversation",
    "Player",
    "RunStopped",
    "Services",
    "Snapshots",
    "conversation_cost",
    "converse",
    "execute",
    "fill_calls",
    "is_executed",
    "reply_cost",
]
