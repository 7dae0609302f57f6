"""VehicleControlAPI: engine, doors, climate, brakes, tyres and navigation of one car (simulators spec §8)."""

from __future__ import annotations

import random
from typing import Any

from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.long_context import constants
from pytest_bfcl.simulators.toolkit import DISTANCES, TIRE_SHOP, UNKNOWN_ZIP_CODE, ZIP_CODES, Simulator, tool

SEED = 141053
DOORS = ("driver", "passenger", "rear_left", "rear_right")
TANK_GALLONS = 50
MILES_PER_GALLON = 20.0
FULL_FORCE = 1000
"""Newtons on the brake pedal when fully pressed; the engine starts at no other force."""
PARKING_FORCE = 500.0
SLOPE = 10.0
"""Degrees noted whenever the parking brake is used."""
TOP_SPEED, SPEED_STEP = 120, 5
GALLONS_PER_LITER = 0.264172
LITERS_PER_GALLON = 3.78541
HEALTHY_PRESSURE = (30, 35)
"""Bounds of the mean pressure in psi, both included."""


class VehicleControlAPI(Simulator):
    """A car. Attribute names are those of the configurations, except ``engine_state``."""

    name = "VehicleControlAPI"
    summary = "On-board computer of a car: engine, fuel, doors, climate, lights, brakes, tires, cruise and navigation."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the state; the long-context variant only changes results."""
        self._random = random.Random(config.get("random_seed", SEED))
        self._texts = constants(texts) if long_context else {}
        self.fuelLevel: float = config.get("fuelLevel", 0.0)
        self.batteryVoltage: float = config.get("batteryVoltage", 12.6)
        self.engine_state: str = config.get("engineState", "stopped")
        self.doorStatus: dict[str, str] = config.get("doorStatus", dict.fromkeys(DOORS, "unlocked"))
        # A configured count is ignored: it often disagrees with the doors.
        self.remainingUnlockedDoors: int = len(DOORS) - [*self.doorStatus.values()].count("locked")
        self.acTemperature: float = config.get("acTemperature", 25.0)
        self.fanSpeed: int = config.get("fanSpeed", 50)
        self.acMode: str = config.get("acMode", "auto")
        self.humidityLevel: float = config.get("humidityLevel", 50.0)
        self.headLightStatus: str = config.get("headLightStatus", "off")
        self.parkingBrakeStatus: str = config.get("parkingBrakeStatus", "released")
        self._parkingBrakeForce: float = config.get("parkingBrakeForce", 0.0)
        self._slopeAngle: float = config.get("slopeAngle", 0.0)
        self.brakePedalStatus: str = config.get("brakePedalStatus", "released")
        self._brakePedalForce: float = config.get("brakePedalForce", 0.0)
        self.distanceToNextVehicle: float = config.get("distanceToNextVehicle", 50.0)
        self.cruiseStatus: str = config.get("cruiseStatus", "inactive")
        self.destination: str = config.get("destination", "None")
        self.frontLeftTirePressure: float = config.get("frontLeftTirePressure", 32.0)
        self.frontRightTirePressure: float = config.get("frontRightTirePressure", 32.0)
        self.rearLeftTirePressure: float = config.get("rearLeftTirePressure", 30.0)
        self.rearRightTirePressure: float = config.get("rearRightTirePressure", 30.0)
        self.long_context = long_context

    def _long(self, key: str, constant: str) -> JsonObject:
        """The long-context variant's addition to a result under a key; else nothing."""
        return {key: self._texts[constant]} if self.long_context else {}

    @tool(writes=True)
    def startEngine(self, ignitionMode: str) -> JsonObject:
        """Start the engine. All doors have to be locked and the brake pedal fully pressed.

        Args:
            ignitionMode: `START`. With `STOP` the engine stops, but the answer is always an error.

        Returns:
            engineState (string): `running`.
            fuelLevel (float): Fuel in the tank, in gallons.
            batteryVoltage (float): Voltage of the battery.
        """
        if ignitionMode == "STOP":
            self.engine_state = "stopped"
        if self.remainingUnlockedDoors > 0:
            unlocked = [door for door, status in self.doorStatus.items() if status == "unlocked"]
            return self.fails(
                "startEngine.doors",
                f"All doors must be locked first; unlocked: {', '.join(unlocked)}.",
                ", ".join(unlocked),
            )
        if self.brakePedalStatus != "pressed":
            return self.fails("startEngine.brake", "The brake pedal must be pressed first.")
        if self._brakePedalForce != FULL_FORCE:
            return self.fails("startEngine.force", "The brake pedal must be fully pressed first.")
        if self.fuelLevel < 0:
            return self.fails("startEngine.fuel", "The tank is empty.")
        if ignitionMode != "START":
            return self.fails("startEngine.mode", f"The engine does not start with the ignition mode {ignitionMode!r}.")
        self.engine_state = "running"
        return {"engineState": self.engine_state, "fuelLevel": self.fuelLevel, "batteryVoltage": self.batteryVoltage}

    @tool(writes=True)
    def fillFuelTank(self, fuelAmount: float) -> JsonObject:
        """Fill fuel into the tank, which holds 50 gallons.

        Args:
            fuelAmount: Gallons to add to what is in the tank.

        Returns:
            fuelLevel (float): Fuel in the tank afterwards, in gallons.
        """
        if fuelAmount < 0:
            return self.fails("fillFuelTank.negative", "The amount of fuel must not be negative.")
        filled = self.fuelLevel + fuelAmount
        if filled > TANK_GALLONS:
            return self.fails("fillFuelTank.capacity", f"The tank holds no more than {TANK_GALLONS} gallons.")
        if filled < 0:
            return self.fails("fillFuelTank.empty", "The tank cannot hold less than nothing.")
        self.fuelLevel = filled
        return {"fuelLevel": self.fuelLevel}

    @tool(writes=True)
    def lockDoors(self, unlock: bool, door: list[str]) -> JsonObject:
        """Lock or unlock doors.

        Args:
            unlock: True to unlock the doors, false to lock them.
            door: The doors: any of `driver`, `passenger`, `rear_left` and `rear_right`.

        Returns:
            lockStatus (string): `unlocked` or `locked`, what was asked for.
            remainingUnlockedDoors (integer): How many doors of the car are unlocked now.
        """
        wanted = "unlocked" if unlock else "locked"
        for one in door:
            if self.doorStatus[one] != wanted:
                self.doorStatus[one] = wanted
                self.remainingUnlockedDoors += 1 if unlock else -1
        return {"lockStatus": wanted, "remainingUnlockedDoors": self.remainingUnlockedDoors}

    @tool(writes=True)
    def adjustClimateControl(
        self, temperature: float, unit: str = "celsius", fanSpeed: int = 50, mode: str = "auto"
    ) -> JsonObject:
        """Set the climate control. All settings are replaced; what is left out goes to its default.

        Args:
            temperature: Temperature to set, in the given unit.
            unit: Unit of the temperature: `celsius` or `fahrenheit`.
            fanSpeed: Speed of the fan, from 0 to 100.
            mode: Mode of the climate control: `auto`, `cool`, `heat` or `defrost`.

        Returns:
            currentACTemperature (float): The temperature, as given.
            climateMode (string): The mode.
            humidityLevel (float): Humidity in the car, in percent.
        """
        if not 0 <= fanSpeed <= 100:
            return self.fails("adjustClimateControl.fan", "The fan speed must be between 0 and 100.")
        self.acTemperature = temperature
        if unit == "fahrenheit":
            self.acTemperature = (temperature - 32) * 5 / 9
        self.fanSpeed = fanSpeed
        self.acMode = mode
        return {"currentACTemperature": temperature, "climateMode": mode, "humidityLevel": self.humidityLevel}

    @tool(writes=False)
    def get_outside_temperature_from_google(self) -> JsonObject:
        """Look up the temperature outside with Google.

        Returns:
            outsideTemperature (float): Temperature outside, in degrees Celsius.
        """
        weather = self._texts["LONG_WEATHER_EXTENSION"] if self.long_context else {}
        return {**weather, "outsideTemperature": self._random.uniform(-10, 40)}

    @tool(writes=False)
    def get_outside_temperature_from_weather_com(self) -> JsonObject:
        """Look up the temperature outside with weather.com, a service that may be out of order.

        Returns:
            outsideTemperature (float): Temperature outside, in degrees Celsius.
        """
        return {"error": 404}

    @tool(writes=True)
    def setHeadlights(self, mode: str) -> JsonObject:
        """Switch the headlights.

        Args:
            mode: `on`, `off` or `auto`.

        Returns:
            headlightStatus (string): `on` or `off`.
        """
        if mode not in ["on", "off", "auto"]:
            return self.fails(
                "setHeadlights.mode", f"The headlights have no mode {mode!r}; modes are on, off and auto."
            )
        self.headLightStatus = "on" if mode == "on" else "off"
        return {"headlightStatus": self.headLightStatus}

    @tool(writes=False)
    def displayCarStatus(self, option: str) -> JsonObject:
        """Show one part of the car's status.

        Args:
            option: What to show: `fuel`, `battery`, `doors`, `climate`, `headlights`, `parkingBrake`, `brakePedal` or
                `engine`.

        Returns:
            fuelLevel (float): For `fuel`: fuel in the tank, in gallons.
            batteryVoltage (float): For `battery`: voltage of the battery.
            doorStatus (dict): For `doors`: `locked` or `unlocked` by door.
            currentACTemperature (float): For `climate`: temperature that is set, in degrees Celsius.
            fanSpeed (integer): For `climate`: speed of the fan, from 0 to 100.
            climateMode (string): For `climate`: mode of the climate control.
            humidityLevel (float): For `climate`: humidity in the car, in percent.
            headlightStatus (string): For `headlights`: `on` or `off`.
            parkingBrakeStatus (string): For `parkingBrake`: `engaged` or `released`.
            parkingBrakeForce (float): For `parkingBrake`: its force in newtons.
            slopeAngle (float): For `parkingBrake`: slope of the ground, in degrees.
            brakePedalStatus (string): For `brakePedal`: `pressed` or `released`.
            brakePedalForce (float): For `brakePedal`: its force in newtons.
            engineState (string): For `engine`: `running` or `stopped`.
        """
        shown = self._long("metadata", "CAR_STATUS_METADATA_EXTENSION")
        match option:
            case "fuel":
                return {**shown, "fuelLevel": self.fuelLevel}
            case "battery":
                return {**shown, "batteryVoltage": self.batteryVoltage}
            case "doors":
                return {**shown, "doorStatus": self.doorStatus}
            case "climate":
                return {
                    **shown,
                    "currentACTemperature": self.acTemperature,
                    "fanSpeed": self.fanSpeed,
                    "climateMode": self.acMode,
                    "humidityLevel": self.humidityLevel,
                }
            case "headlights":
                return {**shown, "headlightStatus": self.headLightStatus}
            case "parkingBrake":
                return {
                    **shown,
                    "parkingBrakeStatus": self.parkingBrakeStatus,
                    "parkingBrakeForce": self._parkingBrakeForce,
                    "slopeAngle": self._slopeAngle,
                }
            case "brakePedal":
                pedal: JsonObject = {
                    "brakePedalStatus": self.brakePedalStatus,
                    "brakePedalForce": self._brakePedalForce,
                }
                return {**shown, **pedal}
            case "engine":
                return {**shown, "engineState": self.engine_state}
        return {**shown, "error": self.say("displayCarStatus.option", f"The car shows no status called {option!r}.")}

    @tool(writes=True)
    def activateParkingBrake(self, mode: str) -> JsonObject:
        """Engage or release the parking brake.

        Args:
            mode: `engage` or `release`.

        Returns:
            parkingBrakeStatus (string): `engaged` or `released`.
            _parkingBrakeForce (float): Force of the parking brake in newtons.
            _slopeAngle (float): Slope of the ground, in degrees.
        """
        if mode not in ["engage", "release"]:
            return self.fails(
                "activateParkingBrake.mode", f"The parking brake has no mode {mode!r}; modes are engage and release."
            )
        engaged = mode == "engage"
        self.parkingBrakeStatus = "engaged" if engaged else "released"
        self._parkingBrakeForce = PARKING_FORCE if engaged else 0.0
        self._slopeAngle = SLOPE
        return {
            **self._long("parkingBrakeInstruction", "PARKING_BRAKE_INSTRUCTION"),
            "parkingBrakeStatus": self.parkingBrakeStatus,
            "_parkingBrakeForce": self._parkingBrakeForce,
            "_slopeAngle": self._slopeAngle,
        }

    @tool(writes=True)
    def pressBrakePedal(self, pedalPosition: float) -> JsonObject:
        """Press the brake pedal and keep it there.

        Args:
            pedalPosition: How far, from 0 (released) to 1 (fully pressed).

        Returns:
            brakePedalStatus (string): `pressed` or `released`.
            brakePedalForce (float): Force on the pedal in newtons.
        """
        if not 0 <= pedalPosition <= 1:
            return self.fails("pressBrakePedal.position", "The pedal's position must be between 0 and 1.")
        if pedalPosition == 0:
            return self.releaseBrakePedal()
        self.brakePedalStatus = "pressed"
        self._brakePedalForce = pedalPosition * FULL_FORCE
        return {"brakePedalStatus": self.brakePedalStatus, "brakePedalForce": float(self._brakePedalForce)}

    @tool(writes=True)
    def releaseBrakePedal(self) -> JsonObject:
        """Let go of the brake pedal.

        Returns:
            brakePedalStatus (string): `released`.
            brakePedalForce (float): Force on the pedal in newtons: 0.
        """
        self.brakePedalStatus = "released"
        self._brakePedalForce = 0.0
        return {"brakePedalStatus": self.brakePedalStatus, "brakePedalForce": self._brakePedalForce}

    @tool(writes=True)
    def setCruiseControl(self, speed: float, activate: bool, distanceToNextVehicle: float) -> JsonObject:
        """Switch the cruise control on or off. The engine has to run.

        Args:
            speed: Speed to keep, in miles per hour: a multiple of 5 from 0 to 120.
            activate: True to switch it on, false to switch it off.
            distanceToNextVehicle: Distance to keep to the car in front, in meters.

        Returns:
            cruiseStatus (string): `active` or `inactive`.
            currentSpeed (float): The speed, as given.
            distanceToNextVehicle (float): The distance, as given.
        """
        distance, wanted = float(distanceToNextVehicle), float(speed)
        if self.engine_state == "stopped":
            return self.fails("setCruiseControl.engine", "The engine must be running first.")
        self.distanceToNextVehicle = distance
        if activate and (not 0 <= wanted <= TOP_SPEED or wanted % SPEED_STEP != 0):
            return self.fails(
                "setCruiseControl.speed", f"The speed must be a multiple of {SPEED_STEP} from 0 to {TOP_SPEED}."
            )
        self.cruiseStatus = "active" if activate else "inactive"
        return {"cruiseStatus": self.cruiseStatus, "currentSpeed": wanted, "distanceToNextVehicle": distance}

    @tool(writes=False)
    def get_current_speed(self) -> JsonObject:
        """Read the speed of the car.

        Returns:
            currentSpeed (float): The speed in km/h.
        """
        return {"currentSpeed": self._random.uniform(0, 120)}

    @tool(writes=False)
    def display_log(self, messages: list[str]) -> JsonObject:
        """Show messages on the car's display.

        Args:
            messages: The messages.

        Returns:
            log (array): The messages shown.
        """
        return {"log": messages}

    @tool(writes=False)
    def estimate_drive_feasibility_by_mileage(self, distance: float) -> JsonObject:
        """Tell whether the fuel in the tank is enough for a distance.

        Args:
            distance: The distance in miles.

        Returns:
            canDrive (boolean): Whether the car gets that far.
        """
        return {"canDrive": not self.fuelLevel * MILES_PER_GALLON < distance}

    @tool(writes=False)
    def liter_to_gallon(self, liter: float) -> JsonObject:
        """Convert liters to gallons.

        Args:
            liter: Number of liters.

        Returns:
            gallon (float): Number of gallons.
        """
        return {"gallon": liter * GALLONS_PER_LITER}

    @tool(writes=False)
    def gallon_to_liter(self, gallon: float) -> JsonObject:
        """Convert gallons to liters.

        Args:
            gallon: Number of gallons.

        Returns:
            liter (float): Number of liters.
        """
        return {"liter": gallon * LITERS_PER_GALLON}

    @tool(writes=False)
    def estimate_distance(self, cityA: str, cityB: str) -> JsonObject:
        """Estimate the distance between two cities, which are given by their zip codes.

        Args:
            cityA: Zip code of the first city.
            cityB: Zip code of the second city.

        Returns:
            distance (float): The distance in kilometers.
            intermediaryCities (array): Cities on the way, where they are known.
        """
        known = isinstance(cityA, str) and isinstance(cityB, str)
        distance = DISTANCES.get(frozenset((cityA, cityB))) if known else None
        found: Parsed = self.fails(
            "estimate_distance.unknown", "The distance between these two zip codes is not known."
        )
        if distance is not None:
            found = {"distance": distance}
        return {**found, **self._long("intermediaryCities", "INTERMEDIARY_CITIES")}

    @tool(writes=False)
    def get_zipcode_based_on_city(self, city: str) -> JsonObject:
        """Look up the zip code of a city.

        Args:
            city: Name of the city.

        Returns:
            zipcode (string): The zip code, `00000` for an unknown city.
        """
        return {"zipcode": ZIP_CODES.get(city, UNKNOWN_ZIP_CODE) if isinstance(city, str) else UNKNOWN_ZIP_CODE}

    @tool(writes=True)
    def set_navigation(self, destination: str) -> JsonObject:
        """Set the destination of the navigation.

        Args:
            destination: Where to go, as street, city and state.

        Returns:
            status (string): What happened.
        """
        self.destination = destination
        return {"status": "Navigating to " + destination}

    @tool(writes=False)
    def check_tire_pressure(self) -> JsonObject:
        """Read the pressure of all tires.

        Returns:
            frontLeftTirePressure (float): Pressure of the front left tire in psi.
            frontRightTirePressure (float): Pressure of the front right tire in psi.
            rearLeftTirePressure (float): Pressure of the rear left tire in psi.
            rearRightTirePressure (float): Pressure of the rear right tire in psi.
            healthy_tire_pressure (boolean): Whether the mean is from 30 to 35 psi.
            car_info (dict): Further information about the car.
        """
        pressures = {
            "frontLeftTirePressure": self.frontLeftTirePressure,
            "frontRightTirePressure": self.frontRightTirePressure,
            "rearLeftTirePressure": self.rearLeftTirePressure,
            "rearRightTirePressure": self.rearRightTirePressure,
        }
        low, high = HEALTHY_PRESSURE
        return {
            **pressures,
            "healthy_tire_pressure": low <= sum(pressures.values()) / len(pressures) <= high,
            "car_info": self._texts["CAR_STATUS_METADATA_EXTENSION"] if self.long_context else {},
        }

    @tool(writes=False)
    def find_nearest_tire_shop(self) -> JsonObject:
        """Find the nearest tire shop.

        Returns:
            shopLocation (string): Address of the shop.
        """
        return {"shopLocation": TIRE_SHOP}
