"""VehicleControlAPI: zip codes of cities, distances between zip codes, fixed answers (simulators spec §8)."""

from __future__ import annotations

from collections.abc import Mapping

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
