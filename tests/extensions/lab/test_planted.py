"""Every rule is shown to work by a defect planted in a copy of a bundled entry, and clean data is silent."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.opening import bundled_root
from pytest_bfcl.extensions.lab.audit import audit
from pytest_bfcl.extensions.lab.rules import RULES, Defect, known_issues_toml
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.settings import Settings
from tests.extensions.lab.test_answer_rules import CASES as ASKED

Line = dict[str, Any]
Plant = Callable[[Line], None]


def bundled(category: str) -> list[Line]:
    root = bundled_root()
    assert root is not None
    text = (root / f"{category}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def one(entry_id: str) -> Line:
    category = entry_id.split("-")[0].rpartition("_")[0]
    return next(line for line in bundled(category) if line["id"] == entry_id)


def audited(folder: Path, **files: list[Line]) -> list[Defect]:
    for category, lines in files.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{category}.jsonl").write_text(text, encoding="utf-8")
    return audit(open_data(folder))


def put(path: str, value: Any) -> Plant:
    """Set what a path of keys and positions leads to; ``None`` as the value removes it."""

    def plant(line: Line) -> None:
        *keys, last = [int(key) if key.lstrip("-").isdigit() else key for key in path.split("/")]
        holder: Any = line
        for key in keys:
            holder = holder[key]
        if value is None:
            del holder[last]
        elif isinstance(holder, list) and last == len(holder):
            holder.append(value)
        else:
            holder[last] = value

    return plant


SCALE = "possible_answer/0/scale_recipe"
SCALE_SCHEMA = "function/0/parameters/properties"
PLANTED: list[tuple[str, str, Plant]] = [
    ("no_answer", "simple_python_0", put("possible_answer", [])),
    ("bad_message", "simple_python_0", put("question/0/0/role", "narrator")),
    ("empty_turn", "multi_turn_base_0", put("question/1", [])),
    ("not_a_call", "multi_turn_base_0", put("possible_answer/0/0", "ls(")),
    ("unknown_function", "simple_python_0", put("function/0/name", "shrink_recipe")),
    ("unknown_parameter", "simple_python_0", put(f"{SCALE}/oven", ["hot"])),
    ("empty_values", "simple_python_0", put(f"{SCALE}/portions", [])),
    ("required_unanswered", "simple_python_0", put(f"{SCALE}/portions", None)),
    ("required_undocumented", "simple_python_0", put("function/0/parameters/required/2", "salt")),
    ("several_calls", "simple_python_0", lambda line: line["possible_answer"].append(line["possible_answer"][0])),
    ("unknown_type", "simple_python_0", put(f"{SCALE_SCHEMA}/recipe/type", "words")),
    ("function_twice", "multiple_0", lambda line: line["function"].append(line["function"][1])),
    (
        "wire_clash",
        "multiple_0",
        lambda line: line["function"].append(
            {**line["function"][0], "name": "weather_forecast", "description": "Tides at a harbour."}
        ),
    ),
    ("turns_mismatch", "multi_turn_base_0", lambda line: line["possible_answer"].pop()),
    ("late_functions", "multi_turn_base_0", put("missed_function", {"9": ["mkdir"]})),
    ("empty_text", "memory_0-student-0", put("possible_answer/1", "")),
    ("wrong_type", "simple_python_0", put(f"{SCALE}/portions", ["6"])),
    ("outside_enum", "simple_python_1", put("possible_answer/0/convert_oven_temperature/to_scale", ["kelvin"])),
    ("wrong_item", "live_simple_2-2-0", put("possible_answer/0/library.renew_loan/item_ids", [[77]])),
    ("default_outside_enum", "simple_python_0", put(f"{SCALE_SCHEMA}/unit_system/default", "nautical")),
    ("default_wrong_type", "simple_python_3", put(f"{SCALE_SCHEMA}/central_mass_solar/default", "1.0")),
    ("enum_wrong_type", "simple_python_0", put(f"{SCALE_SCHEMA}/unit_system/enum/2", 7)),
    (
        "contradictory_values",
        "live_simple_3-3-0",
        put("possible_answer/0/astro.moon_phase/date", ["2033-12-24", "2033-12-25"]),
    ),
    ("date_contradicted", "live_simple_3-3-0", put("possible_answer/0/astro.moon_phase/date", ["2034-12-24"])),
    ("number_contradicted", "live_simple_1-1-0", put("possible_answer/0/set_kitchen_timer/minutes", [50])),
    ("unmentioned", "live_simple_2-2-0", put("possible_answer/0/library.renew_loan/card_number", ["Petra"])),
    ("says_nothing", "simple_python_0", put("function/0/description", "A function.")),
    ("config_unusable", "multi_turn_base_0", put("initial_config/GorillaFileSystem", {"root": 7})),
    ("call_error", "multi_turn_base_0", put("possible_answer/1/0", "cat(file_name='hives')")),
    ("call_unbound", "multi_turn_base_0", put("possible_answer/1/0", "grep(file_name='hive_b.txt')")),
    ("call_misfit", "multi_turn_base_0", put("possible_answer/0/0", "ls(a=None)")),
    (
        "unreachable",
        "multi_turn_base_0",
        put("possible_answer/3/1", "echo(content='blue 2022, purple 2021', file_name='queens.txt')"),
    ),
    (
        "altered",
        "multi_turn_base_0",
        put("possible_answer/3/1", "echo(content='queen marked bluehoney frames: 4', file_name='queens.txt')"),
    ),
    (
        "rearranged",
        "multi_turn_base_0",
        put("possible_answer/3/1", "echo(content='white 2022, blue 2021', file_name='queens.txt')"),
    ),
    ("too_early", "multi_turn_miss_func_1", put("possible_answer/3", ["setHeadlights(mode='on')"])),
    ("held_out_unused", "multi_turn_miss_func_1", put("missed_function/4", ["displayCarStatus"])),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "entry_id", "plant"), PLANTED, ids=[rule for rule, *_ in PLANTED])
def test_a_planted_defect_is_found_by_its_own_rule(rule: str, entry_id: str, plant: Plant, tmp_path: Path) -> None:
    line = one(entry_id)
    plant(line)
    category = entry_id.split("-")[0].rpartition("_")[0]
    if category == "memory":
        shutil.copytree(bundled_root() / "memory_prereq", tmp_path / "memory_prereq")  # type: ignore[operator]
    found = audited(tmp_path, **{category: [line]})
    assert {defect.rule_name for defect in found} == {rule}, [str(defect) for defect in found]
    assert all(defect.id.partition("_")[0] == entry_id.partition("_")[0] for defect in found)


def nested_entry() -> Line:
    """A bundled entry with an object as an argument."""
    for line in [*bundled("simple_python"), *bundled("live_simple")]:
        for name, schema in line["function"][0]["parameters"]["properties"].items():
            values = next(iter(line["possible_answer"][0].values())).get(name)
            if schema["type"] == "dict" and schema.get("properties") and values and "" not in values:
                return line
    raise AssertionError("no bundled entry has an object as an argument")


def _object_of(line: Line) -> tuple[Line, Line, Line]:
    """Schema, answer and first key's schema of the object argument."""
    properties = line["function"][0]["parameters"]["properties"]
    name = next(name for name, schema in properties.items() if schema["type"] == "dict" and schema.get("properties"))
    answer = next(iter(line["possible_answer"][0].values()))[name]
    return properties[name], answer[0], next(iter(properties[name]["properties"].values()))


