"""The protocols of a journal of replies and of snapshots of memories.

This package writes no files; `pytest_bfcl.runs` implements both on the run directory.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pytest_bfcl.models.base import Request
    from pytest_bfcl.runs.journal import ReplyKey, RequestDelta
    from pytest_bfcl.transcript import Reply


OnReply = Callable[["Request", "Reply"], None]
"""Receives every live reply with its request, before it is stored; an agent's step counts as a reply."""


class Journal(Protocol):
    """Stores every reply on arrival, so that no paid request is sent twice. ``ended``: why the ending run sends no more
    requests.
    """

    ended: str | None

    def find(self, key: ReplyKey) -> Reply | None:
        """The recorded reply to exactly this request, if any. Raises `HarnessError` if it has ended."""
        ...

    def record(self, key: ReplyKey, reply: Reply, delta: RequestDelta | None = None) -> None:
        """Store a reply with its request; on return it is on disk."""
        ...


class Snapshots(Protocol):
    """Memory contents that write stages save for questions (agentic spec §2.1); one object per model and repeat.

    ``backend`` is ``kv``, ``vector`` or ``rec_sum``.
    """

    def load(self, backend: str, scenario: str, after: str | None = None) -> Any | None:
        """The memory directly after the write stage ``after``, else the scenario's latest. ``None`` without one. A
        write stage that runs again (the run was killed after it saved) must not start from its own result, so every
        entry names the stage before it.
        """
        ...

    def save(self, backend: str, scenario: str, entry_id: str, content: object) -> None:
        """Store the memory after the write stage ``entry_id`` as the scenario's current one."""
        ...


class HeldSnapshots:
    """Snapshots in memory, for runs without a directory and for tests."""

    def __init__(self) -> None:
        self._contents: dict[tuple[str, str], Any] = {}
        self._checkpoints: dict[tuple[str, str], Any] = {}

    def load(self, backend: str, scenario: str, after: str | None = None) -> Any | None:
        """See `Snapshots.load`; a copy, so that a reader cannot change it for others."""
        content = self._checkpoints.get((backend, str(after)), self._contents.get((backend, scenario)))
        return copy.deepcopy(content)

    def save(self, backend: str, scenario: str, entry_id: str, content: object) -> None:
        """See `Snapshots.save`."""
        self._contents[backend, scenario] = self._checkpoints[backend, entry_id] = copy.deepcopy(content)
