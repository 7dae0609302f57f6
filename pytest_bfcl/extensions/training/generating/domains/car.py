"""VehicleControlAPI: tank, doors, brakes, lights, climate and ways."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.moves import Detour, Domain, Gift, Kind, Move, amount, one_of, whole
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators.vehicle_tables import ZIP_CODES

_DOORS = ("driver", "passenger", "rear_left", "rear_right")
_STREETS = ("Mill Lane", "Harbor Road", "Juniper Street", "Old Quarry Way", "Station Square", "Linden Avenue")
_PLACES = ("the depot", "my sister's place", "the trailhead", "the ferry landing", "the farmers' market")


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


def _start_in_vain(car: Any, rng: Random) -> Detour | None:
    if car.engine_state == "running" or car.brakePedalStatus == "pressed":
        return None
    press, start = ("pressBrakePedal", {"pedalPosition": 1.0}), ("startEngine", {"ignitionMode": "START"})
    if car.remainingUnlockedDoors == 0:
        words = rng.choice(
            [
                "Start the engine. If the car wants the brake pedal pressed for that, press it fully and start it then.",
                "Please start the engine; should it refuse because of the brake, press the pedal fully and try again.",
            ]
        )
        return Detour(words, start, (press, start))
    unlocked = [door for door in _DOORS if car.doorStatus[door] == "unlocked"]
    words = rng.choice(
        [
            "Start the engine. If it won't, lock all doors, press the brake pedal fully, and start it then.",
            "I want to leave: start the engine, and if the car refuses, make sure that all doors are locked and the brake "
            "pedal is fully pressed before you start it again.",
        ]
    )
    lock = ("lockDoors", {"unlock": False, "door": list(_DOORS)})
    return Detour(words, start, (lock, press, start)) if unlocked else None


def _too_much_fuel(car: Any, rng: Random) -> Detour | None:
    room = 50 - car.fuelLevel
    much, less = int(room) + rng.randint(2, 9), int(room) - rng.randint(1, 6)
    if less < 3:
        return None
    words = rng.choice(
        [
            "Fill {a} gallons into the tank. If it doesn't hold that much, {b} gallons will do.",
            "Put {a} gallons of fuel in; in case the tank can't take them, fill in {b} gallons only.",
        ]
    )
    failing = ("fillFuelTank", {"fuelAmount": float(much)})
    return Detour(words.format(a=much, b=less), failing, (("fillFuelTank", {"fuelAmount": float(less)}),))


def _address(car: object, rng: Random) -> str:
    return f"{rng.randint(2, 98)} {rng.choice(_STREETS)}, {rng.choice(sorted(ZIP_CODES))}"


DOMAIN = Domain(
    "VehicleControlAPI",
    world,
    kinds={
        "gallons": Kind(amount(2, 18), ("{} gallons",), vague=("some fuel", "a bit of fuel"),
                        told=("{}.", "Make it {}.", "{} will be enough.")),
        "litres": Kind(amount(5, 60), ("{} liters",)),
        "part": Kind(one_of("fuel", "battery", "doors", "climate", "headlights", "engine")),
        "degrees": Kind(whole(17, 26), ("{} degrees",), vague=("something more comfortable",),
                        told=("{}.", "Let's try {}.", "{} would be nice.")),
        "fan": Kind(whole(20, 95, 5)),
        "air": Kind(one_of("cool", "heat", "defrost")),
        "address": Kind(_address, ("{}",), vague=("the place I told my friends about", "where we are meeting"),
                        told=("It's {}.", "The address is {}.", "{}.")),
        "town": Kind(one_of(*sorted(ZIP_CODES)), again=True),
        "zip_a": Kind(lambda car, rng: None),
        "zip_b": Kind(lambda car, rng: None),
        "speed": Kind(whole(40, 90, 5), ("{} miles per hour", "{} mph"), vague=("a steady speed",), told=("{}.", "Keep it at {}.")),
        "gap": Kind(whole(30, 120, 10), ("{} meters",)),
        "miles": Kind(whole(40, 600, 5), ("{} miles",)),
        "pedal": Kind(one_of(0.25, 0.5, 0.75), ("position {}",)),
    },
    moves=(
        Move("fillFuelTank", ("fill {fuelAmount} into the tank", "put {fuelAmount} in the tank"), {"fuelAmount": "gallons"}, weight=1.5),
        Move("liter_to_gallon", ("convert {liter} to gallons", "work out how many gallons {liter} are"), {"liter": "litres"},
             ("How many gallons are {liter}?",),
             gives={"gallons": Gift(lambda r: r["gallon"], ("exactly that amount of fuel", "that many gallons"),
                                    ("as much fuel as the {liter} we converted",))}),
        Move("displayCarStatus", ("show me the {option} status", "check the {option} status of the car"), {"option": "part"},
             ("What is the {option} status?",)),
        Move("setHeadlights", ("turn the headlights on", "switch on the headlights"), fixed={"mode": "on"}, once=True),
        Move("setHeadlights", ("turn the headlights off",), fixed={"mode": "off"}, once=True,
             fits=lambda car, given: car.headLightStatus == "on"),
        Move("adjustClimateControl",
             ("set the climate control to {temperature} celsius with the fan at {fanSpeed} in {mode} mode",
              "have the air conditioning {mode} the car to {temperature} celsius, fan speed {fanSpeed}"),
             {"temperature": "degrees", "fanSpeed": "fan", "mode": "air"}, fixed={"unit": "celsius"}, weight=1.5),
        Move("lockDoors", ("lock all the doors",), fixed={"unlock": False, "door": list(_DOORS)}, once=True,
             fits=lambda car, given: car.remainingUnlockedDoors > 0),
        Move("lockDoors", ("unlock the passenger door",), fixed={"unlock": True, "door": ["passenger"]}, once=True,
             fits=lambda car, given: car.doorStatus["passenger"] == "locked" and car.engine_state == "stopped"),
        Move("activateParkingBrake", ("engage the parking brake",), fixed={"mode": "engage"}, once=True,
             fits=lambda car, given: car.parkingBrakeStatus != "engaged"),
        Move("activateParkingBrake", ("release the parking brake",), fixed={"mode": "release"}, once=True,
             fits=lambda car, given: car.parkingBrakeStatus == "engaged"),
        Move("pressBrakePedal", ("press the brake pedal to {pedalPosition}",), {"pedalPosition": "pedal"}, once=True,
             fits=lambda car, given: car.brakePedalStatus == "released"),
        Move("setCruiseControl",
             ("turn the cruise control on at {speed}, keeping {distanceToNextVehicle} to the car ahead",
              "activate cruise control: {speed}, with {distanceToNextVehicle} to the next vehicle"),
             {"speed": "speed", "distanceToNextVehicle": "gap"}, fixed={"activate": True}, weight=2),
        Move("set_navigation", ("navigate to {destination}", "set the navigation to {destination}"), {"destination": "address"}, weight=1.5),
        Move("find_nearest_tire_shop", ("find the nearest tire shop",), {}, ("Where is the closest tire shop?",), once=True,
             gives={"address": Gift(lambda r: r["shopLocation"], ("that shop", "there"), ("the tire shop",))}, weight=1.5),
        Move("check_tire_pressure", ("check the tire pressure",), {}, ("Are my tires fine?",), once=True),
        Move("get_zipcode_based_on_city", ("look up the zip code of {city}", "find out the zip code of {city}"), {"city": "town"},
             ("What is the zip code of {city}?",),
             gives={"zip_a": Gift(lambda r: r["zipcode"], ("that place",), ("{city}",))}),
        Move("get_zipcode_based_on_city", ("get the zip code of {city} as well", "look up the zip code for {city}, too"),
             {"city": "town"}, after=frozenset({"zip_a"}), weight=3,
             gives={"zip_b": Gift(lambda r: r["zipcode"], ("{city}",), ("{city}",))}),
        Move("estimate_distance", ("estimate how far it is from {cityA} to {cityB}",), {"cityA": "zip_a", "cityB": "zip_b"},
             ("What is the distance between {cityA} and {cityB}?",), weight=9,
             gives={"kilometres": Gift(lambda r: r["distance"], ("that distance",), ("the distance we estimated",))}),
        Move("estimate_drive_feasibility_by_mileage", ("tell me whether the tank is good for {distance}",), {"distance": "miles"},
             ("Is there enough fuel for {distance}?",), weight=1.5),
    ),
    scenes=("I'm about to set off.", "Let's get the car ready.", "I'm sitting in the car and need a hand.",
            "We have a drive ahead of us."),
    detours=(_start_in_vain, _too_much_fuel),
)  # fmt: skip
