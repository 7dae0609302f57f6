"""Recorded replies and worked examples: the verdicts decided by decoding are the reference's."""

import gzip
import json

import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape, decode_reply, has_call
from pytest_bfcl.transcript import Reply

LANGUAGES = {"simple_java": "java", "java": "java", "simple_javascript": "javascript", "javascript": "javascript"}


def outcome(row):
    reply = Reply.from_output(row["output"])
    if "relevance" in row["category"]:
        return has_call(reply, row["mode"])
    return_format = row.get("return_format", LANGUAGES.get(row["category"], "python"))
    try:
        decode_reply(reply, row["mode"], return_format=return_format, tool_call_tag=row.get("tool_call_tag", False))
    except WrongShape:
        return "ast_decoder:decoder_wrong_output_format"
    except DecodeError:
        return "ast_decoder:decoder_failed"
    return None


def expected(row):
    if "relevance" in row["category"]:
        return row["valid"] == (row["category"] == "live_relevance")
    error_type = row["error_type"]
    return error_type if error_type and error_type.startswith("ast_decoder:") else None


def mistakes(rows):
    return [row["id"] for row in rows if outcome(row) != expected(row)]


def rows_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.golden
@pytest.mark.parametrize("name", ["ast_fuzz", "sql_outputs"])
def test_recorded_file(golden_dir, name):
    assert mistakes(rows_of(golden_dir / f"{name}.jsonl.gz")) == []


@pytest.mark.golden
def test_real_outputs(golden_dir):
    paths = sorted((golden_dir / "real_outputs").glob("*.jsonl.gz"))
    assert paths
    for path in paths:
        assert mistakes(rows_of(path)) == [], path.name
