"""Evaluates arithmetic in a model's text within limits (ast_checker spec §3.2, "binary operation").

The reference passes such expressions to the interpreter. Here only literals, unary and binary operators over numbers,
strings, lists, tuples and mappings are evaluated, with limits on the size of every result and on the total work. Inside
an operation operators have their normal meaning.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_bfcl.syntax.limits import DecodeError

MAX_BITS = 65_536
"""Largest intermediate integer; final results have at most 4300 digits."""
MAX_WEIGHT = 100_000
"""Largest intermediate text or container: characters and elements, nested ones included."""
MAX_WORK = 2_000_000
"""Most work for one text: the sum of all weights."""

OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
"""Those of numbers of any kind."""
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    **OPERATORS,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
_WIDTH = re.compile(r"%(?:\([^)]*\))?[#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?")


class Folder:
    """Evaluates the arithmetic of one text and counts the work."""

    def __init__(self) -> None:
        self._work = 0

    def fold(self, node: ast.expr) -> Any:
        """The value of an expression. Raises `DecodeError` for anything not allowed, too large or undefined."""
        try:
            return self._value(node)
        except (ArithmeticError, TypeError, ValueError, MemoryError, KeyError) as error:
            if isinstance(error, DecodeError):
                raise
            raise DecodeError(f"arithmetic: {error}") from None

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self._value(node.left), self._value(node.right))
        if isinstance(node, ast.UnaryOp):
            return _unary(node.op, self._value(node.operand))
        if isinstance(node, ast.List):
            return [self._value(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self._value(item) for item in node.elts)
        if isinstance(node, ast.Dict):
            return {self._key(key): self._value(value) for key, value in zip(node.keys, node.values, strict=True)}
        raise DecodeError(f"{type(node).__name__} inside an operation")

    def _key(self, node: ast.expr | None) -> Any:
        if node is None:
            raise DecodeError("** inside an operation")
        return self._value(node)

    def _binary(self, kind: ast.operator, left: object, right: object) -> Any:
        operation = _BINARY.get(type(kind))
        if operation is None:
            raise DecodeError("operator without a meaning for literals")
        if isinstance(left, int) and isinstance(right, int):
            _check_integers(kind, left, right)
        elif not (_is_number(left) and _is_number(right)):
            self._check_containers(kind, left, right)
        self._spend(1)
        return operation(left, right)

    def _check_containers(self, kind: ast.operator, left: object, right: object) -> None:
        weights = _weight(left), _weight(right)
        self._spend(sum(weights))
        if isinstance(kind, ast.Mult):
            times, weight = (right, weights[0]) if isinstance(right, int) else (left, weights[1])
            repeated = weight * max(times, 0) if isinstance(times, int) else 0
            _limit(repeated)
            self._spend(repeated)
        elif isinstance(kind, ast.Mod) and isinstance(left, (str, bytes)):
            self._check_format(left, right)
        else:
            _limit(sum(weights))

    def _check_format(self, pattern: str | bytes, values: object) -> None:
        text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
        # Printed values are longer than they weigh: quotes, commas and digits of numbers count too.
        weight = _weight(values) * 6 + _digits(values)
        if isinstance(values, dict):
            weight *= text.count("%")
        found = _WIDTH.findall(text)
        if any("*" in pair for pair in found):
            raise DecodeError("width taken from the values in a format")
        widths = sum(_width(number) for pair in found for number in pair if number)
        _limit(len(text) + weight + widths)
        self._spend(len(text) + weight + widths)

    def _spend(self, weight: int) -> None:
        self._work += weight
        if self._work > MAX_WORK:
            raise DecodeError("too much arithmetic")


def _unary(kind: ast.unaryop, value: Any) -> Any:
    if isinstance(kind, ast.Not):
        return not value
    if isinstance(kind, ast.USub):
        return -value
    if isinstance(kind, ast.UAdd):
        return +value
    return ~int(value) if isinstance(value, bool) else ~value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, complex))


def _check_integers(kind: ast.operator, left: int, right: int) -> None:
    """Refuse results beyond `MAX_BITS` before they are computed."""
    bits = 0
    if isinstance(kind, ast.Mult):
        bits = left.bit_length() + right.bit_length()
    elif isinstance(kind, ast.LShift) and left:
        bits = left.bit_length() + max(right, 0)
    elif isinstance(kind, ast.Pow) and right > 0 and abs(left) > 1:
        bits = left.bit_length() * right
    if bits > MAX_BITS:
        raise DecodeError("integer result too large")


def _limit(weight: int) -> None:
    if weight > MAX_WEIGHT:
        raise DecodeError("result of an operation too large")


def _width(number: str) -> int:
    if len(number) > 6:
        raise DecodeError("width too large in a format")
    return int(number)


def _weight(value: object) -> int:
    """Characters and elements, nested ones included (shared ones counted at each place)."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, (list, tuple)):
        return len(value) + sum(map(_weight, value))
    if isinstance(value, dict):
        return 2 * len(value) + sum(map(_weight, value)) + sum(map(_weight, value.values()))
    return 1


def _digits(value: object) -> int:
    """An upper limit of the printed characters of numbers (``%f`` of a float has up to 309)."""
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, (float, complex)):
        return 700
    if isinstance(value, (list, tuple)):
        return sum(map(_digits, value))
    if isinstance(value, dict):
        return sum(map(_digits, value)) + sum(map(_digits, value.values()))
    return 0
