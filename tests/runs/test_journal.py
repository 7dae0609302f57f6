from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs import journal
from pytest_bfcl.runs.journal import (
    Journal,
    ReplyKey,
    Requests,
    journal_line,
    read_journal_line,
    request_digest,
)
from pytest_bfcl.transcript import ProviderState, Reply, Served, ToolCall

KEY = ReplyKey("openai:tiny@fc", "fc", "simple_python_1", 1, 0, 0, "0" * 64)
REPLY = Reply(
    text="Let me see\ud800",
    tool_calls=(ToolCall("f", '{"a": 1', "id1"), ToolCall("g", "{}")),
    reasoning="because",
    finish_reason="tool_calls",
    input_tokens=10,
    output_tokens=3,
    latency_s=0.25,
    attempts=2,
    problem="length",
)


def test_a_reply_comes_back_whole_in_the_same_and_in_another_process(tmp_path: Path) -> None:
    with Journal(tmp_path, "gw0") as journal:
        assert journal.find(KEY) is None
        journal.record(KEY, REPLY)
        assert journal.find(KEY) == REPLY
        # On disk before anything is closed.
        other = Journal(tmp_path, "gw1")
        assert other.find(KEY) == REPLY
        other.record(KEY._replace(step=1), Reply("second"))
        other.close()
    assert journal._writer is None
    again = Journal(tmp_path, "main")
    assert again.find(KEY._replace(step=1)) == Reply("second")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gw0.jsonl", "gw1.jsonl"]


@pytest.mark.parametrize("field", ReplyKey._fields)
def test_every_part_of_the_key_matters(tmp_path: Path, field: str) -> None:
    journal = Journal(tmp_path)
    journal.record(KEY, REPLY)
    old = getattr(KEY, field)
    other = KEY._replace(**{field: old + 1 if isinstance(old, int) else old + "x"})
    assert journal.find(other) is None


def test_a_journal_is_on_the_disk_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    journal = Journal(tmp_path)
    journal.close()
    journal.record(KEY, REPLY)
    writer = journal._writer
    journal.record(KEY, REPLY)
    assert (journal._writer is writer, synced) == (True, [])
    journal.close()
    journal.close()
    assert len(synced) == 1
    journal.record(KEY, Reply("again"))
    assert journal.find(KEY) == Reply("again")


def test_a_journal_of_a_run_that_ends_has_what_was_answered_and_refuses_the_rest(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.record(KEY, REPLY)
    journal.ended = "the run is stopping"
    assert journal.find(KEY) == REPLY
    with pytest.raises(HarnessError, match="the run is stopping") as stopped:
        journal.find(KEY._replace(step=1))
    assert stopped.value.kind == "stopped"


def test_a_file_that_vanished_is_an_error_with_its_name(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.record(KEY, REPLY)
    (tmp_path / "main.jsonl").unlink()
    with pytest.raises(HarnessError, match=r"main\.jsonl"):
        journal.find(KEY)


def test_a_conversation_of_requests_has_the_digests_of_its_single_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = Requests("")
    tools: list[dict[str, object]] = [{"name": "f"}]
    messages: list[dict[str, object]] = []
    for number in range(4):
        messages.append({"role": "user", "content": f"text {number}"})
        more = (tools, tools, [*tools, {"name": "g"}], [{"name": "h"}, *tools])[number]
        assert digests.digest(list(messages), list(more), {"a": 1}) == request_digest(messages, more, {"a": 1})
    messages.insert(1, {"role": "tool", "content": "in between"})
    assert digests.digest(messages) == request_digest(messages)
    assert digests.digest(messages[:2]) == request_digest(messages[:2])
    assert Requests(None).delta([], []).started_at == ""
    assert request_digest([{"a": 1}, {"b": 2}]) != request_digest([{"b": 2}, {"a": 1}])
    monkeypatch.setattr(journal, "_canonical", pytest.fail)
    digests.digest(messages[:2])  # they are known, and are not read again
    monkeypatch.undo()
    monkeypatch.setattr(journal, "_CANONICAL", pytest.fail)  # the slower one
    assert journal._canonical({"role": "user", "content": "é"}) == b'{"content":"\\u00e9","role":"user"}\n'


FULL = Reply("t", (ToolCall("f", "{}", "1"),), "r", "stop", 1, 2, 0.5, 3, "length", 4, 0.1,
             ProviderState("chat", "reasoning", {"a": 1}), Served("m", "f", "i"))  # fmt: skip


NO_CALLS = ({}, ["f"], [{"name": 1, "arguments": ""}], [{"name": "f", "arguments": {}}], [{"name": "f"}])


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        *((f"reply.{name}", 1, "is 1, not text") for name in ("text", "reasoning", "finish_reason", "problem")),
        *((f"reply.{name}", -1, "is -1, not a number from 0") for name in ("input_tokens", "reasoning_tokens")),
        *((f"reply.{name}", "1", 'is "1", not a number from 0') for name in ("output_tokens", "first_token_s")),
        *((f"reply.{name}", True, "is true, not a number from 0") for name in ("latency_s", "attempts")),
        *(("reply.tool_calls", each, f"is {json.dumps(each)}, not a list of calls") for each in NO_CALLS),
        ("reply", [1], "is [1], not an object"),
        ("model", 1, "is 1, not text"),
        ("repeat", "1", 'is "1", not a whole number'),
        ("step", True, "is true, not a whole number"),
    ],
)
def test_what_is_no_line_of_a_journal(name: str, value: object, said: str) -> None:
    line = json.loads(journal_line(KEY, FULL))
    place, _, field = name.rpartition(".")
    (line[place] if place else line)[field] = value
    with pytest.raises(ValueError, match=re.escape(f"not a journal line: {name} {said}")):
        read_journal_line(line)


def test_torn_lines_and_odd_files_are_reported_and_the_rest_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").mkdir()
    with Journal(tmp_path, "main") as journal:
        for step in range(3):
            journal.record(KEY._replace(step=step), REPLY)
    path = tmp_path / "main.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"step":1', b'"step":x', 1)[:-20])
    again = Journal(tmp_path)
    assert str(again.damaged[0]) == f"{tmp_path / 'a.jsonl'}:1: not a file"
    assert [(each.path, each.line) for each in again.damaged[1:]] == [(path, 2), (path, 3)]
    assert (again.find(KEY), again.find(KEY._replace(turn=9))) == (REPLY, None)
    again.record(KEY._replace(step=2), Reply("again"))
    again.close()
    assert Journal(tmp_path).find(KEY._replace(step=2)) == Reply("again")
    assert Journal(tmp_path / "none").find(KEY) is None


@pytest.mark.parametrize("messages", [
    [{"role": "user", "content": "a", "name": "x"}], [{"role": "user", "content": 1}], [{"role": 1, "content": "a"}],
])  # fmt: skip
def test_digests_of_odd_messages_differ(messages: list[dict[str, object]]) -> None:
    assert request_digest(messages) != request_digest([{"role": "user", "content": "a"}])
    for one, other in (({"a": 1}, {"a": True}), ({"a": 1}, {"a": 1.0}), ({"a": [1]}, {"a": [True]}), ({}, {"a": None})):
        assert request_digest(messages, (), one) != request_digest(messages, (), other)
    assert request_digest(messages, (), {}) == request_digest(messages)
