"""Names of a package that load on first use: who needs one of its modules does not import the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules


def late_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package; ``homes`` says in which module each of its names is (or at which path).

    Type checkers see none of this: such a package imports its names under ``TYPE_CHECKING`` as well.
    """

    def resolve(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home if "." in home else f"{package}.{home}"), name)
        setattr(modules[package], name, value)
        return value

    return resolve


def homes_of(names: Mapping[str, str]) -> dict[str, str]:
    """Name → module, from module → names with a space between."""
    return {name: home for home, listed in names.items() for name in listed.split()}
