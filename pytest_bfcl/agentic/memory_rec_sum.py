"""MemoryAPI_rec_sum: a memory that is one text (simulators spec §10)."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.toolkit import MAX_RESULT_CHARS, Oversized, Simulator, tool

MAX_CHARS = 10_000
"""Longest memory; replacing may exceed it, as in the reference, but not the limit of a result."""


class MemoryAPI_rec_sum(Simulator):
    """One text to append to and rewrite. ``snapshot`` (context) is ``{"memory": text}`` or ``None``."""

    name = "MemoryAPI_rec_sum"
    summary = "Memory that is one running text of at most 10,000 characters."

    def load(
        self,
        config: Parsed,
        *,
        long_context: bool = False,
        texts: Fields | None = None,
        snapshot: Fields | None = None,
        **context: Any,
    ) -> None:
        """Load a snapshot; there is no long-context variant."""
        self.scenario = config.get("scenario")
        self.test_id = config.get("test_id")
        self.memory: str = str((snapshot or {}).get("memory") or "")

    def snapshot(self) -> JsonObject:
        """The state from which later conversations start."""
        return {"memory": self.memory}

    def prompt_text(self, empty: str) -> str:
        """The memory in the prompt: all of it; ``empty`` without content (agentic spec §4)."""
        return self.memory or empty

    @tool(writes=True)
    def memory_append(self, text: str) -> JsonObject:
        """Add text to the end of the memory.

        Args:
            text: The text to add; nothing is put between it and what is there.

        Returns:
            status (string): What was done.
        """
        longer = self.memory + str(text)
        if len(longer) > MAX_CHARS:
            return self._too_long("memory_append", len(longer))
        self.memory = longer
        return {"status": self.say("memory_append.done", "The text is added.")}

    @tool(writes=True)
    def memory_update(self, text: str) -> JsonObject:
        """Put another text in the place of the whole memory.

        Args:
            text: The new content of the memory.

        Returns:
            status (string): What was done.
        """
        text = str(text)
        if len(text) > MAX_CHARS:
            return self._too_long("memory_update", len(text))
        self.memory = text
        return {"status": self.say("memory_update.done", "The memory is rewritten.")}

    @tool(writes=True)
    def memory_clear(self) -> JsonObject:
        """Delete the whole memory.

        Returns:
            status (string): What was done.
        """
        self.memory = ""
        return {"status": self.say("memory_clear.done", "The memory is empty now.")}

    @tool(writes=True)
    def memory_replace(self, old_text: str, new_text: str) -> JsonObject:
        """Put a text in the place of another wherever that occurs in the memory.

        Args:
            old_text: Text in the memory, spelled exactly.
            new_text: Text that takes its place.

        Returns:
            status (string): What was done.
        """
        old_text, new_text = str(old_text), str(new_text)
        if old_text not in self.memory:
            own = "The memory does not contain the text to be replaced."
            return self.fails("memory_replace.unknown", own, old_text)
        if len(new_text) > MAX_CHARS:
            return self._too_long("memory_replace", len(new_text))
        size = len(self.memory) + self.memory.count(old_text) * (len(new_text) - len(old_text))
        if size > MAX_RESULT_CHARS:
            raise Oversized(f"the memory would have {size:,} characters")
        self.memory = self.memory.replace(old_text, new_text)
        return {"status": self.say("memory_replace.done", "The memory is rewritten.")}

    @tool(writes=False)
    def memory_retrieve(self) -> JsonObject:
        """Read the whole memory.

        Returns:
            memory_content (string): Its text.
        """
        if self.memory:
            return {"memory_content": self.memory}
        return self.fails("memory_retrieve.empty", "The memory is empty.")

    def _too_long(self, name: str, chars: int) -> JsonObject:
        own = f"The memory takes at most {MAX_CHARS} characters; this would be {chars}."
        return self.fails(f"{name}.long", own, MAX_CHARS)
