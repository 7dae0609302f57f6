"""When a JSON value is what was expected: equal, contained, near enough, at a path, or as a function says."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_bfcl.failures import UsageError

MOST_STEPS = 20
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d{1,6}|\*)\]|\[\"([^\"]{1,200})\"\]|\['([^']{1,200})'\]")


@dataclass(frozen=True, slots=True, repr=False)
class Tested:
    """A function that tests a value in Python's expectations; ``name`` is for messages."""

    test: Callable[[Any], object]
    name: str

    def holds(self, told: Any) -> bool:
        """The function's result for a value; a value for which it raises a common error is not right.

        Raises `UsageError` for a function that returns nothing, or fails in another way.
        """
        try:
            found = self.test(told)
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
            return False
        except Exception as error:
            raise UsageError(f"{self.name} raised {type(error).__name__}: {str(error)[:200]}") from None
        if found is None or inspect.isawaitable(found):
            raise UsageError(f"{self.name} returned {type(found).__name__}: return whether the value is right")
        return bool(found)

    def __repr__(self) -> str:
        return self.name


def steps_of(path: str) -> list[str | int]:
    """The steps of a path into JSON, ``*`` for every item. Raises `ValueError`."""
    steps: list[str | int] = []
    rest = path.removeprefix("$")
    while rest:
        found = _STEP.match(rest)
        if found is None or len(steps) >= MOST_STEPS:
            raise ValueError(f"{path[:80]!r} is no path: write it like $.items[0].price")
        name, index, double, single = found.groups()
        steps.append(name or double or single or ("*" if index == "*" else int(index)))
        rest = rest[found.end() :]
    return steps


def at_path(value: Any, path: str | None) -> tuple[Any, bool]:
    """The value at a path, and whether it exists; with ``*`` the list of all values."""
    return _at(value, steps_of(path)) if path else (value, True)


def _at(value: Any, steps: list[str | int]) -> tuple[Any, bool]:
    for number, step in enumerate(steps):
        if step == "*":
            items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
            found = [_at(item, steps[number + 1 :]) for item in items]
            return [item for item, there in found if there], True
        if isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None, False
    return value, True


def near(wanted: float, told: float, tolerance: float) -> bool:
    """Whether two numbers are within the tolerance; the last digit of a sum of floats does not count."""
    return abs(wanted - told) <= tolerance + 1e-9 * max(1.0, abs(wanted)) if tolerance else wanted == told


def same(wanted: Any, told: Any, tolerance: float = 0) -> bool:
    """Equal as JSON: numbers by value, true and 1 differ; a function in place of a value decides itself."""
    if isinstance(wanted, Tested):
        return wanted.holds(told)
    if isinstance(wanted, bool) or isinstance(told, bool):
        return wanted is told
    if isinstance(wanted, dict) and isinstance(told, dict):
        return wanted.keys() == told.keys() and all(same(each, told[name], tolerance) for name, each in wanted.items())
    if isinstance(wanted, list) and isinstance(told, list):
        pairs = zip(wanted, told, strict=False)
        return len(wanted) == len(told) and all(same(one, two, tolerance) for one, two in pairs)
    if isinstance(wanted, int | float) and isinstance(told, int | float):
        return near(wanted, told, tolerance) if math.isfinite(told) else False
    return bool(wanted == told)


def contained(wanted: Any, told: Any, tolerance: float = 0) -> bool:
    """Whether ``told`` contains all of ``wanted``."""
    if isinstance(wanted, str) and isinstance(told, str):
        return wanted in told
    if isinstance(wanted, dict) and isinstance(told, dict):
        return all(name in told and contained(each, told[name], tolerance) for name, each in wanted.items())
    if isinstance(told, list):
        listed = wanted if isinstance(wanted, list) else [wanted]
        return all(any(contained(each, item, tolerance) for item in told) for each in listed)
    return same(wanted, told, tolerance)


def has_number(value: Any) -> bool:
    """Whether a number is anywhere in a JSON value."""
    if isinstance(value, dict | list):
        return any(map(has_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def json_text(value: Any) -> str:
    """A value as the JSON text in which patterns are searched."""
    return json.dumps(value, ensure_ascii=False, default=str)
