"""The bundled single-turn entries: enough of them, every rule covered, right answers pass, named wrong ones fail."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.runs.replay_lines import transcript_from_line

DATA = Path(__file__).parents[1] / "data"


def rows(category: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / f"{category}.jsonl").read_text(encoding="utf-8").splitlines()]


WRONG = [
    pytest.param(category, row["id"], wrong, id=f"{row['id']}-{index}")
    for category in GROUPS["single_turn"]
    for row in rows(category)
    for index, wrong in enumerate(row["wrong"])
]


@pytest.fixture(scope="module")
def bundled():
    return open_dataset("bundled")


@pytest.mark.parametrize(("category", "entry_id", "wrong"), WRONG)
def test_wrong_call_fails_with_named_reason(bundled, category, entry_id, wrong):
    line = {"id": entry_id, "category": category, "mode": wrong["mode"], "output": wrong["output"]}
    line["underscore_names"] = wrong["mode"] == "fc"
    verdict = judge(bundled.entry(entry_id), transcript_from_line(line))
    assert (verdict.outcome, verdict.reason) == ("failed", wrong["reason"])


@pytest.mark.parametrize("category", GROUPS["single_turn"])
def test_every_category_has_twelve_entries_each_with_a_wrong_call(category):
    entries = rows(category)
    assert len(entries) >= 12
    assert all(row["wrong"] for row in entries)


def test_eight_domains_or_more():
    domains = Counter(row["domain"] for category in GROUPS["single_turn"] for row in rows(category))
    assert len(domains) >= 8


def schema_types(schema: dict, prefix: str = "") -> set[str]:
    kind = schema.get("type", "")
    found = {prefix + kind}
    if "items" in schema:
        found.add(f"{prefix}{kind} of {schema['items'].get('type', '')}")
    for member in schema.get("properties", {}).values():
        found |= {f"{prefix}{kind} with {t}" for t in schema_types(member)}
    return found


REASONS = [
    "ast_decoder:decoder_failed", "ast_decoder:decoder_wrong_output_format", "simple_function_checker:wrong_count",
    "multiple_function_checker:wrong_count", "parallel_function_checker_no_order:wrong_count",
    "parallel_function_checker_no_order:cannot_find_match", "simple_function_checker:wrong_func_name",
    "simple_function_checker:missing_required", "simple_function_checker:unexpected_param",
    "simple_function_checker:missing_optional", "type_error:simple", "type_error:nested", "type_error:java",
    "type_error:js", "value_error:string", "value_error:list/tuple", "value_error:dict_key", "value_error:dict_value",
    "value_error:list_dict_count", "value_error:others", "dict_checker:unclear", "irrelevance_error:decoder_success",
    "relevance_error:decoder_failed",
]  # fmt: skip

TYPES = [
    "string", "any", "integer", "float", "boolean", "array", "tuple", "dict", "java:byte", "java:short",
    "java:integer", "java:long", "java:float", "java:double", "java:boolean", "java:char", "java:String", "java:any",
    "java:Array", "java:ArrayList", "java:HashMap", "javascript:String", "javascript:integer", "javascript:float",
    "javascript:Bigint", "javascript:Boolean", "javascript:any", "javascript:array", "javascript:dict",
]  # fmt: skip


def test_every_observable_error_type_is_provoked():
    provoked = {
        wrong["reason"] for category in GROUPS["single_turn"] for row in rows(category) for wrong in row["wrong"]
    }
    assert provoked == set(REASONS)


def test_every_type_of_the_checker_occurs():
    found = {
        f"{CATEGORIES[category].language}:{kind}"
        for category in GROUPS["single_turn"]
        for row in rows(category)
        for function in row["function"]
        for schema in function["parameters"]["properties"].values()
        for kind in schema_types(schema)
    }
    assert {word if ":" in word else f"python:{word}" for word in TYPES} <= found
