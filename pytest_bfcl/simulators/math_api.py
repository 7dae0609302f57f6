"""MathAPI: a calculator without state (simulators spec §2); precision and size of numbers are limited."""

from __future__ import annotations

import decimal
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from pytest_bfcl.json_types import JsonObject, Parsed
from pytest_bfcl.simulators.toolkit import Oversized, Simulator, tool

MAX_PRECISION = 1_000
"""Decimal digits of logarithms and roots."""
MAX_BITS = 15_000
"""Bits of whole numbers; Python prints at most 4,300 digits (14,284 bits) anyway."""
MAX_ITEMS = 1_000_000
"""Most characters or elements of a result of `add`."""
MAX_EXPONENT = 1_000_000

Number = int | float

SI_METRES = {"km": 1e3, "m": 1, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "nm": 1e-9}

IMPERIAL_FACTORS = {
    ("cm", "in"): 0.393701,
    ("in", "cm"): 2.54,
    ("m", "ft"): 3.28084,
    ("ft", "m"): 0.3048,
    ("m", "yd"): 1.09361,
    ("yd", "m"): 0.9144,
    ("km", "miles"): 0.621371,
    ("miles", "km"): 1.60934,
    ("kg", "lb"): 2.20462,
    ("lb", "kg"): 0.453592,
}


def _number(value: Any) -> Any:
    """A number unchanged. Raises `TypeError` for anything else."""
    if not _is_number(value):
        raise TypeError(value)
    return value


def _mean(numbers: Sequence[Any]) -> Any:
    return sum(numbers) / len(numbers)


def _deviation(numbers: Sequence[Any]) -> float:
    mean = _mean(numbers)
    return math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def _bits(value: object) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _bounded(value: Any) -> JsonObject:
    """A result object; refuses whole numbers above `MAX_BITS`."""
    if _bits(value) > MAX_BITS:
        raise Oversized("the result is too large")
    return {"result": value}


def _length(value: object) -> int:
    return len(value) if hasattr(value, "__len__") else 0


_HUGE_EXPONENT = re.compile(r"[e@p][+-]?[\d_]{6,}", re.IGNORECASE)


