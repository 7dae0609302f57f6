"""Policies for adapters: an oracle in every shape that trainers hand over, and one that says hostile things."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.training import Episode
from pytest_bfcl.transcript import Mode, Reply
from tests.multi_turn.hostile_run import prompted
from tests.simulators.hostile_texts import generated


def oracle(episode: Episode) -> Reply:
    """The right reply to what an episode asks now."""
    return answer(episode.entry, episode.mode, episode.user_turn, len(episode.transcript.turns[-1].steps))


def message(reply: Reply, *, objects: bool = False, parsed: bool = True) -> Any:
    """A reply as the message a trainer parsed: calls as dicts or objects, arguments parsed or as texts."""
    calls = [
        {
            "type": "function",
            "id": f"call_{number}",
            "function": {"name": c.name, "arguments": json.loads(c.arguments) if parsed else c.arguments},
        }
        for number, c in enumerate(reply.tool_calls)
    ]
    if objects:
        made = [SimpleNamespace(type="function", id=c["id"], function=SimpleNamespace(**c["function"])) for c in calls]
        return SimpleNamespace(role="assistant", content=reply.text, tool_calls=made or None, reasoning_content="Hm.")
    return {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}


def hostile(seed: int, count: int) -> Iterator[str]:
    """Texts that a policy might write to break a reader of calls."""
    rng = random.Random(f"hostile adapters {seed}")
    for text in generated(count, seed):
        yield prompted(text, rng)


def first_reply(entry: Entry, mode: Mode) -> Reply:
    """The oracle's reply to an entry of one step."""
    return answer(entry, mode)