@pytest.mark.parametrize("rule", ["nested_unknown", "nested_required", "nested_enum", "nested_type"])
def test_defects_inside_objects(rule: str, tmp_path: Path) -> None:
    line = nested_entry()
    schema, answer, first = _object_of(line)
    key = next(iter(schema["properties"]))
    answers = next(iter(line["possible_answer"][0].values()))
    for name, values in answers.items():  # one way only, so that no other way fits
        if answer in values:
            answers[name] = [answer]
    if rule == "nested_unknown":
        answer["colour_of_the_lid"] = ["red"]
    elif rule == "nested_required":
        schema["required"] = [key]
        answer.pop(key)
    elif rule == "nested_enum":
        first["enum"] = [not answer[key][0]] if first["type"] == "boolean" else ["nothing of this"]
    else:
        answer[key] = [["a list"]]
    found = audited(tmp_path, **{line["id"].split("-")[0].rpartition("_")[0]: [line]})
    assert {defect.rule_name for defect in found} == {rule}, [str(defect) for defect in found]


def rules_of(found: list[Defect]) -> set[tuple[str, str]]:
    return {(defect.rule_name, defect.id) for defect in found}


def test_twins_and_fitting_functions(tmp_path: Path) -> None:
    twins = one("multiple_0")
    twins["function"].append({**twins["function"][1], "name": "calendar.put_event"})
    fits = one("irrelevance_1")
    fits["question"][0][0]["content"] = "Start a kitchen timer and set it to four minutes."
    found = audited(tmp_path, multiple=[twins], irrelevance=[fits])
    assert rules_of(found) == {("twin_tools", "multiple_0"), ("function_fits", "irrelevance_1")}


def test_variants_that_diverge(tmp_path: Path) -> None:
    base, calls, state = one("multi_turn_base_1"), one("multi_turn_base_1"), one("multi_turn_base_1")
    calls["id"], state["id"] = "multi_turn_miss_param_1", "multi_turn_miss_func_1"
    calls["possible_answer"][3] = ["grep(file_name='clouds.txt', pattern='clear')"] * 2
    root = state["initial_config"]["GorillaFileSystem"]["root"]
    next(iter(root.values()))["contents"]["extra.txt"] = {"type": "file", "content": "nothing"}
    files = {"multi_turn_base": [base], "multi_turn_miss_param": [calls], "multi_turn_miss_func": [state]}
    found = rules_of(audited(tmp_path, **files))
    assert found == {("siblings_calls", "multi_turn_base_1"), ("siblings_state", "multi_turn_base_1")}


