"""Fixed tables of the simulators: airports, stocks, distances (simulators spec §6 to §8), from ``tables.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_bfcl.json_types import JsonObject

_TABLES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def _fares() -> Iterator[tuple[tuple[str, str], float]]:
    for line in _TABLES["fares"].splitlines():
        start, _, ends = line.partition(": ")
        for end in ends.split(", "):
            airport, fare = end.split()
            yield (start, airport), float(fare)


AIRPORTS: Sequence[str] = _TABLES["airports"]
NEAREST_AIRPORTS: Mapping[str, str] = _TABLES["nearest_airports"]
FARES: Mapping[tuple[str, str], float] = dict(_fares())
"""From, to → one-way economy fare, in the order of the long-context cost list."""
CLASS_FACTORS: Mapping[str, int] = _TABLES["class_factors"]
USD_RATES: Mapping[str, float] = _TABLES["usd_rates"]
"""Currency → units for one US dollar."""
SYMBOLS: Mapping[str, str] = _TABLES["symbols"]
"""Company → symbol; names must be exact."""
SECTORS: Mapping[str, Sequence[str]] = _TABLES["sectors"]
ZIP_CODES: Mapping[str, str] = _TABLES["zip_codes"]
UNKNOWN_ZIP_CODE = "00000"
DISTANCES: Mapping[frozenset[str], float] = {frozenset(pair): distance for *pair, distance in _TABLES["distances"]}
"""Two zip codes, in either order → kilometres."""
TIRE_SHOP: str = _TABLES["tire_shop"]


def default_stocks() -> dict[str, dict[str, float]]:
    """Symbol → quote; a fresh object each time."""
    columns = ("price", "percent_change", "volume", "MA(5)", "MA(20)")
    return {symbol: dict(zip(columns, quote, strict=True)) for symbol, *quote in _TABLES["stocks"]}


def default_orders() -> dict[Any, Any]:
    """Order id → order; a fresh object each time."""
    rows = ((12345, "Buy", "AAPL", 210.65, 10, "Completed"), (12446, "Sell", "GOOG", 2840.56, 5, "Pending"))
    keys = ("id", "order_type", "symbol", "price", "amount", "status")
    return {row[0]: dict(zip(keys, row, strict=True)) for row in rows}


def default_account() -> JsonObject:
    """The account; a fresh object each time."""
    return {"account_id": 12345, "balance": 10000.0, "binding_card": 1974202140965533}
