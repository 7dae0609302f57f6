"""Retired categories against the recorded verdicts (docs/retired.md lists and explains every disagreement)."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.decoding import decode_reply
from pytest_bfcl.extensions.retired.functions import NETWORK_FUNCTIONS
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.transcript import Reply

pytestmark = pytest.mark.golden

BARE = "mistral-tiny-2312"
"""Its 2024 handler did not put brackets around a bare call; today's preparation does (ast_checker spec §3.1)."""


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_what_asks_the_network_is_skipped(golden_dir: Path, official: DataSet) -> None:
    lines = [line for line in read(golden_dir / "exec_outputs.jsonl.gz") if not line["offline"]]
    verdicts = list(score_lines(lines[:200], official))
    assert {verdict["valid"] for verdict in verdicts} == {None}
    assert all(verdict["skipped"].startswith("needs a recorded provider") for verdict in verdicts)


def test_a_recording_answers_for_the_network(golden_dir: Path, official: DataSet, tmp_path: Path) -> None:
    with (tmp_path / "2024.jsonl").open("w") as file:
        for row in read(golden_dir / "exec_expected.jsonl.gz"):
            for text, result in zip(row["ground_truth"], row["execution_result"], strict=True):
                (call,) = decode_reply(Reply(text=text), "prompt")
                name, arguments = call
                if name in NETWORK_FUNCTIONS:
                    file.write(json.dumps({"call": ["call", name, dict(sorted(arguments.items()))], "result": result}))
                    file.write("\n")
    lines = [line for line in read(golden_dir / "exec_outputs.jsonl.gz") if not line["offline"]]
    verdicts = list(score_lines(lines, official, rest=f"replay:{tmp_path}"))
    judged = [(line, verdict) for line, verdict in zip(lines, verdicts, strict=True) if verdict["valid"] is not None]
    assert len(judged) == 1102
    differing = Counter(
        line["id"] for line, verdict in judged if line["valid"] != verdict["valid"] and line["config"] != BARE
    )
    assert differing == {"exec_parallel_multiple_30": 8, "exec_multiple_29": 1, "exec_parallel_26": 1}
