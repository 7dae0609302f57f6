from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.runs import results
from pytest_bfcl.runs.fields import problem_of
from pytest_bfcl.runs.lines import DamagedLine, json_line, plain
from pytest_bfcl.runs.results import (
    ResultsFile,
    conversation_fields,
    read_results,
    written,
)
from pytest_bfcl.transcript import Call, OtherReading, Reply, Served, Step, ToolCall, Transcript, Turn
from tests.runs.samples import SPEC, single


def test_a_detail_of_words_is_no_result() -> None:
    """Lines that others write may have it."""
    worded: Any = {**single(), "detail": "x"}
    assert problem_of(worded) is None
    assert results.checked({**worded, "detail": None})
    with pytest.raises(ValueError, match='detail is "x", not an object'):
        results.checked(worded)


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


ODD = {"infinity": float("inf"), "complex": complex(1, 2), "long": 10**5000, "bytes": {1: b"x"}}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "place", [{"mode": "prompt"}, {"decoder": "python"}, {"reason": "value_error:others"}, {"reason": None}]
)
def test_values_that_are_no_json_are_written_all_the_same(
    place: Any, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that were parsed from JSON, in lines without a reason, hold none of them but infinity."""
    record: Any = {**single(), "mode": "fc", "calls": [{"f": {"x": ODD[odd]}}], **place}
    if place != {"reason": None} or odd == "infinity":
        assert json.loads(written(record))["calls"] == plain(record["calls"])
    if place == {"reason": None}:
        monkeypatch.setattr(results, "json_line", pytest.fail)  # the slower one
    assert json.loads(written({**record, "calls": [{"f": {"x": 1}}]}))["calls"] == [{"f": {"x": 1}}]


def test_reading_again_gives_the_same_and_sees_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    first, second = single(valid=False), {**single(valid=True), "id": "simple_python_9"}
    path.write_bytes(json_line(first) + b"{torn\n" + json_line(second))
    file = ResultsFile(path)
    for _ in range(3):
        damaged: list[DamagedLine] = []
        assert list(file.records(damaged.append)) == [first, second]
        assert [line.line for line in damaged] == [2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "checked", pytest.fail)  # once is enough
        assert list(file.records()) == [first, second]
    with path.open("ab") as lines:
        lines.write(json_line({**first, "outcome": "passed"}) + json_line(second).replace(b'"outcome"', b'"x"'))
    for _ in range(2):
        damaged = []
        assert [record["outcome"] for record in file.records(damaged.append)] == ["passed", second["outcome"]]
        assert [line.line for line in damaged] == [2, 5]
    assert next(file.records()) == {**first, "outcome": "passed"}  # left in the middle
    assert len(list(file.records())) == 2


def made(*steps: Step, **fields: Any) -> Transcript:
    return Transcript(
        "simple_python_1", "simple_python", SPEC, "fc", turns=[Turn(steps=list(steps))] if steps else [], **fields
    )


def test_every_field_of_a_single_turn_line() -> None:
    served = Served("m", "f", "i")
    reply = Reply("a", (ToolCall("f", "{}"),), "r", "stop", 1, 2, 0.5, 3, "length", 4, 0.1, None, served)
    transcript = made(Step(reply, [Call("f", {"x": 1}), "g()"], ["seen"]), Step(Reply("later")), decoder="hermes",
                      decoded=True, incomplete=True, forced_quit=True,
                      other_reading=OtherReading("evidence", "prompt", True))  # fmt: skip
    assert conversation_fields(transcript, nested=False) == {
        "output": [{"name": "f", "arguments": "{}"}], "calls": [{"f": {"x": 1}}, "g()"], "underscore_names": False,
        "tool_results": [[["seen"], []]], "reasoning": "r", "input_tokens": 1, "output_tokens": 2, "latency_s": 0.5,
        "finish_reasons": "stop", "attempts": 3, "problems": "length", "reasoning_tokens": 4, "first_token_s": 0.1,
        "served": served.to_dict(), "decoder": "hermes", "forced_quit": True, "decoded": True, "incomplete": True,
        "other_reading": {"by": "evidence", "mode": "prompt", "underscore_names": True, "decoder": None,
                          "followed": "leaderboard"},
    }  # fmt: skip
    nothing = dict.fromkeys(("output", "calls", "tool_results", "reasoning", "input_tokens", "output_tokens",
        "latency_s",
                             "finish_reasons", "attempts"))  # fmt: skip
    assert conversation_fields(made(), nested=False) == {**nothing, "underscore_names": False}
    failed = conversation_fields(made(inference_error="no"), nested=True)
    assert (failed["output"], failed["inference_error"], failed["tool_results"]) == ("no", "no", [])
    assert conversation_fields(made(Step(Reply("a"), None)), nested=True)["calls"] == [[None]]
    assert conversation_fields(made(Step(Reply("a"))), nested=True)["attempts"] == [[1]]


@pytest.mark.parametrize("why", ["gone", "changed while it was read"])
def test_a_file_that_changes_is_read_anew(tmp_path: Path, why: str) -> None:
    path = write(tmp_path / "r.jsonl", json_line(single("simple_python_1")), json_line(single("simple_python_2")))
    file = ResultsFile(path)
    reading = file.records()
    next(reading)
    if why == "gone":
        path.rename(tmp_path / "other")
        assert len(list(reading)) == 1
        with pytest.raises(OSError, match="No such file"):
            list(file.records())
        return
    with path.open("ab") as lines:
        lines.write(json_line(single("simple_python_3")))
    list(reading)
    assert len(list(file.records())) == 3


def test_lines_whose_key_is_no_utf8(tmp_path: Path) -> None:
    bad = json_line(single("simple_python_1")).replace(b"simple_python_1", b"simple\xff_1", 1)
    damaged: list[DamagedLine] = []
    assert list(read_results(write(tmp_path / "r.jsonl", bad, b"\n", json_line(single())), damaged.append)) == [
        single()
    ]
    assert [each.line for each in damaged] == [1]
