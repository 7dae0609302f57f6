"""Agents in any language: ``--model agent:http://…``, one POST a turn of the user, answered at the turn's end.

The request: ``{"episode", "entry_id", "category", "turn", "message", "instructions", "messages", "tools",
"call_url"}``, tools in OpenAI's shape. While it answers, the agent may POST ``{"name", "arguments"}`` to ``call_url``
(this machine's loopback address, for this episode only), which gives ``{"result": text}``. The answer: ``{"text"}``,
its message at the end of the turn. An agent that sends no requests adds ``{"calls": [{"name", "arguments"}]}``, which
are executed in order, as one step. ``input_tokens`` and ``output_tokens`` are stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.agents.episode import Agent, AgentEntry
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.redaction import discreet, hide, url_secrets
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.transcript import Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from aiohttp import ClientSession, web

    from pytest_bfcl.conversation.played import PlayedConversation

HOST = "127.0.0.1"
LONGEST = 4_000_000
"""Bytes of an answer, or of a call."""


class PostedAgent(Agent):
    """An agent at an address, as a contender; ``limit_s`` is the limit of one turn."""

    def __init__(self, url: str, spec: str, limit_s: float) -> None:
        super().__init__(spec)
        self._url = url
        self._limit_s = limit_s
        self._episodes: dict[str, AgentEntry] = {}
        self._client: ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._port = 0
        self._starting = asyncio.Lock()

    async def play(self, conversation: PlayedConversation) -> None:
        """Post every turn. Raises `AdapterError` for an agent without a valid answer."""
        await self._start()
        name = secrets.token_urlsafe(24)
        episode = self._episodes[name] = AgentEntry(conversation)
        try:
            turn = 0
            async for message in episode.turns():
                said = await self._post(self._turn(episode, name, turn, message))
                await self._end_turn(episode, said)
                turn += 1
        finally:
            del self._episodes[name]
            await episode.aclose()

    def _turn(self, episode: AgentEntry, name: str, turn: int, message: str) -> Parsed:
        return {
            "episode": name, "entry_id": episode.entry_id, "category": episode.category, "turn": turn,
            "message": message, "instructions": episode.instructions, "messages": episode.messages,
            "tools": episode.tool_schemas, "call_url": f"http://{HOST}:{self._port}/{name}",
        }  # fmt: skip

    async def _end_turn(self, episode: AgentEntry, said: Parsed) -> None:
        calls, text = said.get("calls") or [], said.get("text")
        if not isinstance(calls, list) or not all(map(_is_call, calls)) or not isinstance(text, str | None):
            raise AdapterError(
                AdapterTrouble.FIXTURE,
                'the agent answers with {"text": a text} and may add {"calls": [{name, arguments}]}',
            )
        await asyncio.gather(*(episode.call(call["name"], call["arguments"]) for call in calls))
        counts = [said.get(key) for key in ("input_tokens", "output_tokens")]
        given, taken = (each if type(each) is int else None for each in counts)
        episode.answer(Reply(text=text or "", input_tokens=given, output_tokens=taken))

    async def _post(self, turn: Parsed) -> Parsed:
        import aiohttp

        assert self._client is not None
        try:
            limit = aiohttp.ClientTimeout(total=self._limit_s)
            async with self._client.post(self._url, json=turn, timeout=limit, allow_redirects=False) as response:
                body = await response.content.read(LONGEST + 1)
                while len(body) <= LONGEST and (more := await response.content.read(LONGEST + 1 - len(body))):
                    body += more
        except TimeoutError:
            raise AdapterError(
                AdapterTrouble.TIMEOUT, f"the agent did not answer a turn within {self._limit_s:g} s"
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise AdapterError(
                AdapterTrouble.CONNECTION,
                f"the agent does not answer: {hide(str(error), url_secrets(self._url))[:300]}",
            ) from None
        if response.status != 200:
            raise AdapterError(AdapterTrouble.FIXTURE, f"the agent answered a turn with status {response.status}")
        if len(body) > LONGEST:
            raise AdapterError(AdapterTrouble.FIXTURE, f"the agent's answer has more than {LONGEST:,} bytes")
        said = json_or(body)
        if not isinstance(said, dict):
            raise AdapterError(AdapterTrouble.FIXTURE, "the agent's answer is no JSON object")
        return discreet(said, url_secrets(self._url))

    async def _start(self) -> None:
        """Listen for calls, once."""
        async with self._starting:
            if self._client is not None:
                return
            import aiohttp
            from aiohttp import web

            app = web.Application(client_max_size=LONGEST)
            app.router.add_post("/{episode}", self._called)
            self._runner = web.AppRunner(app, access_log=None)
            await self._runner.setup()
            site = web.TCPSite(self._runner, HOST, 0)
            await site.start()
            self._port = self._runner.addresses[0][1]
            self._client = aiohttp.ClientSession()

    async def _called(self, request: web.Request) -> web.Response:
        from aiohttp import web

        episode = self._episodes.get(request.match_info["episode"])
        if episode is None:
            return web.json_response({"error": "this episode is over, or was none"}, status=404)
        call: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            call = await request.json()
        if not _is_call(call):
            return web.json_response({"error": 'a call is {"name": text, "arguments": object}'}, status=400)
        try:
            return web.json_response({"result": await episode.call(call["name"], call["arguments"])})
        except AdapterError as error:
            return web.json_response({"error": error.message}, status=500)

    async def aclose(self) -> None:
        """End client and server."""
        if self._client is not None:
            await self._client.close()
            self._client = None
        if self._runner is not None:
            await self._runner.cleanup()


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("arguments"), dict)
