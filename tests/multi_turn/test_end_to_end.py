"""The 800 official entries through pytest: the oracle, and the mock server with the counts the reference gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.multi_turn.servers import mock_server

pytestmark = pytest.mark.golden

CATEGORIES = ["multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context"]
COUNTS = dict(zip(CATEGORIES, (200, 200, 198, 183), strict=True))
"""What the reference passes of the mock server's replies, in either mode."""
REFUSED = {"multi_turn_miss_param_180", "multi_turn_miss_param_195"}
"""Entries whose mock replies the reference refuses in both modes."""
SUBSET = [f"{category}_{number}" for category in CATEGORIES[:3] for number in (0, 49, 60, 110, 167, 180, 195)]


class Run:
    """One pytest process over official entries."""

    def __init__(self, folder: Path, official_dir: Path) -> None:
        self.folder = folder
        self.official_dir = official_dir

    def __call__(self, model: str, *options: str, ids: list[str] | None = None) -> dict[str, dict[str, Any]]:
        """Entry id → result line of every multi-turn entry, or of those named."""
        out = self.folder / f"run{len(list(self.folder.iterdir()))}"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:hypothesispytest",
        ]
        command += ["--model", model, "--bfcl-data", "official", "-m", "multi_turn", "--bfcl-out", str(out), *options]
        if ids is not None:
            listed = self.folder / "ids.txt"
            listed.write_text("\n".join(ids))
            command += ["--bfcl-ids", str(listed)]
        finished = subprocess.run(
            command, cwd=self.folder, env={**os.environ, "OPENAI_API_KEY": "none"}, capture_output=True, text=True,
            timeout=900, check=False,
        )  # fmt: skip
        assert finished.returncode in (0, 1), finished.stdout[-3000:] + finished.stderr[-3000:]
        lines = map(json.loads, (out / "results.jsonl").read_text(encoding="utf-8").splitlines())
        return {line["id"]: line for line in lines}


@pytest.fixture
def bench(tmp_path: Path, official_dir: Path) -> Run:
    return Run(tmp_path, official_dir)


@pytest.fixture(scope="module")
def server(official_dir: Path) -> Iterator[str]:
    with mock_server(official_dir) as url:
        yield f"{url}/v1"


def passed(records: dict[str, dict[str, Any]]) -> dict[str, int]:
    """Category → entries passed; errors are not allowed at all."""
    assert {record["outcome"] for record in records.values()} <= {"passed", "failed"}
    found = dict.fromkeys(CATEGORIES, 0)
    for record in records.values():
        found[record["category"]] += record["outcome"] == "passed"
    return found


def failed(records: dict[str, dict[str, Any]]) -> set[str]:
    return {name for name, record in records.items() if record["outcome"] != "passed"}


@pytest.mark.parametrize("mode", ["fc", pytest.param("prompt", marks=pytest.mark.slow)])
def test_the_oracle_passes_a_few_entries(bench: Run, mode: str) -> None:
    records = bench(f"oracle:@{mode}", ids=SUBSET)
    assert (len(records), failed(records)) == (len(SUBSET), set())
    assert records["multi_turn_miss_func_49"]["outcome"] == "passed"  # its answer calls a tool before it is offered


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_oracle_passes_everything(bench: Run, mode: str) -> None:
    assert passed(bench(f"oracle:@{mode}")) == dict.fromkeys(CATEGORIES, 200)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", pytest.param("prompt", marks=pytest.mark.slow)])
def test_a_real_endpoint_passes_a_few_entries(bench: Run, server: str, mode: str) -> None:
    records = bench(f"openai:mock@{mode}", "--bfcl-base-url", server, ids=SUBSET)
    assert (len(records), failed(records)) == (len(SUBSET), REFUSED)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_a_real_endpoint_reaches_the_reference_counts(bench: Run, server: str, mode: str) -> None:
    records = bench(f"openai:mock@{mode}", "--bfcl-base-url", server, "--bfcl-concurrency", "64")
    assert passed(records) == COUNTS
    assert {name for name in failed(records) if "miss_param" in name} == REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_long_context_answers_pass_long_context(bench: Run, official_dir: Path, mode: str) -> None:
    with mock_server(official_dir, "--prefer", "multi_turn_long_context") as url:
        records = bench(
            f"openai:mock@{mode}", "--bfcl-base-url", f"{url}/v1", "--bfcl-categories", "multi_turn_long_context"
        )
    assert passed(records)["multi_turn_long_context"] == 200


@pytest.mark.slow
def test_call_texts_with_positional_arguments_lose_them_in_prompting_mode(bench: Run, official_dir: Path) -> None:
    with mock_server(official_dir, "--raw-gt") as url:
        records = bench("openai:mock@prompt", "--bfcl-base-url", f"{url}/v1", "--bfcl-concurrency", "64")
    found = passed(records)
    assert (found["multi_turn_base"], found["multi_turn_miss_func"]) == (176, 176)
