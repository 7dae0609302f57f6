"""A formula of one variable, given as the text of a Python lambda: read into a tree and computed by us, never run.

Numbers, the variable, ``+ - * / // % **``, signs, and a few functions of `math` are all there is; everything is
computed in floats, so that no power can grow beyond them.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from pytest_bfcl.python_text import parse_expression

MOST_CHARACTERS = 2_000

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
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
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, variable, x), _value(right, variable, x))
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
