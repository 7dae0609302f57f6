"""Requests rephrased by a model: recorded, and used only if the task is proved with them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.training.generating.making import Recipe, Task, entry_of, facts_of, task_of
from pytest_bfcl.extensions.training.generating.proof import Unproved
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.plain_text import say
from pytest_bfcl.spread_json import json_or

if TYPE_CHECKING:
    from pytest_bfcl.models.base import Model
    from pytest_bfcl.settings import Settings

LONGEST = 1_500
"""Most characters of one rephrased message."""
_ASKED = (
    "Say what a user says to an assistant in other words, as a person would type it. Each message stays a message of "
    "its own and asks for the same things in the same order. Keep every name, number, date, code and everything in "
    "quotation marks exactly as it is written, and add nothing. Answer with a JSON list of the messages, nothing else."
)


@dataclass(slots=True)
class Reworded:
    """The tasks, and how many are rephrased."""

    tasks: list[Task]
    taken: int = 0
    refused: int = 0


def reworded(tasks: Sequence[Task], model: str, settings: Settings, record: Path, recipe: Recipe) -> Reworded:
    """The tasks, rephrased where the proof succeeds. Replies are recorded in ``record`` on arrival and never requested
    again. Raises `UsageError` for a damaged record, `AdapterError` if the model cannot be used.
    """
    prompts = {task.number: _prompt(task) for task in tasks}
    known = _recorded(record)
    due = [text for text in prompts.values() if _key(model, text) not in known]
    if due:
        known |= asyncio.run(_ask(model, settings, due, record, entry_of(*_parts(tasks[0]))))
    found = Reworded([])
    for task in tasks:
        said = _messages(known.get(_key(model, prompts[task.number]), ""))
        other = None if said is None else _with(task, said, recipe)
        found.tasks.append(other or task)
        found.taken += other is not None
        found.refused += other is None
    return found


def _parts(task: Task) -> tuple[Parsed, str, str]:
    raw = json.loads(task.line)
    return {key: each for key, each in raw.items() if key not in ("id", "category")}, str(raw["id"]), task.category


def _prompt(task: Task) -> str:
    raw = json.loads(task.line)
    return json.dumps([turn[0]["content"] for turn in raw["question"] if turn], ensure_ascii=False)


def _key(model: str, prompt: str) -> str:
    return hashlib.sha256(f"{model}\0{_ASKED}\0{prompt}".encode()).hexdigest()


def _recorded(record: Path) -> dict[str, str]:
    if not record.exists():
        return {}
    found: dict[str, str] = {}
    for number, line in enumerate(record.read_text(encoding="utf-8").splitlines(), 1):
        try:
            kept = json.loads(line)
            found[str(kept["key"])] = str(kept["reply"])
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"{record}:{number} is no recorded reply: delete the line, it is requested again"
            ) from None
    return found


async def _ask(model: str, settings: Settings, prompts: Sequence[str], record: Path, any_entry: Any) -> dict[str, str]:
    from pytest_bfcl.models import create_model

    record.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, str] = {}
    free = asyncio.Semaphore(int(settings.concurrency) if isinstance(settings.concurrency, int) else 16)
    asked = create_model(model, settings, mode="prompt")
    try:
        with record.open("a", encoding="utf-8") as file:

            async def one(prompt: str) -> None:
                async with free:
                    reply = await _reply(asked, any_entry, prompt)
                found[_key(model, prompt)] = reply
                file.write(json.dumps({"key": _key(model, prompt), "reply": reply}, ensure_ascii=False) + "\n")
                file.flush()

            await asyncio.gather(*map(one, prompts))
    finally:
        await asked.aclose()
    return found


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


def _with(task: Task, said: Sequence[str], recipe: Recipe) -> Task | None:
    """The task with these messages, if it is proved with them and has the same dependencies."""
    raw, entry_id, category = _parts(task)
    spoken = [turn for turn in raw["question"] if turn]
    if len(spoken) != len(said):
        return None
    before = dict(raw["generated"])
    for turn, text in zip(spoken, said, strict=True):
        turn[0]["content"] = text
    try:
        facts = facts_of(recipe, entry_of(raw, entry_id, category))
    except Unproved:
        return None
    if (facts.dependencies, facts.depth) != (before["dependencies"], before["depth"]):
        return None
    return task_of({**raw, "generated": {**before, "reworded": True}}, entry_id, category, task.number, facts)
