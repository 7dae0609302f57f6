"""TradingBot: stocks, companies, sectors and defaults (simulators spec §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.json_types import JsonObject

_COLUMNS = ("price", "percent_change", "volume", "MA(5)", "MA(20)")

_STOCKS: Mapping[str, tuple[float, float, float, float, float]] = {
    "AAPL": (227.16, 0.17, 2.552, 227.11, 227.09),
    "GOOG": (2840.34, 0.24, 1.123, 2835.67, 2842.15),
    "TSLA": (667.92, -0.12, 1.654, 671.15, 668.2),
    "MSFT": (310.23, 0.09, 3.234, 309.88, 310.11),
    "NVDA": (220.34, 0.34, 1.234, 220.45, 220.67),
    "ALPH": (1320.45, -0.08, 1.567, 1321.12, 1325.78),
    "OMEG": (457.23, 0.12, 2.345, 456.78, 458.12),
    "QUAS": (725.89, -0.03, 1.789, 726.45, 728.0),
    "NEPT": (88.34, 0.19, 0.654, 88.21, 88.67),
    "SYNX": (345.67, 0.11, 2.112, 345.34, 346.12),
    "ZETA": (22.09, -0.05, 0.789, 22.12, 22.34),
}

SYMBOLS: Mapping[str, str] = {
    "Apple": "AAPL",
    "Google": "GOOG",
    "Tesla": "TSLA",
    "Microsoft": "MSFT",
    "Nvidia": "NVDA",
    "Zeta Corp": "ZETA",
    "Alpha Tech": "ALPH",
    "Omega Industries": "OMEG",
    "Quasar Ltd.": "QUAS",
    "Neptune Systems": "NEPT",
    "Synex Solutions": "SYNX",
    "Amazon": "AMZN",
    "Gorilla": "GORI",
}
"""Company → symbol; the names have to be exact."""

SECTORS: Mapping[str, tuple[str, ...]] = {
    "Technology": ("AAPL", "GOOG", "MSFT", "NVDA"),
    "Automobile": ("TSLA", "F", "GM"),
}


def default_stocks() -> dict[str, dict[str, float]]:
    """Symbol → quote; a fresh object each time."""
    return {symbol: dict(zip(_COLUMNS, quote, strict=True)) for symbol, quote in _STOCKS.items()}


def default_orders() -> dict[Any, Any]:
    """Order id → order; a fresh object each time."""
    rows = ((12345, "Buy", "AAPL", 210.65, 10, "Completed"), (12446, "Sell", "GOOG", 2840.56, 5, "Pending"))
    keys = ("id", "order_type", "symbol", "price", "amount", "status")
    return {row[0]: dict(zip(keys, row, strict=True)) for row in rows}


def default_account() -> JsonObject:
    """The account; a fresh object each time."""
    return {"account_id": 12345, "balance": 10000.0, "binding_card": 1974202140965533}
