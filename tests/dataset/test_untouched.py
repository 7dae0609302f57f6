"""What changed beside what an entry looks at: files, tables, and places in what is told."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.dataset.expectation import Expectation, State
from pytest_bfcl.dataset.untouched import changed_files, changed_places, not_allowed


@pytest.mark.parametrize(
    ("looks", "seeded", "found"),
    [
        ([{"file": "a"}], [], ["b", "s.db", "s.db#orders"]),
        ([{"file": "a"}, {"file": "s.db", "sql": "SELECT x FROM orders"}], [], ["b"]),
        ([{"file": "s.db", "sql": "SELECT x FROM fruit"}], [], ["a", "b", "s.db#orders"]),
        ([{"files": "*"}], [], ["a", "s.db#orders"]),  # a pattern sees what comes and goes, not what files contain
        ([{"call": "look"}], ["b"], ["b"]),
        ([{"call": "look"}], [], []),
    ],
)
def test_files_and_tables(looks: list[dict[str, Any]], seeded: list[str], found: list[str]) -> None:
    before = {"a": "1", "b": "1", "s.db#orders": "1"}
    after = {"a": "2", "s.db": "1", "s.db#orders": "2", "s.db-wal": "1"}
    states = [State(**look) for look in looks]
    told = [each for each in changed_files(before, after, states, seeded) if not each.endswith("-wal")]
    assert told == found


ADA, EVE, OLD = {"name": "Ada", "age": 3}, {"name": "Eve", "age": 3}, {"name": "Ada", "age": 2}


@pytest.mark.parametrize(
    ("before", "after", "looks", "found"),
    [
        ({"a": 1, "b": 1}, {"a": 2, "b": 2}, [{"equals": {"a": 2, "b": 2}}], []),
        ({"a": 1, "b": 1}, {"a": 2, "b": 2}, [{"contains": {"a": 2}}], ["$.b"]),
        ({"a": 1, "b": 1}, {"a": 2, "b": 2}, [{"contains": {"a": 2}}, {"contains": {"b": 2}}], []),
        ({"a": 1, "b": 1}, {"a": 2, "b": 2}, [{"path": "$.a", "equals": 2}], ["$.b"]),
        ({"a": 1}, {"a": 2, "b": 2}, [{"equals": {"a": 2}, "turn": 0}], ["$.b"]),  # said of an earlier turn
        ([EVE], [EVE, ADA], [{"contains": [{"name": "Ada"}]}], []),
        ([EVE], [ADA], [{"contains": [{"name": "Ada"}]}], ["$[0] (gone)"]),
        ([OLD, EVE], [ADA, EVE], [{"contains": [{"name": "Ada", "age": 3}]}], []),
        ([EVE], [EVE, ADA, 7], [{"contains": [ADA]}], ["$[2] (new)"]),
        ({"p": [ADA]}, {"p": [ADA, EVE]}, [{"path": "$.p[1]", "equals": EVE}], []),
        ({"p": [OLD]}, {"p": [ADA, EVE]}, [{"path": "$.p[1]", "equals": EVE}], ["$.p[0].age"]),
        ("one\ntwo", "one\ntwo\nthree", [{"contains": "three"}], []),
        ("one\ntwo", "two\nthree", [{"contains": "three"}], []),
        ("one\ntwo", "three", [{"contains": "three"}], ["$[1] (gone)"]),
        ("one", "one\nthree\nfour", [{"contains": "three"}], ["$[2] (new)"]),
        ("one", "two", [{"matches": "two"}], []),
    ],
)
def test_places_in_what_is_told(before: Any, after: Any, looks: list[dict[str, Any]], found: list[str]) -> None:
    made = [Expectation(state={"call": "look", "path": look.pop("path", None)}, **look) for look in looks]
    assert changed_places(before, after, made, last=1) == found


def test_what_may_change() -> None:
    places = ["notes/a.txt", "b.txt", "shop.db#orders", "$.items[2] (new)"]
    assert not_allowed(places, ["notes/*", "shop.db", "$.items"]) == ["b.txt"]
    assert not_allowed(places, ["*"]) == []
    assert not_allowed(["bb"], ["b"]) == ["bb"]
