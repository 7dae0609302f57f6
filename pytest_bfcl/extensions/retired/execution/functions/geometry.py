"""Areas, distances, and points on a line."""

from __future__ import annotations

import math
from collections.abc import Sequence

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


FUNCTIONS = (
    calculate_triangle_area, geometry_area_circle, get_distance, polygon_area, maxPoints, box_volume, bounding_box,
)  # fmt: skip
