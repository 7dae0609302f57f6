"""Every recorded conversation of a self-hosted family, with every prompt as the reference rendered it."""

from __future__ import annotations

import gzip
import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.conversation import prompts
from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.extensions.formats.family import TEMPLATES, Family
from pytest_bfcl.fetching.texts import FormatTexts
from pytest_bfcl.formats.table import FORMATS

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


@pytest.mark.golden
def test_prompts_are_the_recorded_ones(golden_dir, official, official_dir):
    path = golden_dir / "formats" / "prompts.jsonl.gz"
    if not path.is_file():
        pytest.skip("no recorded prompts")
    texts = FormatTexts.beside(official_dir)
    different, equal = [], 0
    with gzip.open(path) as lines:
        records = [json.loads(line) for line in lines]
    for record in records:
        row = FORMATS[record["family"][4:].replace("_", "-")]
        ours = Conversation(record, Family(row, TEMPLATES[row.template], texts), official.texts).hold()
        if ours == [query["prompt"] for query in record["queries"]]:
            equal += 1
        else:
            different.append((record["family"], record["conversation"]))
    assert different == []
    assert equal == 432