class MathAPI(Simulator):
    """Arithmetic on the model's arguments, which are deliberately not checked beyond the spec."""

    name = "MathAPI"
    summary = "Calculator: arithmetic, statistics, rounding and unit conversion."

    def _computed(self, name: str, compute: Callable[[], Any]) -> JsonObject:
        """The limited result of a computation, or the common error."""
        try:
            return _bounded(compute())
        except TypeError:
            return self.fails(f"{name}.type", "Every input must be a number.")

    def _over(self, name: str, function: Callable[[Sequence[Any]], Any], numbers: Sequence[Any]) -> JsonObject:
        """The same over a list, which must not be empty."""
        if not numbers:
            return self.fails(f"{name}.empty", "The list is empty.")
        return self._computed(name, lambda: function(numbers))

    @tool(writes=False)
    def logarithm(self, value: Number, base: Number, precision: int) -> JsonObject:
        """Compute the logarithm of a number to any base with a chosen number of digits.

        Args:
            value: The number.
            base: Base of the logarithm.
            precision: How many decimal digits to compute with.

        Returns:
            result (float): The logarithm.
        """
        _check_precision(precision)
        _check_number_text(value)
        _check_number_text(base)
        try:
            context = _precise_context(precision) if type(precision) is int else _new_context(precision)
            # Both logarithms are rounded before the division; a two-argument log would keep guard digits.
            with _digits_limit_kept():
                return {"result": context.log(value) / context.log(base)}
        except Exception as error:
            return self.fails("logarithm.failed", f"This logarithm cannot be computed: {error}", error)

    @tool(writes=False)
    def mean(self, numbers: list[Number]) -> JsonObject:
        """Compute the arithmetic mean of a list of numbers.

        Args:
            numbers: The numbers; at least one.

        Returns:
            result (float): The mean.
        """
        return self._over("mean", _mean, numbers)

    @tool(writes=False)
    def standard_deviation(self, numbers: list[Number]) -> JsonObject:
        """Compute the population standard deviation of a list of numbers.

        Args:
            numbers: The numbers; at least one.

        Returns:
            result (float): The standard deviation.
        """
        return self._over("standard_deviation", _deviation, numbers)

    @tool(writes=False)
    def si_unit_conversion(self, value: Number, unit_in: str, unit_out: str) -> JsonObject:
        """Convert a length between the metric units km, m, cm, mm, um and nm.

        Args:
            value: The length in the first unit.
            unit_in: Unit to convert from.
            unit_out: Unit to convert to.

        Returns:
            result (float): The length in the second unit.
        """
        if not _is_number(value):
            return self.fails("si_unit_conversion.type", "The value must be a number.")
        if unit_in not in SI_METRES or unit_out not in SI_METRES:
            return self.fails(
                "si_unit_conversion.unit",
                f"Cannot convert from {unit_in!r} to {unit_out!r}; units are {', '.join(SI_METRES)}.",
                unit_in,
                unit_out,
            )
        try:
            return {"result": value * SI_METRES[unit_in] * (1 / SI_METRES[unit_out])}  # this order, for the last digit
        except OverflowError:
            return self.fails("si_unit_conversion.large", "The value is too large.")

    @tool(writes=False)
    def imperial_si_conversion(self, value: Number, unit_in: str, unit_out: str) -> JsonObject:
        """Convert a number between an imperial and a metric unit.

        Known pairs, both ways: cm and in, m and ft, m and yd, km and miles, kg and lb, celsius and fahrenheit.

        Args:
            value: The number in the first unit.
            unit_in: Unit to convert from.
            unit_out: Unit to convert to.

        Returns:
            result (float): The number in the second unit.
        """
        if not _is_number(value):
            return self.fails("imperial_si_conversion.type", "The value must be a number.")
        if unit_in == unit_out:
            return {"result": value}
        try:
            pair = (str(unit_in), str(unit_out))
            if pair == ("celsius", "fahrenheit"):
                return {"result": value * 1.8 + 32}
            if pair == ("fahrenheit", "celsius"):
                return {"result": (value - 32) * (5 / 9)}
            if pair not in IMPERIAL_FACTORS:
                return self.fails(
                    "imperial_si_conversion.unit",
                    f"Cannot convert from {unit_in!r} to {unit_out!r}.",
                    unit_in,
                    unit_out,
                )
            return {"result": value * IMPERIAL_FACTORS[pair]}
        except OverflowError:
            return self.fails("imperial_si_conversion.large", "The value is too large.")

    @tool(writes=False)
    def add(self, a: Number, b: Number) -> JsonObject:
        """Add two numbers.

        Args:
            a: First number.
            b: Second number.

        Returns:
            result (float): The sum.
        """
        if _length(a) + _length(b) > MAX_ITEMS:
            raise Oversized("the result is too large")
        return self._computed("add", lambda: a + b)

    @tool(writes=False)
    def subtract(self, a: Number, b: Number) -> JsonObject:
        """Subtract the second number from the first.

        Args:
            a: Number to subtract from.
            b: Number to subtract.

        Returns:
            result (float): The difference.
        """
        return self._computed("subtract", lambda: a - b)

    @tool(writes=False)
    def multiply(self, a: Number, b: Number) -> JsonObject:
        """Multiply two numbers.

        Args:
            a: First number.
            b: Second number.

        Returns:
            result (float): The product.
        """
        return self._computed("multiply", lambda: _number(a) * _number(b))

    @tool(writes=False)
    def divide(self, a: Number, b: Number) -> JsonObject:
        """Divide the first number by the second.

        Args:
            a: Number to divide.
            b: Number to divide by; not 0.

        Returns:
            result (float): The quotient.
        """
        if b == 0:
            return self.fails("divide.zero", "Division by zero.")
        return self._computed("divide", lambda: a / b)

    @tool(writes=False)
    def power(self, base: Number, exponent: Number) -> JsonObject:
        """Raise a number to a power.

        Args:
            base: The number.
            exponent: The power.

        Returns:
            result (float): The number raised to the power.
        """
        _check_power(base, exponent)
        return self._computed("power", lambda: base**exponent)

    @tool(writes=False)
    def square_root(self, number: Number, precision: int) -> Parsed:
        """Compute the square root of a number with a chosen number of significant digits.

        Args:
            number: The number; not negative.
            precision: How many significant digits to compute.

        Returns:
            result (float): The square root.
        """
        try:
            if number < 0:
                return self.fails("square_root.negative", "A negative number has no real square root.")
            _check_precision(precision)
            with decimal.localcontext() as context:
                context.prec = precision
                return {"result": decimal.Decimal(number).sqrt()}
        except (TypeError, decimal.InvalidOperation):
            return self.fails("square_root.type", "Every input must be a number.")

    @tool(writes=False)
    def absolute_value(self, number: Number) -> JsonObject:
        """Compute the absolute value of a number.

        Args:
            number: The number.

        Returns:
            result (float): The number without its sign.
        """
        return self._computed("absolute_value", lambda: abs(number))

    @tool(writes=False)
    def round_number(self, number: Number, decimal_places: int = 0) -> JsonObject:
        """Round a number; halves go to the even neighbour.

        Args:
            number: The number.
            decimal_places: Digits to keep after the decimal point.

        Returns:
            result (float): The rounded number.
        """
        if isinstance(decimal_places, int) and abs(decimal_places) > MAX_PRECISION * 10 and type(number) is not float:
            if type(number) is not int:
                raise Oversized("too many decimal places")
            return {"result": number if decimal_places > 0 else 0}  # as Python's, without the power of ten
        return self._computed("round_number", lambda: round(number, decimal_places))

    @tool(writes=False)
    def percentage(self, part: Number, whole: Number) -> JsonObject:
        """Compute how many percent one number is of another.

        Args:
            part: The part.
            whole: The number that counts as 100 percent; not 0.

        Returns:
            result (float): The percentage.
        """
        if whole == 0:
            return self.fails("percentage.zero", "The whole must not be zero.")
        return self._computed("percentage", lambda: (part / whole) * 100)

    @tool(writes=False)
    def min_value(self, numbers: list[Number]) -> JsonObject:
        """Find the smallest number of a list.

        Args:
            numbers: The numbers; at least one.

        Returns:
            result (float): The smallest one.
        """
        return self._over("min_value", min, numbers)

    @tool(writes=False)
    def max_value(self, numbers: list[Number]) -> JsonObject:
        """Find the largest number of a list.

        Args:
            numbers: The numbers; at least one.

        Returns:
            result (float): The largest one.
        """
        return self._over("max_value", max, numbers)

    @tool(writes=False)
    def sum_values(self, numbers: list[Number]) -> JsonObject:
        """Add up a list of numbers.

        Args:
            numbers: The numbers; at least one.

        Returns:
            result (float): The sum.
        """
        return self._over("sum_values", sum, numbers)


