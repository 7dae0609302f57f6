"""The inputs of other projects' parser tests, read by ``auto`` under the name that their model is served by."""

from __future__ import annotations

import ast
import gzip
import json
from collections import defaultdict
from contextlib import suppress
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape, decode_reply
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.formats.table import family_of, guessed_decoder
from pytest_bfcl.transcript import Reply

pytestmark = pytest.mark.golden

NOT_READ = {
    "deepseek_v32": 1,  # a call cut off inside its arguments' first sign: a server hands "{" over, we refuse it
    "hermes": 1,  # arguments that are a text are no arguments here, whatever a server hands over
    "minicpm5": 2,  # the parser renames functions and drops arguments of one vendor's demonstration
}
"""Inputs with calls that are not read equal, by the golden family."""
SERVED = {
    "CohereParser::new": "CohereLabs/command-a-03-2025",
    "DeepSeek31Parser::new": "deepseek-ai/DeepSeek-V3.1",
    "DeepSeekDsmlParser::v32": "deepseek-ai/DeepSeek-V3.2",
    "DeepSeekDsmlParser::v4": "deepseek-ai/DeepSeek-V4",
    "DeepSeekParser::new": "deepseek-ai/DeepSeek-V3",
    "Glm4MoeParser::glm45": "zai-org/GLM-4.5",
    "Glm4MoeParser::glm47": "zai-org/GLM-4.7",
    "InklingParser::new": "thinkingmachines/Inkling",
    "JsonParser::new": "Salesforce/xLAM-2-8b",
    "KimiK2Parser::new": "moonshotai/Kimi-K2-Instruct",
    "LlamaParser::new": "meta-llama/Llama-3.1-8B-Instruct",
    "MinimaxM2Parser::new": "MiniMaxAI/MiniMax-M2",
    "MistralParser::new": "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
    "PythonicParser::new": "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "QwenParser::new": "Qwen/Qwen3-8B",
    "QwenXmlParser::new": "Qwen/Qwen3-Coder-30B-A3B-Instruct",
    "Step3Parser::new": "stepfun-ai/step3",
}
"""A model that is served with each parser of the gateway."""
OTHERWISE = {
    # calls
    "test_escaped_json_like_content#0": "a name without arguments amid prose is no call",
    "test_minimax_xml_entities#0": "the model's template escapes nothing, so an entity is the model's text",
    "test_qwen_xml_whitespace_handling#0": "the template adds one line feed on either side, no other white space",
    "test_qwen_xml_empty_parameter_value#0": "blanks are a text of blanks, for the same reason",
    "test_parsers/glm47#3": "a name with KEY=VALUE is in no template; only mlx-lm reads it",
    "test_parsers/glm47#14": "quotes around a text are the text's, as the template writes texts bare",
    # no calls
    "test_almost_valid_tool_calls#2": "an object in Python's quotes is read",
    "test_inkling_rejects_undefined_tool#0": "the recorded test does not say what was offered",
    "test_minimax_incomplete_tool_call#0": "a call whose values are whole is read without its closing tag",
    "test_qwen_incomplete_tags#0": "the same",
    "test_qwen_xml_incomplete_tags#0": "the same",
    "test_qwen_xml_incomplete_tool_call#0": "the same",
}
"""Inputs of the gateway and mlx-lm that are read otherwise, and why."""


@cache
def _rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    if path.is_file():
        with gzip.open(path) as lines:
            for row in map(json.loads, lines):
                found[row["family"]].append(row)
    return found


def _read(row: dict[str, Any]) -> list[Any] | None:
    tools = [tool.get("function") or tool for tool in row["tools"] or ()]
    try:
        calls = decode_reply(Reply(text=row["text"]), "fc", decoder=guessed_decoder(row["model"]), functions=tools)
    except WrongShape:
        return None
    except DecodeError:
        return None if row["calls"] else []
    return [call.as_object() for call in calls]


def test_calls_of_every_family_are_read_by_name(golden_dir: Path) -> None:
    rows = _rows(golden_dir / "parsers" / "parser_tests.jsonl.gz")
    if not rows:
        pytest.skip("no recorded parser tests")
    wrong = {family: sum(_read(row) != row["calls"] for row in found) for family, found in rows.items()}
    assert {family: count for family, count in wrong.items() if count} == NOT_READ


def _literal(text: Any) -> Any:
    """What a text stands for: without a schema a format of texts cannot tell a number from its digits."""
    if isinstance(text, str):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError):
                return read(text)
    return text


def _equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(_equal(found[key], expected[key]) for key in expected)
    return bool(found == expected or (not isinstance(expected, str) and _literal(found) == expected))


def _as_asserted(row: dict[str, Any], calls: list[Any]) -> bool:
    """Whether the calls are what a test of the gateway asserts of them: names, values at paths, whole arguments."""
    named = [next(iter(call.items())) for call in calls]
    if len(named) != row["count"] or any(named[int(place)][0] != name for place, name in row["names"].items()):
        return False
    whole = all(_equal(named[int(place)][1], arguments) for place, arguments in row["arguments"].items())
    try:
        return whole and all(
            _equal(reduce(lambda value, key: _literal(value)[key], path, named[place][1]), expected)
            for place, path, expected in row["values"]
        )
    except (LookupError, TypeError):
        return False


def test_the_gateways_and_mlx_lms_tests_are_read_as_they_assert(golden_dir: Path) -> None:
    right = {"calls": 0, "silent": 0}
    wrong = set()
    with gzip.open(golden_dir / "parsers" / "gateway_tests.jsonl.gz") as lines:
        for row in map(json.loads, lines):
            if row["source"] == "smg":
                calls = _read({**row, "model": SERVED[row["parser"]], "tools": None, "calls": row["count"]}) or []
                equal, count = _as_asserted(row, calls), row["count"]
            else:
                calls = _read(row) or []
                equal, count = calls == row["calls"], len(row["calls"])
            if not equal:
                wrong.add(row["where"].rpartition("::")[2])
            right["calls" if count else "silent"] += (count or 1) * equal
    assert wrong <= OTHERWISE.keys()
    assert right["calls"] >= 195  # of 201
    assert right["silent"] >= 39  # of 45 texts


def test_every_lost_call_is_named_with_its_format(golden_dir: Path) -> None:
    """What a server leaves in the text is found, in a format that reads the same calls, and prose is not."""
    rows = _rows(golden_dir / "parsers" / "parser_tests.jsonl.gz")
    unnamed = defaultdict(list)
    for family, row in ((family, row) for family, found in rows.items() for row in found):
        tools = [tool.get("function") or tool for tool in row["tools"] or ()]
        found = lost_calls(row["text"], tools)
        if bool(found) != bool(row["calls"]):
            unnamed[family].append(row["text"])
    assert not {family: texts for family, texts in unnamed.items() if family not in NOT_READ}
    assert sum(map(len, unnamed.values())) <= 3


def test_every_recorded_name_is_known(golden_dir: Path) -> None:
    rows = _rows(golden_dir / "parsers" / "parser_tests.jsonl.gz")
    assert not {row["model"] for found in rows.values() for row in found if family_of(row["model"]) is None}
