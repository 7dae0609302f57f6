"""Every request of recorded conversations, as the reference's handlers sent them over the wire."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from collections import Counter
from typing import Any

import pytest
from aiohttp import web

from pytest_bfcl.conversation import dialogue
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.models.anthropic import Messages
from pytest_bfcl.models.chat import DIALECTS, GENERIC, Chat
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.models.responses import Responses
from pytest_bfcl.models.spec import parse_spec
from pytest_bfcl.settings import Settings
from tests.models.loopback import serving

CANNED = ('{"ok": true, "id": 7}', "None", "Error during execution: no such room ‘attic’", "[1, 2]")
DIALECT = {dialect.name: dialect for dialect in DIALECTS} | {"generic": GENERIC}
WITHOUT_TEMPERATURE = {"temperature": None}
THINKING = {"enable_thinking": True, "temperature": None}

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "api_openai": ("generic", {}),
    "api_minicpm_sala": ("generic", {}),
    "api_kimi": ("generic", {}),
    "api_functionary": ("generic", {}),
    "api_novita": ("novita", {}),
    "api_glm45": ("generic", {}),
    "api_glm46": ("generic", {"thinking": {"type": "enabled"}, "temperature": None}),
    "api_nvidia": ("nvidia", {}),
    "api_deepseek_fc": ("deepseek", {}),
    "api_deepseek_prompt": ("deepseek", WITHOUT_TEMPERATURE),
    "api_grok": ("grok", {}),
    "api_ling": ("ling", WITHOUT_TEMPERATURE),
    "api_nanbeige": ("qwen", WITHOUT_TEMPERATURE),
    "api_qwen_fc": ("qwen", {**THINKING, "parallel_tool_calls": True}),
    "api_qwen_prompt": ("qwen", THINKING),
    "api_responses": ("responses", {}),
    "api_claude_fc": ("anthropic", {}),
}
"""Family → dialect or API, and the parameters that ``--bfcl-param`` has to name.

Not here: Gemini, Mistral, Cohere and Nova (their own wire formats, spoken by litellm); Fireworks (its results have no
id, text beside calls is lost), Nemotron and DM-Cito (prompts of their own); Qwen's agent (ids are function names);
Claude in prompting mode beyond its first request (the reference fails on a thinking block).
"""


def family_of(name: str) -> str | None:
    return max((each for each in FAMILIES if name.startswith(each) and "agent" not in name), key=len, default=None)


def replies_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """What the server must have answered: in each later request the first thing that was added to the one before."""
    key = "input" if "input" in row["requests"][0] else "messages"
    found = []
    for before, after in itertools.pairwise(row["requests"]):
        added = after[key][len(before[key]) :]
        if key == "input":
            end = next(
                (i for i, item in enumerate(added) if item.get("role") == "user" or "output" in item), len(added)
            )
            found.append({"output": added[:end], "status": "completed"})
        else:
            found.append(dict(added[0]))
    return found


def answers(row: dict[str, Any], dialect: str) -> list[dict[str, Any]]:
    """Those replies as bodies, with what the handler then leaves out of the history; the last one says nothing more."""
    bodies: list[dict[str, Any]] = []
    for reply in replies_of(row):
        if "output" in reply:
            bodies.append(reply)
            continue
        if dialect == "anthropic":
            stop = "tool_use" if reply["content"][-1]["type"] == "tool_use" else "end_turn"
            bodies.append({"content": reply["content"], "stop_reason": stop})
            continue
        if not DIALECT[dialect].echo:
            reply["reasoning_content"] = "thoughts that stay here"
        if DIALECT[dialect].null_content and reply.get("tool_calls"):
            reply["content"] = "words beside the calls"
        bodies.append({"choices": [{"message": reply, "finish_reason": "stop"}]})
    done: dict[str, Any] = {"choices": [{"message": {"content": "done"}, "finish_reason": "stop"}]}
    done |= {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}]}
    done |= {"status": "completed", "stop_reason": "end_turn"}
    return [*bodies, done | {"content": [{"type": "text", "text": "done"}]}]


class World:
    """Answers every call with the next canned text."""

    memory = None

    def __init__(self) -> None:
        self._texts = itertools.cycle(CANNED)

    async def execute(self, text: str) -> str:
        return next(self._texts)

    async def new_functions(self) -> None:
        return None

    def keep_memory(self) -> None:
        pass


async def requests_of(rows: list[dict[str, Any]], texts: Texts) -> list[list[dict[str, Any]]]:
    """Our requests for the same conversations, all from one server."""
    seen: dict[str, list[dict[str, Any]]] = {}
    bodies: dict[str, list[dict[str, Any]]] = {}

    async def handler(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        place = request.headers["x-place"]
        seen[place].append(body)
        return web.json_response(bodies[place][min(len(seen[place]), len(bodies[place])) - 1])

    async def one(place: str, row: dict[str, Any], url: str) -> list[dict[str, Any]]:
        dialect, parameters = FAMILIES[family_of(row["family"]) or ""]
        name = row["requests"][0]["model"]
        settings = Settings(base_url=url, retries=0, headers={"x-place": place}, parameters=parameters)
        mode = "fc" if row["mode"] == "FC" else "prompt"
        api: Any = Chat(DIALECT.get(dialect, GENERIC))
        if dialect in ("responses", "anthropic"):
            api = Responses(name) if dialect == "responses" else Messages()
        model = OpenAIModel(parse_spec(f"openai:{name}"), settings, mode, base_url=url, api=api)
        seen[place], bodies[place] = [], answers(row, dialect)
        entry = Entry(category=row["entry"]["id"].rsplit("_", 1)[0], **row["entry"])
        try:
            await converse(entry, model, settings=settings, texts=texts)
        finally:
            await model.aclose()
        return seen[place]

    async with serving(handler) as url:
        return await asyncio.gather(*(one(str(number), row, url) for number, row in enumerate(rows)))


def comparable(body: dict[str, Any]) -> dict[str, Any]:
    """Without what the model does not see: whether the provider stores it, how the answer travels, an empty list.

    A result's schema stands in the description in words of our own.
    """
    kept = {name: value for name, value in body.items() if name not in ("store", "stream", "stream_options")}
    for tool in kept.get("tools") or ():
        place = tool.get("function", tool)
        place["description"] = place["description"].replace(
            "The response field has the following schema:", "The result has this schema:"
        )
    return kept if kept.get("tools") else {name: value for name, value in kept.items() if name != "tools"}


@pytest.mark.golden
def test_requests_are_those_of_the_reference(golden_dir, official, monkeypatch):
    path = golden_dir / "formats" / "history.jsonl.gz"
    if not path.is_file():
        pytest.skip("no recorded conversations")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if family_of(row["family"])]
    monkeypatch.setattr(dialogue, "open_world", lambda *args, **kwargs: World())
    monkeypatch.setattr(dialogue, "with_hints", lambda functions, *args, **kwargs: list(functions))
    found = asyncio.run(requests_of(rows, official.texts))
    different = Counter()
    for row, ours in zip(rows, found, strict=True):
        sent = row["requests"]  # as far as the reference came: some of its handlers fail on replies without reasoning
        if [comparable(body) for body in ours[: len(sent)]] != [comparable(body) for body in sent]:
            different[row["family"], row["conversation"]] += 1
    assert not different
    assert len(rows) >= 330