def _new_context(precision: object) -> Any:
    """A separate context, because mpmath's global one would pass the precision to other calls."""
    from mpmath.ctx_mp import MPContext

    context = MPContext()
    context.dps = precision
    return context


_precise_context = lru_cache(maxsize=16)(_new_context)


@contextmanager
def _digits_limit_kept() -> Iterator[None]:
    """Restores Python's limit on digits, which mpmath does not do after a text that is no number."""
    limit = sys.get_int_max_str_digits()
    try:
        yield
    finally:
        if sys.get_int_max_str_digits() != limit:
            sys.set_int_max_str_digits(limit)


def _check_number_text(value: object) -> None:
    """mpmath reads texts exactly, with exponents of any cost."""
    if isinstance(value, str) and (len(value) > MAX_PRECISION or _HUGE_EXPONENT.search(value)):
        raise Oversized("the number is too long")


def _check_precision(precision: Any) -> None:
    if _is_number(precision) and precision > MAX_PRECISION:
        raise Oversized(f"at most {MAX_PRECISION} digits can be computed")


def _check_power(base: object, exponent: object) -> None:
    """Refuse powers that would take long: whole results above `MAX_BITS`, exact powers with huge exponents."""
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent > 0 and max(_bits(base) - 1, base not in (-1, 0, 1)) * exponent > MAX_BITS:
            raise Oversized("the result is too large")
    elif not isinstance(base, (int, float, complex)) and isinstance(exponent, int) and abs(exponent) > MAX_EXPONENT:
        raise Oversized("the exponent is too large")  # Decimal and mpmath results of other calls
