"""MemoryAPI_vector: a core and an archival memory of texts found by meaning (simulators spec §10).

Similarity is the cosine of all-MiniLM-L6-v2 embeddings. Texts are embedded when something is first looked up, so a
conversation that only stores needs no encoder's time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.agentic.memories import ARCHIVAL, CORE, Limits, give_tools
from pytest_bfcl.extensions.vector_memory.embedding import Encoder, encoder_problem, shared_encoder
from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.toolkit import Say, Simulator, tool

if TYPE_CHECKING:
    from pytest_bfcl.extensions.vector_memory.embedding import Vector


LANES = 16


def _own(place: str, own: str, *values: Any) -> str:
    return own


class VectorStore:
    """Texts under ids 0, 1, 2, …; an id is not reused until the store is cleared."""

    def __init__(self, limits: Limits, encoder: Encoder, stored: Fields | None = None, say: Say = _own) -> None:
        self._say = say
        self.next_id: int = int((stored or {}).get("next_id") or 0)
        texts = (stored or {}).get("store") or {}
        self.store: dict[int, str] = {number: texts[str(number)] for number in sorted(map(int, texts))}
        self._limits = limits
        self._encoder = encoder

    def snapshot(self) -> JsonObject:
        """``{next_id, store}`` with ids as texts; vectors are not stored."""
        return {"next_id": self.next_id, "store": {str(number): text for number, text in self.store.items()}}

    def add(self, text: str) -> JsonObject:
        """Store a text; length is checked before room."""
        if problem := self._too_long(text):
            return problem
        if len(self.store) >= self._limits.entries:
            own = f"The {self._limits.part} memory is full: it holds {self._limits.entries} texts."
            return {"error": self._say("add.full", own, self._limits.entries)}
        number = self.next_id
        self.store[number] = text
        self.next_id += 1
        return {"id": number}

    def remove(self, number: int) -> JsonObject:
        """Delete a text."""
        if number not in self.store:
            return self._unknown(number)
        del self.store[number]
        return {"status": self._say("remove.done", f"Text {number} is removed.", number)}

    def update(self, number: int, text: str) -> JsonObject:
        """Store another text under an id; the id keeps its place."""
        if number not in self.store:
            return self._unknown(number)
        if problem := self._too_long(text):
            return problem
        self.store[number] = text
        return {"status": self._say("update.done", f"Text {number} is replaced.", number)}

    def clear(self) -> JsonObject:
        """Delete everything; ids start at 0 again."""
        self.store = {}
        self.next_id = 0
        return {"status": self._say("clear.done", "This part of the memory is empty now.")}

    def retrieve_all(self) -> JsonObject:
        """Every text with its id, oldest first."""
        return {"result": [{"id": number, "text": text} for number, text in self.store.items()]}

    def retrieve(self, query: str, top_k: int) -> JsonObject:
        """The ``top_k`` texts nearest in meaning.

        Of equal scores the earlier stored are kept, and the later stored are listed first, as the reference's index
        does. Raises `ValueError` for fewer than one result and `TypeError` for a query that is no text.
        """
        if not self.store:
            return {"result": []}
        wanted = self._encoder.encode(_text(query))
        top_k = min(top_k, len(self.store))
        if top_k < 1:
            raise ValueError(self._say("retrieve.few", "top_k must be at least 1"))
        scores = inner_products([self._encoder.encode(text) for text in self.store.values()], wanted)
        scored = [
            (score, place, number, text)
            for place, (score, (number, text)) in enumerate(zip(scores, self.store.items(), strict=True))
        ]
        kept = sorted(scored, key=lambda row: (-row[0], row[1]))[:top_k]
        kept.sort(key=lambda row: (-row[0], -row[1]))
        return {"result": [{"id": row[2], "similarity_score": row[0], "text": row[3]} for row in kept]}

    def _too_long(self, text: str) -> JsonObject | None:
        if len(text) > self._limits.chars:
            part, chars = self._limits.part, self._limits.chars
            own = f"The text has {len(text)} characters; the {part} memory takes at most {chars}."
            return {"error": self._say("add.long", own, chars)}
        _text(text)
        return None

    def _unknown(self, number: object) -> JsonObject:
        own = f"The {self._limits.part} memory has no text with the id {number!r:.100}."
        return {"error": self._say("remove.unknown", own, number)}


def inner_products(stored: Sequence[Vector], wanted: Vector) -> list[float]:
    """Inner products to the last digit of a 32-bit float, as the reference's index adds them up.

    It keeps 16 sums, each product added with one rounding, and then adds halves to halves. So it does on processors
    with AVX-512; on others it keeps fewer, and the last digit may differ.
    """
    import numpy as np

    products = np.stack(stored).astype(np.float64) * wanted.astype(np.float64)
    width = products.shape[1]
    products = np.pad(products, ((0, 0), (0, -width % LANES)))
    sums = np.zeros((len(stored), LANES), np.float32)
    for start in range(0, width, LANES):
        sums = (sums + products[:, start : start + LANES]).astype(np.float32)
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return [float(score) for score in sums[:, 0]]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is needed, not {type(value).__name__}")
    return value


class MemoryAPI_vector(Simulator):
    """Two vector stores: a small core memory shown in the prompt, and a larger archival memory.

    Context: ``snapshot`` is ``{"core_memory": {next_id, store}, "archival_memory": {next_id, store}}`` or ``None``;
    ``encoder`` is an `Encoder`, by default the process's shared one (`UsageError` when there is none).
    """

    name = "MemoryAPI_vector"
    summary = "Memory of short texts that are found by their meaning; every text has a numeric id."
    blocking = True  # embedding takes milliseconds of CPU a text

    def load(
        self,
        config: Parsed,
        *,
        long_context: bool = False,
        texts: Fields | None = None,
        snapshot: Fields | None = None,
        encoder: Encoder | None = None,
        **context: Any,
    ) -> None:
        """Load a snapshot; there is no long-context variant."""
        stored = snapshot or {}
        encoder = encoder or shared_encoder()
        self.scenario = config.get("scenario")
        self.test_id = config.get("test_id")
        self.core_memory = VectorStore(CORE, encoder, stored.get("core_memory"), self.say)
        self.archival_memory = VectorStore(ARCHIVAL, encoder, stored.get("archival_memory"), self.say)

    @classmethod
    def problem(cls) -> str | None:
        """Without an encoder a search fails."""
        return encoder_problem()

    def snapshot(self) -> JsonObject:
        """The state from which later conversations start."""
        return {"core_memory": self.core_memory.snapshot(), "archival_memory": self.archival_memory.snapshot()}

    def prompt_text(self, empty: str) -> str:
        """The core memory in the prompt: ``{}`` if empty, never the sentence (agentic spec §4)."""
        return json.dumps(self.core_memory.store, indent=4)

    def part(self, limits: Limits) -> VectorStore:
        """The texts of one part."""
        return self.core_memory if limits is CORE else self.archival_memory


def _tools_of(limits: Limits) -> Iterator[Callable[..., JsonObject]]:
    """The tools that both parts have; the part fills ``{…}`` in their docstrings."""

    @tool(writes=True)
    def add(self: MemoryAPI_vector, text: str) -> JsonObject:
        """Store a text in the {part} memory, which holds {entries} texts of at most {chars:,} characters.

        Args:
            text: The text to store.

        Returns:
            id (integer): Id of the text.
        """
        return self.part(limits).add(text)

    @tool(writes=True)
    def remove(self: MemoryAPI_vector, vec_id: int) -> JsonObject:
        """Delete a text from the {part} memory.

        Args:
            vec_id: Id of the text.

        Returns:
            status (string): What was done.
        """
        return self.part(limits).remove(vec_id)

    @tool(writes=True)
    def update(self: MemoryAPI_vector, vec_id: int, new_text: str) -> JsonObject:
        """Store another text under an id of the {part} memory.

        Args:
            vec_id: Id that is in use.
            new_text: The text that takes the place of the present one.

        Returns:
            status (string): What was done.
        """
        return self.part(limits).update(vec_id, new_text)

    @tool(writes=True)
    def clear(self: MemoryAPI_vector) -> JsonObject:
        """Delete every text of the {part} memory.

        Returns:
            status (string): What was done.
        """
        return self.part(limits).clear()

    @tool(writes=False)
    def retrieve(self: MemoryAPI_vector, query: str, top_k: int = 5) -> JsonObject:
        """Find the texts of the {part} memory that are nearest in meaning to a query.

        Args:
            query: What to look for, in words.
            top_k: How many texts to return at most.

        Returns:
            result (array): Objects with `id`, `similarity_score` and `text`, best first.
        """
        return self.part(limits).retrieve(query, top_k)

    @tool(writes=False)
    def retrieve_all(self: MemoryAPI_vector) -> JsonObject:
        """Read the whole {part} memory.

        Returns:
            result (array): Objects with `id` and `text`, oldest first.
        """
        return self.part(limits).retrieve_all()

    yield from (add, remove, update, clear, retrieve, retrieve_all)


give_tools(MemoryAPI_vector, _tools_of)
