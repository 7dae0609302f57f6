"""JSON Schemas made of our types, a line of ``results.jsonl`` first: for readers that others write."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs.result_line import OUTCOMES, ResultLine

_NARROWED: Parsed = {
    "outcome": {"enum": list(OUTCOMES)}, "mode": {"enum": ["fc", "prompt"]}, "repeat": {"type": "integer", "minimum": 1}
}  # fmt: skip


def result_line_schema() -> Parsed:
    """What a reader may rely on; fields to come are allowed."""
    return schema_of(ResultLine, "A line of results.jsonl")


def schema_of(kind: Any, title: str) -> Parsed:
    """The schema of a type; wherever it holds lines, they are lines as we write them."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(kind).json_schema()
    line = schema if kind is ResultLine else schema["$defs"]["ResultLine"]
    line["properties"] |= _NARROWED
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}
