"""The reference's own classes behind our interface: ``--bfcl-simulators reference`` with an installed ``bfcl_eval``.

Only tools we document are callable, arguments are bound before anything runs, and state that the reference shares
between instances (default lists, long-context cards and bookings; multi_turn spec §5) is copied, as corrected rule C19
requires. The agentic classes are not available, because they read and write files or use the network. The reference
does not limit its work. Calculations that our calculator refuses are refused here too, but an endless file tree can
still keep it busy.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pytest_bfcl.dataset.layouts import DOCUMENT_FILES
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators import Oversized, Simulator, simulator_class

REFERENCE_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"

REFERENCE_MODULES: Mapping[str, str] = {
    name: module for name, module in DOCUMENT_FILES.items() if not name.startswith(("MemoryAPI", "WebSearchAPI"))
}
"""Class name → module of the reference package, which also names its document file."""


class ReferenceSimulator(Simulator):
    """One instance of a reference class, offering the tools of our class of the same name."""

    def __init__(self, instance: object, documented: type[Simulator]) -> None:
        self._instance = instance
        self._sentences = {}
        self._documented = documented
        self.name = documented.name  # type: ignore[misc]

    def offers(self, method: str) -> bool:
        """Whether the method is one of the documented tools."""
        return self._documented.offers_tool(method) and hasattr(type(self._instance), method)

    def writes(self, method: str) -> bool:  # type: ignore[override]
        """Like our own class."""
        return self._documented.writes(method)

    def documents(self) -> list[Parsed]:  # type: ignore[override]
        """Like our own class."""
        return self._documented.documents()

    def invoke(self, method: str, args: Sequence[Any] = (), kwargs: Fields | None = None) -> Any:
        """Call the reference's method; as in the base class, only documented tools, and arguments bind first."""
        if not self.offers(method):
            raise NameError(f"{self.name} has no function named {method!r}")
        function: Callable[..., Any] = getattr(self._instance, method)
        try:
            bound = inspect.signature(function).bind(*args, **dict(kwargs or {}))
        except TypeError:
            return function(*args, **dict(kwargs or {}))  # words the error as Python does; nothing runs
        given = set(bound.arguments)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name not in given and isinstance(value, (list, dict, set)):
                bound.arguments[name] = copy.deepcopy(value)
        if self.name == "MathAPI":
            _refuse_oversized(self._documented(), method, bound)
        return function(*bound.args, **bound.kwargs)

    def public_state(self) -> JsonObject:
        """Public attributes of the reference's instance."""
        return {name: value for name, value in vars(self._instance).items() if not name.startswith("_")}


def require() -> None:
    """Nothing if ``bfcl_eval`` is installed, without importing it; else the `UsageError` with the remedy."""
    if find_spec("bfcl_eval") is None:
        raise UsageError(
            "--bfcl-simulators reference needs the classes of bfcl-eval, which is not installed: "
            "pip install bfcl-eval, or use --bfcl-simulators own"
        )


def simulator(class_name: str, config: Fields | None = None, *, long_context: bool = False) -> Simulator | None:
    """A loaded instance of a reference class with the tools of our class of the same name; ``None`` without one.

    Raises:
        UsageError: ``bfcl_eval`` is not installed, or its classes cannot be imported.
    """
    if class_name not in REFERENCE_MODULES:
        return None
    module = f"{REFERENCE_PACKAGE}.{REFERENCE_MODULES[class_name]}"
    try:
        loaded = getattr(import_module(module), class_name)
    except ImportError as error:
        raise UsageError(
            f"reference simulators need an installed bfcl-eval, but {module} cannot be imported ({error}). "
            "Install it (pip install bfcl-eval) or use --bfcl-simulators own."
        ) from error
    instance = loaded()
    if hasattr(instance, "_load_scenario"):
        instance._load_scenario(copy.deepcopy(dict(config or {})), long_context=long_context)
    _unshare(instance)
    return ReferenceSimulator(instance, simulator_class(class_name))


def _refuse_oversized(own: Simulator, method: str, bound: inspect.BoundArguments) -> None:
    """Let our own stateless class try the call first; passes on only its `Oversized`."""
    try:
        own.invoke(method, bound.args, bound.kwargs)
    except Oversized:
        raise
    except Exception:
        return


def _unshare(instance: object) -> None:
    """Give the instance its own containers, because long-context loading puts module constants into the state."""
    for name, value in list(vars(instance).items()):
        if not name.startswith("_") and isinstance(value, (list, dict, set)):
            setattr(instance, name, copy.deepcopy(value))
