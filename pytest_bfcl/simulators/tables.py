"""Fixed tables of the simulators: airports, stocks, distances (simulators spec §6 to §8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.json_types import JsonObject

AIRPORTS = (
    *("RMS", "SBK", "MPC", "SVP", "SHD", "CDG", "LHR", "SSV", "OKD", "WLB", "PEK", "HND"),
    *("HKG", "CIA", "CRH", "ATV", "PHV", "GFD", "SFO", "LAX", "JFK", "ORD", "BOS"),
)

NEAREST_AIRPORTS: Mapping[str, str] = {
    "Rivermist": "RMS",
    "Stonebrook": "SBK",
    "Maplecrest": "MPC",
    "Silverpine": "SVP",
    "Shadowridge": "SHD",
    "London": "LHR",
    "Paris": "CDG",
    "Sunset Valley": "SSV",
    "Oakendale": "OKD",
    "Willowbend": "WLB",
    "Crescent Hollow": "CRH",
    "Autumnville": "ATV",
    "Pinehaven": "PHV",
    "Greenfield": "GFD",
    "San Francisco": "SFO",
    "Los Angeles": "LAX",
    "New York": "JFK",
    "Chicago": "ORD",
    "Boston": "BOS",
    "Beijing": "PEK",
    "Hong Kong": "HKG",
    "Rome": "CIA",
    "Tokyo": "HND",
}

_FARES = """
SFO: LAX 200, JFK 500, ORD 400, BOS 450, RMS 300, SBK 350, MPC 370, SVP 320, SHD 330, SSV 340, OKD 360, WLB 310, CRH 380
SFO: ATV 390, PHV 420, GFD 430, CIA 700
LAX: SFO 100, JFK 600, ORD 500, BOS 550, RMS 310, SBK 320, MPC 330, SVP 340, SHD 350, SSV 360, OKD 370, WLB 380, CRH 390
LAX: ATV 400, PHV 410, GFD 420, HND 430
JFK: ORD 300, BOS 250, RMS 450, SBK 460, MPC 470, SVP 480, SHD 490, SSV 500, OKD 510, WLB 520, CRH 530, ATV 540, PHV 550
JFK: GFD 560, LAX 570, HND 800, PVG 950, PEK 1000
ORD: LAX 180, BOS 200, RMS 350, SBK 360, MPC 370, SVP 380, SHD 390, SSV 400, OKD 410, WLB 420, CRH 430, ATV 440, PHV 450
ORD: GFD 460
BOS: RMS 400, SBK 410, MPC 420, SVP 430, SHD 440, SSV 450, OKD 460, WLB 470, CRH 480, ATV 490, PHV 500, GFD 510
RMS: BOS 200, JFK 210, SBK 220, MPC 230, SVP 240, SHD 250, SSV 260, OKD 270, WLB 280, CRH 290, ATV 300, PHV 310, GFD 320
RMS: LAX 330
SBK: MPC 200, SVP 210, SHD 220, SSV 230, OKD 240, WLB 250, CRH 260, ATV 270, PHV 280, GFD 290
MPC: SVP 210, SHD 220, SSV 230, OKD 240, WLB 250, CRH 260, ATV 270, PHV 280, GFD 290
SVP: SHD 230, SSV 240, OKD 250, WLB 260, CRH 270, ATV 280, PHV 290, GFD 300
SHD: SSV 220, OKD 230, WLB 240, CRH 250, ATV 260, PHV 270, GFD 280
SSV: OKD 240, WLB 250, CRH 260, ATV 270, PHV 280, GFD 290
OKD: WLB 230, CRH 240, ATV 250, PHV 260, GFD 270
WLB: CRH 250, ATV 260, PHV 270, GFD 280
CRH: ATV 240, PHV 250, GFD 260, SFO 270, RMS 280, HKG 290, JFK 300
ATV: PHV 230, GFD 240
PHV: GFD 220
LHR: CDG 100
OKD: LAX 220
"""


def _read_fares() -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for line in _FARES.strip().splitlines():
        start, _, ends = line.partition(": ")
        for end in ends.split(", "):
            airport, fare = end.split()
            found[start, airport] = float(fare)
    return found


FARES: Mapping[tuple[str, str], float] = _read_fares()
"""From, to → one-way economy fare; the order is that of the long-context cost list."""

CLASS_FACTORS: Mapping[str, int] = {"economy": 1, "business": 2, "first": 5}

USD_RATES: Mapping[str, float] = {
    "RMB": 7,
    "EUR": 0.8,
    "JPY": 110,
    "GBP": 0.7,
    "CAD": 1.3,
    "AUD": 1.4,
    "INR": 70,
    "RUB": 60,
    "BRL": 3.8,
    "MXN": 20,
}
"""Currency → units for one US dollar."""


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


ZIP_CODES: Mapping[str, str] = {
    "Rivermist": "83214",
    "Stonebrook": "74532",
    "Maplecrest": "56108",
    "Silverpine": "62947",
    "Shadowridge": "71354",
    "Sunset Valley": "83462",
    "Oakendale": "47329",
    "Willowbend": "52013",
    "Crescent Hollow": "69238",
    "Autumnville": "51479",
    "San Francisco": "94016",
}

UNKNOWN_ZIP_CODE = "00000"

DISTANCES: Mapping[frozenset[str], float] = {
    frozenset(pair): distance
    for *pair, distance in (
        ("83214", "74532", 750.0),
        ("56108", "62947", 320.0),
        ("71354", "83462", 450.0),
        ("47329", "52013", 290.0),
        ("69238", "51479", 630.0),
        ("94016", "83214", 980.0),
        ("94016", "94704", 600.0),
        ("94704", "08540", 2550.0),
        ("94016", "08540", 1950.0),
        ("62947", "47329", 1053.0),
        ("94016", "62947", 780.0),
        ("74532", "94016", 880.0),
    )
}
"""Two zip codes, in either direction → kilometres."""

TIRE_SHOP = "456 Oakwood Avenue, Rivermist, 83214"
