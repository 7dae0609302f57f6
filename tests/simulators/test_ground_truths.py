"""Every official multi-turn ground-truth call parses and runs without an error on our simulators."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from pytest_bfcl.simulators import ERROR_PREFIX, CallExecutor, create_simulator, split_call
from pytest_bfcl.simulators.registry import BUILT_IN

pytestmark = pytest.mark.golden

CATEGORIES = ["multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_ground_truth_calls_run(official: Any, category: str) -> None:
    entries = [official.load(ref) for ref in official.index(category)]
    missing = {
        name
        for entry in entries
        for name in entry.involved_classes
        if importlib.util.find_spec(f"pytest_bfcl.{BUILT_IN[name]}") is None
    }
    calls, failed = 0, []
    for entry in entries:
        if missing & set(entry.involved_classes):
            continue
        for call, result in results(entry, official.texts.long_context):
            calls += 1
            if split_call(call) is None or is_error(result):
                failed.append(f"{entry.id}: {call} -> {result[:200]}")
    assert not failed, "\n".join(failed[:20])
    if missing:
        pytest.skip(f"{calls} calls run; not there yet: {', '.join(sorted(missing))}")
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
