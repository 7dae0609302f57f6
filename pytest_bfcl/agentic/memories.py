"""Memories of keys and of one text (simulators spec §10).

`MemoryAPI_kv` is a core and an archival memory of keys and texts. BM25+ searches key names, never values.
`MemoryAPI_rec_sum` is one text. State is never compared, only what later conversations can read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pytest_bfcl import extras
from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.toolkit import MAX_RESULT_CHARS, Oversized, Say, Simulator, tool

MAX_CHARS = 10_000
"""Longest text of `MemoryAPI_rec_sum`; replacing may exceed it, as in the reference, but not the limit of a result."""


class Limits(NamedTuple):
    """Size of one part of a memory: number of entries, characters of an entry."""

    part: str
    entries: int
    chars: int


CORE = Limits("core", 7, 300)
ARCHIVAL = Limits("archival", 50, 2_000)

_KEY = re.compile(r"[a-z]+(?:_[a-z0-9]+)*$")
"""Lower-case snake case; ``$`` also accepts one trailing newline, as in the reference."""

BM25_K1, BM25_B, BM25_DELTA = 1.5, 0.75, 1.0


class MemoryAPI_kv(Simulator):
    """Two ordered maps key → text: a small core memory shown in the prompt, and a larger archival memory.

    ``snapshot`` (context) is ``{"core_memory": {key: text}, "archival_memory": {key: text}}`` or ``None``.
    """

    name = "MemoryAPI_kv"
    summary = (
        "Memory of short texts under keys. A key is lower-case words and numbers joined by underscores and begins "
        "with a word, such as `favourite_tea` or `flat_2`."
    )

    def load(
        self,
        config: Parsed,
        *,
        long_context: bool = False,
        texts: Fields | None = None,
        snapshot: Fields | None = None,
        **context: Any,
    ) -> None:
        """Load a snapshot; there is no long-context variant. Raises `UsageError` without the extra ``memory``."""
        extras.require("memory", "the search by key of the memory")  # now: inside a call it would be the model's error
        stored = snapshot or {}
        self.scenario = config.get("scenario")
        self.test_id = config.get("test_id")
        self.core_memory: dict[str, str] = dict(stored.get("core_memory") or {})
        self.archival_memory: dict[str, str] = dict(stored.get("archival_memory") or {})

    @classmethod
    def problem(cls) -> str | None:
        """Without the extra ``memory`` keys cannot be searched."""
        return extras.problem("memory", "the search by key of the memory")

    def snapshot(self) -> JsonObject:
        """The state from which later conversations start."""
        return {"core_memory": dict(self.core_memory), "archival_memory": dict(self.archival_memory)}

    def prompt_text(self, empty: str) -> str:
        """The memory in the prompt: only the core part; ``empty`` without one (agentic spec §4)."""
        return json.dumps(self.core_memory, indent=4) if self.core_memory else empty

    @tool(writes=False)
    def core_memory_retrieve_all(self) -> JsonObject:
        """Read the whole core memory: every key with its text.

        Returns:
            key (string): A key.
            value (string): The text under it.
        """
        return dict(self.core_memory)

    def part(self, limits: Limits) -> dict[str, str]:
        """The texts of one part, by key."""
        return self.core_memory if limits is CORE else self.archival_memory


def _tools_of(limits: Limits) -> Iterator[Callable[..., JsonObject]]:
    """The tools that both parts have; the part fills ``{…}`` in their docstrings."""

    @tool(writes=True)
    def add(self: MemoryAPI_kv, key: str, value: str) -> JsonObject:
        """Store a new text in the {part} memory, which holds {entries} texts of at most {chars:,} characters.

        Args:
            key: Key of the text; it must not be in use.
            value: The text to store.

        Returns:
            status (string): What was done.
        """
        problem = _add(self.say, self.part(limits), limits, key, value)
        place = f"{limits.part}_memory_add.done"
        return problem or {"status": self.say(place, f"Stored in the {limits.part} memory.")}

    @tool(writes=True)
    def remove(self: MemoryAPI_kv, key: str) -> JsonObject:
        """Delete a text from the {part} memory.

        Args:
            key: Key of the text.

        Returns:
            status (string): What was done.
        """
        return _remove(self.say, self.part(limits), limits, key)

    @tool(writes=True)
    def replace(self: MemoryAPI_kv, key: str, value: str) -> JsonObject:
        """Store another text under a key of the {part} memory.

        Args:
            key: Key that is in use.
            value: The text that takes the place of the present one.

        Returns:
            status (string): What was done.
        """
        return _replace(self.say, self.part(limits), limits, key, value)

    @tool(writes=True)
    def clear(self: MemoryAPI_kv) -> JsonObject:
        """Delete every text of the {part} memory.

        Returns:
            status (string): What was done.
        """
        setattr(self, f"{limits.part}_memory", {})
        return {"status": self.say(f"{limits.part}_memory_clear.done", f"The {limits.part} memory is empty now.")}

    @tool(writes=False)
    def retrieve(self: MemoryAPI_kv, key: str) -> JsonObject:
        """Read a text of the {part} memory.

        Args:
            key: Key of the text, spelled exactly.

        Returns:
            value (string): The text.
        """
        return _retrieve(self.say, self.part(limits), limits, key)

    @tool(writes=False)
    def list_keys(self: MemoryAPI_kv) -> JsonObject:
        """List the keys of the {part} memory.

        Returns:
            keys (array): Keys, oldest first.
        """
        return {"keys": list(self.part(limits))}

    @tool(writes=False)
    def key_search(self: MemoryAPI_kv, query: str, k: int = 5) -> JsonObject:
        """Find keys of the {part} memory whose words are like those of a query.

        Args:
            query: Words to look for in the keys.
            k: How many keys to return at most.

        Returns:
            ranked_results (array): Pairs of score and key, best first.
        """
        return {"ranked_results": ranked_keys(list(self.part(limits)), query)[:k]}

    yield from (add, remove, replace, clear, retrieve, list_keys, key_search)


def give_tools(cls: type[Simulator], tools_of: Callable[[Limits], Iterator[Callable[..., JsonObject]]]) -> None:
    """Give a memory the tools of both parts, each named after its part: ``core_memory_add``.

    ``{part}``, ``{entries}`` and ``{chars}`` in a docstring are filled with the part's values.
    """
    for limits in (CORE, ARCHIVAL):
        for method in tools_of(limits):
            method.__name__ = f"{limits.part}_memory_{method.__name__}"
            method.__qualname__ = f"{cls.__name__}.{method.__name__}"
            method.__doc__ = (method.__doc__ or "").format(**limits._asdict())
            setattr(cls, method.__name__, method)


def _add(say: Say, memory: dict[str, str], limits: Limits, key: object, value: object) -> JsonObject | None:
    """Store a new entry; else the error result, with the reference's order of checks."""
    key, value = str(key), str(value)
    if len(memory) >= limits.entries:
        own = f"The {limits.part} memory is full: it holds {limits.entries} texts. Remove one first."
        return {"error": say(f"{limits.part}_memory_add.full", own)}
    if len(value) > limits.chars:
        return _too_long(say, limits, value)
    if _KEY.match(key) is None:
        own = f"{key!r:.200} is no key: write lower-case words and numbers joined by underscores."
        return {"error": say("core_memory_add.key", own)}
    if key in memory:
        return {"error": say("core_memory_add.used", f"The key {key!r:.200} is in use; replace its text instead.")}
    memory[key] = value
    return None


