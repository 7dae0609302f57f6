"""Results handed on as arguments stay bounded: nothing a model nests makes a state that cannot be shown soon."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.simulators import ERROR_PREFIX, CallExecutor, create_simulator
from tests.patience import patience

GROWING = [
    ("TicketAPI", {"current_user": "a"}, "create_ticket([get_user_tickets(), get_user_tickets()])", "get_ticket(1)"),
    ("TwitterAPI", {"authenticated": True}, "post_tweet('a', [get_user_tweets('john')] )", "get_user_tweets('john')"),
    (
        "MessageAPI",
        {"current_user": "USR001"},
        "send_message('USR002', [view_messages_sent(), view_messages_sent()])",
        "view_messages_sent()",
    ),
    (
        "VehicleControlAPI",
        {},
        "adjustClimateControl(1, mode=[displayCarStatus('climate'), displayCarStatus('climate')])",
        "displayCarStatus('climate')",
    ),
    (
        "TravelAPI",
        {"token_expires_in": 2},
        "register_credit_card(None, 'n', [get_all_credit_cards(), get_all_credit_cards()], 'x', 1)",
        "get_all_credit_cards()",
    ),
]


@pytest.mark.parametrize(("class_name", "config", "grow", "show"), GROWING)
@pytest.mark.slow
def test_states_fed_with_their_own_results_stay_small(
    class_name: str, config: dict[str, Any], grow: str, show: str
) -> None:
    executor = CallExecutor({class_name: create_simulator(class_name, config)})
    started = time.perf_counter()
    results = executor.execute_all([grow] * 40)
    assert time.perf_counter() - started < patience(20)
    assert not results[0].startswith(ERROR_PREFIX)
    assert results[-1].startswith(ERROR_PREFIX)
    assert 0 < len(executor.execute(show)) < 4_000_000


def test_a_result_stored_inside_itself_is_a_copy() -> None:
    simulator = create_simulator("TicketAPI", {"current_user": "a", "ticket_queue": [{"id": 1, "title": "t"}]})
    executor = CallExecutor({"TicketAPI": simulator})
    executor.execute("edit_ticket(1, {'title': get_ticket(1)})")
    assert json.loads(executor.execute("get_ticket(1)")) == {"id": 1, "title": {"id": 1, "title": "t"}}
    assert simulator.public_state() == simulator.public_state()


def test_ordinary_results_are_handed_on() -> None:
    executor = CallExecutor({"TradingBot": create_simulator("TradingBot")})
    nested = "filter_stocks_by_price(get_available_stocks('Technology')['stock_list'], 0, 300)"
    assert json.loads(executor.execute(nested)) == {"filtered_stocks": ["AAPL", "NVDA"]}


REPOSITORY = Path(__file__).resolve().parents[2]


def found_by(module: str, count: int, seed: int) -> dict[str, Any]:
    """What a process of that module tells, after what holds for each of them."""
    command = [sys.executable, "-m", module, str(count), str(seed)]
    finished = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=3000, check=False)
    assert finished.returncode == 0, finished.stderr[-3000:]
    found: dict[str, Any] = json.loads(finished.stdout)
    assert found["events"] == []
    return found


@pytest.mark.parametrize(
    ("count", "seed"), [(200, 0), pytest.param(100_000, 1, marks=pytest.mark.slow, id="a_hundred_thousand")]
)
def test_hostile_texts_give_one_error_text_each_and_touch_nothing(count: int, seed: int) -> None:
    found = found_by("tests.simulators.hostile_run", count, seed)
    assert found["texts"] >= count
    assert found["accepted"] == [], "hostile texts that were carried out"
    assert found["not_text"] == []
    assert found["changed"] is False, "a refused text changed the state"
    assert found["slowest_s"] < 5, found["slowest_text"]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "seed"), [(200, 0), (100_000, 1)])
def test_hostile_replies_through_conversations_break_and_stall_nothing(count: int, seed: int) -> None:
    found = found_by("tests.multi_turn.hostile_run", count, seed)
    assert found["raised"] == []
    assert found["texts"] >= count
    assert found["slowest_s"] < 20, found["slowest"]
