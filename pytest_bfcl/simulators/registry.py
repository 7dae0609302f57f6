"""Finds the simulator of a class name: the built-in table, registered classes, and installed plugins.

Class modules are imported when first needed, so a run without stateful entries imports none of them.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.simulators.toolkit import Simulator

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

S = TypeVar("S", bound=Simulator)

BUILT_IN: Mapping[str, str] = {
    "GorillaFileSystem": "simulators.gorilla_file_system",
    "MathAPI": "simulators.math_api",
    "MessageAPI": "simulators.message_api",
    "TwitterAPI": "simulators.twitter_api",
    "TicketAPI": "simulators.ticket_api",
    "TradingBot": "simulators.trading_bot",
    "TravelAPI": "simulators.travel_api",
    "VehicleControlAPI": "simulators.vehicle_control_api",
    "MemoryAPI_kv": "agentic.memory_kv",
    "MemoryAPI_rec_sum": "agentic.memory_rec_sum",
    "WebSearchAPI": "agentic.web_search",
}
"""Class name in entries → module that defines it."""

_registered: dict[str, type[Simulator]] = {}


def register_simulator(cls: type[S], name: str | None = None) -> type[S]:
    """Make a `Simulator` subclass available to entries under ``name`` (default: ``cls.name``, else the class's name).

    Usable as a decorator. A later registration of the same name replaces the earlier one, and a registered class
    replaces a built-in one. Raises `TypeError` for anything but a `Simulator` subclass.
    """
    if not (isinstance(cls, type) and issubclass(cls, Simulator)):
        raise TypeError(f"a simulator is a subclass of pytest_bfcl.simulators.Simulator, not {cls!r}")
    _registered[name or cls.name or cls.__name__] = cls
    return cls


def registered_names() -> list[str]:
    """The names registered in this process; other processes do not have these classes."""
    return sorted(_registered)


def source_digests(names: Iterable[str] | None = None) -> dict[str, str]:
    """Registered classes (of these names) by digest of their source, on which an entry's verdict depends."""
    wanted = registered_names() if names is None else [name for name in names if name in _registered]
    found = {}
    for name in wanted:
        try:
            source = inspect.getsource(_registered[name])
        except (OSError, TypeError):  # typed in, or compiled
            source = repr(_registered[name])
        found[name] = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return found


def simulator_names() -> list[str]:
    """Every class name that `create_simulator` accepts, built-in ones first."""
    others = {*_registered, *entry_points.offered("simulators")}
    return [*BUILT_IN, *sorted(others - set(BUILT_IN))]


def simulator_class(class_name: str) -> type[Simulator]:
    """The class of a name. Raises `UsageError` if it is unknown or a plugin's class cannot be used."""
    found = _registered.get(class_name)
    if found is not None:
        return found
    if class_name in BUILT_IN:
        module = import_module(f"pytest_bfcl.{BUILT_IN[class_name]}")
        return getattr(module, class_name)  # type: ignore[no-any-return]
    if (point := entry_points.find("simulators", class_name)) is not None:
        return _plugged(point)
    raise UsageError(
        f"no simulator is called {class_name!r}; {instead_of(class_name, simulator_names())} "
        "(register_simulator or the entry point group pytest_bfcl.simulators adds your own)"
    )


def _plugged(point: EntryPoint) -> type[Simulator]:
    loaded = entry_points.load(point, "simulator")
    if not (isinstance(loaded, type) and issubclass(loaded, Simulator)):
        origin = entry_points.origin(point)
        raise UsageError(f"the simulator {point.name} of {origin} is no subclass of pytest_bfcl.simulators.Simulator")
    return loaded


def create_simulator(
    class_name: str,
    config: Fields | None = None,
    *,
    long_context: bool = False,
    texts: Fields | None = None,
    sentences: Mapping[str, str] | None = None,
    kind: str = "own",
    **context: Any,
) -> Simulator:
    """A fresh simulator in its initial state.

    Args:
        class_name: As in an entry's ``involved_classes``, for instance ``TradingBot``.
        config: The class's part of ``initial_config`` (copied); ``None`` for the defaults.
        long_context: Load the long-context variant (simulators spec §9).
        texts: Long-context constants by name; ``None`` for our own.
        sentences: The data set's templates for texts in results, by place; ``None`` for our own words.
        kind: ``own``, or what an extension offers as ``pytest_bfcl.simulator_sets``: ``reference`` has the classes
            of an installed ``bfcl_eval`` behind the same interface; a class that a set does not have stays our own.
        **context: Passed to the class's ``load`` (memory stores, search providers).

    Raises:
        UsageError: Unknown class or kind, or ``reference`` without an installed ``bfcl_eval``.
    """
    if kind != "own" and class_name not in _registered:
        found = simulator_set(kind).simulator(class_name, config, long_context=long_context)
        if found is not None:
            return found
    if sentences:
        context["sentences"] = sentences
    return simulator_class(class_name)(config, long_context=long_context, texts=texts, **context)


class SimulatorSet(Protocol):
    """Simulators of another source under our names."""

    def require(self) -> None:
        """Raise `UsageError` if they are not available."""

    def simulator(self, class_name: str, config: Fields | None, *, long_context: bool) -> Simulator | None:
        """A loaded instance; ``None`` if the set has no such class."""


def simulator_set(name: str) -> SimulatorSet:
    """The set of that name. Raises `UsageError` if no installed package has it."""
    return cast("SimulatorSet", entry_points.require("simulator_sets", name, f"--bfcl-simulators {name}"))


def documents_of(class_name: str) -> list[Parsed]:
    """Function documents of a class's tools (data spec §4.2), from our signatures and docstrings."""
    return simulator_class(class_name).documents()