def _remove(say: Say, memory: dict[str, str], limits: Limits, key: object) -> JsonObject:
    if key not in memory:
        return _unknown_key(say, limits, key)
    del memory[key]
    return {"status": say("core_memory_remove.done", "The text is removed.")}


def _replace(say: Say, memory: dict[str, str], limits: Limits, key: object, value: object) -> JsonObject:
    key, value = str(key), str(value)
    if key not in memory:
        return _unknown_key(say, limits, key)
    if len(value) > limits.chars:
        return _too_long(say, limits, value)
    memory[key] = value
    return {"status": say("core_memory_replace.done", "The text is replaced.")}


def _retrieve(say: Say, memory: dict[str, str], limits: Limits, key: object) -> JsonObject:
    return {"value": memory[key]} if key in memory else _unknown_key(say, limits, key)


def _unknown_key(say: Say, limits: Limits, key: object) -> JsonObject:
    return {"error": say("core_memory_remove.unknown", f"The {limits.part} memory has no key {key!r:.200}.")}


def _too_long(say: Say, limits: Limits, value: str) -> JsonObject:
    own = f"The text has {len(value)} characters; the {limits.part} memory takes at most {limits.chars}."
    return {"error": say("core_memory_add.long", own, limits.chars)}


def ranked_keys(keys: list[str], query: str) -> list[tuple[float, str]]:
    """Keys with their BM25+ scores, best first, equal ones in memory order.

    The words of a key are those between its underscores. Raises `ZeroDivisionError` without keys, as the reference.
    """
    from rank_bm25 import BM25Plus

    index = BM25Plus([_words(key) for key in keys], k1=BM25_K1, b=BM25_B, delta=BM25_DELTA)
    scores = [float(score) for score in index.get_scores(_words(query))]
    return sorted(zip(scores, keys, strict=True), key=lambda pair: pair[0], reverse=True)


def _words(text: str) -> list[str]:
    return text.replace("_", " ").lower().split()


give_tools(MemoryAPI_kv, _tools_of)


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
