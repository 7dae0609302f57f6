"""The bundled multi-turn entries: right shapes, ground truths that run, the oracle passes, idleness fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings

DATA = Path(__file__).parents[2] / "data"
CATEGORIES = ["base", "miss_func", "miss_param", "long_context", "composite"]
BUNDLED = open_data("bundled")


def name_of(kind: str) -> str:
    return f"multi_turn_{kind}"


def entries(kind: str) -> list[Entry]:
    return [BUNDLED.load(ref) for ref in BUNDLED.index(name_of(kind))]


EVERY = [pytest.param(entry, id=entry.id) for kind in CATEGORIES for entry in entries(kind)]


def test_lines_have_the_official_shape() -> None:
    for kind in CATEGORIES:
        for line in (DATA / f"{name_of(kind)}.jsonl").read_text(encoding="utf-8").splitlines():
            row: dict[str, Any] = json.loads(line)
            assert set(row) - {"missed_function"} == {
                "id", "question", "initial_config", "involved_classes", "possible_answer",
            }  # fmt: skip
            assert len(row["question"]) == len(row["possible_answer"])
            handed_over = [number for number, turn in enumerate(row["question"]) if not turn]
            assert [str(number) for number in handed_over] == list(row.get("missed_function", {}))
            assert all(len(turn) == 1 and turn[0]["role"] == "user" for turn in row["question"] if turn)


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_oracle_passes_every_entry(mode: str) -> None:
    finished = run(BUNDLED, f"oracle:@{mode}", categories=list(map(name_of, CATEGORIES)), settings=Settings())
    failed = [(record["id"], record["reason"]) for record in finished.records if record["outcome"] != "passed"]
    assert (failed, len(finished.records)) == ([], len(EVERY))
    assert not [record["id"] for record in finished.records if record["corrected_outcome"] != "passed"]
