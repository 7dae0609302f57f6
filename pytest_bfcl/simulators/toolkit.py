"""The base of simulators: a typed state, decorated read and write methods, documents from signature and docstring.

Their fixed tables (airports, stocks, distances: simulators spec §6 to §8) are read from ``tables.toml``.

A simulator subclasses `Simulator`, keeps its data in attributes (public ones are compared by the state check, names
starting with ``_`` are private), and marks its methods with `tool`. It does no I/O. Results are what the model sees, in
the serialisation of the multi_turn spec §3.2: text as is, a dict as JSON where possible, anything else as ``str()``.

Docstrings of tools are Google style and written for a model::

    \"""Count the lines, words or characters of a file.

    Args:
        file_name: Name of the file in the current directory.
        mode: What to count: ``l`` lines, ``w`` words, ``c`` characters.

    Returns:
        count (integer): The number counted.
        type (string): What was counted.
    \"""

The text before ``Args:`` becomes the description, ``Args:`` the parameters and ``Returns:`` the ``response`` object.
"""

from __future__ import annotations

import copy
import inspect
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_bfcl.json_types import Fields, JsonObject, JsonValue, Parsed
from pytest_bfcl.tools.documents import read_docstring

F = TypeVar("F", bound=Callable[..., Any])

Say = Callable[..., str]
"""`Simulator.say` of a simulator, for shared functions."""

ERROR_PREFIX = "Error during execution: "
"""How a raised exception is shown to the model (multi_turn spec §3.2), with our text after it."""

MAX_RESULT_CHARS = 4_000_000
"""Longest result text; the largest correct one (a long-context listing) stays below 300,000."""

MAX_ERROR_CHARS = 2_000
"""Longest echo of an argument in an error text; the rest is cut."""


class Oversized(ValueError):
    """A tool refuses a call or a result above a limit (multi_turn spec §3.4); nothing has changed."""


def tool(*, writes: bool) -> Callable[[F], F]:
    """Mark a public method as a tool; ``writes``: it may change public state.

    Corrected rule C17 accepts read-only calls in quiet turns inherited from a base entry.
    """

    def mark(method: F) -> F:
        method.__bfcl_tool__ = {"writes": writes}  # type: ignore[attr-defined]
        return method

    return mark


class Simulator:
    """Base of every simulated API. Subclasses define ``load`` and tools.

    ``config`` is deep-copied before loading, so two simulators never share state.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    """One sentence about the API, before every tool description of our own data."""

    def __init__(
        self,
        config: Fields | None = None,
        *,
        long_context: bool = False,
        sentences: Mapping[str, str] | None = None,
        **context: Any,
    ) -> None:
        self._sentences = sentences or {}
        self.load(copied(dict(config or {})), long_context=long_context, **context)

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the state from a configuration object; unknown keys are ignored, missing ones take defaults.

        ``config`` is this simulator's own copy. ``texts`` are the long-context constants (simulators spec §9), ``None``
        for our own (`pytest_bfcl.simulators.long_context.constants`); they are shared, so copy what goes into the
        state. ``context`` has further objects for some classes (memory stores, search providers).
        """

    @classmethod
    def problem(cls) -> str | None:
        """Why entries with it cannot run here, with the remedy; else ``None``."""
        return None

    def say(self, place: str, own: str, *values: Any) -> str:
        """A text of a result: the data set's template for the place, filled with the values, else ``own``.

        The official set has the benchmark's sentences (`pytest_bfcl.fetching.texts_extraction`), so that its entries
        show a model the same words; values are texts in them, never templates.
        """
        template = self._sentences.get(place)
        return own if template is None else template.format(*values)

    def fails(self, place: str, own: str, *values: Any, **more: JsonValue) -> JsonObject:
        """The result of a refused call: ``more``, then the text of `say` under ``error``."""
        return {**more, "error": self.say(place, own, *values)}

    @property
    def speaks_otherwise(self) -> bool:
        """Whether results use a data set's sentences: then calls are read like by that data's reference."""
        return bool(self._sentences)

    @classmethod
    def tools(cls) -> dict[str, Callable[..., Any]]:
        """Name → function of every tool, sorted by name."""
        found: dict[str, Callable[..., Any]] = {}
        for name in sorted(dir(cls)):
            member = getattr(cls, name, None)
            if not name.startswith("_") and member is not None and hasattr(member, "__bfcl_tool__"):
                found[name] = member
        return found

    @classmethod
    def writes(cls, method: str) -> bool:
        """Whether the method may change public state; unknown methods count as writing."""
        marked = getattr(getattr(cls, method, None), "__bfcl_tool__", None)
        return bool(marked["writes"]) if marked else True

    @classmethod
    def documents(cls) -> list[Parsed]:
        """Function documents of all tools in the shape of the data spec §4.2, sorted by name."""
        return [document(cls, name, method) for name, method in cls.tools().items()]

    def invoke(self, method: str, args: Sequence[Any] = (), kwargs: Fields | None = None) -> Any:
        """Call a tool and return its raw result.

        Raises `NameError` for an unknown tool and `TypeError` for arguments that do not bind, before any change of the
        state. The method's exceptions pass through.
        """
        function = self.tools_by_name().get(method)
        if function is None:
            raise NameError(f"{self.name or type(self).__name__} has no function named {method!r}")
        given = kwargs or {}
        return function(self, *args, **given)

    def offers(self, method: str) -> bool:
        """Whether a tool of this name can be called."""
        return self.offers_tool(method)

    @classmethod
    def offers_tool(cls, method: str) -> bool:
        """Whether the class has a tool of this name."""
        return method in cls.tools_by_name()

    @classmethod
    def tools_by_name(cls) -> dict[str, Callable[..., Any]]:
        """`tools`, computed once per class."""
        cached = cls.__dict__.get("_tools_cache")
        if cached is None:
            cached = cls.tools()
            cls._tools_cache = cached  # type: ignore[attr-defined]
        return cached

    def call(self, method: str, kwargs: Fields | None = None, *args: Any) -> str:
        """Call a tool and return the result text as the model sees it; an exception becomes an error text."""
        try:
            return serialise(self.invoke(method, args, kwargs))
        except Exception as error:
            return error_text(error)

    def public_state(self) -> JsonObject:
        """Attribute → value of everything that the state check compares (references, not copies)."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


_ATOMS = frozenset({str, int, float, bool, type(None)})


def copied(value: Any) -> Any:
    """A deep copy; several times faster than `copy.deepcopy` for plain lists and mappings, which never share parts."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: item if type(item) in _ATOMS else copied(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _ATOMS else copied(item) for item in value]
    return copy.deepcopy(value)


