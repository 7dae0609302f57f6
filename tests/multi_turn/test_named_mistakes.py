"""A scripted model that is wrong in each named way gives exactly the reasons expected, in both modes and rule sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding.ground_truth import turn_ground_truth_calls
from pytest_bfcl.session.evaluation import RunResult, open_data, run
from pytest_bfcl.settings import Settings

BUNDLED = open_data("bundled")
EMPTY = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESULTS = "multi_turn:execution_response_mismatch"
FORCED = "multi_turn:force_terminated"
QUIET = "multi_turn:irrelevance_error:decoder_success"

Script = list[list[Any]]
"""Turns of steps; a step is a list of (name, arguments), text, or an object as the scripted model reads it."""


def right(entry: Entry) -> Script:
    return [[step] if (step := turn_ground_truth_calls(entry, turn)) else [] for turn in range(len(entry.question))]


def quiet_turn(entry: Entry) -> int:
    return (entry.possible_answer or []).index([])


def edited(turn: int, steps: list[Any]) -> Callable[[Entry], Script]:
    def edit(entry: Entry) -> Script:
        script = right(entry)
        script[turn] = steps
        return script

    return edit


def in_quiet_turn(*calls: Any) -> Callable[[Entry], Script]:
    return lambda entry: edited(quiet_turn(entry), [list(calls)])(entry)


def longer(turn: int, step: Any, times: int = 1) -> Callable[[Entry], Script]:
    """The right calls of a turn followed by more steps."""

    def edit(entry: Entry) -> Script:
        script = right(entry)
        script[turn] = [*script[turn], *[step] * times]
        return script

    return edit


PWD = ("pwd", {})
# Entry, script, reason under official rules, reason under corrected rules; base_0 is about files, four turns long.
CASES: dict[str, tuple[str, Callable[[Entry], Script], str | None, str | None]] = {
    "right": ("base_0", right, None, None),
    "one call a step": (
        "base_0",
        lambda entry: [[[call] for step in turn for call in step] for turn in right(entry)],
        None,
        None,
    ),
    "extra read-only calls": ("base_0", longer(1, [PWD]), None, None),
    "a failing extra call": ("base_0", longer(1, [("cat", {"file_name": "nothing"})]), None, None),
    "an empty turn": ("base_0", edited(1, []), EMPTY, EMPTY),
    "a turn of prose": ("base_0", edited(1, ["Hive B has nine mites, I suppose."]), EMPTY, EMPTY),
    "an undecodable step alone": ("base_0", edited(1, [{"broken": True}]), EMPTY, EMPTY),
    "an undecodable step after the right one": ("base_0", longer(1, {"broken": True}), None, None),
    "a wrong name": (
        "base_0",
        edited(2, [[("mkdir", {"dir_name": "hospital"}), ("mv", {"source": "hive_b.txt", "destination": "hospital"})]]),
        STATE,
        STATE,
    ),
    "a call left out": ("base_0", edited(3, [[("touch", {"file_name": "queens.txt"})]]), STATE, STATE),
    "a state changed in passing": ("base_0", longer(0, [("touch", {"file_name": "x"})]), STATE, STATE),
    "another result": (
        "base_0",
        edited(1, [[("grep", {"file_name": "hive_b.txt", "pattern": "mite counted"})]]),
        RESULTS,
        RESULTS,
    ),
    "an unknown function": ("base_0", edited(1, [[("search_file", {"name": "mites"})]]), RESULTS, RESULTS),
    "no end in the second turn": ("base_0", longer(1, [PWD], 40), FORCED, FORCED),
    "no end in the last turn": ("base_0", longer(3, [PWD], 40), None, f"{FORCED} (C16)"),
    "twenty steps in the last turn": ("base_0", longer(3, [PWD], 19), None, None),
    "a guess in the quiet turn": ("miss_param_0", in_quiet_turn(("touch", {"file_name": "a"})), STATE, QUIET),
    "a look in the quiet turn": ("miss_param_0", in_quiet_turn(PWD), None, f"{QUIET} (C17)"),
    "the tool used before it arrives": (
        "miss_func_1",
        in_quiet_turn(("setHeadlights", {"mode": "on"})),
        None,
        f"{QUIET} (C17)",
    ),
    "prose in the quiet turn": (
        "miss_func_1",
        lambda entry: edited(quiet_turn(entry), ["I have no tool for that."])(entry),
        None,
        None,
    ),
    "a reply cut at the limit": (
        "base_0",
        edited(1, [{"text": "Let me", "problem": "length"}]),
        "reply:length",
        "reply:length",
    ),
    "an overflowing context": (
        "base_0",
        edited(2, [{"problem": "context_overflow"}]),
        "reply:context_overflow",
        "reply:context_overflow",
    ),
}


def in_mode(step: Any, mode: str) -> Any:
    """A step as the scripted model would say it in a mode."""
    if isinstance(step, dict) and step.get("broken"):
        broken = {"name": "grep", "arguments": '{"file_name": "hive_b.txt", '}
        return {"tool_calls": [broken]} if mode == "fc" else "[grep(file_name='hive_b.txt', ]"
    if not isinstance(step, list):
        return step
    if mode == "fc":
        return {"tool_calls": [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in step]}
    calls = (f"{name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})" for name, arguments in step)
    return f"[{', '.join(calls)}]"


@pytest.fixture(scope="module", params=["fc", "prompt"])
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    entries, scripts = [], {}
    for number, (source, script, _, _) in enumerate(CASES.values()):
        original = BUNDLED.entry(f"multi_turn_{source}")
        entry = original.model_copy(update={"id": f"{original.category}_{900 + number}"})
        entries.append(entry)
        scripts[entry.id] = [[in_mode(step, request.param) for step in turn] for turn in script(original)]
    path = tmp_path_factory.mktemp("script") / "script.json"
    path.write_text(json.dumps(scripts))
    return run(entries, f"scripted:{path}@{request.param}", settings=Settings())


def test_every_mistake_has_its_reason_and_nothing_else_has(finished: RunResult) -> None:
    found = {
        name: (record["reason"], record["corrected_reason"])
        for name, record in zip(CASES, finished.records, strict=True)
    }
    assert found == {name: (official, corrected) for name, (_, _, official, corrected) in CASES.items()}


def test_the_histogram_of_the_summary_is_exact(finished: RunResult) -> None:
    (model,) = finished.summary["models"].values()
    wanted: dict[str, int] = {}
    for _, _, official, _ in CASES.values():
        if official is not None:
            wanted[official] = wanted.get(official, 0) + 1
    assert model["reasons"] == wanted
    assert model["failure_counts"] == {"WRONG_ANSWER": 10, "MALFORMED_OUTPUT": 2}
    assert model["corrected_rules"] == {"C16": 1, "C17": 2}
