"""Physics of motion, density, equations, derivatives, temperatures; areas, distances and points on a line."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from pytest_bfcl.plain_text import parse_expression
from pytest_bfcl.syntax.arithmetic import OPERATORS

MOST_CHARACTERS = 2_000

_FUNCTIONS: dict[str, Callable[..., float]] = {
    name: getattr(math, name)
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log10", "sqrt")
} | {"abs": abs, "pow": operator.pow}
_CONSTANTS = {"pi": math.pi, "e": math.e}


def formula(text: str) -> Callable[[float], float]:
    """The function a text such as ``lambda x: 3*x**2`` describes; raises `ValueError` for anything else."""
    if not isinstance(text, str):
        raise TypeError("the formula must be a text")
    if len(text) > MOST_CHARACTERS:
        raise ValueError("the formula is too long")
    try:
        body = parse_expression(text.strip())
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"not a formula: {error}") from None
    if not isinstance(body, ast.Lambda) or [len(body.args.args), len(body.args.defaults)] != [1, 0]:
        raise ValueError("a formula is written as a lambda of one variable")
    variable = body.args.args[0].arg

    def evaluate(x: float) -> float:
        result = _value(body.body, variable, float(x))
        if isinstance(result, complex):
            raise ValueError("the formula has no real value here")
        return result

    return evaluate


def _value(node: ast.expr, variable: str, x: float) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name) if name == variable:
            return x
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, variable, x)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, variable, x)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            result: float = OPERATORS[type(op)](_value(left, variable, x), _value(right, variable, x))
            return result
        case ast.Call(func=function, args=arguments, keywords=[]) if _name(function) in _FUNCTIONS:
            return _FUNCTIONS[_name(function)](*(_value(argument, variable, x) for argument in arguments))
        case ast.Attribute() if _name(node) in _CONSTANTS:
            return _CONSTANTS[_name(node)]
    raise ValueError(f"a formula cannot contain {ast.unparse(node)[:60]!r}")


def _name(node: ast.expr) -> str:
    """``sin`` of ``sin`` or ``math.sin``."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="math"), attr=name):
            return name
    return ""


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
    """Difference quotient at ``x`` of a formula given as ``lambda x: …`` (read, never run: `formula`)."""
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


SCIENCE = (
    calculate_density, calculate_displacement, calculate_final_velocity, calculate_electrostatic_potential_energy,
    estimate_derivative, quadratic_roots, convert_temperature_scale, braking_distance,
)  # fmt: skip


Point = Sequence[float]

MOST_POINTS = 500


def calculate_triangle_area(base: float, height: float) -> float:
    """Half of base times height."""
    return base * height / 2


def geometry_area_circle(radius: float) -> float:
    """Area of a circle."""
    return math.pi * radius**2


def get_distance(pointA: Point, pointB: Point) -> float:
    """Straight distance between two points of the plane."""
    return float(((pointA[0] - pointB[0]) ** 2 + (pointA[1] - pointB[1]) ** 2) ** 0.5)


def polygon_area(vertices: Sequence[Point]) -> float:
    """Area of a polygon by the shoelace formula; vertices in order."""
    count = len(vertices)
    if count < 3:
        raise ValueError("a polygon has at least three vertices")
    total = 0.0
    for i in range(count):
        j = (i + 1) % count
        total += vertices[i][0] * vertices[j][1] - vertices[j][0] * vertices[i][1]
    return abs(total) / 2


def maxPoints(points: Sequence[Point]) -> int:
    """How many of the points lie on one straight line at most."""
    if len(points) > MOST_POINTS:
        raise ValueError(f"at most {MOST_POINTS} points here")
    best = min(len(points), 1)
    for i, (x, y) in enumerate(points):
        for other in points[i + 1 :]:
            dx, dy = other[0] - x, other[1] - y
            on_line = sum((each[0] - x) * dy == (each[1] - y) * dx for each in points)
            best = max(best, on_line)
    return best


def box_volume(length: float, width: float, height: float) -> float:
    """Volume of a box."""
    return length * width * height


def bounding_box(points: Sequence[Point]) -> dict[str, float]:
    """The smallest upright rectangle around the points."""
    across, up = [point[0] for point in points], [point[1] for point in points]
    return {"left": min(across), "bottom": min(up), "right": max(across), "top": max(up)}


GEOMETRY = (
    calculate_triangle_area, geometry_area_circle, get_distance, polygon_area, maxPoints, box_volume, bounding_box,
)  # fmt: skip
