"""Prices of tokens: the user's, else the list price of litellm's table or of our own dated copy; what replies cost, and
the budget at which no further conversation starts.

litellm's is read as a data file: importing litellm takes seconds.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.models.spec import ModelSpec, parse_spec
from pytest_bfcl.settings import Price
from pytest_bfcl.spread_json import json_file
from pytest_bfcl.transcript import Reply, Transcript

if TYPE_CHECKING:
    from pytest_bfcl.settings import Settings

TABLE = Path(__file__).with_name("prices.json")
"""List prices of a day, made from litellm's table by ``scripts/prices.py``."""
_FILE = "model_prices_and_context_window_backup.json"
_FREE = ("oracle", "adversary", "lexical", "scripted", "replay", "fixture")


@cache
def litellm_table() -> Fields:
    """The table of an installed litellm, one row a model; empty when there is none."""
    origin = getattr(find_spec("litellm"), "origin", None)
    return _read(Path(origin).parent / _FILE) if origin else {}


@cache
def our_table() -> Fields:
    """Our own: ``source``, ``date``, ``providers`` and ``prices`` (name → USD per million tokens in and out)."""
    return _read(TABLE)


def _read(path: Path) -> Fields:
    try:
        data = json_file(path)
    except UsageError:
        return {}
    return data if isinstance(data, dict) else {}


def litellm_providers() -> set[str]:
    """Names of providers that litellm can talk to, by its own table and by ours."""
    rows = litellm_table().values()
    theirs = {str(row["litellm_provider"]) for row in rows if isinstance(row, dict) and row.get("litellm_provider")}
    return theirs | set(our_table().get("providers", ()))


def listed_price(spec: str | ModelSpec) -> Price | None:
    """The list price of a model in USD per million tokens, or ``None`` if no table has it.

    An installed litellm takes precedence, because it is usually newer.
    """
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
    if parsed.provider in _FREE:
        return None
    name = parsed.name
    candidates = [f"{parsed.provider}/{name}", name] if parsed.provider != "litellm" else [name, name.partition("/")[2]]
    for price_in in (_litellms_price, _our_price):
        for key in candidates:
            if (price := price_in(key)) is not None:
                return price
    return None


def lists() -> str:
    """The price lists in use, in words."""
    ours = f"a list of {our_table().get('date', 'no day')}"
    return f"the installed litellm's list, then {ours}" if litellm_table() else ours


def _litellms_price(key: str) -> Price | None:
    row = litellm_table().get(key)
    if not isinstance(row, dict) or row.get("input_cost_per_token") is None:
        return None
    return Price(million(row["input_cost_per_token"]), million(row.get("output_cost_per_token")))


def _our_price(key: str) -> Price | None:
    row = our_table().get("prices", {}).get(key)
    return Price(*row) if row is not None else None


def million(cost: object) -> float | None:
    """USD per million tokens, from USD per token."""
    return round(float(cost) * 1e6, 9) if isinstance(cost, (int, float)) else None


def price_of(spec: str | ModelSpec, settings: Settings) -> Price | None:
    """The price of a run: the user's (--bfcl-price), else the list price. Local servers have none."""
    given = settings.price
    listed = None if settings.base_url else listed_price(spec)
    price = Price(
        given.input if given.input is not None else (listed.input if listed else None),
        given.output if given.output is not None else (listed.output if listed else None),
    )
    return price if price.input is not None or price.output is not None else None


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
    known = [cost for step in transcript.steps if (cost := reply_cost(step.reply, price)) is not None]
    return sum(known) if known else None


class Budget:
    """Adds up the cost of live replies; the look-ahead reads `stop_reason`.

    Replies from the journal were paid by an earlier part of the run. Conversations in progress at the limit are
    finished, so the cost may exceed it.
    """

    def __init__(self, limit_usd: float | None, price: Price | None) -> None:
        self.limit_usd = limit_usd
        self.price = price
        self.spent_usd = 0.0

    def charge(self, reply: Reply) -> None:
        """Count one live reply."""
        if self.price is not None:
            self.spent_usd += reply_cost(reply, self.price) or 0.0

    def stop_reason(self) -> str | None:
        """Why no further conversation may start, or ``None``."""
        if self.limit_usd is None or self.spent_usd < self.limit_usd:
            return None
        return f"budget of {self.limit_usd:g} USD reached ({self.spent_usd:.4f} spent)"
