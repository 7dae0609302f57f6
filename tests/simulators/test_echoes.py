"""Which arguments a text repeats decides verdicts (simulators spec §0.1): one row per text, per class.

A row is (class, configuration, preparing calls, calls): the calls' texts under the key must be equal exactly where the
group letters are equal.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.simulators import CallExecutor, Simulator, create_simulator

TREE = {
    "root": {
        "home": {
            "type": "directory",
            "contents": {
                "d": {"type": "directory", "contents": {}},
                "e": {"type": "directory", "contents": {}},
                "f": {"type": "file", "content": "one"},
                "g": {"type": "file", "content": "two"},
            },
        }
    }
}
TWEETS = {"authenticated": True, "tweets": {"1": {"id": 1, "mentions": []}, "2": {"id": 2, "mentions": []}}}

ROWS = [
    (
        "GorillaFileSystem",
        TREE,
        "result",
        {
            "mv('f', 'x')": "f to x",
            "mv('g', 'x')": "g to x",
            "mv('f', 'y')": "f to y",
            "mv('f', 'd')": "f into d",
            "mv('f', 'e')": "f into e",
            "cp('f', 'x')": "copy f to x",
            "cp('f', 'd')": "copy f into d",
            "cp('f', 'y')": "copy f to y",
            "rm('f')": "rm f",
            "rm('g')": "rm g",
        },
    ),
    ("GorillaFileSystem", TREE, "result", {"rmdir('d')": "d", "rmdir('e')": "e"}),
    (
        "MessageAPI",
        {},
        "message",
        {
            "message_login('USR001')": "in 1",
            "message_login('USR002')": "in 2",
            "message_login('USR404')": "out 404",
            "message_login('USR405')": "out 405",
            "add_contact('Zoe')": "Zoe",
            "add_contact('Yan')": "Yan",
        },
    ),
    (
        "MessageAPI",
        {"current_user": "USR001"},
        "message",
        {
            "send_message('USR002', 'a')": "to 2",
            "send_message('USR002', 'b')": "to 2",
            "send_message('USR003', 'a')": "to 3",
            "delete_message('USR002')": "gone 2",
            "delete_message('USR003')": "gone 3",
        },
    ),
    ("TwitterAPI", TWEETS, "retweet_status", {"retweet(1)": "done", "retweet(2)": "done"}),
    ("TwitterAPI", TWEETS, "comment_status", {"comment(1, 'a')": "ok", "comment(2, 'b')": "ok"}),
    ("TwitterAPI", TWEETS, "mention_status", {"mention(1, ['@a'])": "ok", "mention(2, ['@b', '@c'])": "ok"}),
    (
        "TicketAPI",
        {"ticket_queue": [{"id": 7, "status": "Open"}, {"id": 8, "status": "Open"}]},
        "status",
        {
            "close_ticket(7)": "close 7",
            "close_ticket(7.0)": "close 7.0",
            "close_ticket(8)": "close 8",
            "resolve_ticket(7, 'a')": "resolve 7",
            "resolve_ticket(7, 'b')": "resolve 7",
            "resolve_ticket(8, 'a')": "resolve 8",
            "edit_ticket(7, {'title': 'a'})": "edit 7",
            "edit_ticket(7, {'status': 'Closed'})": "edit 7",
            "edit_ticket(8, {'title': 'a'})": "edit 8",
        },
    ),
    (
        "TradingBot",
        {"authenticated": True, "market_status": "Open", "watch_list": ["AAPL", "TSLA"]},
        "status",
        {
            "trading_login('a', 'b')": "in before",
            "trading_login('c', 'd')": "in before",
            "trading_logout()": "out",
            "withdraw_funds(1)": "withdrawn",
            "withdraw_funds(2.5)": "withdrawn",
            "fund_account(1)": "funded",
            "fund_account(2.5)": "funded",
            "remove_stock_from_watchlist('AAPL')": "without AAPL",
            "remove_stock_from_watchlist('TSLA')": "without TSLA",
        },
    ),
    (
        "TradingBot",
        {},
        "status",
        {"trading_login('a', 'b')": "in", "trading_login('c', 'd')": "in", "trading_logout()": "out before"},
    ),
    (
        "TradingBot",
        {},
        "notification",
        {
            "notify_price_change(['AAPL', 'GOOG'], 0.1)": "both",
            "notify_price_change(['AAPL', 'GOOG'], 0)": "both",
            "notify_price_change(['GOOG', 'AAPL'], 0.1)": "the other way round",
            "notify_price_change(['AAPL', 'GOOG'], 0.2)": "GOOG",
            "notify_price_change(['GOOG'], 0.2)": "GOOG",
            "notify_price_change(['AAPL', 'GOOG'], 9)": "none",
            "notify_price_change([], 0)": "none",
        },
    ),
    (
        "TravelAPI",
        {"booking_record": {"1": {}, "2": {}}},
        "customer_support_message",
        {"contact_customer_support('1', 'a')": "ok", "contact_customer_support('2', 'b')": "ok"},
    ),
    (
        "TravelAPI",
        {"user_first_name": "Ada", "user_last_name": "Birch"},
        "verification_failure",
        {
            "verify_traveler_information('Eva', 'Birch', '1990-01-01', 'US1')": "Eva Birch",
            "verify_traveler_information('Eva', 'Birch', 'x', 'x')": "Eva Birch",
            "verify_traveler_information('Ada', 'Frost', '1990-01-01', 'US1')": "Ada Frost",
            "verify_traveler_information('Ada', 'Birch', '01/02/1990', 'US1')": "date",
            "verify_traveler_information('Ada', 'Birch', 'x', 'x')": "date",
            "verify_traveler_information('Ada', 'Birch', '2999-01-01', 'x')": "age",
            "verify_traveler_information('Ada', 'Birch', '2998-01-01', 'US1')": "age",
            "verify_traveler_information('Ada', 'Birch', '1990-01-01', 'x')": "passport",
            "verify_traveler_information('Ada', 'Birch', '1991-01-01', 'y')": "passport",
        },
    ),
    ("VehicleControlAPI", {}, "status", {"set_navigation('a')": "a", "set_navigation('b')": "b"}),
]


@pytest.mark.parametrize(("class_name", "config", "key", "calls"), ROWS)
def test_texts_differ_exactly_where_they_should(
    class_name: str, config: dict[str, Any], key: str, calls: dict[str, str]
) -> None:
    texts = {call: text_of(create_simulator(class_name, config), call, key) for call in calls}
    for one, group in calls.items():
        for two, other in calls.items():
            assert (texts[one] == texts[two]) == (group == other), f"{one} and {two}: {texts[one]!r}, {texts[two]!r}"


def test_a_failed_verification_names_the_stored_user_too() -> None:
    call = "verify_traveler_information('Eva', 'Holm', '1990-01-01', 'US1')"
    users = ({"user_first_name": "Ada"}, {"user_first_name": "Ben"}, {"user_last_name": "Cole"})
    assert len({text_of(create_simulator("TravelAPI", user), call, "verification_failure") for user in users}) == 3


@pytest.mark.parametrize(
    ("class_name", "config", "call", "echoed"),
    [
        ("TradingBot", {"authenticated": True}, "place_order('Buy', 'AAPL', 10, 2)", '"price": 10.0, "amount": 2}'),
        ("TradingBot", {}, "cancel_order(12446.0)", '"order_id": 12446.0'),
        ("VehicleControlAPI", {}, "adjustClimateControl(20)", '"currentACTemperature": 20,'),
        ("VehicleControlAPI", {}, "adjustClimateControl(20.0)", '"currentACTemperature": 20.0,'),
        ("VehicleControlAPI", {"engineState": "running"}, "setCruiseControl(65, True, 100)", '"currentSpeed": 65.0'),
        ("VehicleControlAPI", {}, "pressBrakePedal(1)", '"brakePedalForce": 1000.0'),
        ("TravelAPI", {}, "set_budget_limit(None, 500)", '"budget_limit": 500.0'),
        ("TravelAPI", {}, "compute_exchange_rate('USD', 'RMB', 10)", '"exchanged_value": 70.0'),
    ],
)
def test_numbers_are_repeated_as_given_or_as_floats(
    class_name: str, config: dict[str, Any], call: str, echoed: str
) -> None:
    assert echoed in CallExecutor({"x": create_simulator(class_name, config)}).execute(call)


def text_of(simulator: Simulator, call: str, key: str) -> str:
    result = json.loads(CallExecutor({"x": simulator}).execute(call))
    assert "error" not in result, f"{call}: {result}"
    assert isinstance(result[key], str)
    return result[key]
