"""Records are values: frozen, with slots, told apart by what they hold; the few that are not are named."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

ROOMS = ("models", "endpoints", "session", "conversation", "runs")
ACROSS = (
    "transcript.Reply",
    "transcript.ToolCall",
    "transcript.Served",
    "failures.Verdict",
    "checkers.judge.Judgement",
)
"""Records that every room hands on."""
CHANGED = {"Request", "Epoch", "Spelling"}
"""Those that are counted up or mended while they are used."""
WITH_A_DICTIONARY = {"Epoch", "EarlierParts"}
BY_IDENTITY = {"Trial"}


def records(room: str) -> Iterator[type]:
    package = importlib.import_module(f"pytest_bfcl.{room}")
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for each in vars(importlib.import_module(found.name)).values():
            if isinstance(each, type) and dataclasses.is_dataclass(each) and each.__module__ == found.name:
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


@pytest.mark.parametrize("name", ACROSS)
def test_what_is_handed_on_is_not_changed(name: str) -> None:
    module, _, record = name.rpartition(".")
    handed = getattr(importlib.import_module(f"pytest_bfcl.{module}"), record)
    assert handed.__dataclass_params__.frozen
    assert "__slots__" in vars(handed)
