"""Every official multi-turn ground-truth call parses and runs without an error on our simulators."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.simulators import ERROR_PREFIX, CallExecutor, create_simulator, split_call

pytestmark = pytest.mark.golden

CATEGORIES = ["multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_ground_truth_calls_run(official: Any, category: str) -> None:
    calls, failed = 0, []
    for entry in map(official.load, official.index(category)):
        for call, result in results(entry, official.texts.long_context):
            calls += 1
            if split_call(call) is None or is_error(result):
                failed.append(f"{entry.id}: {call} -> {result[:200]}")
    assert not failed, "\n".join(failed[:20])
    assert calls > 1_000


def results(entry: Any, texts: Any) -> list[tuple[str, str]]:
    """Every call of an entry's ground truth with its result text, on one fresh set of simulators."""
    simulators = {
        name: create_simulator(name, entry.initial_config.get(name), long_context=entry.row.long_context, texts=texts)
        for name in entry.involved_classes
    }
    executor = CallExecutor(simulators)
    return [(call, executor.execute(call)) for turn in entry.possible_answer for call in turn]


def is_error(result: str) -> bool:
    if result.startswith(ERROR_PREFIX):
        return True
    try:
        read = json.loads(result)
    except ValueError:
        return result.startswith("[{'error'")
    return isinstance(read, dict) and "error" in read
