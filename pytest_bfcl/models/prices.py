"""Prices of tokens: the user's, else the list price of litellm's table or of our own dated copy.

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
