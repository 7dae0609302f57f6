"""Hooks this plugin calls; implement them in a conftest or in another plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary


@pytest.hookspec()
def pytest_bfcl_register_models(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """Add providers: ``register("mine", factory)``; the factory takes (spec, settings, mode) and returns a model.

    Called once per process, before the models are created.
    """


@pytest.hookspec()
def pytest_bfcl_register_simulators(register: Callable[..., None]) -> None:
    """Add simulators of stateful classes: ``register(MySimulator, "MyAPI")``. Called once per process."""


@pytest.hookspec()
def pytest_bfcl_result(record: ResultLine) -> None:
    """One finished entry, as in ``results.jsonl``. Called on the controller only, in order of arrival."""


@pytest.hookspec()
def pytest_bfcl_summary(summary: Summary) -> None:
    """The run's summary, as in ``summary.json``. Called once, on the controller, before it is printed."""
