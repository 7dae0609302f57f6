"""The marks of our items, and their lines in ``pytest --markers``."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.selection.node_ids import marks


def register(config: pytest.Config) -> None:
    """Register the marks for ``--strict-markers`` and ``--markers``."""
    for name, text in marks():
        config.addinivalue_line("markers", f"{name}: {text}")
    if config.option.markers:
        register_checks(config, entry_points.offered("checks"))


def register_checks(config: pytest.Config, names: Iterable[str]) -> None:
    """The marks of checks that other packages add."""
    for name in names:
        origin = entry_points.origin(entry_points.offered("checks")[name])
        config.addinivalue_line("markers", f"{name}: checks that {origin} adds; not scored")
