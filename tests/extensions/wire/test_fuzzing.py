"""Generated schemas: every keyword, valid values, the same from the same seed, and the smallest that fails."""

from __future__ import annotations

import json
import re

import pytest

from pytest_bfcl.extensions.wire.checks.schemas import Pair, drawn
from pytest_bfcl.tools.json_schema import is_valid, schema_problem
from tests.extensions.wire.examining import examine
from tests.extensions.wire.planting import refusing, schema_has
from tests.extensions.wire.reference import Reference

KEYWORDS = (
    "enum", "const", "anyOf", "$ref", "$defs", "items", "minItems", "maxItems", "properties", "required", "pattern",
    "additionalProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format",
    "minLength", "maxLength", "title", "description", "default",
)  # fmt: skip


def pairs(seed: str) -> list[Pair]:
    found: list[Pair] = []

    def keep(pair: Pair) -> bool:
        found.append(pair)
        return False

    assert drawn(40, seed, keep) is None
    return found


@pytest.mark.slow
def test_forty_schemas_hold_every_keyword_and_a_seed_draws_the_same() -> None:
    found = pairs("0/0")
    assert len(found) == 40
    assert all(schema_problem(schema) is None and is_valid(schema, value) for schema, value in found)
    text = json.dumps([schema for schema, _ in found])
    assert [keyword for keyword in KEYWORDS if f'"{keyword}": ' not in text] == []
    assert '"type": [' in text
    assert found == pairs("0/0")
    assert found != pairs("1/0")


@pytest.mark.slow
def test_a_failure_is_shrunk_to_the_schema_that_shows_it() -> None:
    server = Reference(**refusing(schema_has('"title"')))
    outcome = examine(server, "chat", ["schemas_generated"])["schemas_generated"]
    assert outcome.state == "broke"
    shown = re.search(r"the smallest schema that shows it: (.*) \(seed 0/0\)", outcome.why)
    assert shown is not None
    (parameter,) = json.loads(shown[1])["properties"].values()
    assert parameter == {"type": "string", "title": "A title", "description": "What it is for.", "default": ""}
    assert b"A title" in outcome.exchanges[0].sent
