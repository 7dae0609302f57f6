"""VehicleControlAPI: tank, doors, brakes, lights, climate and ways."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.moves import domain_of
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators.tables import DISTANCES, ZIP_CODES

_DOORS = ("driver", "passenger", "rear_left", "rear_right")
_TOWNS = sorted(town for town, code in ZIP_CODES.items() if sum(code in way for way in DISTANCES) > 1)
"""Towns with several known ways."""
_STREETS = ("Mill Lane", "Harbor Road", "Juniper Street", "Old Quarry Way", "Station Square", "Linden Avenue")


def world(rng: Random) -> Parsed:
    """A parked car."""
    locked = rng.random() < 0.4
    running = locked and rng.random() < 0.4
    doors = {door: "locked" if locked else rng.choice(["locked", "unlocked"]) for door in _DOORS}
    return {
        "random_seed": rng.randint(1, 10**6), "fuelLevel": rng.randint(20, 240) / 10 + 0.05,
        "batteryVoltage": rng.randint(118, 132) / 10, "engineState": "running" if running else "stopped",
        "remainingUnlockedDoors": sum(state == "unlocked" for state in doors.values()), "doorStatus": doors,
        "acTemperature": rng.randint(17, 27) + 0.5, "fanSpeed": rng.randint(20, 80), "acMode": "auto",
        "humidityLevel": rng.randint(30, 60) + 0.5, "headLightStatus": "off",
        "parkingBrakeStatus": rng.choice(["released", "engaged"]), "parkingBrakeForce": 0.0, "slopeAngle": 0.0,
        "distanceToNextVehicle": 50.0, "cruiseStatus": "inactive", "destination": "None",
        "frontLeftTirePressure": rng.randint(27, 35) + 0.5, "frontRightTirePressure": rng.randint(27, 35) + 0.5,
        "rearLeftTirePressure": rng.randint(26, 34) + 0.5, "rearRightTirePressure": rng.randint(26, 34) + 0.5,
    }  # fmt: skip


def _address(car: object, rng: Random) -> str:
    return f"{rng.randint(2, 98)} {rng.choice(_STREETS)}, {rng.choice(sorted(ZIP_CODES))}"


def _fuelled(config: Parsed, given: Any, value: Any) -> None:
    config["fuelLevel"] = round(value + 0.05, 2)


def _too_full(config: Parsed, given: Any, fails: Any) -> None:
    config["fuelLevel"] = round(
        max(50 - given["fuelAmount"] + 0.85, 1.0) if fails else 50 - given["fuelAmount"] - 0.65, 2
    )


def _lit(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    config["headLightStatus"] = "on" if holds else "off"


def _running(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    _ready(config, given, not holds)
    config["engineState"] = "running" if holds else "stopped"


def _ready(config: Parsed, given: Any, fails: Any) -> None:
    config |= {"engineState": "stopped", "remainingUnlockedDoors": 0, "doorStatus": dict.fromkeys(_DOORS, "locked"),
               "brakePedalStatus": "released" if fails else "pressed", "brakePedalForce": 0.0 if fails else 1000.0}  # fmt: skip


DOMAIN = domain_of("car", "VehicleControlAPI", world, {
    "address": _address, "fuelled": _fuelled, "too_full": _too_full, "lit": _lit, "running": _running, "unready": _ready,
    "town": lambda car, rng: rng.choice(_TOWNS),
    "charged": lambda config, given, value: config.update(batteryVoltage=value + 0.2),
    "inflated": lambda config, given, value: config.update(frontLeftTirePressure=value + 0.5),
    "some_door_open": lambda car, given: car.remainingUnlockedDoors > 0,
    "passenger_locked": lambda car, given: car.doorStatus["passenger"] == "locked" and car.engine_state == "stopped",
})  # fmt: skip
