"""Simulators as toolkits: a typed state, decorated read and write methods, documents from signature and docstring.

A simulator subclasses `Simulator`, keeps its data in attributes (public ones are compared by the state check, names
starting with ``_`` are private), and marks its methods with `tool`. It does no I/O. Results are what the model sees, in
the serialisation of the multi_turn spec §3.2: text as is, a dict as JSON where possible, anything else as ``str()``.
"""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, get_type_hints

F = TypeVar("F", bound=Callable[..., Any])

ERROR_PREFIX = "Error during execution: "
"""How a raised exception is shown to the model (multi_turn spec §3.2); the text after it is ours."""


def tool(*, writes: bool) -> Callable[[F], F]:
    """Mark a public method as offered to models; ``writes`` says whether it may change public state.

    Corrected rule C17 lets read-only calls pass in quiet turns inherited from a base entry.
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
    """One sentence about the API, put in front of every tool description of our own data."""

    def __init__(self, config: Mapping[str, Any] | None = None, *, long_context: bool = False, **context: Any) -> None:
        self.load(copy.deepcopy(dict(config or {})), long_context=long_context, **context)

    def load(self, config: dict[str, Any], *, long_context: bool = False, **context: Any) -> None:
        """Set the state from a configuration object; unknown keys are ignored, missing ones take defaults."""

    @classmethod
    def tools(cls) -> dict[str, Callable[..., Any]]:
        """Name → function of every method offered to models, sorted by name."""
        found: dict[str, Callable[..., Any]] = {}
        for name in sorted(dir(cls)):
            member = getattr(cls, name, None)
            if not name.startswith("_") and hasattr(member, "__bfcl_tool__"):
                found[name] = member  # type: ignore[assignment]
        return found

    @classmethod
    def writes(cls, method: str) -> bool:
        """Whether the method may change public state; unknown methods count as writing."""
        marked = getattr(getattr(cls, method, None), "__bfcl_tool__", None)
        return bool(marked["writes"]) if marked else True

    @classmethod
    def documents(cls) -> list[dict[str, Any]]:
        """Function documents of all tools in the shape of the data spec §4.2, sorted by name."""
        return [document(cls, name, method) for name, method in cls.tools().items()]

    def invoke(self, method: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Call a tool and return its raw result.

        Raises `NameError` for an unknown tool and `TypeError` for arguments that do not bind; both before any
        state changes. Whatever the method raises passes through.
        """
        function = self.tools_by_name().get(method)
        if function is None:
            raise NameError(f"{self.name or type(self).__name__} has no function named {method!r}")
        bound = inspect.signature(function).bind(self, *args, **dict(kwargs or {}))
        return function(*bound.args, **bound.kwargs)

    @classmethod
    def tools_by_name(cls) -> dict[str, Callable[..., Any]]:
        """`tools`, computed once per class."""
        cached = cls.__dict__.get("_tools_cache")
        if cached is None:
            cached = cls.tools()
            cls._tools_cache = cached  # type: ignore[attr-defined]
        return cached  # type: ignore[no-any-return]

    def call(self, method: str, kwargs: Mapping[str, Any] | None = None, *args: Any) -> str:
        """Call a tool and return the result text as the model sees it; an exception becomes an error text."""
        try:
            return serialise(self.invoke(method, args, kwargs))
        except Exception as error:
            return f"{ERROR_PREFIX}{error}"

    def public_state(self) -> dict[str, Any]:
        """Attribute → value of everything the state check compares (references, not copies)."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


def serialise(result: Any) -> str:
    """A raw result as the text a model sees (multi_turn spec §3.2, point 4)."""
    if isinstance(result, str):
        return result
    if type(result) is dict:
        try:
            return json.dumps(result)
        except Exception:
            return str(result)
    return str(result)


_TYPE_WORDS = {str: "string", int: "integer", float: "float", bool: "boolean", dict: "dict", list: "array"}


def document(cls: type[Simulator], name: str, method: Callable[..., Any]) -> dict[str, Any]:
    """The function document of one tool, from its signature, type hints and Google-style docstring."""
    hints = get_type_hints(method)
    text, arguments = _docstring(inspect.getdoc(method) or "")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        schema = type_schema(hints.get(parameter.name, str))
        schema["description"] = arguments.get(parameter.name, "")
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        else:
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    description = f"{cls.summary} {text}".strip()
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "dict", "properties": properties, "required": required},
    }


def type_schema(hint: Any) -> dict[str, Any]:
    """A type hint as a property schema in benchmark type words; ``X | None`` counts as ``X``."""
    arguments = [a for a in getattr(hint, "__args__", ()) if a is not type(None)]
    origin = getattr(hint, "__origin__", None)
    if origin in (list, Sequence) or hint is list:
        return {"type": "array", "items": type_schema(arguments[0]) if arguments else {"type": "string"}}
    if origin is dict or hint is dict:
        return {"type": "dict"}
    if (arguments and origin is None) or str(origin) == "typing.Union":
        if int in arguments and float in arguments:
            return {"type": "float"}
        return type_schema(arguments[0])
    return {"type": _TYPE_WORDS.get(hint, "any")}


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """Summary text and the ``Args:`` section of a Google-style docstring (one line per argument)."""
    head, _, rest = text.partition("Args:")
    described: dict[str, str] = {}
    last = ""
    for raw in rest.splitlines():
        line = raw.strip()
        if line.endswith(":") and " " not in line:
            break
        name, colon, what = line.partition(":")
        if colon and name.isidentifier():
            last = name
            described[name] = what.strip()
        elif line and last:
            described[last] += " " + line
    return " ".join(head.split()), described
