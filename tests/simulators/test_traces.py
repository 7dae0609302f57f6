"""Every simulator against the reference's recorded call sequences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.simulators import create_simulator
from pytest_bfcl.simulators.registry import BUILT_IN
from tests.simulators.trace_comparison import LONG_CONTEXT_CLASSES, Wording, differences, read_traces

pytestmark = pytest.mark.golden

# The memory backends and the web search need a snapshot or a provider: test_memory_traces and test_web_traces.
CLASSES = [name for name, module in BUILT_IN.items() if module.startswith("simulators.")]


@pytest.mark.parametrize("class_name", CLASSES)
def test_simulator_repeats_the_recorded_sequences(golden_dir: Path, class_name: str) -> None:
    problems = compare(golden_dir, class_name, long_context=False, texts=None)
    assert not problems, "\n".join(problems[:40])


@pytest.mark.parametrize("class_name", CLASSES)
def test_simulator_repeats_the_recorded_long_context_sequences(
    golden_dir: Path, class_name: str, request: pytest.FixtureRequest
) -> None:
    texts = request.getfixturevalue("official").texts.long_context if class_name in LONG_CONTEXT_CLASSES else None
    problems = compare(golden_dir, class_name, long_context=True, texts=texts)
    assert not problems, "\n".join(problems[:40])


def compare(golden_dir: Path, class_name: str, *, long_context: bool, texts: Mapping[str, Any] | None) -> list[str]:
    """All differences of one class, each with the number of its sequence."""
    wording = Wording()
    problems: list[str] = []
    compared = 0
    for number, line in enumerate(read_traces(golden_dir / "simulator_traces.jsonl", class_name)):
        if line["long_context"] != long_context:
            continue
        compared += 1
        simulator = create_simulator(class_name, line["initial_config"], long_context=long_context, texts=texts)
        problems += [f"sequence {number}, {text}" for text in differences(line, simulator, wording)]
    assert compared >= 20
    return problems
