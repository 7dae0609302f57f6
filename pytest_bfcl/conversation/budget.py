"""The cost of conversations, and the budget at which no further one starts."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_bfcl.settings import Price
from pytest_bfcl.transcript import Reply, Transcript


def reply_cost(reply: Reply, price: Price) -> float | None:
    """USD for one reply; ``None`` if its tokens or a needed price are unknown."""
    if reply.input_tokens is None and reply.output_tokens is None:
        return None
    total = 0.0
    for tokens, usd in ((reply.input_tokens, price.input), (reply.output_tokens, price.output)):
        if tokens:
            if usd is None:
                return None
            total += tokens * usd
    return total / 1_000_000


def conversation_cost(transcript: Transcript, price: Price | None) -> float | None:
    """USD for all replies of a conversation; ``None`` without a price or tokens."""
    if price is None or (price.input is None and price.output is None):
        return None
    return _total(reply_cost(step.reply, price) for step in transcript.steps)


def _total(costs: Iterable[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


class Budget:
    """Adds up the cost of live replies; the look-ahead reads `stop_reason`.

    Replies from the journal were paid by an earlier part of the run. Conversations in progress at the limit are
    finished, so the cost may exceed it.
    """

    def __init__(self, limit_usd: float | None, price: Price) -> None:
        self.limit_usd = limit_usd
        self.price = price
        self.spent_usd = 0.0

    def charge(self, reply: Reply) -> None:
        """Count one live reply."""
        if self.price.input is not None or self.price.output is not None:
            self.spent_usd += reply_cost(reply, self.price) or 0.0

    def stop_reason(self) -> str | None:
        """Why no further conversation may start, or ``None``."""
        if self.limit_usd is None or self.spent_usd < self.limit_usd:
            return None
        return f"budget of {self.limit_usd:g} USD reached ({self.spent_usd:.4f} spent)"
