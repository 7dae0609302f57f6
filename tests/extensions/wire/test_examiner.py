"""Attempts, how often a rule held, whose fault an odd answer is, and what is kept of it."""

from __future__ import annotations

import copy
import graphlib
import json
import random
from typing import Any

import pytest

from pytest_bfcl.extensions.wire.checks import all_checks, checks_for
from pytest_bfcl.extensions.wire.outcome import trigger_rate
from pytest_bfcl.extensions.wire.row import APIS, Api
from tests.extensions.wire import model
from tests.extensions.wire.examining import examine, states
from tests.extensions.wire.model import Heard, Message
from tests.extensions.wire.planting import arguments
from tests.extensions.wire.reference import Reference


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
