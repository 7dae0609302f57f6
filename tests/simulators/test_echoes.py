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
]


@pytest.mark.parametrize(("class_name", "config", "key", "calls"), ROWS)
def test_texts_differ_exactly_where_they_should(
    class_name: str, config: dict[str, Any], key: str, calls: dict[str, str]
) -> None:
    texts = {call: text_of(create_simulator(class_name, config), call, key) for call in calls}
    for one, group in calls.items():
        for two, other in calls.items():
            assert (texts[one] == texts[two]) == (group == other), f"{one} and {two}: {texts[one]!r}, {texts[two]!r}"


def test_a_second_retweet_has_a_text_of_its_own() -> None:
    simulator = create_simulator("TwitterAPI", TWEETS)
    assert simulator.call("retweet", {"tweet_id": 1}) != simulator.call("retweet", {"tweet_id": 1})


def test_the_deleted_receiver_is_repeated_as_given() -> None:
    simulator = create_simulator("MessageAPI", {"current_user": "USR001"})
    assert json.loads(simulator.call("delete_message", {"receiver_id": "USR002"}))["receiver_id"] == "USR002"


def text_of(simulator: Simulator, call: str, key: str) -> str:
    result = json.loads(CallExecutor({"x": simulator}).execute(call))
    assert "error" not in result, f"{call}: {result}"
    assert isinstance(result[key], str)
    return result[key]
