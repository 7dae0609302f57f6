"""The comparison with others' parsers: what differs is found, made as small as it can be, and grouped."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.wire.cutting import writings
from pytest_bfcl.formats.detection import own_calls
from pytest_bfcl.formats.table import find_decoder
from pytest_bfcl.transcript import Reply

SCRIPT = runpy.run_path(str(Path(__file__).parents[3] / "scripts" / "parser_differences.py"), run_name="differences")


class Wrong:
    """Our own reading as a parser, but for texts with a null."""

    def whole(self, text: str, documents: Any, *, dots: str) -> list[tuple[str, str]]:
        calls = own_calls(Reply(text=text), find_decoder("hermes"), documents)
        return [] if "null" in text else [(str(call.name), json.dumps(call.arguments)) for call in calls]


def test_a_difference_is_made_small_and_named_once() -> None:
    comparison = SCRIPT["Comparison"]("hermes", {"vllm:wrong": Wrong()})
    for text in SCRIPT["texts"]("hermes", 60, 0):
        comparison.take(text)
    (group,) = [each for each in comparison.groups.values() if "a list" not in each.example.values]
    assert group.example.values == ("null",)
    assert group.key == "hermes: null: vllm:wrong"
    assert group.count > 1
    assert comparison.agreed["vllm:wrong"] > comparison.read // 2


@pytest.mark.parametrize("name", writings())
def test_what_is_written_plainly_is_read(name: str) -> None:
    for kind in ("a text", "an integer", "an object"):
        text = SCRIPT["Text"](name, (kind,), frozenset())
        assert SCRIPT["ours"](text) == [("look_up", {"p0": SCRIPT["VALUES"][kind]})]
