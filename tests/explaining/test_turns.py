"""What a person reads about failed conversations: it fits a terminal and says what went wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.explaining.explanation import explain
from pytest_bfcl.reporting.pages import EntryResult, Neighbours, PageContext, entry_page
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.session.evaluation import open_data
from tests.explaining.same_words import failure_lines

DATA = open_data("bundled")
CHAIN = "multi_turn_base_0"  # bees: ls and cd, grep, mkdir and mv, touch and echo
HELD = "multi_turn_miss_func_1"  # a van: fuel, doors, engine, lights (held out, then offered), navigation
LS, GREP = ["ls()", "cd('hives')"], ["grep(file_name='hive_b.txt', pattern='mites')"]
MOVE = ["mkdir('quarantine')", "mv('hive_b.txt', 'quarantine')"]
NOTE = ["touch('queens.txt')", "echo(content='blue 2022, white 2021', file_name='queens.txt')"]
VAN = [["fillFuelTank(12.25)"], ["lockDoors(unlock=False, door=['driver', 'rear_left'])"]]
VAN += [["pressBrakePedal(1.0)", "startEngine('START')"], [], ["setHeadlights('on')"], []]


def text(entry_id: str, turns: list[Any], rules: str = "official") -> str:
    """The failure text of a conversation; a turn is a list of calls (one step), a list of steps, or said text."""
    entry = DATA.entry(entry_id)
    trajectory = [turn if turn and isinstance(turn[0], list) else [turn] if turn else [] for turn in turns]
    line = {"id": entry_id, "category": entry.category, "trajectory": trajectory}
    record = transcript_from_line(line)
    verdict = judge(entry, record, rules)
    assert not verdict.valid
    shown = failure_lines(entry, record, verdict)
    assert max(map(len, shown.splitlines())) <= 100, shown
    return shown


WRONG_FOLDER = [MOVE[0], "mv('hive_b.txt', 'quarantin')"]
TWICE = [["cd('hives')", "cd('hives')", "ls()"], GREP, MOVE, NOTE]
SAID: dict[str, tuple[str, list[Any], list[str], list[str]]] = {
    # entry, turns, what is said, what is not
    "a state that differs: the cause, and only what differs": (
        CHAIN, [LS, GREP, WRONG_FOLDER, NOTE],
        ["(turn 3 of 4) Hive B gets a folder of its own", 'destination is "quarantin", expected "quarantine"',
         "GorillaFileSystem differs after this turn:", "root.contents.hives.contents.quarantine.contents.hive_b.txt"],
        ["hive_a"],
    ),
    "calls left out, and calls not expected": (
        CHAIN, [LS, GREP, [MOVE[0], "touch('note.txt')"], NOTE],
        ["mv(source='hive_b.txt', destination='quarantine')  <-- not called", "touch('note.txt')  <-- not expected",
         "mkdir('quarantine')\n"], [],
    ),
    "spelling alone is no difference": (
        CHAIN, [["ls( a = False )", 'cd( "hives" )'], GREP, MOVE, [NOTE[0]]],
        ["turn 4 of 4", "<-- not called"], ["touch('queens.txt')  <--"],
    ),
    "an earlier call is the cause": (
        HELD, [*VAN[:3], ["setHeadlights('on')", "lockDoors(True, ['driver'])"], *VAN[4:]],
        ["(turn 5 of 6) no new message: now these functions are offered too: setHeadlights",
         "before    in turn 4, where no call was due", "lockDoors(True, ['driver'])",
         'doorStatus.driver: expected "locked", is "unlocked"'], [],
    ),
    "missing results, with their call and what came instead": (
        CHAIN, [LS, ["grep(file_name='hive_b.txt', pattern='mite ')"], MOVE, NOTE],
        ['pattern is "mite ", expected "mites"', '-> {"matching_lines": []}',
         "missing   the result of grep(file_name='hive_b.txt', pattern='mites')",
         '-> {"matching_lines": ["mites counted: 9"]}'], [],
    ),
    "the error of a call": (CHAIN, TWICE, ['-> {"error":', "missing   the result of ls()"], []),
    "a turn without a call": (
        CHAIN, [LS, [], MOVE, NOTE], ["called    (no call)", "this turn needs at least one call that decodes"], [],
    ),
    "a turn without end": (
        CHAIN, [LS, [GREP, *[["pwd()"]] * 20]],
        ["expected  4 turns", "called    2 turns: turn 2 still called something in step 21", "pwd()  <-- 20 times"], [],
    ),
    "turns that are missing": (CHAIN, [LS, GREP], ["called    2 turns: the conversation ended after turn 2"], []),
    "corrected: a quiet turn, functions held out": (
        HELD, [*VAN[:3], ["displayCarStatus('headlights')"], *VAN[4:5], ["set_navigation('x')"]],
        ["expected  no call: setHeadlights is only offered in the next turn",
         "called    displayCarStatus('headlights')"], [],
    ),
    "corrected: a quiet turn, something not said yet": (
        "multi_turn_miss_param_0", [LS, GREP, MOVE, NOTE, NOTE],
        ["something the request needs is only said in the next turn"], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_went_wrong_is_said(name: str) -> None:
    entry_id, turns, said, unsaid = SAID[name]
    shown = text(entry_id, turns, "corrected" if name.startswith("corrected") else "official")
    assert [words for words in said if words not in shown] == []
    assert [words for words in unsaid if words in shown] == []


def test_the_page_of_an_entry_shows_the_tools_error() -> None:
    turns = [[turn] for turn in TWICE]
    entry = DATA.entry(CHAIN)
    record = transcript_from_line({"id": CHAIN, "category": entry.category, "trajectory": turns})
    verdict = judge(entry, record)
    line = {"id": CHAIN, "category": entry.category, "outcome": "failed", "tag": verdict.tag}
    line |= {"reason": verdict.reason, "detail": dict(verdict.detail), "trajectory": turns, "output": [["x"]] * 4}
    context = PageContext("bundled", "bundled", (), {})
    page = entry_page(EntryResult.of(line, entry, None), context, Neighbours("", "")).decode()
    (error,) = [
        call.result for call in explain(line, entry, record).called if call.text == "cd('hives')" and call.result
    ]
    assert f"→ {escape(error)}" in page


def test_hostile_texts_stay_one_bounded_text() -> None:
    shown = text(CHAIN, [LS, GREP, ["mkdir('\x1b[31m')", "mv('" + "x" * 9000 + "', '\u202e')"] * 15, NOTE])
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown) < 8000


@pytest.mark.golden
def test_every_recorded_failure_fits_a_terminal(golden_dir: Path, official: DataSet) -> None:
    lines = [json.loads(line) for line in (golden_dir / "multi_turn_mutations.jsonl").read_text().splitlines()]
    failed = [line for line in lines if not line["valid"]][::7]
    for line in failed:
        entry = official.entry(line["id"])
        record = transcript_from_line({key: line[key] for key in ("id", "category", "trajectory")})
        shown = failure_lines(entry, record, judge(entry, record))
        rows = shown.splitlines()
        assert max(map(len, rows)) <= 100, shown
        assert len(rows) <= 80, shown
        assert "(turn " in shown, shown
        assert any(row.startswith(("  state", "  missing", "  called")) for row in rows), shown
    assert len(failed) > 50
