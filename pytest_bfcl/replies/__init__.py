"""Outputs of users and SDKs → a `Reply`: one strict reader of every known shape, an error for all others."""

from pytest_bfcl.replies.history import Said, read_history
from pytest_bfcl.replies.reading import final_reply, read_reply
from pytest_bfcl.replies.shapes import UnknownShape, read_call

__all__ = ["Said", "UnknownShape", "final_reply", "read_call", "read_history", "read_reply"]
