"""What a conversation is handed for keeping: a journal of replies and the snapshots of memories.

The conversation room writes no file itself; `pytest_bfcl.runs` implements both protocols on the run directory.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pytest_bfcl.runs.journal import ReplyKey, RequestDelta
    from pytest_bfcl.transcript import Reply


class Journal(Protocol):
    """Every reply the moment it arrives, so that no paid request is sent twice.

    ``ended``: why what has no reply is not asked any more, once the run ends.
    """

    ended: str | None

    def find(self, key: ReplyKey) -> Reply | None:
        """The recorded reply to exactly this request, if there is one. Raises `HarnessError` where it has ended."""
        ...

    def record(self, key: ReplyKey, reply: Reply, delta: RequestDelta | None = None) -> None:
        """Keep a reply, and what it answers; on return it is on disk."""
        ...


class Snapshots(Protocol):
    """Memory contents that write stages leave for questions (agentic spec §2.1); one object per model and repeat.

    ``backend`` is ``kv``, ``vector`` or ``rec_sum``.
    """

    def load(self, backend: str, scenario: str, after: str | None = None) -> Any | None:
        """The memory right after the write stage ``after``, else what the scenario's last one saved.

        ``None`` when there is nothing. A write stage that is held again (the run was killed after it saved) must not
        start from its own traces, so every entry names the stage before it.
        """
        ...

    def save(self, backend: str, scenario: str, entry_id: str, content: object) -> None:
        """Keep the memory after the write stage ``entry_id``; it becomes the scenario's current one."""
        ...


class HeldSnapshots:
    """Snapshots kept in memory: for runs without a directory, and for tests."""

    def __init__(self) -> None:
        self._contents: dict[tuple[str, str], Any] = {}
        self._checkpoints: dict[tuple[str, str], Any] = {}

    def load(self, backend: str, scenario: str, after: str | None = None) -> Any | None:
        """See `Snapshots.load`; a copy, so that a reader cannot change what others will read."""
        content = self._checkpoints.get((backend, str(after)), self._contents.get((backend, scenario)))
        return copy.deepcopy(content)

    def save(self, backend: str, scenario: str, entry_id: str, content: object) -> None:
        """See `Snapshots.save`."""
        self._contents[backend, scenario] = self._checkpoints[backend, entry_id] = copy.deepcopy(content)
