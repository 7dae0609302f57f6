"""Simulators by class name, and the execution of call texts on an entry's: looked up, bound, called, never evaluated.

Classes are in the built-in table, registered, or of installed plugins. Their modules are imported when first needed, so
a run without stateful entries imports none of them.

Models write the inputs, so every text gives exactly one result text. Unknown names, refused syntax, wrong arguments and
a tool's exceptions become error texts (multi_turn spec §3.2 and §3.4).
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.entry import Renames
from pytest_bfcl.failures import BenchmarkError, UsageError, instead_of
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.simulators.toolkit import Oversized, Simulator, copied, error_text, serialise
from pytest_bfcl.syntax.call_parsing import CallRefused, ParsedCall, call_name, parse, split_call

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


__all__ = ["CallExecutor", "CallRefused", "ParsedCall", "split_call"]

MAX_PASSED_ON = 500_000
"""Most characters and values of results passed as arguments, over all calls of one executor."""
MAX_PASSED_DEPTH = 64
MAX_EXECUTED = 50_000
"""Most executed calls of one executor: of a whole conversation, far above the step limit."""
MAX_TOLD_CHARS = 32_000_000
"""Most characters of all results of one executor."""

FORBIDDEN = frozenset(("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run"))
"""Names that the reference refuses before anything else (multi_turn spec §3.2, point 2)."""


_CLOSED_UP = re.compile(r"\b([a-zA-Z_]\w*+)\s++(?=\()")
"""White space before brackets that the reference removes from the whole text, strings included."""
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
    "MemoryAPI_kv": "agentic.memories",
    "MemoryAPI_rec_sum": "agentic.memories",
    "WebSearchAPI": "agentic.web_search",
}
"""Class name in entries → module that defines it."""

_registered: dict[str, type[Simulator]] = {}


class CallExecutor:
    """Executes call texts on one set of simulators.

    Args:
        simulators: Class name → simulator, in the entry's order; the first one with a tool of the name gets the call
            (no name is in two of the benchmark's classes). names: Sent name → documented name, for tools that were sent
            in another spelling.
        renames: Documented names that are not the simulators' own.
    """

    def __init__(
        self,
        simulators: Mapping[str, Simulator],
        names: Mapping[str, str] | None = None,
        renames: Renames | None = None,
    ) -> None:
        self.simulators = dict(simulators)
        self.names = dict(names or {})
        self.renames = renames or Renames()
        self._as_reference = any(each.speaks_otherwise for each in self.simulators.values())
        self._passed_on = 0
        self._executed = 0
        self._told = 0

    def execute(self, call_text: str) -> str:
        """The result text of one call text as the model sees it. Never raises for a model's text; `BenchmarkError` (a
        provider's infrastructure error) passes through.
        """
        if self._executed >= MAX_EXECUTED or self._told >= MAX_TOLD_CHARS:
            return error_text(Oversized("this conversation has had too many calls or results; nothing was run"))
        self._executed += 1
        try:
            result = serialise(self.evaluate(call_text))
        except BenchmarkError:  # trouble of ours (a search provider is down): not the tool's answer
            raise
        except Exception as error:  # one text, one result: what a tool raises is its answer
            result = error_text(error)
        self._told += len(result)
        return result

    def execute_all(self, call_texts: Iterable[str]) -> list[str]:
        """One result text per call text, in order; a failing call does not stop the others."""
        return [self.execute(text) for text in call_texts]

    def evaluate(self, call_text: str) -> Any:
        """The raw result of one call text.

        Raises `CallRefused` for text outside the grammar (before anything runs), `NameError` for unknown names,
        `TypeError` for arguments that do not fit, and the tools' exceptions.
        """
        self._refuse_forbidden(call_text)
        return self._value(parse(_CLOSED_UP.sub(r"\1", call_text) if self._as_reference else call_text))

    def _refuse_forbidden(self, call_text: str) -> None:
        """The name to check: the text before the first bracket, or between its first two dots."""
        name = call_text.partition("(")[0]
        name = (name.split(".")[1] if "." in name else name).rstrip()
        if name in FORBIDDEN:
            own = f"{name} must not be called"
            speaker = next(iter(self.simulators.values()), None)
            raise CallRefused(own if speaker is None else speaker.say("call.forbidden", own, name))

    def writes(self, call_text: str) -> bool:
        """Whether a call text is anything but calls of known read-only tools (corrected rule C17)."""
        try:
            tree = parse(call_text)
        except CallRefused:
            return True
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        return not calls or any(self._call_writes(node) for node in calls)

    def _call_writes(self, node: ast.Call) -> bool:
        try:
            simulator, tool = self._find(call_name(node))
        except NameError:
            return True
        return simulator.writes(tool)

    def tool_name(self, called: str) -> str | None:
        """The simulators' own name of a tool; ``None`` if it is known under another name."""
        return self.renames.own_tool(self.names.get(called, called))

    def _find(self, called: str) -> tuple[Simulator, str]:
        name = self.tool_name(called)
        for simulator in self.simulators.values():
            if name is not None and simulator.offers(name):
                return simulator, name
        raise NameError(f"name {called.partition('.')[0]!r} is not defined")

    def _value(self, node: ast.expr) -> Any:
        """Evaluate a checked node in Python's order: function name, arguments from the left, then the call."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Call():
                return self._call(node)
            case ast.List(elts=items):
                return [self._value(item) for item in items]
            case ast.Tuple(elts=items):
                return tuple(self._value(item) for item in items)
            case ast.Set(elts=items):
                return {self._value(item) for item in items}
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return {self._value(key): self._value(value) for key, value in pairs if key is not None}
            case ast.UnaryOp(op=sign, operand=operand):
                return _signed(sign, self._value(operand))
            case ast.Subscript(value=whole, slice=index):
                return self._value(whole)[self._value(index)]
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(None if part is None else self._value(part) for part in (lower, upper, step)))
            case ast.Name(id=name):
                raise NameError(f"name {name!r} is not defined")
        raise CallRefused(f"{type(node).__name__} is not evaluated")

    def _call(self, node: ast.Call) -> Any:
        simulator, tool = self._find(call_name(node))
        args = [self._argument(value) for value in node.args]
        kwargs = {str(item.arg): self._argument(item.value) for item in node.keywords}
        kwargs = self.renames.own_arguments(tool, kwargs)
        try:
            return simulator.invoke(tool, args, kwargs)
        except TypeError as error:
            raise self.renames.renamed_error(tool, error) from None

    def _argument(self, node: ast.expr) -> Any:
        """An argument; one made from other calls' results is copied and counted.

        Without that, a result that is part of the state could be stored inside itself, or twice in each of many steps,
        and showing it would never end.
        """
        value = self._value(node)
        if type(node) is ast.Constant or not any(isinstance(part, ast.Call) for part in ast.walk(node)):
            return value
        self._passed_on += plain_size(value, MAX_PASSED_ON - self._passed_on)
        return copied(value)


def _signed(sign: ast.unaryop, value: object) -> Any:
    if not isinstance(value, (int, float)):
        raise TypeError(f"a sign needs a number, not {type(value).__name__}")
    return -value if isinstance(sign, ast.USub) else +value


def plain_size(value: object, most: int) -> int:
    """Number of values in lists and mappings, plus the characters of texts; shared parts count each time.

    Raises `Oversized` above ``most`` and above `MAX_PASSED_DEPTH` levels, which also ends cycles.
    """
    size = 0
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        size += 1 + (len(item) if isinstance(item, str) else 0)
        if isinstance(item, dict):
            pending += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, (list, tuple, set, frozenset)):
            pending += [(part, depth + 1) for part in item]
        if size + len(pending) > most or depth > MAX_PASSED_DEPTH:
            raise Oversized("results handed on as arguments are too large")
    return size


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
