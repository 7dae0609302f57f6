"""Every recorded raw reply decoded as the reference did (formats spec §9), and what goes back to the model."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape, call_texts, decode_reply
from pytest_bfcl.extensions.formats.family import read_reply
from pytest_bfcl.formats.table import FORMATS, Format
from pytest_bfcl.transcript import Reply, ToolCall

FAMILIES = {
    "api_gemini_prompt": "gemini-prompt", "api_gemini_fc": "gemini-fc", "api_nova_fc": "gemini-fc",
    "api_cohere_fc": "cohere-fc", "api_nemotron_fc": "nemotron-fc", "api_mining_prompt": "mining-prompt",
    "api_mining_fc": "mining-fc", "api_gorilla": "gorilla", "api_nexus": "nexus",
}  # fmt: skip
NOTATIONS = {
    "ast": ("python", False), "ast_java": ("java", False), "ast_javascript": ("javascript", False),
    "ast_json": ("json", False), "ast_vxml": ("verbose_xml", False), "ast_tag": ("python", True),
}  # fmt: skip

DIFFERENT = {
    # A current JavaScript grammar refuses texts that an older one read as JSX or as a template call; neither has calls.
    "ast_javascript": 24,
    # Nexus, registered nowhere: the reference parses before it looks for the word of refusal, we after.
    "ast_java": 1,
    "ast": 1,
}
"""What of the text families' records differs, and why."""


def family(name: str) -> Format:
    if name.startswith("oss_"):
        return FORMATS[name[4:].replace("_", "-")]
    return FORMATS[FAMILIES.get(name) or ("chat-prompt" if name.endswith("prompt") else "chat-fc")]


def rows(golden_dir: Path) -> list[dict[str, Any]]:
    path = golden_dir / "formats" / "decode.jsonl.gz"
    if not path.is_file():
        pytest.skip("no recorded formats")
    with gzip.open(path) as lines:
        return [json.loads(line) for line in lines]


def same(ours: Any, recorded: dict[str, Any]) -> bool:
    if "repr" in recorded:
        theirs = eval(recorded["repr"], {"nan": float("nan"), "inf": float("inf")})  # noqa: S307 - our own record
        return repr(ours) == recorded["repr"] or json.dumps(ours) == json.dumps(theirs)
    return json.dumps(ours, sort_keys=True, default=str) == json.dumps(recorded["value"], sort_keys=True)


def decoded(reply: Reply, row: Format, notation: str, tagged: bool) -> Any:
    try:
        calls = decode_reply(reply, row.mode, return_format=notation, tool_call_tag=tagged, decoder=row.decoder)
    except WrongShape as error:
        return error.decoded
    except DecodeError as error:
        return error
    return [call.as_object() for call in calls]


def differences(record: dict[str, Any], reply: Reply, row: Format) -> list[str]:
    unread = "exc" in record["parse"]
    found = []
    for key, (notation, tagged) in NOTATIONS.items():
        if key in record:
            ours = decoded(reply, row, notation, tagged)
            failed = isinstance(ours, DecodeError)
            if (unread or "exc" in record[key]) is not failed or not (failed or same(ours, record[key])):
                found.append(key)
    try:
        texts: list[str] | None = call_texts(reply, row.mode, row.decoder)
    except DecodeError:
        texts = None
    if texts != (None if unread else record.get("execute", {}).get("value")):
        found.append("execute")
    return found


@pytest.mark.golden
def test_texts_decode_as_recorded(golden_dir):
    found: Counter[str] = Counter()
    count = 0
    for record in rows(golden_dir):
        if "text" in record:
            row = family(record["family"])
            read = read_reply(record["text"], row)
            count += 1
            found.update(differences(record, Reply(text=read.answer, reasoning=read.reasoning), row))
    assert count == 12948
    assert found == DIFFERENT


def native_reply(record: dict[str, Any]) -> Reply | None:
    """The record's native reply, unless there is none or its handler changes it before it is decoded."""
    said = record.get("reply")
    if said is None or record["family"] in ("api_nanbeige_fc", "api_mistral_fc") or "tool_calls_field" in said:
        return None
    calls = tuple(ToolCall(name, arguments, call_id) for call_id, name, arguments in said["calls"])
    return None if said["text"] is None and not calls else Reply(text=said["text"], tool_calls=calls)


@pytest.mark.golden
def test_native_replies_decode_as_recorded(golden_dir):
    """What some handlers do before decoding is an adapter's part: an empty text for none, a text lost beside ``[]``."""
    found: Counter[str] = Counter()
    for record in rows(golden_dir):
        reply = native_reply(record)
        if reply is not None and differences(record, reply, family(record["family"])):
            found[record["family"]] += 1
    assert found == Counter(api_gemini_fc=3)  # the empty text: no call with us


@pytest.mark.golden
def test_what_goes_back_is_as_recorded(golden_dir):
    wrong = Counter()
    for record in rows(golden_dir):
        if record["family"].startswith("oss_") and "history" in record["parse"]:
            ours = read_reply(record["text"], family(record["family"])).messages
            if json.dumps(ours) != json.dumps(record["parse"]["history"]):
                wrong[record["family"]] += 1
    assert not wrong
