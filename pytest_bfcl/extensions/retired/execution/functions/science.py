"""Physics of motion, density, equations, derivatives, temperatures."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.extensions.retired.execution.formula import formula

STEP = 1e-10
"""Step of the difference quotient; the recorded results carry its rounding."""


def calculate_density(mass: float, volume: float) -> float:
    """Mass per volume."""
    return mass / volume


def calculate_displacement(initial_velocity: float, acceleration: float, time: float) -> float:
    """Way covered under constant acceleration."""
    return initial_velocity * time + 0.5 * acceleration * time**2


def calculate_final_velocity(initial_velocity: float, acceleration: float, time: float) -> float:
    """Velocity after a time of constant acceleration."""
    return initial_velocity + acceleration * time


def calculate_electrostatic_potential_energy(charge: float, voltage: float) -> float:
    """Energy of a charge at a voltage."""
    return charge * voltage


def estimate_derivative(function: str, x: float) -> float:
    """Difference quotient at ``x`` of a formula given as ``lambda x: …`` (read, never run: `execution.formula`)."""
    evaluate = formula(function)
    return (evaluate(x + STEP) - evaluate(x)) / STEP


def quadratic_roots(a: float, b: float, c: float) -> list[Any]:
    """Both roots, the one with the positive square root first; complex ones as ``{real, imaginary}``."""
    under = b**2 - 4 * a * c
    if under >= 0:
        return [(-b + under**0.5) / (2 * a), (-b - under**0.5) / (2 * a)]
    real, imaginary = -b / (2 * a), (-under) ** 0.5 / (2 * a)
    return [{"real": real, "imaginary": imaginary}, {"real": real, "imaginary": -imaginary}]


def convert_temperature_scale(degrees: float, from_scale: str, to_scale: str) -> float:
    """A temperature in another scale: ``celsius``, ``fahrenheit`` or ``kelvin``."""
    to_celsius = {"celsius": degrees, "fahrenheit": (degrees - 32) * 5 / 9, "kelvin": degrees - 273.15}
    celsius = to_celsius[from_scale.lower()]
    return {"celsius": celsius, "fahrenheit": celsius * 9 / 5 + 32, "kelvin": celsius + 273.15}[to_scale.lower()]


def braking_distance(speed_kmh: float, surface: str = "dry") -> float:
    """Metres a car needs to stop once it brakes, by surface: ``dry``, ``wet`` or ``ice``."""
    friction = {"dry": 0.75, "wet": 0.45, "ice": 0.1}[surface]
    return round((speed_kmh / 3.6) ** 2 / (2 * 9.81 * friction), 2)


FUNCTIONS = (
    calculate_density, calculate_displacement, calculate_final_velocity, calculate_electrostatic_potential_energy,
    estimate_derivative, quadratic_roots, convert_temperature_scale, braking_distance,
)  # fmt: skip
