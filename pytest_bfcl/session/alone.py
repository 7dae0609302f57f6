"""Whether an agent keeps state between entries: what failed after others passed is played once more, alone.

A bare model remembers nothing of another entry; an agent with a global history does, and its verdicts then depend on
the order of entries. The first verdict counts; the difference is reported.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from pytest_bfcl.checkers import judge
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.transcript import PLAYED_BEFORE

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.models import Model
    from pytest_bfcl.transcript import Transcript

MOST = 10
"""Entries of one agent that are played again: they cost what the first play cost."""
ALONE = "alone"
"""Where a transcript's ``extra`` says what came of the second play: ``passed`` or ``failed``."""


class PlayedAlone:
    """The second plays of one run, at most `MOST` for each agent."""

    def __init__(self, note: Callable[[str], None], simulators: Literal["own", "reference"]) -> None:
        self._note = note
        self._simulators = simulators
        self._passed: set[str] = set()
        self._left: dict[str, int] = {}

    async def check(
        self, entry: Entry, transcript: Transcript, model: Model, play: Callable[[Model], Awaitable[Transcript]]
    ) -> None:
        """Play the entry in a fresh process where it failed after others passed; ``play`` holds the conversation.

        Concerns models with a method ``fresh`` (agents in their own processes) whose process had played others.
        """
        fresh: Callable[[], Any] | None = getattr(model, "fresh", None)
        before = transcript.extra.get(PLAYED_BEFORE)
        if fresh is None or before is None:
            return
        if self._is_right(entry, transcript):
            self._passed.add(model.spec)
            return
        if not before or model.spec not in self._passed or self._left.setdefault(model.spec, MOST) <= 0:
            return
        self._left[model.spec] -= 1
        alone = fresh()
        with contextlib.suppress(BenchmarkError):  # it says nothing of the first play
            right = self._is_right(entry, await play(alone))
            transcript.extra[ALONE] = "passed" if right else "failed"
            if right:
                self._note(
                    f"{entry.id} failed after {before} other entries in its agent's process and passes alone in a "
                    "fresh one: the agent keeps state between entries (docs/agents.md, Processes)"
                )
        await alone.aclose()

    def _is_right(self, entry: Entry, transcript: Transcript) -> bool:
        return judge(entry, transcript, simulators=self._simulators).valid
