"""Answers side by side: single calls, conversations turn by turn, lines without data, hostile and broken ones."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.checkers import judge_both
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.side_by_side import Answer, SideBySide, side_by_side
from pytest_bfcl.reporting import rendering
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.runs.results import result_record
from pytest_bfcl.session.evaluation import open_data


def page(found: SideBySide) -> str:
    module: Any = rendering.environment(TEMPLATES).get_template("side_by_side.html.jinja").module
    return str(module.side_by_side(found))


@pytest.fixture(scope="module")
def conversation() -> Entry:
    """A bundled multi-turn entry whose first turn changes something and that has a later turn with calls."""
    data = open_data("bundled")
    for ref in data.index("multi_turn_base"):
        entry = data.load(ref)
        if len(entry.possible_answer) > 1 and all(entry.possible_answer[:2]):
            return entry
    raise AssertionError("no such entry")


def played(entry: Entry, turns: list[list[list[str]]]) -> dict[str, Any]:
    """The result line of a conversation of these calls, judged for real."""
    line = {"id": entry.id, "category": entry.category, "model": "m", "trajectory": turns}
    transcript = transcript_from_line(line)
    both = judge_both(entry, transcript)
    return dict(result_record(entry, transcript, both.official, both.corrected, extra=both.extra))


def right(entry: Entry) -> list[list[list[str]]]:
    return [[list(turn)] if turn else [] for turn in entry.possible_answer]


def test_a_conversation_is_told_turn_by_turn_also_after_the_turn_that_decided(conversation: Entry) -> None:
    good = right(conversation)
    bad = [[], *good[1:]]
    found = side_by_side(
        conversation, [Answer("before", played(conversation, good)), Answer("after", played(conversation, bad))]
    )
    assert len(found.turns) == len(conversation.possible_answer)
    first, second = found.turns[:2]
    assert first.expected == tuple(conversation.possible_answer[0])
    assert first.differs
    assert [part.right for part in first.parts] == [True, False]
    assert first.parts[1].words
    assert not second.differs  # the same calls
    assert all(part.right for part in (turn.parts[0] for turn in found.turns))
    text = page(found)
    assert "the same calls" in text
    assert "other calls" in text


def test_state_differences_are_told_in_every_turn() -> None:
    """A write that is left out stays left out: each later turn with due calls tells the difference again."""
    data = open_data("bundled")
    told = []
    for entry in map(data.load, data.index("multi_turn_base")):
        good = right(entry)
        for number, turn in enumerate(entry.possible_answer):
            line = played(entry, [*good[:number], [list(turn[1:])], *good[number + 1 :]])
            if line["reason"] == "multi_turn:instance_state_mismatch":
                found = side_by_side(entry, [Answer("only", line)])
                parts = [each.parts[0] for each in found.turns[number:] if each.parts[0].right is False]
                shown = [part.state for part in parts if part.state]
                assert parts[0].state
                assert parts[0].owner
                assert page(found).count('<dl class="state') == len(shown)
                told.append(len(shown))
    assert max(told) > 1


def test_without_the_data_the_lines_tell_what_they_know(conversation: Entry) -> None:
    line = played(conversation, [[], *right(conversation)[1:]])
    found = side_by_side(None, [Answer("after", line)])
    assert found.turns[0].expected == ()
    assert found.turns[0].parts[0].right is False
    assert found.heads[0].why.headline
    assert side_by_side(None, []).turns == ()
    bare = {"id": "parallel_1", "category": "parallel", "outcome": "failed", "reason": "odd", "detail": {}}
    assert page(side_by_side(None, [Answer("score file", bare)]))


def test_hostile_words_are_shown_and_bounded(conversation: Entry) -> None:
    hostile = "<script>alert(1)</script>\u202e" + "x" * 5_000
    line = played(conversation, [[[f"cd(folder={hostile!r})"] * 200], *right(conversation)[1:]])
    found = side_by_side(conversation, [Answer(hostile[:40], line), Answer("b", {**line, "output": {"a": [1]}})])
    text = page(found)
    assert "<script>" not in text
    assert "\u202e" not in text
    assert len(text) < 150_000
