"""The memory backends against the reference's recorded call sequences (simulators spec §10 and §12)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.simulators import create_simulator
from tests.simulators.trace_comparison import Wording, differences, digest, read_traces

pytestmark = pytest.mark.golden


class Dummy:
    """A fixed direction per text; the recording's similarities were not kept."""

    def encode(self, text: str) -> Any:
        import numpy as np

        return np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=np.uint8).astype(np.float32) / 2048


@pytest.mark.parametrize("backend", ["kv", "vector", "rec_sum"])
def test_backend_repeats_the_recorded_sequences(golden_dir: Path, backend: str) -> None:
    problems, sequences, flushed = memory_problems(golden_dir, backend)
    assert not problems, "\n".join(problems[:40])
    assert sequences == 66
    assert flushed > 20


def memory_problems(golden_dir: Path, backend: str) -> tuple[list[str], int, int]:
    """All differences of one backend, the number of sequences, and of snapshots compared."""
    wording = Wording()
    problems: list[str] = []
    lines = read_traces(golden_dir / "simulator_traces.jsonl", f"MemoryAPI_{backend}")
    flushed = 0
    for number, line in enumerate(lines):
        config = line["initial_config"]
        first = "prereq" in config["test_id"] and config["test_id"].endswith("-0")
        stored = None if first else config["existing_final_snapshot"]
        simulator: Any = create_simulator(line["class"], config, snapshot=stored, encoder=Dummy())
        problems += [f"sequence {number}, {text}" for text in differences(line, simulator, wording)]
        for path, recorded in line.get("flushed_files", {}).items():
            flushed += 1
            if not same_content(json.loads(json.dumps(simulator.snapshot())), recorded):
                problems.append(f"sequence {number}: {path} differs")
    return problems, len(lines), flushed


def same_content(content: Any, recorded: Mapping[str, Any]) -> bool:
    if "content" in recorded:
        return list(content) == list(recorded["content"]) and content == recorded["content"]
    return digest(content) == (recorded["content_sha256"], recorded["content_json_len"])
