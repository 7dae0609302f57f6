"""Our own long-context constants have the official names, shapes and sizes (simulators spec §9)."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import Any

import pytest

from pytest_bfcl.simulators.long_context import own_constants

SIZES = {
    "WATCH_LIST_EXTENSION": 1001,
    "TRANSACTION_HISTORY_EXTENSION": 1000,
    "MA_5_EXTENSION": 2000,
    "MA_20_EXTENSION": 2000,
    "TECHNOLOGY_EXTENSION": 1000,
    "AUTOMOBILE_EXTENSION": 1000,
    "ORDER_DETAIL_EXTENSION": 8,
    "FILE_CONTENT_EXTENSION": 3251,
    "POPULATE_FILE_EXTENSION": 30,
    "CAR_STATUS_METADATA_EXTENSION": 6503,
    "LONG_WEATHER_EXTENSION": 15,
    "PARKING_BRAKE_INSTRUCTION": 9710,
    "INTERMEDIARY_CITIES": 826,
    "CREDIT_CARD_EXTENSION": 22,
    "BOOKING_RECORD_EXTENSION": 16,
    "FILES_TAIL_USED": 9,
}


def test_sizes() -> None:
    assert {name: len(value) for name, value in own_constants().items()} == SIZES
    assert own_constants()["WATCH_LIST_EXTENSION"][-1] is ...
    cards = own_constants()["CREDIT_CARD_EXTENSION"]
    assert all(record["card_id"] in cards for record in own_constants()["BOOKING_RECORD_EXTENSION"].values())
    assert all("{symbol}" in text for text in own_constants()["ORDER_DETAIL_EXTENSION"].values())


def test_every_process_makes_the_same_texts() -> None:
    code = (
        "from pytest_bfcl.simulators.long_context import own_constants; import hashlib;"
        "print(hashlib.sha256(repr(dict(own_constants())).encode()).hexdigest())"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert made.strip() == hashlib.sha256(repr(dict(own_constants())).encode()).hexdigest()


@pytest.mark.golden
def test_shapes_are_those_of_the_official_texts(official: Any) -> None:
    given = official.texts.long_context
    assert set(given) == set(own_constants())
    for name, value in own_constants().items():
        assert shape(value) == shape(given[name]), name
        assert value != given[name], f"{name} is not our own"


def shape(value: Any) -> Any:
    """Type and size, and the shape of the members of lists of objects and of objects."""
    if isinstance(value, list):
        return "list", len(value), {str(shape(item)) for item in value if not isinstance(item, str)}
    if isinstance(value, dict) and all(isinstance(item, dict) for item in value.values()):
        return "dict", len(value), {frozenset(item) for item in value.values()}
    if isinstance(value, dict):
        return "dict", len(value), {type(item).__name__ for item in value.values()}
    return type(value).__name__, len(value) if isinstance(value, str) else 0
