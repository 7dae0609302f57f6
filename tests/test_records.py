"""Records are values: frozen, with slots, told apart by what they hold; the few that are not are named."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

ROOMS = ("models", "endpoints", "session", "conversation", "runs", "transcript", "failures", "checkers.judge")
CHANGED = {"Request", "Epoch", "Spelling", "Step", "Turn", "Transcript"}
"""Those that are counted up or mended while they are used."""
WITH_A_DICTIONARY = {"Epoch", "EarlierParts"}
BY_IDENTITY = {"Trial"}


def records(room: str) -> Iterator[type]:
    whole = importlib.import_module(f"pytest_bfcl.{room}")
    inner = [each.name for each in pkgutil.walk_packages(getattr(whole, "__path__", ()), f"{whole.__name__}.")]
    for name in inner or [whole.__name__]:
        for each in vars(importlib.import_module(name)).values():
            if isinstance(each, type) and dataclasses.is_dataclass(each) and each.__module__ == name:
                yield each


@pytest.mark.parametrize("room", ROOMS)
def test_records_are_values(room: str) -> None:
    found = list(records(room))
    assert found
    for each in found:
        parameters = each.__dataclass_params__  # type: ignore[attr-defined]
        assert parameters.frozen is (each.__name__ not in CHANGED), each
        assert parameters.eq is (each.__name__ not in BY_IDENTITY), each
        assert ("__slots__" in vars(each)) is (each.__name__ not in WITH_A_DICTIONARY), each
