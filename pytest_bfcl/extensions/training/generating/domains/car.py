"""VehicleControlAPI: tank, doors, brakes, lights, climate and ways."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.moves import (
    NAME,
    Domain,
    Gift,
    Kind,
    Measure,
    Move,
    State,
    amount,
    one_of,
    whole,
)  # fmt: skip
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators.tables import ZIP_CODES

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


_LOCK = {"unlock": False, "door": list(_DOORS)}

DOMAIN = Domain(
    "VehicleControlAPI",
    world,
    kinds={
        "gallons": Kind(amount(2, 18), ("{} gallons", "{} gallons of [gas|fuel|gasoline]"), vague=("some fuel", "a bit of fuel"),
                        told=("{}.", "Make it {}.", "{} will be enough.")),
        "litres": Kind(amount(5, 60), ("{} liters",)),
        "some_gallons": Kind(amount(3, 25), ("{} gallons",)),
        "part": Kind(one_of("doors", "climate"), form="doors|climate"),
        "degrees": Kind(whole(17, 26), ("{} degrees",), vague=("something more comfortable",),
                        told=("{}.", "Let's try {}.", "{} would be nice.")),
        "fan": Kind(whole(20, 95, 5)),
        "air": Kind(one_of("cool", "heat", "defrost")),
        "address": Kind(_address, ("{}",), vague=("the place I told my friends about", "where we are meeting"),
                        told=("It's {}.", "The address is {}.", "{}."), form=r"\d+\s[A-Z][^,\"]*?,\s[A-Z][\w ]*?\w(?=[.,;?!)]|$|\s(?:and|as|with|please|now|then|once|after)\b)"),
        "town": Kind(one_of(*sorted(ZIP_CODES)), again=True, form=NAME),
        "zip_a": Kind(lambda car, rng: None),
        "zip_b": Kind(lambda car, rng: None),
        "speed": Kind(whole(40, 90, 5), ("{} miles per hour", "{} mph"), vague=("a steady speed",), told=("{}.", "Keep it at {}.")),
        "gap": Kind(whole(30, 120, 10), ("{} meters",)),
        "miles": Kind(whole(40, 600, 5), ("{} miles",)),
        "pedal": Kind(one_of(0.25, 0.5, 0.75), ("position {}",)),
    },
    moves=(
        Move("fillFuelTank", ("[fill|pump|top up with] {fuelAmount} into the [tank|fuel tank|car]", "put {fuelAmount} in the [tank|car|fuel tank]",
                              "[fill up|refill|fuel] the [tank|car|vehicle] with {fuelAmount}", "add {fuelAmount} to the [tank|fuel tank]"), {"fuelAmount": "gallons"}, weight=3, leads=("lockDoors", "pressBrakePedal", "startEngine"), fails=_too_full),
        Move("liter_to_gallon", ("convert {liter} [to|into] gallons", "[work out|say] how many gallons {liter} [are|make]"), {"liter": "litres"},
             ("How many gallons are {liter}?",), weight=1.5,
             gives={"gallons": Gift(lambda r: r["gallon"], ("exactly that amount of fuel", "that many gallons"),
                                    ("as much fuel as the {liter} we converted",))},
             measure=Measure("amount", lambda r: r["gallon"], (), None, ("gallons", lambda a, r: r["gallon"]))),
        Move("gallon_to_liter", ("convert {gallon} [to|into] liters", "[work out|say] how many liters {gallon} [are|make]"), {"gallon": "some_gallons"},
             ("How many liters are {gallon}?",)),
        Move("displayCarStatus", ("[show|display] me the {option} status", "check the {option} status of the car"), {"option": "part"},
             ("What is the {option} status?",)),
        Move("displayCarStatus", ("[check|show me] the fuel [status|level] of the car", "look [at|up] how much fuel is left"), {}, ("What is the fuel level?",),
             fixed={"option": "fuel"}, once=True, measure=Measure("fuel level", lambda r: r["fuelLevel"], (8, 12, 15, 20, 24), _fuelled)),
        Move("displayCarStatus", ("[check|show me] the status of the headlights", "[look|see] whether the headlights status is on"), {},
             fixed={"option": "headlights"}, once=True, state=State("they are [already |]on", lambda a, r, v: r["headlightStatus"] == "on", _lit)),
        Move("displayCarStatus", ("[check|show me] the status of the engine", "[look|see] whether the engine status is running"), {},
             fixed={"option": "engine"}, once=True, state=State("it is [already |]running", lambda a, r, v: r["engineState"] == "running", _running)),
        Move("displayCarStatus", ("[check|show me] the battery [status|voltage] of the car", "look up the battery voltage"), {},
             fixed={"option": "battery"}, once=True, measure=Measure("battery voltage", lambda r: r["batteryVoltage"], (11, 12, 13),
             lambda config, given, value: config.update(batteryVoltage=value + 0.2))),
        Move("setHeadlights", ("turn the headlights on", "switch on the headlights"), fixed={"mode": "on"}, once=True, weight=0.7),
        Move("setHeadlights", ("turn the headlights off",), fixed={"mode": "off"}, once=True,
             fits=lambda car, given: car.headLightStatus == "on"),
        Move("adjustClimateControl",
             ("set the climate control to {temperature} celsius with the fan at {fanSpeed} in {mode} mode",
              "have the air conditioning {mode} the car to {temperature} celsius, fan speed {fanSpeed}"),
             {"temperature": "degrees", "fanSpeed": "fan", "mode": "air"}, fixed={"unit": "celsius"}),
        Move("lockDoors", ("lock all [the |]doors[| of the car|, so the car is secure]", "[secure|lock] every door of the [car|vehicle]", "make sure [that |]all [the |]doors are locked",
                           "[confirm|ensure] [that |]all doors are [securely |]locked"), fixed=_LOCK, once=True,
             fits=lambda car, given: car.remainingUnlockedDoors > 0, weight=3.5, leads=("pressBrakePedal",)),
        Move("lockDoors", ("unlock the passenger door",), fixed={"unlock": True, "door": ["passenger"]}, once=True, weight=0.4,
             fits=lambda car, given: car.doorStatus["passenger"] == "locked" and car.engine_state == "stopped"),
        Move("activateParkingBrake", ("engage the [parking brake|handbrake]",), fixed={"mode": "engage"}, once=True,
             fits=lambda car, given: car.parkingBrakeStatus != "engaged"),
        Move("activateParkingBrake", ("release the parking brake",), fixed={"mode": "release"}, once=True,
             fits=lambda car, given: car.parkingBrakeStatus == "engaged"),
        Move("pressBrakePedal", ("press the brake pedal to {pedalPosition}",), {"pedalPosition": "pedal"}, once=True, weight=0.3,
             fits=lambda car, given: car.brakePedalStatus == "released"),
        Move("pressBrakePedal", ("press the brake [pedal |][fully|all the way]", "[push|depress] the brake pedal [completely and fully|fully]", "make sure [that |]the brake pedal is [fully pressed|fully engaged|pressed down fully]", "have the brake fully [pressed|pushed down]"),
             fixed={"pedalPosition": 1.0}, once=True, weight=4, leads=("startEngine",), fits=lambda car, given: car.brakePedalStatus == "released"),
        Move("startEngine", ("start the [engine|car|engine of the car|vehicle's engine]", "[get|have] the engine started", "[turn on|fire up|ignite] the engine so that it starts, with the ignition on START", "start the [engine|motor|vehicle] [in START mode|with the START ignition mode]",
                             "[turn|set] the ignition to START [to get the engine running|so that the engine runs]"), fixed={"ignitionMode": "START"}, once=True, weight=8,
             fits=lambda car, given: car.engine_state == "stopped", leads=("check_tire_pressure", "displayCarStatus"), fails=_ready),
        Move("setCruiseControl",
             ("turn the cruise control on at {speed}, keeping {distanceToNextVehicle} to the car ahead",
              "activate cruise control: {speed}, with {distanceToNextVehicle} to the next vehicle"),
             {"speed": "speed", "distanceToNextVehicle": "gap"}, fixed={"activate": True}, weight=1.5),
        Move("set_navigation", ("navigate to {destination}", "set the [navigation|navigation system|GPS] to {destination}", "[guide|direct] me to {destination} [with the|by] GPS"), {"destination": "address"}, weight=1.5),
        Move("find_nearest_tire_shop", ("[find|locate] the [nearest|closest] tire [shop|service]",), {}, ("Where is the closest tire shop?",), once=True,
             gives={"address": Gift(lambda r: r["shopLocation"], ("that [tire |]shop", "there"), ("the tire shop",))}, weight=2),
        Move("check_tire_pressure", ("[check|inspect|verify] the [tire pressure|tire pressures|pressure of the tires|tires' pressure]", "see whether the tires have enough pressure"), {}, ("[Are|How are] my tires [doing|fine]?",), once=True, weight=2.5,
             measure=Measure("front left pressure", lambda r: r["frontLeftTirePressure"], (29, 31, 33),
                             lambda config, given, value: config.update(frontLeftTirePressure=value + 0.5))),
        Move("get_zipcode_based_on_city", ("look up the [zip|postal] code of {city}", "find out the zip code of {city}"), {"city": "town"},
             ("What is the zip code of {city}?",), weight=1.5,
             gives={"zip_a": Gift(lambda r: r["zipcode"], ("that place",), ("{city}",))}),
        Move("get_zipcode_based_on_city", ("get the zip code of {city} as well", "look up the zip code for {city}, too"),
             {"city": "town"}, after=frozenset({"zip_a"}), weight=4,
             gives={"zip_b": Gift(lambda r: r["zipcode"], ("{city}",), ("{city}",))}),
        Move("estimate_distance", ("[estimate|calculate|work out] [how far it is|the distance] from {cityA} to {cityB}",), {"cityA": "zip_a", "cityB": "zip_b"},
             ("What is the distance between {cityA} and {cityB}?", "How far is it from {cityA} to {cityB}?"), weight=10,
             gives={"kilometres": Gift(lambda r: r["distance"], ("that distance",), ("the distance we estimated",)),
                    "miles": Gift(lambda r: r["distance"], ("that distance",), ("the distance we estimated",))}),
        Move("estimate_drive_feasibility_by_mileage", ("[tell me|check|verify] whether the [tank|fuel|car] is good for {distance}", "see if {distance} can be driven with the fuel we have"), {"distance": "miles"},
             ("Is there enough fuel for {distance}?", "Can the car make {distance} without refueling?"), weight=2),
    ),
    scenes=("I'm about to set off.", "Let's get the car ready.", "I'm sitting in the car and need a hand.",
            "We have a [drive|trip|journey] ahead of us."),
)  # fmt: skip
