"""Recorded conversations become entries for review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.own.log_entries import entries_of_log
from pytest_bfcl.failures import UsageError
from tests.extensions.own import recorded_logs
from tests.extensions.own.recorded_logs import LOGS, lines_of

SCHEMA = recorded_logs.SCHEMA
TOOL = {"type": "function", "function": {**recorded_logs.ABOUT, "name": "find_order", "parameters": SCHEMA}}


def called(number: int) -> dict[str, Any]:
    return {
        "id": "c",
        "type": "function",
        "function": {"name": "find_order", "arguments": json.dumps({"number": number})},
    }


CONVERSATION: dict[str, Any] = {
    "tools": [TOOL],
    "messages": [
        {"role": "system", "content": "You work for a shop."},
        {"role": "user", "content": "Where is order 12?"},
        {"role": "assistant", "content": None, "tool_calls": [called(12)]},
        {"role": "tool", "tool_call_id": "c", "content": "sent"},
        {"role": "assistant", "content": "It was sent."},
        {"role": "user", "content": [{"type": "text", "text": "And 13 and 14?"}]},
        {"role": "assistant", "content": "", "tool_calls": [called(13), called(14)]},
        {"role": "user", "content": "Thanks!"},
        {"role": "assistant", "content": "With pleasure."},
    ],
}


def log(path: Path, *conversations: Any) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in conversations), encoding="utf-8")
    return path


def simplified(entries: Any) -> list[Any]:
    """Entries without where they come from."""
    return [{key: value for key, value in entry.items() if key != "note"} for entry in entries]


def test_one_conversation_in_every_format_is_one_and_the_same(tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_text(lines_of(LOGS["chat"]))
    expected = simplified(entries_of_log(tmp_path / "chat.jsonl"))
    assert [entry["category"] for entry in expected] == ["simple_python", "recorded"]
    assert expected[0]["possible_answer"] == [{"find_order": {"number": [12]}}]
    assert expected[1]["results"] == [{"call": "find_order", "arguments": {"number": 12}, "result": "sent"}]
    for name, lines in LOGS.items():
        for text in (lines_of(lines), json.dumps(lines)):
            path = tmp_path / f"{name}.json"
            path.write_text(text)
            assert simplified(entries_of_log(path)) == expected, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "library", ["anthropic", "openai", "google.genai", "opentelemetry.sdk", "openinference.semconv"]
)
def test_logs_of_the_libraries_themselves(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    from tests.extensions.own import library_logs

    (tmp_path / "chat.jsonl").write_text(lines_of(LOGS["chat"]))
    expected = simplified(entries_of_log(tmp_path / "chat.jsonl"))
    for name, text in library_logs.MADE[library]().items():
        (tmp_path / name).write_text(text)
        assert simplified(entries_of_log(tmp_path / name)) == expected, name


ODD = list(map(json.loads, Path(__file__).with_name("odd_logs.jsonl").read_text(encoding="utf-8").splitlines()))
"""What it is, the record, and what is said of it."""


@pytest.mark.parametrize(
    ("record", "told"), [(record, told) for _, record, told in ODD], ids=[name for name, *_ in ODD]
)
def test_what_is_not_known_stops_it_with_the_place(record: Any, told: str, tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", CONVERSATION, record)
    with pytest.raises(UsageError, match=r"log\.jsonl:2.*" + told):
        list(entries_of_log(path))
    left_out: list[str] = []
    assert len(list(entries_of_log(path, leave_out=left_out.append))) == 4
    assert len(left_out) == 1


def test_rows_of_xlam(tmp_path: Path) -> None:
    tool = {"name": "find", "description": "Finds.", "parameters": {
        "word": {"type": "str", "description": "What."},
        "most": {"type": "int, optional", "description": "", "default": 5},
        "tags": {"type": "Optional[List[str]]", "description": "", "default": None}}}  # fmt: skip
    calls = [{"name": "find", "arguments": {"word": "a", "most": 5}}, {"name": "find", "arguments": {"word": "b"}}]
    row = {"id": 3, "query": "Find a and b.", "answers": json.dumps(calls), "tools": json.dumps([tool])}
    (entry,) = entries_of_log(log(tmp_path / "xlam.jsonl", row))
    assert entry["category"] == "parallel"
    assert entry["possible_answer"] == [{"find": {"word": ["a"], "most": [5, ""]}}, {"find": {"word": ["b"]}}]
    parameters = entry["function"][0]["parameters"]
    assert (parameters["required"], parameters["properties"]["tags"]["type"]) == (["word"], "array")


def test_files_of_acebench(tmp_path: Path) -> None:
    functions = [{"name": name, "description": name, "parameters": SCHEMA} for name in ("find", "send_2")]
    asked = "user: Find 1.\nsystem: [find(number=1)]\nsystem: It is\nred.\nuser: Find 2 and 3.\n"
    rows = [{"id": name, "question": asked.replace("3", name), "function": functions} for name in ("a", "b", "c")]
    rows[0]["time"] = "It is May."
    (tmp_path / "possible_answer").mkdir()
    truths = [{"find_1": {"number": 2}, "find_2": {"number": 3}}, "There is no way.", {"send_2": ["number"]}]
    answers = [{"id": row["id"], "ground_truth": each} for row, each in zip(rows, truths, strict=True)]
    log(tmp_path / "possible_answer" / "data.json", *answers)
    made = {entry["id"]: entry for entry in entries_of_log(log(tmp_path / "data.json", *rows))}
    assert made["log_0_1"]["possible_answer"] == [{"find": {"number": [2]}}, {"find": {"number": [3]}}]
    assert made["log_0"]["results"] == [{"call": "find", "arguments": {"number": 1}, "result": "It is\nred."}]
    assert [made[f"log_{n}_1"]["category"] for n in range(3)] == ["parallel", "irrelevance", "irrelevance"]
    assert made["log_0_0"]["question"][0][0] == {"role": "system", "content": "It is May."}


def test_the_entries_can_be_used_and_are_told_to_be_unread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, made = log(tmp_path / "log.jsonl", CONVERSATION), tmp_path / "made.jsonl"
    assert main(["new", "log", str(source), "-o", str(made)]) == 0
    assert "4 entries, none of them reviewed" in capsys.readouterr().err
    assert main(["validate", str(made)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("nobody has read this entry") == 4
    assert main(["validate", str(made), "--strict"]) == 1
    assert main(["new", "log", str(source), "-o", str(made)]) == 2, "what is there is not written over"


ASKED = {"role": "user", "content": "Hi"}
NO_CALLS: tuple[Any, ...] = (*({"function": {"name": "f", "arguments": each}} for each in ("{", "[]")), {})
NO_CONVERSATIONS = [
    "{", "7", '{"messages": 3}', '{"messages": [{}]}', '{"messages": [1]}',
    *(json.dumps({"tools": [TOOL], "messages": [ASKED, {"role": "assistant", "tool_calls": [call]}]})
      for call in NO_CALLS),
]  # fmt: skip


@pytest.mark.parametrize("line", NO_CONVERSATIONS)
def test_a_line_that_is_no_conversation_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(CONVERSATION)}\n{line}\n")
    with pytest.raises(UsageError, match=r"log\.jsonl:2"):
        list(entries_of_log(path))


# -- endings: what each kind of log says of a reply, and whether it may be taken for what is right ---------------------

WHO = [{"role": "user", "content": "Who are you?"}]
SAYS = {"role": "assistant", "content": "A shop's assistant."}
OFFERED = {"messages": WHO, "tools": [TOOL]}


def ended(name: str, word: object) -> dict[str, Any]:
    return {} if word is None else {name: word}


def chat(word: object, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": SAYS, **ended("finish_reason", word)}
    return {"request": OFFERED, "response": {"object": "chat.completion", "choices": [choice], **more}}


STOPPED = chat("stop")["response"]
TAKEN, REFUSED = json.loads(Path(__file__).with_name("endings_in_logs.json").read_text(encoding="utf-8")).values()
"""Records whose reply may be taken for what is right, and such whose reply may not."""


@pytest.mark.parametrize("record", TAKEN.values(), ids=TAKEN)
def test_a_normal_ending_is_taken(record: Any, tmp_path: Path) -> None:
    (entry,) = entries_of_log(log(tmp_path / "log.jsonl", record))
    assert entry["category"] == "irrelevance"


@pytest.mark.parametrize("record", REFUSED.values(), ids=REFUSED)
def test_truth_is_never_made_of_trouble(record: Any, tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", record)
    with pytest.raises(UsageError, match=r"log\.jsonl:1"):
        list(entries_of_log(path))
    told: list[str] = []
    assert list(entries_of_log(path, leave_out=told.append)) == []
    assert len(told) == 1


def test_what_goes_on_with_a_cut_reply_is_left_out_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = {"request": {**OFFERED, "messages": [*WHO, SAYS, {"role": "user", "content": "And now?"}]},
             "response": STOPPED}  # fmt: skip
    path = log(tmp_path / "log.jsonl", chat("length"), later, chat("error"), chat("error"))
    assert main(["new", "log", str(path), "--skip", "-o", str(tmp_path / "made.jsonl")]) == 1
    told = capsys.readouterr().err
    assert "it continues the reply of" in told
    assert "ended with 'error' (ending) (2 times, first" in told
