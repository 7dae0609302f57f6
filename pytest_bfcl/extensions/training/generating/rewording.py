"""Requests rephrased by a model: recorded, and used only if the task is proved with them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_bfcl.extensions.training.generating.making import Recipe, Task, entry_of, facts_of, with_facts
from pytest_bfcl.extensions.training.generating.proof import Unproved
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models import create_model
from pytest_bfcl.models.base import Model, Request
from pytest_bfcl.plain_text import say
from pytest_bfcl.runs.lines import DamagedLine, LineAppender, read_json_lines
from pytest_bfcl.settings import Settings
from pytest_bfcl.simulators.toolkit import copied
from pytest_bfcl.spread_json import json_or

LONGEST = 1_500
"""Most characters of one rephrased message."""
BATCH = 64
"""Tasks that are rephrased together."""
_ASKED = (
    "Say what a user says to an assistant in other words, as a person would type it. Each message stays a message of "
    "its own and asks for the same things in the same order. Keep every name, number, date, code and everything in "
    "quotation marks exactly as it is written, and add nothing. Answer with a JSON list of the messages, nothing else."
)


class Rewording:
    """One model's words. Replies are recorded in ``record`` on arrival and never requested again.

    Raises `UsageError` for a damaged record.
    """

    def __init__(self, model: str, settings: Settings, record: Path, recipe: Recipe) -> None:
        self.model, self.settings, self.recipe = model, settings, recipe
        self.taken = self.kept = 0
        """Tasks that are rephrased, and those that keep our words."""
        self._record = record
        self._known = _recorded(record)

    def put(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks, rephrased where the proof succeeds. Raises `AdapterError` if the model cannot be used."""
        prompts = list(map(prompt_of, tasks))
        if due := [each for each in dict.fromkeys(prompts) if self.key(each) not in self._known]:
            asyncio.run(self._ask(due, entry_of(tasks[0].entry)))
        found = []
        for task, prompt in zip(tasks, prompts, strict=True):
            said = _messages(self._known.get(self.key(prompt), ""))
            other = None if said is None else self._with(task, said)
            self.taken += other is not None
            self.kept += other is None
            found.append(other or task)
        return found

    def key(self, prompt: str) -> str:
        """The key of a request in the record."""
        return hashlib.sha256(f"{self.model}\0{_ASKED}\0{prompt}".encode()).hexdigest()

    def told(self) -> Parsed:
        """For the manifest."""
        return {"model": self.model, "reworded": self.taken, "kept": self.kept,
                "checked": "proof and honest policy, which reads our language only"}  # fmt: skip

    async def _ask(self, prompts: Sequence[str], any_entry: Any) -> None:
        concurrency = self.settings.concurrency
        free = asyncio.Semaphore(concurrency if isinstance(concurrency, int) else 16)
        asked = create_model(self.model, self.settings, mode="prompt")
        record = LineAppender(self._record)

        async def one(prompt: str) -> None:
            async with free:
                reply = await _reply(asked, any_entry, prompt)
            self._known[self.key(prompt)] = reply
            record.append({"key": self.key(prompt), "reply": reply})

        try:
            await asyncio.gather(*map(one, prompts))
        finally:
            record.close()
            await asked.aclose()

    def _with(self, task: Task, said: Sequence[str]) -> Task | None:
        """The task with these messages, if it is proved with them and has the same dependencies."""
        raw = copied(task.entry)
        spoken, before = _spoken(raw), raw["generated"]
        if len(spoken) != len(said):
            return None
        for turn, text in zip(spoken, said, strict=True):
            turn[0]["content"] = text
        try:
            facts = facts_of(self.recipe, entry_of(raw))
        except Unproved:
            return None
        if (facts.dependencies, facts.depth) != (before["dependencies"], before["depth"]):
            return None
        return replace(task, entry=with_facts({**raw, "generated": {**before, "reworded": True}}, facts))


def _spoken(raw: Parsed) -> list[list[Parsed]]:
    return [turn for turn in raw["question"] if turn]


def prompt_of(task: Task) -> str:
    """The user's messages of a task, as the model gets them."""
    return json.dumps([turn[0]["content"] for turn in _spoken(task.entry)], ensure_ascii=False)


def _recorded(record: Path) -> dict[str, str]:
    damaged: list[DamagedLine] = []
    lines = list(read_json_lines(record, damaged.append)) if record.exists() else []
    bad = [each.line for each in damaged] + [line.number for line in lines if not {"key", "reply"} <= line.value.keys()]
    if bad:
        raise UsageError(f"{record}:{min(bad)} is no recorded reply: delete the line, it is requested again")
    return {str(line.value["key"]): str(line.value["reply"]) for line in lines}


async def _reply(model: Model, entry: Any, prompt: str) -> str:
    messages = [{"role": "system", "content": _ASKED}, {"role": "user", "content": prompt}]
    try:
        reply = await model.generate(Request(entry, messages))
    except AdapterError as error:
        if error.kind in ("auth", "bad_request", "not_found"):
            raise
        say(f"a request stays in our words: {error}")
        return ""
    return reply.text or ""


def _messages(reply: str) -> list[str] | None:
    """The messages of a reply; ``None`` for anything but a list of short texts."""
    begin, end = reply.find("["), reply.rfind("]")
    found = json_or(reply[begin : end + 1]) if 0 <= begin < end else None
    fine = isinstance(found, list) and all(isinstance(each, str) and 0 < len(each) <= LONGEST for each in found)
    return found if fine else None
