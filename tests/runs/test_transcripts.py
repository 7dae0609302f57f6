"""Whole conversations from the lines of a journal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs import transcripts
from pytest_bfcl.runs.journal import LONG, Journal, ReplyKey, Requests
from pytest_bfcl.runs.result_line import EntryKey
from pytest_bfcl.runs.transcripts import Transcripts
from pytest_bfcl.transcript import Reply, ToolCall
from tests.runs.samples import SPEC

KEY = EntryKey(SPEC, "fc", "a")
TOOLS = [{"name": "ls", "description": "é"}, {"name": "ls", "description": "twice"}]
CALL = Reply(tool_calls=(ToolCall("ls", "{}"),))
ASKED = {"role": "user", "content": "List"}
RESULT = {"role": "tool", "tool_call_id": "call_0_0_0", "content": "[]"}
DONE = Reply("Done.")


class Held:
    """A conversation that goes on: what the journal is told of it."""

    def __init__(self, journal: Journal, began: str = "2026-01-01T10:00:00.000Z", key: EntryKey = KEY) -> None:
        self.journal, self.key = journal, key
        self.requests = Requests(began)
        self.messages: list[dict[str, Any]] = []

    def reply_key(self, turn: int, step: int) -> ReplyKey:
        return ReplyKey(*self.key, turn, step, f"{turn}{step}" * 8)

    def step(
        self,
        turn: int,
        step: int,
        new: Sequence[dict[str, Any]],
        reply: Reply,
        tools: Any = TOOLS,
        *,
        live: bool = True,
    ) -> None:
        """Ask with these messages; ``live`` or found in the journal; the reply is history then."""
        self.messages += new
        if live:
            asked = self.requests.delta(list(self.messages), tools)
            self.journal.record(self.reply_key(turn, step), reply, asked)
        self.requests.replies.append((reply, turn, step))
        self.messages.append(reply.as_message(turn, step))


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted((run / "journal").iterdir()) for line in path.read_text().splitlines()]


def test_every_word_is_written_once_and_comes_back_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    for entry in "ab":
        held = Held(journal, key=KEY._replace(entry_id=entry))
        held.step(0, 0, [ASKED], CALL)
        held.step(0, 1, [RESULT], DONE, [*TOOLS, {"name": "cd"}])
        held.step(1, 0, [{"role": "user", "content": "x" * LONG}], Reply(None))
    first, second, third, fourth, *_, last = lines(tmp_path)
    assert (first["kept"], first["messages"], first["parts"]) == (0, [ASKED], [TOOLS])
    assert (second["kept"], second["messages"], len(second["new"])) == (1, [{"reply": 0}, RESULT], 1)
    assert (third["kept"], third["messages"]) == (3, [{"reply": 1}, {"sha256": third["new"][0]}])
    assert fourth["functions_sha256"] == first["functions_sha256"]
    assert "parts" not in fourth
    assert "parts" not in last
    for entry in "ab":
        found = Transcripts(tmp_path).load(KEY._replace(entry_id=entry))
        assert found == {"messages": held.messages, "functions": [*TOOLS, {"name": "cd"}]}
    assert Transcripts(tmp_path).load(KEY._replace(repeat=2)) is None
    assert Transcripts(tmp_path / "none").load(KEY) is None
    with Journal(tmp_path / "bare" / "journal") as bare:
        bare.record(ReplyKey(*KEY, 0, 0, "0" * 64), DONE)
    assert Transcripts(tmp_path / "bare").load(KEY) is None, "the reply alone was stored"


def test_a_resumed_conversation_is_one(tmp_path: Path) -> None:
    """Its first part lies in a file that sorts behind."""
    first = Held(Journal(tmp_path / "journal", "main"))
    first.step(0, 0, [ASKED], CALL)
    first.step(0, 1, [RESULT], Reply("Lost"))
    first.step(1, 0, [ASKED], Reply("too"))
    second = Held(Journal(tmp_path / "journal", "gw0"), "2026-01-02T10:00:00.000Z")
    second.step(0, 0, [ASKED], CALL, live=False)
    second.step(0, 1, [RESULT], Reply("Lost"), live=False)
    second.step(1, 0, [ASKED], DONE)
    assert lines(tmp_path)[0]["messages"] == [ASKED, {"reply": 0}, RESULT, {"reply": 1}, ASKED]
    assert Transcripts(tmp_path).load(KEY) == {"messages": second.messages, "functions": TOOLS}
    # The line of the first part shows the first part.
    found = Transcripts(tmp_path).load(KEY, "2026-01-01T10:00:00.000Z")
    assert found is not None
    assert found["messages"] == first.messages


def spoilt(place: int, **fields: Any) -> Any:
    def spoil(journal: Path) -> None:
        kept = [json.loads(line) for line in journal.read_text().splitlines()]
        kept[place] |= fields
        journal.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept))

    return spoil


MISSING = "a part of the conversation is missing"


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(True)[1:])), "lines of the conversation"),
        (spoilt(1, kept=9), "lines of the conversation"), (spoilt(1, kept="1"), "'<=' not supported"),
        (spoilt(1, messages="x"), "what should be a list"), (spoilt(0, messages=[1]), "what should be a list"),
        (spoilt(1, messages=[{"reply": 0}, {"reply": 0}]), "there is no reply 0"),
        (spoilt(1, messages=[{"reply": 2}]), "there is no reply 2"),
        (spoilt(1, messages=[{"sha256": "f"}]), MISSING),
        (spoilt(0, parts=[]), "list index out of range"), (spoilt(0, new=["f"]), MISSING),
        (spoilt(0, parts=[[{}]]), "name"), (spoilt(1, reply={}), "text is missing|tool_calls is missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_by_file(tmp_path: Path, spoil: Any, why: str) -> None:
    held = Held(Journal(tmp_path / "journal"))
    held.step(0, 0, [ASKED], CALL)
    held.step(0, 1, [RESULT], DONE)
    spoil(tmp_path / "journal" / "main.jsonl")
    run = Transcripts(tmp_path)
    with pytest.raises(HarnessError, match=rf"cannot read the transcript of a .*{why}"):
        run.load(KEY)
    assert f"{tmp_path / 'journal'}:0: 1 transcript cannot be read, the first of a: " in str(*run.damaged())


def test_lines_that_are_none_are_left_out_and_told(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        for entry in ("a", 'ö"', "c"):
            Held(journal, key=KEY._replace(entry_id=entry)).step(0, 0, [ASKED], DONE)
    path = tmp_path / "journal" / "main.jsonl"
    path.write_bytes(path.read_bytes()[:-9] + b"\n\n{}\n")
    (tmp_path / "journal" / "odd.jsonl").mkdir()
    (tmp_path / "journal" / "void.jsonl").symlink_to("nowhere")
    run = Transcripts(tmp_path)
    *found, last = run.damaged()
    assert [(each.path.name, each.line) for each in found] == [("main.jsonl", 3), ("main.jsonl", 5), ("odd.jsonl", 1)]
    assert all(each.why for each in found)
    assert (last.path.name, last.line, last.why) == ("void.jsonl", 1, "No such file or directory")
    for entry in ("a", 'ö"'):
        assert run.load(KEY._replace(entry_id=entry)) == {
            "messages": [ASKED, DONE.as_message(0, 0)],
            "functions": TOOLS,
        }
    assert run.load(KEY._replace(entry_id="c")) is None


def test_parts_repeated_without_end_are_not_unfolded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(Journal(tmp_path / "journal"))
    held.step(0, 0, [{"role": "system", "content": "x" * LONG}] * 3, DONE)
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 3 * LONG)
    assert Transcripts(tmp_path).load(KEY) is not None
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 3 * LONG - 1)
    with pytest.raises(HarnessError, match="longer than any conversation"):
        Transcripts(tmp_path).load(KEY)
