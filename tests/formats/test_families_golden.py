"""The inputs of llama.cpp's and vLLM's own parser tests, read by ``auto`` under the name their model is served by."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape, decode_reply
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.formats.families import family_of
from pytest_bfcl.formats.table import guessed_decoder
from pytest_bfcl.transcript import Reply

NOT_READ = {
    "deepseek_v32": 1,  # a call cut off inside its arguments' first sign: a server hands "{" over, we refuse it
    "hermes": 1,  # arguments that are a text are no arguments here, whatever a server hands over
    "minicpm5": 2,  # the parser renames functions and drops arguments of one vendor's demonstration
}
"""Inputs with calls that are not read equal, by the golden family."""


@cache
def _rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    if path.is_file():
        with gzip.open(path) as lines:
            for row in map(json.loads, lines):
                found[row["family"]].append(row)
    return found


def _read(row: dict[str, Any]) -> list[Any] | None:
    tools = [tool.get("function") or tool for tool in row["tools"] or ()]
    try:
        calls = decode_reply(Reply(text=row["text"]), "fc", decoder=guessed_decoder(row["model"]), functions=tools)
    except WrongShape:
        return None
    except DecodeError:
        return None if row["calls"] else []
    return [call.as_object() for call in calls]


def test_calls_of_every_family_are_read_by_name(golden_dir: Path) -> None:
    rows = _rows(golden_dir / "parsers" / "parser_tests.jsonl.gz")
    if not rows:
        pytest.skip("no recorded parser tests")
    wrong = {family: sum(_read(row) != row["calls"] for row in found) for family, found in rows.items()}
    assert {family: count for family, count in wrong.items() if count} == NOT_READ


def test_every_lost_call_is_named_with_its_format(golden_dir: Path) -> None:
    """What a server leaves in the text is found, in a format that reads the same calls, and prose is not."""
    rows = _rows(golden_dir / "parsers" / "parser_tests.jsonl.gz")
    unnamed = defaultdict(list)
    for family, row in ((family, row) for family, found in rows.items() for row in found):
        tools = [tool.get("function") or tool for tool in row["tools"] or ()]
        found = lost_calls(row["text"], tools)
        if bool(found) != bool(row["calls"]):
            unnamed[family].append(row["text"])
    assert not {family: texts for family, texts in unnamed.items() if family not in NOT_READ}
    assert sum(map(len, unnamed.values())) <= 3


def test_every_recorded_name_is_known(golden_dir: Path) -> None:
    rows = _rows(golden_dir / "parsers" / "parser_tests.jsonl.gz")
    assert not {row["model"] for found in rows.values() for row in found if family_of(row["model"]) is None}
