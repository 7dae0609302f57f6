"""Rules over answer and request: each finds what it is for, and says nothing of the same entry done right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.lab.auditing.answer_rules import answer_defects
from pytest_bfcl.extensions.lab.auditing.rules import RULES
from pytest_bfcl.rescoring import open_data

LOUD = {"type": "integer", "description": "How loud, 0 to 100.", "default": 70}
DATED = {"type": "boolean", "description": "Puts the date first.", "default": False}
CLASS = {"type": "string", "description": "Class of the seat.", "enum": ["value", "business"], "default": "value"}
RATE = {"type": "float", "description": "Interest a year as a percentage."}
SHARE = {"type": "float", "description": "Interest a year as a decimal."}
PLACE = {"type": "string", "description": "City of the concert."}
DAY = {"type": "string", "description": "Day as YYYY-MM-DD."}
ROOMS = {"type": "integer", "description": "Rooms.", "default": 2}
FILTER = {"type": "string", "description": "What to look for.", "default": ""}
SORT = {"type": "string", "description": "Order.", "enum": ["ascending", "descending"]}
HEMISPHERE = {"type": "string", "description": "Of the earth.", "enum": ["northern", "southern"], "default": "northern"}

CASES: list[tuple[str | None, str, str, dict[str, Any], list[Any]]] = [
    ("unasked", "Play Moon River.", "volume", LOUD, [50]),
    (None, "Play Moon River at 50.", "volume", LOUD, [50]),
    (None, "Play Moon River.", "volume", LOUD, [50, ""]),
    (None, "Play Moon River.", "volume", LOUD, ["", 50, 70]),
    ("unasked", "What time is it in Bern?", "with_date", DATED, [True]),
    (None, "What time and date is it in Bern?", "with_date", DATED, [True]),
    ("unasked", "A ticket to Bern, please.", "seat_class", CLASS, ["business"]),
    (None, "A business ticket to Bern, please.", "seat_class", CLASS, ["business"]),
    (None, "Meteors over New Zealand?", "hemisphere", HEMISPHERE, ["southern"]),
    ("default_only", "Play Moon River.", "volume", LOUD, [70]),
    (None, "Play Moon River.", "volume", LOUD, ["", 70]),
    ("no_such_date", "A concert on 2031-02-30?", "day", DAY, ["2031-02-30"]),
    ("no_such_date", "A concert on 2 April 20031?", "day", DAY, ["20031-04-2"]),
    (None, "A concert on 2032-02-29, order 99999-1-1?", "day", DAY, ["2032-02-29"]),
    ("percent_or_fraction", "My 500 at 5% a year?", "annual_rate", RATE, [0.05]),
    ("percent_or_fraction", "My 500 at 5 percent a year?", "annual_rate", SHARE, [5.0]),
    (None, "My 500 at 5% a year?", "annual_rate", RATE, [5.0]),
    (None, "My 500 at 5% a year?", "annual_rate", RATE, [5.0, 0.05]),
    (None, "My 500 at 5% a year?", "annual_rate", {"type": "float", "description": "Interest a year."}, [0.05]),
    ("weekday_contradicted", "Today is Monday 2022-10-20. A concert?", "day", DAY, ["2022-10-20"]),
    ("weekday_contradicted", "A concert on Friday, May 5th, 2021?", "day", DAY, ["2021-05-05"]),
    (None, "Today is Thursday 2022-10-20. A concert?", "day", DAY, ["2022-10-20"]),
    (None, "On Monday I was told 2022-10-20. A concert?", "day", DAY, ["2022-10-20"]),
    ("request_refused", "A hotel in Bern with one room.", "number_of_rooms", ROOMS, ["", 2]),
    ("request_refused", "A hotel with the maximum number of rooms.", "number_of_rooms", ROOMS, [2, ""]),
    ("request_refused", "Hosts with the filter 'alpha'.", "filter", FILTER, [""]),
    (None, "A hotel in Bern with two rooms.", "number_of_rooms", ROOMS, ["", 2]),
    (None, "A hotel in Bern with one room.", "number_of_rooms", ROOMS, [1]),
    (None, "A hotel in Bern, order 1 of my rooms plan.", "number_of_rooms", ROOMS, ["", 2]),
    (None, "Hosts without a filter.", "filter", FILTER, [""]),
    ("enum_contradicted", "The list in descending order.", "order", SORT, ["ascending"]),
    (None, "The list in descending order.", "order", SORT, ["descending"]),
    (None, "Ascending or descending, you choose.", "order", SORT, ["ascending"]),
    ("cut_short", "Concerts in Rutherford, NJ?", "city", PLACE, ["Rutherford"]),
    ("cut_short", "Concerts in London, England?", "city", PLACE, ["London, UK"]),
    (None, "Concerts in London, England?", "city", PLACE, ["London, UK", "London, England"]),
    (None, "Ask Liam Neeson, Find says.", "author", {"type": "string", "description": "Who."}, ["Liam Neeson"]),
]


def line(said: str, name: str, schema: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    parameters = {"type": "dict", "properties": {name: schema}, "required": [] if "default" in schema else [name]}
    return {
        "id": "simple_python_0",
        "question": [[{"role": "user", "content": said}]],
        "function": [{"name": "act", "description": "Carries the wish out.", "parameters": parameters}],
        "possible_answer": [{"act": {name: values}}],
    }


def rules_found(folder: Path, entry: dict[str, Any], category: str = "simple_python") -> list[str]:
    (folder / f"{category}.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    return [defect.rule_name for defect in answer_defects(open_data(folder).entry(entry["id"]))]


@pytest.mark.parametrize(("rule", "said", "name", "schema", "values"), CASES)
def test_what_is_found(
    rule: str | None, said: str, name: str, schema: dict[str, Any], values: list[Any], tmp_path: Path
) -> None:
    assert rules_found(tmp_path, line(said, name, schema, values)) == ([rule] if rule else [])


def test_a_call_without_the_value_that_all_others_have(tmp_path: Path) -> None:
    entry = line("Rooms for Ann, Ben and Cleo.", "number_of_rooms", {**ROOMS}, [5])
    entry["possible_answer"] = [{"act": {"number_of_rooms": values}} for values in ([5], [6], [""])]
    entry["id"] = "parallel_0"
    assert rules_found(tmp_path, entry, "parallel") == ["unasked", "unasked", "request_refused"]


def test_every_rule_of_the_table_has_both_sides() -> None:
    rules = {rule for rule, *_ in CASES if rule}
    assert rules <= set(RULES)
    assert len(rules) == 8
