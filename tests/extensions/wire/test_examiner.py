"""Attempts, how often a rule held, whose fault an odd answer is, and what is kept of it."""

from __future__ import annotations

import copy
import graphlib
import itertools
import json
import random
from typing import Any

import pytest

from pytest_bfcl.extensions.wire.checks import all_checks, checks_for
from pytest_bfcl.extensions.wire.outcome import read_records, record_of, trigger_rate
from pytest_bfcl.extensions.wire.row import APIS, CELLS, Api
from tests.extensions.wire import model
from tests.extensions.wire.examining import examine, place_of, states
from tests.extensions.wire.model import Heard, Message
from tests.extensions.wire.planting import arguments
from tests.extensions.wire.reference import Reference

PLACE = place_of("http://localhost:8000/v1", key="sk-secret-secret")


def test_each_check_is_asked_as_often_as_wanted() -> None:
    server = Reference()
    outcome = examine(server, "chat", ["tools_1"], repeat=5)["tools_1"]
    assert (outcome.counts, server.asked) == ({"held": 5}, 15)
    outcomes = examine(server := Reference(), "chat", ["answers", "call_id", "stream_calls"])
    assert states(outcomes, "held") == set(outcomes)
    assert server.asked == len(CELLS)  # whatever number of rules judges them


def test_a_fault_now_and_then_is_a_fault_and_says_how_often() -> None:
    counter = itertools.count()

    def whole(body: dict, heard: Heard) -> dict:  # type: ignore[type-arg]
        calls = body["choices"][0]["message"].get("tool_calls")
        if calls and next(counter) % 64 == 0:  # 32 unstreamed answers of the matrix hold calls
            calls[0]["id"] = ""
        return body

    outcome = examine(Reference(whole=whole), "chat", ["call_id"], repeat=4)["call_id"]
    assert outcome.state == "broke"
    assert outcome.counts == {"broke": 2, "held": 2}


@pytest.mark.slow
def test_a_model_that_sometimes_calls_is_no_fault() -> None:
    dice = random.Random(8)

    def think(heard: Heard) -> Message:
        return model.think(heard) if dice.random() < 0.8 else Message(before="Let me think about it.")

    outcomes = examine(Reference(think=think), "chat", repeat=2)
    # Only where a call is forced a missing one is the server's.
    assert {name for name in states(outcomes, "broke") if not name.startswith("choice_")} == set()
    rate = trigger_rate(outcomes.values())
    assert rate is not None
    assert 0.2 < rate < 1.0
    assert states(outcomes, "error") == set()


@pytest.mark.slow
def test_a_model_that_copies_badly_is_no_fault() -> None:
    outcomes = examine(Reference(**arguments(lambda text: '{"text": "something else altogether"}')), "chat")
    # Under strict the server promised that arguments fit, whatever the model would say. A drawn schema whose values are
    # all empty takes the other text for a loss.
    assert states(outcomes, "broke") - {"schemas_generated"} == {"strict"}
    assert states(outcomes, "not_called") >= {"arguments_unicode", "calls_five", "stream_arguments", "role_system"}


def test_a_broken_check_blocks_what_builds_on_it() -> None:
    server = Reference(**arguments(lambda text: str(json.loads(text))))
    outcomes = examine(server, "chat", ["arguments_unicode"])
    assert list(outcomes) == ["arguments_unicode"]
    assert outcomes["arguments_unicode"].state == "blocked"
    assert outcomes["arguments_unicode"].blocked_by == "arguments_parse"


def test_measures_tell_model_from_server() -> None:
    def think(heard: Heard) -> Message:
        """Calls always unstreamed, with half the arguments; never streamed."""
        return Message(before="No.") if heard.stream else Message(calls=[("set_alarm", '{"hour": 6}')])

    figures = examine(Reference(think=think), "chat", ["measures"])["measures"].figures
    assert figures["precision_unstreamed"] == 0.5
    assert figures["recall_unstreamed"] == 1.0
    assert figures["schema_unstreamed"] == 0.0
    assert figures["recall_streamed"] == 0.0
    assert [figures[f"{name}_streamed"] for name in ("precision", "f1", "schema")] == [None, None, None]  # of no calls


def test_records_survive_their_line() -> None:
    outcomes = examine(Reference(new_id=lambda server, number: ""), "chat", ["call_id", "answers"])
    records = [record_of(outcome, PLACE, "openai:m@fc") for outcome in outcomes.values()]
    again = list(read_records([records[0].line, "torn {", "[]", "7", '{"check": "x"}', records[1].line]))
    assert again == records
    broken = next(record for record in records if record.state == "broke")
    assert broken.reason == "wire:call_id"
    assert broken.exchanges[0].curl.startswith(
        "curl -sS -N http://localhost:8000/v1/chat/completions -H 'content-type: application/json' "
        '-H "authorization: Bearer $WIRE_TEST_KEY" --data-binary @- <<'
    )
    assert '"id": ""' in broken.exchanges[0].received


def damaged(value: Any, dice: random.Random) -> Any:
    """A copy in which one part, however deep, is of another type."""
    if not isinstance(value, dict | list) or not value or dice.random() < 0.2:
        return dice.choice([None, 7, "x", [], [None], {"a": None}])
    part = dice.choice(list(value) if isinstance(value, dict) else range(len(value)))
    made = copy.copy(value)
    made[part] = damaged(value[part], dice)
    return made


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("api", APIS)
def test_answers_of_any_form_end_no_check(api: Api, seed: int) -> None:
    """Faults that nobody thought of, in whole bodies and in events."""
    dice = random.Random(seed)

    def encode(event: Any, text: str) -> str:
        head, _, _ = text.partition("data: ")
        return f"{head}data: {json.dumps(damaged(event, dice))}\n\n" if dice.random() < 0.1 else text

    server = Reference(whole=lambda body, heard: damaged(body, dice), encode=encode)
    groups = ("schemas", "tools", "load", "arguments", "clients")
    names = [check.name for check in checks_for(api) if check.group not in groups]
    assert {name: found.why for name, found in examine(server, api, names).items() if found.state == "error"} == {}


@pytest.mark.parametrize("api", APIS)
def test_no_check_builds_on_itself(api: Api) -> None:
    after = {check.name: set(check.after) for check in checks_for(api)}
    known = {check.name for check in all_checks()}
    assert set().union(*after.values()) <= known
    graphlib.TopologicalSorter(after).prepare()  # raises when there is a circle


def test_everything_odd_under_load_is_a_matter_of_the_load() -> None:
    def fly(server: Reference, said: Message) -> Message:
        return Message(before="Busy.") if len(server.flying) > 12 else said

    names = ["crosstalk", "calls_five", "stream_calls", "arguments_unicode"]  # the matrix alone is more than 12 at once
    assert states(examine(Reference(fly=fly), "chat", names), "broke") == {"crosstalk"}