def test_duplicates(tmp_path: Path) -> None:
    first, same, other = one("simple_python_0"), one("simple_python_0"), one("simple_python_2")
    twin, none = one("simple_python_2"), one("simple_python_3")
    same["id"], twin["id"], none["id"] = "simple_python_90", "simple_python_92", "irrelevance_93"
    twin["possible_answer"][0]["astro.planet_position"]["planet"] = ["Jupiter", "jupiter"]
    none.pop("possible_answer")
    lines = [first, same, other, twin, one("simple_python_3")]
    found = rules_of(audited(tmp_path, simple_python=lines, irrelevance=[none]))
    expected = {("duplicate", "simple_python_0"), ("duplicate_differs", "simple_python_2")}
    assert found == {*expected, ("call_or_none", "simple_python_3")}


def test_yes_and_no(tmp_path: Path) -> None:
    line = one("simple_python_0")
    line["function"][0]["parameters"]["properties"]["round"] = {"type": "boolean", "description": "Round the amounts."}
    line["possible_answer"][0]["scale_recipe"]["round"] = [True, False]
    assert rules_of(audited(tmp_path, simple_python=[line])) == {("either_way", "simple_python_0")}


def test_an_answer_nobody_ever_said(tmp_path: Path) -> None:
    root = bundled_root()
    assert root is not None
    shutil.copytree(root / "memory_prereq", tmp_path / "memory_prereq")
    line = one("memory_0-student-0")
    line["possible_answer"] = ["volcanology"]
    found = audited(tmp_path, memory=[line])
    assert {defect.rule_name for defect in found} == {"answer_nowhere"}


def test_clean_data_has_no_finding() -> None:
    assert [str(defect) for defect in audit(open_data("bundled"), settings=Settings())] == []


def test_entries_that_doing_nothing_passes(tmp_path: Path) -> None:
    planted, held = one("multi_turn_base_0"), {**one("multi_turn_base_1"), "initial_config": {"GorillaFileSystem": 7}}
    planted["possible_answer"] = [[] for _ in planted["question"]]
    (tmp_path / "multi_turn_base.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (planted, held)))
    found = audit(open_data(tmp_path), settings=Settings())
    assert ("unearned", "multi_turn_base_0") in rules_of(found)
    assert ("unearned", "multi_turn_base_1") not in rules_of(found)
    assert "unearned" not in {rule for rule, _ in rules_of(audit(open_data(tmp_path)))}


@pytest.mark.slow
def test_entries_on_a_server_that_doing_nothing_passes(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    from tests.extensions.agents.test_served import ONE, SHOP

    lazy = {**ONE, "id": "shop_lazy", "expect": [{"call": "get_cart", "equals": {}}]}
    entries = tmp_path / "shop.jsonl"
    entries.write_text("".join(json.dumps(line) + "\n" for line in (ONE, lazy, {**ONE, "id": "far_0", "mcp": "far"})))
    where = {"shop": shlex.join([sys.executable, str(SHOP), "stdio"]), "far": "no-such-command"}
    found = audit(open_data(entries), settings=Settings(mcp=where))
    assert {each for each in rules_of(found) if "playable" in each[0] or "unearned" in each[0]} == {
        ("unearned", "shop_lazy"),
        ("unplayable", "far_0"),
    }


def test_every_rule_is_shown_to_work() -> None:
    by_hand = {
        *("unearned", "unplayable"),
        *("malformed", "twin_tools", "function_fits", "siblings_calls", "siblings_state", "duplicate"),
        *("duplicate_differs", "call_or_none", "either_way", "answer_nowhere"),
        *("never_passed", "consensus", "negative_discrimination"),  # test_run_rules.py
        *("nested_unknown", "nested_required", "nested_enum", "nested_type"),
        *(rule for rule, *_ in ASKED if rule),
    }
    assert {rule for rule, *_ in PLANTED} | by_hand == set(RULES)
    assert len(PLANTED) >= 30


def test_rows_for_the_list_of_known_issues() -> None:
    import tomllib

    found = [
        Defect("call_or_none", "a_1", "…", others=("b_2",)),
        Defect("unreachable", "a_1", 'says "x"\n', "possible_answer[0]"),
        Defect("never_passed", "c_3\n[[issues]]", "…"),
    ]
    rows = tomllib.loads(known_issues_toml(found, "1.2.3"))["issues"]
    assert [(row["id"], row["kind"], row["dataset"]) for row in rows] == [
        ("a_1", "wrong_answer", "1.2.3"),
        ("b_2", "wrong_answer", "1.2.3"),
    ]


def test_hostile_nesting_is_a_finding_and_no_crash(tmp_path: Path) -> None:
    line = one("simple_python_0")
    deep: Any = "x"
    for _ in range(400):
        deep = {"type": "dict", "properties": {"a": deep}} if isinstance(deep, dict) else {"type": "string"}
    line["function"][0]["parameters"]["properties"]["deep"] = deep
    line["possible_answer"][0]["scale_recipe"]["deep"] = [[[[[[[[["x"]]]]]]]], ""]
    assert {defect.id for defect in audited(tmp_path, simple_python=[line])} <= {"simple_python_0"}
