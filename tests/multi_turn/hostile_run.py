"""Hostile replies through engine, decoders and checkers in a process of its own, under an audit hook.

Usage: ``python -m tests.multi_turn.hostile_run COUNT SEED``; prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from pytest_bfcl.checkers import judge
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.explaining.terminal import failure_text
from pytest_bfcl.models import Request
from pytest_bfcl.session.evaluation import judged_record, open_data
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Mode, Reply, ToolCall
from tests.simulators.hostile_run import Watch
from tests.simulators.hostile_texts import BOUNDED, REFUSED, generated

STEPS_A_TURN = 8
TEXTS_A_CONVERSATION = 24
KEYS = [
    "content", "folder", "a=1) or __import__('os').system('true') #", "**{}", "__class__", "a b", "", "é", "content",
]  # fmt: skip
INJECTED = [
    "pwd(), __import__('os').system('true'), pwd", "__import__('os').system",
    "pwd.__globals__['__builtins__']['eval']", "(lambda **k: open('/etc/passwd').read())", "exit",
    "GorillaFileSystem.pwd", "pwd;import os;os.getcwd", "", "x" * 100_000,
]  # fmt: skip
RAW = [
    "", "null", "[]", "1", '"text"', "{", '{"a":', '{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "{'a': 1}",
    '{"a": ' + "9" * 5_000 + "}", '{"a":' * 50_000, "[" * 100_000, '{"a": "' + "x" * 400_000 + '"}',
    '{"content": "\\ud800", "file_name": "\\u0000"}', '{"value": 10, "base": 2, "precision": 300000000}',
]  # fmt: skip


def native(text: str, rng: random.Random) -> ToolCall:
    """A hostile text as some part of a native call: name, argument key, value, or raw arguments."""
    tool = rng.choice(["pwd", "echo", "mkdir", "power", "logarithm", "post_tweet", "send_message", "find"])
    key = rng.choice(["content", "dir_name", "exponent", "message", "path", "name"])
    match rng.randrange(6):
        case 0:
            return ToolCall(text, json.dumps({key: 1}))
        case 1:
            return ToolCall(tool, json.dumps({text: rng.choice([1, "a", None])}))
        case 2:
            return ToolCall(tool, json.dumps({key: text}))
        case 3:
            return ToolCall(tool, text)
        case 4:
            return ToolCall(rng.choice(INJECTED), json.dumps({rng.choice(KEYS): text[:500]}))
    return ToolCall(
        tool, rng.choice(RAW) if rng.random() < 0.05 else json.dumps({rng.choice(KEYS): [{key: text[:500]}]})
    )


def prompted(text: str, rng: random.Random) -> str:
    """A hostile text as the whole reply, in a list, beside an honest call, as an argument, or fenced."""
    forms = ("{}", "[{}]", "[pwd(), {}]", "[echo(content={})]", "`{}`", "[power(base=2, exponent={})]")
    return rng.choice(forms).replace("{}", text)


class Hostile:
    """Answers with hostile texts, a few steps a turn."""

    underscore_names = False

    def __init__(self, mode: Mode, texts: list[str], rng: random.Random) -> None:
        self.mode: Mode = mode
        self.spec = f"hostile:texts@{mode}"
        self.texts = texts
        self.rng = rng

    async def generate(self, request: Request) -> Reply:
        if request.step >= STEPS_A_TURN or not self.texts:
            return Reply(text="That is all.")
        if self.mode == "prompt":
            return Reply(text=prompted(self.texts.pop(), self.rng))
        several = min(self.rng.choice((1, 1, 1, 2, 3)), len(self.texts))
        return Reply(tool_calls=tuple(native(self.texts.pop(), self.rng) for _ in range(several)))

    async def aclose(self) -> None:
        pass


def crowded(entry: Entry, number: int) -> Entry:
    """The entry with twelve turns, so that texts that end a turn do not end the conversation."""
    turns = (entry.question * 12)[:12]
    truth = ((entry.possible_answer or []) * 12)[:12]
    return entry.model_copy(update={"id": f"multi_turn_base_{number}", "question": turns, "possible_answer": truth})


def texts_of(count: int, seed: int) -> Iterator[str]:
    yield from REFUSED
    yield from BOUNDED
    yield from INJECTED
    yield from generated(count, seed)


async def one(entry: Entry, mode: Mode, texts: list[str], rng: random.Random, data: Any) -> int:
    """Converse, judge under both rule sets, make the line and the failure text; how many texts were not used."""
    model = Hostile(mode, texts, rng)
    transcript = await converse(entry, model, settings=Settings(), texts=data.texts)  # type: ignore[arg-type]
    record = judged_record(entry, transcript)
    assert record["outcome"] in ("passed", "failed"), record
    json.dumps(record)
    for rules in ("official", "corrected"):
        failure_text(entry, transcript, judge(entry, transcript, rules))
    return len(texts)


async def main(count: int, seed: int) -> dict[str, Any]:
    data = open_data("bundled")
    sources = [data.entry(f"multi_turn_base_{number}") for number in (0, 1, 2, 7, 8, 9)]
    entries = [crowded(entry, 900 + number) for number, entry in enumerate(sources)]
    rng = random.Random(f"hostile conversations {seed}")
    _ = "\x01".encode("unicode_escape")  # the codec is imported when first used
    for mode in ("fc", "prompt"):  # everything that is imported on the way
        for entry in entries:
            await one(
                entry, mode, [*generated(40, -1), "écho()", "f(", "logarithm(8, 2, 5)", "square_root(2, 3)"], rng, data
            )
    watch = Watch()
    found: dict[str, Any] = {"texts": 0, "conversations": 0, "raised": [], "slowest_s": 0.0, "slowest": ""}
    turns = cycle([(entry, mode) for entry in entries for mode in ("fc", "prompt")])
    source = texts_of(count, seed)
    texts: list[str] = []
    while True:
        for text in source:
            texts.append(text)
            if len(texts) >= TEXTS_A_CONVERSATION:
                break
        if not texts:
            break
        entry, mode = next(turns)
        held = len(texts)
        first = texts[-1][:80]
        start = time.perf_counter()
        try:
            left = await one(entry, mode, texts, rng, data)  # type: ignore[arg-type]
        except Exception as error:
            found["raised"].append(f"{entry.id} {mode} {first!r}: {type(error).__name__}: {error}"[:300])
            left = len(texts)
            if left == held:
                texts.clear()
                left = 0
        spent = time.perf_counter() - start
        if spent > found["slowest_s"]:
            found.update(slowest_s=spent, slowest=first)
        found["texts"] += held - left
        found["conversations"] += 1
    watch.on = False
    return {**found, "events": watch.events}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))))