def error_text(error: BaseException) -> str:
    """The (limited) result text of a call that raised; without a message it names the error."""
    message = str(error) if error.args == ("",) else str(error) or type(error).__name__
    return f"{ERROR_PREFIX}{message[:MAX_ERROR_CHARS]}"


def serialise(result: object) -> str:
    """A raw result in the text form for models (multi_turn spec §3.2, point 4).

    Raises `Oversized` above `MAX_RESULT_CHARS`.
    """
    text = _plain_text(result)
    if len(text) > MAX_RESULT_CHARS:
        raise Oversized(f"the result has {len(text):,} characters, more than the {MAX_RESULT_CHARS:,} allowed")
    return text


def _plain_text(result: object) -> str:
    if isinstance(result, str):
        return result
    if type(result) is dict:
        try:
            return json.dumps(result)
        except (TypeError, ValueError, RecursionError):
            return str(result)
    return str(result)


_TYPE_WORDS = {str: "string", int: "integer", float: "float", bool: "boolean", dict: "dict", list: "array"}


def document(cls: type[Simulator], name: str, method: Callable[..., Any]) -> JsonObject:
    """The function document of one tool, from its signature, type hints and Google-style docstring."""
    hints = get_type_hints(method, localns={"JsonValue": JsonValue})  # which refers to itself
    text, arguments, returned = read_docstring(inspect.getdoc(method) or "")
    properties: Parsed = {}
    required: list[str] = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        schema = type_schema(hints.get(parameter.name, Any))
        schema["description"] = arguments.get(parameter.name, "")
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        else:
            schema["default"] = copy.deepcopy(parameter.default)
        properties[parameter.name] = schema
    made: Parsed = {
        "name": name,
        "description": f"{cls.summary} {text}".strip(),
        "parameters": {"type": "dict", "properties": properties, "required": required},
    }
    if returned:
        made["response"] = {"type": "dict", "properties": returned}
    return made


def type_schema(hint: Any) -> JsonObject:
    """A type hint as a property schema in benchmark type words.

    ``X | None`` counts as ``X``, ``int | float`` as ``float``, unknown types as ``any``.
    """
    origin, arguments = get_origin(hint), [a for a in get_args(hint) if a is not type(None)]
    if origin in (Union, UnionType):
        if set(arguments) == {int, float}:
            return {"type": "float"}
        return type_schema(arguments[0])
    if hint is list or origin in (list, Sequence):
        return {"type": "array", "items": type_schema(arguments[0]) if arguments else {"type": "string"}}
    return {"type": _TYPE_WORDS.get(origin or hint, "any")}


_TABLES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def _fares() -> Iterator[tuple[tuple[str, str], float]]:
    for line in _TABLES["fares"].splitlines():
        start, _, ends = line.partition(": ")
        for end in ends.split(", "):
            airport, fare = end.split()
            yield (start, airport), float(fare)


AIRPORTS: Sequence[str] = _TABLES["airports"]
NEAREST_AIRPORTS: Mapping[str, str] = _TABLES["nearest_airports"]
FARES: Mapping[tuple[str, str], float] = dict(_fares())
"""From, to → one-way economy fare, in the order of the long-context cost list."""
CLASS_FACTORS: Mapping[str, int] = _TABLES["class_factors"]
USD_RATES: Mapping[str, float] = _TABLES["usd_rates"]
"""Currency → units for one US dollar."""
SYMBOLS: Mapping[str, str] = _TABLES["symbols"]
"""Company → symbol; names must be exact."""
SECTORS: Mapping[str, Sequence[str]] = _TABLES["sectors"]
ZIP_CODES: Mapping[str, str] = _TABLES["zip_codes"]
UNKNOWN_ZIP_CODE = "00000"
DISTANCES: Mapping[frozenset[str], float] = {frozenset(pair): distance for *pair, distance in _TABLES["distances"]}
"""Two zip codes, in either order → kilometres."""
TIRE_SHOP: str = _TABLES["tire_shop"]


def default_stocks() -> dict[str, dict[str, float]]:
    """Symbol → quote; a fresh object each time."""
    columns = ("price", "percent_change", "volume", "MA(5)", "MA(20)")
    return {symbol: dict(zip(columns, quote, strict=True)) for symbol, *quote in _TABLES["stocks"]}


def default_orders() -> dict[Any, Any]:
    """Order id → order; a fresh object each time."""
    rows = ((12345, "Buy", "AAPL", 210.65, 10, "Completed"), (12446, "Sell", "GOOG", 2840.56, 5, "Pending"))
    keys = ("id", "order_type", "symbol", "price", "amount", "status")
    return {row[0]: dict(zip(keys, row, strict=True)) for row in rows}


def default_account() -> JsonObject:
    """The account; a fresh object each time."""
    return {"account_id": 12345, "balance": 10000.0, "binding_card": 1974202140965533}
