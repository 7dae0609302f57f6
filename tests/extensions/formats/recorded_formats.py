"""Recorded replies of models' own formats, and conversations of self-hosted families, read and held here."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.conversation import prompts
from pytest_bfcl.decoding import DecodeError, WrongShape, call_texts, decode_reply
from pytest_bfcl.extensions.formats.family import Family
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


def native_reply(record: dict[str, Any]) -> Reply | None:
    """The record's native reply, unless there is none or its handler changes it before it is decoded."""
    said = record.get("reply")
    if said is None or record["family"] in ("api_nanbeige_fc", "api_mistral_fc") or "tool_calls_field" in said:
        return None
    calls = tuple(ToolCall(name, arguments, call_id) for call_id, name, arguments in said["calls"])
    return None if said["text"] is None and not calls else Reply(text=said["text"], tool_calls=calls)


RESULTS = ('{"ok": true, "id": 7}', "None", "Error during execution: no such room ‘attic’", "[1, 2]")
DEFAULT = SimpleNamespace(
    doc_format="json", prompt_style="classic", tool_call_tag=False, prompt_format="plaintext", return_format="python"
)


class Conversation:
    """One recorded conversation, held as the reference's prompting loop holds it."""

    def __init__(self, record: dict[str, Any], family: Family, texts: Any) -> None:
        self.record, self.family, self.texts = record, family, texts
        self.messages: list[dict[str, Any]] = []
        self.prompts: list[str] = []
        self.replies = iter(record["replies"])
        self.results = itertools.cycle(RESULTS)
        self.called = 0

    def hold(self) -> list[str]:
        for number, turn in enumerate(self.record["entry"]["question"]):
            self.messages += self.family.opened([*self.opening(turn, number), *self.handed_over(number)], number == 0)
            while self.step():
                pass
        return self.prompts

    def opening(self, turn: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
        messages = [dict(message) for message in turn]
        if number == 0 and self.family.format.system:
            functions = self.record["entry"].get("function", [])
            return prompts.with_system(messages, prompts.system_prompt(DEFAULT, functions, self.texts))
        return messages

    def handed_over(self, number: int) -> list[dict[str, Any]]:
        held_out = (self.record["entry"].get("missed_function") or {}).get(str(number))
        return [{"role": "user", "content": prompts.additional_functions(held_out, self.texts)}] if held_out else []

    def step(self) -> bool:
        functions = self.record["entry"].get("function", [])
        self.prompts.append(self.family.render(self.messages, functions, len(self.prompts) + 1))
        ids = [f"call{self.called + number:05d}" for number in range(1, 20)]
        read = self.family.read(next(self.replies, ""), ids)
        self.messages += read.messages
        if self.record["conversation"].startswith("single"):
            return False
        decoder = self.family.format.reads
        try:
            calls = decoder.texts(decoder.read(read.answer))
        except DecodeError:
            return False
        if not calls or calls == [""]:
            return False
        self.called += len(calls)
        self.messages += self.family.results(calls, [next(self.results) for _ in calls], ids)
        return True
