"""Import paths that documents, users and trainers' configurations name, and where what they name is now.

A module has one identity: ``pytest_bfcl.training.verl`` *is* ``pytest_bfcl.extensions.training.verl``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

PATHS = {
    "pytest_bfcl.assertions": "pytest_bfcl.extensions.own.assertions",
    "pytest_bfcl.rewards": "pytest_bfcl.extensions.training.rewards",
    "pytest_bfcl.splits": "pytest_bfcl.extensions.training.splits",
    "pytest_bfcl.dataset.splits": "pytest_bfcl.extensions.training.splits",
    "pytest_bfcl.dataset.selection": "pytest_bfcl.selection.selection",
    "pytest_bfcl.dataset.fetching": "pytest_bfcl.fetching.official",
    "pytest_bfcl.dataset.texts": "pytest_bfcl.fetching.texts",
    "pytest_bfcl.dataset.tools": "pytest_bfcl.tools",
    "pytest_bfcl.execution": "pytest_bfcl.extensions.retired.execution",
    "pytest_bfcl.training": "pytest_bfcl.extensions.training",
    "pytest_bfcl.cluster": "pytest_bfcl.extensions.cluster",
    "pytest_bfcl.evaluation": "pytest_bfcl.session.evaluation",
    "pytest_bfcl.whole_run": "pytest_bfcl.session.whole_run",
    "pytest_bfcl.run_result": "pytest_bfcl.session.result",
    "pytest_bfcl.running": "pytest_bfcl.session",
    "pytest_bfcl.serving": "pytest_bfcl.session.serving",
    "pytest_bfcl.gateways": "pytest_bfcl.extensions.agents",
    "pytest_bfcl.wire": "pytest_bfcl.extensions.wire",
    "pytest_bfcl.viewing": "pytest_bfcl.extensions.view",
    "pytest_bfcl.auditing": "pytest_bfcl.extensions.lab.auditing",
    "pytest_bfcl.authoring": "pytest_bfcl.extensions.own",
    "pytest_bfcl.proving": "pytest_bfcl.extensions.lab.proving",
}
"""Documents name ``training``, ``rewards``, ``splits``, ``cluster``, ``evaluation``; the others stay until 0.4."""


class _Package(ModuleType):
    """A package whose functions stay when a module of the same name is imported by another of its names.

    Import binds a module to its package each time; ``pytest_bfcl.training.tasks`` would hide the function ``tasks``.
    """

    def __setattr__(self, name: str, value: object) -> None:
        known = self.__dict__.get(name)
        if not isinstance(value, ModuleType) or known is None or isinstance(known, ModuleType):
            super().__setattr__(name, value)


def now(name: str) -> str:
    """The present name of a module in `PATHS`, or below one; empty for every other."""
    parts = name.split(".", 3)
    heads = (".".join(parts[:length]) for length in (2, 3) if parts[0] == "pytest_bfcl")
    return next((PATHS[head] + name.removeprefix(head) for head in heads if head in PATHS), "")


class FormerNames:
    """A finder and loader of modules under another of their names."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """A spec for a name in `PATHS`, or below one."""
        return ModuleSpec(name, self, is_package=True) if now(name) else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself."""
        module = import_module(now(spec.name))
        spec.loader_state = module.__spec__
        if hasattr(module, "__path__") and type(module) is ModuleType:
            module.__class__ = _Package
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It is there; importing put this name's spec on it."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Once a process."""
    if not any(isinstance(each, FormerNames) for each in sys.meta_path):
        sys.meta_path.insert(0, FormerNames())  # a package's path would load a second copy
