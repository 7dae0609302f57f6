"""The storage of one process in a run: replies with their requests, memories, recorded pages.

The reporting process writes the result lines (`pytest_bfcl.runs.directory.RunDirectory`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.conversation.journal import HeldSnapshots

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Journal, Snapshots
    from pytest_bfcl.runs.journal import Journal as JournalFiles


class Store:
    """One process's files in a run directory; each is opened on first use.

    Args:
        path: The run directory; ``None`` keeps the run in memory.
        process: Name of this process in it. note: Receives notes for the user, for instance about a damaged line of an
            earlier part.
    """

    def __init__(
        self, path: Path | None = None, process: str = "main", note: Callable[[str], None] | None = None
    ) -> None:
        self.path = path
        self.process = process
        self._note = note or (lambda text: None)
        self._journal: JournalFiles | None = None
        self._snapshots: dict[tuple[str, int], Snapshots] = {}

    @property
    def journals(self) -> bool:
        """Whether replies are kept beyond this process."""
        return self.path is not None

    @cached_property
    def journal(self) -> Journal | None:
        """The replies of the run, those of its earlier parts included."""
        if self.path is None:
            return None
        from pytest_bfcl.runs.journal import Journal

        self._journal = Journal(self.path / "journal", self.process)
        for line in self._journal.damaged:
            self._note(f"damaged line: {line}; the reply on it is asked for again")
        return self._journal

    def snapshots(self, model: str, repeat: int) -> Snapshots:
        """The memories of one model and repeat."""
        key = (model, repeat)
        if key not in self._snapshots:
            self._snapshots[key] = self._opened_snapshots(model, repeat)
        return self._snapshots[key]

    def _opened_snapshots(self, model: str, repeat: int) -> Snapshots:
        if self.path is None:
            return HeldSnapshots()
        from pytest_bfcl.runs.snapshots import snapshots_of

        return snapshots_of(self.path, model, repeat)

    def archive(self, kind: str) -> Path | None:
        """The folder of recorded pages and searches (``web``) or requests (``rest``)."""
        return self.path / kind if self.path is not None else None

    def close(self) -> None:
        """Flush and close; a later request opens the files again."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            del self.journal
