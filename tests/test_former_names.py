"""Import paths that documents and trainers' configurations name lead to the one module, wherever it lives."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from pytest_bfcl.former_names import PATHS, now

NAMES = [*PATHS, "pytest_bfcl.training.verl", "pytest_bfcl.running.trial", "pytest_bfcl.dataset.tools.documents"]
CODE = """
from importlib import import_module
for first, second, now in {pairs}:
    one, other = import_module(first), import_module(second)
    assert one is other and one.__spec__.name == one.__name__ == now, (first, second, one.__spec__)
"""


@pytest.mark.parametrize("former_first", [True, False])
def test_a_path_is_the_module_itself(former_first: bool) -> None:
    """In a process of its own, under either name first."""
    pairs = [(name, now(name), now(name)) if former_first else (now(name), name, now(name)) for name in NAMES]
    subprocess.run([sys.executable, "-c", CODE.format(pairs=pairs)], check=True, timeout=60)


def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pytest_bfcl\.extensions\.training\.nothing"):
        import_module("pytest_bfcl.training.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"pytest_bfcl\.no_such_room"):
        import_module("pytest_bfcl.no_such_room")


def test_a_function_is_not_hidden_by_the_module_of_its_name() -> None:
    """Whatever is imported first: the module ``tasks`` by its other name, then the function."""
    code = (
        "from pytest_bfcl.training.tasks import episode_of\n"
        "from pytest_bfcl.training import tasks, trl\n"
        "assert callable(tasks) and tasks.__module__ == episode_of.__module__, tasks\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
