"""A whole agent as a model: ``--model agent:package.module:factory``, or `as_agent` in a fixture.

`PostedAgent` is an agent in any language, ``--model agent:http://…``: one POST a turn of the user, answered at the
turn's end. The request: ``{"episode", "entry_id", "category", "turn", "message", "instructions", "messages", "tools",
"call_url"}``, tools in OpenAI's shape. While it answers, the agent may POST ``{"name", "arguments"}`` to ``call_url``
(this machine's loopback address, for this episode only), which gives ``{"result": text}``. The answer: ``{"text"}``,
its message at the end of the turn. An agent that sends no requests adds ``{"calls": [{"name", "arguments"}]}``, which
are executed in order, as one step. ``input_tokens`` and ``output_tokens`` are stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import secrets
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pytest_bfcl.entry_points import look_here
from pytest_bfcl.extensions.agents.episode import Agent, AgentEntry, NoFactory, factory_of, mistake_of
from pytest_bfcl.extensions.agents.pool import PooledAgent
from pytest_bfcl.failures import AdapterError, BenchmarkError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.callable import place_of
from pytest_bfcl.redaction import discreet, hide, url_secrets
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.transcript import Mode, Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from aiohttp import ClientSession, web

    from pytest_bfcl.conversation.played import PlayedConversation
    from pytest_bfcl.models import ModelSpec
    from pytest_bfcl.settings import Settings


HOST = "127.0.0.1"
LONGEST = 4_000_000
"""Bytes of an answer, or of a call."""
Factory = Callable[[AgentEntry], Any]


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


class AgentModel(Agent):
    """An agent's factory as a contender: it plays whole conversations."""

    def __init__(self, factory: Factory, spec: str) -> None:
        super().__init__(spec if spec.endswith("@fc") else f"{spec}@fc")
        self._factory = factory

    async def play(self, conversation: PlayedConversation) -> None:
        """Let a new agent play. Raises `AdapterError` ``fixture`` for its exceptions."""
        episode = AgentEntry(conversation)
        task = asyncio.current_task()
        try:
            async with AsyncExitStack() as stack:
                await self._play(episode, stack)
        except BenchmarkError:
            raise
        except BaseException as error:  # SystemExit and its own cancellations are the agent's, too
            if task is None or task.cancelling() or isinstance(error, KeyboardInterrupt | GeneratorExit):
                raise
            told = f"the agent raised {type(error).__name__}: {_first_line(error)}"
            raise AdapterError(AdapterTrouble.FIXTURE, told, advice=_remedy(error)) from error
        finally:
            await episode.aclose()

    async def _play(self, episode: AgentEntry, stack: AsyncExitStack) -> None:
        player = self._factory(episode)
        if inspect.isawaitable(player):
            player = await player
        player = await _opened(player, stack)
        if player is None and episode.is_begun:
            return
        if not callable(player):
            what = "nothing and took no turn" if player is None else f"{type(player).__name__}, not a function"
            raise AdapterError(
                AdapterTrouble.FIXTURE, f"the agent's factory returned {what}",
                advice="return a function that takes the user's message, or go through `episode.turns()`",
            )  # fmt: skip
        async for message in episode.turns():
            try:
                said = await _called(player, message)
            except Exception as error:
                if (mistake := mistake_of(error)) is None:
                    raise
                await episode.mistake(mistake)
            else:
                episode.answer(said)

    async def aclose(self) -> None:
        """Nothing is held between conversations."""


async def _opened(player: Any, stack: AsyncExitStack) -> Any:
    """The result of a factory, entered if it is a context manager; closed after the entry if possible."""
    if hasattr(player, "__aenter__") and hasattr(player, "__aexit__"):
        return await stack.enter_async_context(player)
    if hasattr(player, "__enter__") and hasattr(player, "__exit__"):
        return stack.enter_context(player)
    close = getattr(player, "aclose", None)
    if inspect.iscoroutinefunction(close):
        stack.push_async_callback(close)
    return player


def as_agent(factory: Factory, name: str | None = None) -> AgentModel:
    """An agent's factory as the value of a ``model`` fixture; ``name`` is its name in results.

    ``factory`` gets an `AgentEntry` and returns a function (sync or async) from the user's message to the agent's
    answer; an ``async def`` factory may go through ``episode.turns()`` itself and return nothing.
    """
    if not callable(factory):
        raise UsageError(f"an agent's factory is a function that takes an episode, not {type(factory).__name__}")
    return AgentModel(factory, f"agent:{name or _name_of(factory)}")


class AgentProvider:
    """The agent that ``agent:package.module:factory`` names, in separate processes, or at ``agent:http://…``."""

    def __call__(self, spec: ModelSpec, settings: Settings, mode: Mode) -> AgentModel | PooledAgent | PostedAgent:
        """Raises `UsageError` if there is none."""
        self.check(spec, settings)
        text = spec.with_mode("fc").text
        if _is_address(spec):
            return PostedAgent(spec.name, text, settings.timeout_s * (settings.step_limit + 1))
        module, name = _place(spec)
        if settings.agent_workers:
            return PooledAgent(f"{module}:{name}", text, min(settings.agent_workers, settings.concurrency))
        try:
            return AgentModel(factory_of(f"{module}:{name}"), text)
        except NoFactory as error:
            raise UsageError(f"{spec.base}: {error}") from None
        except Exception as error:
            raise UsageError(f"{spec.base} cannot be imported: {type(error).__name__}: {_first_line(error)}") from error

    def check(self, spec: ModelSpec, settings: Settings) -> None:
        """Raise `UsageError` for prompting mode, and for the errors of `_place`; nothing of the module runs."""
        if spec.mode == "prompt" or settings.mode == "prompt":
            raise UsageError(f"{spec.base} is an agent: its tools are functions, there is no prompting mode for it")
        if not _is_address(spec):
            _place(spec)


def _is_address(spec: ModelSpec) -> bool:
    return spec.name.startswith(("http://", "https://"))


def _place(spec: ModelSpec) -> tuple[str, str]:
    """Module and factory. Raises `UsageError` for a spec without them, or a missing module."""
    module, colon, name = spec.name.rpartition(":")
    if not colon or not module or not name:
        raise UsageError(f"cannot read {spec.text!r}: write agent:package.module:factory")
    if module.endswith(".py"):
        raise UsageError(f"{spec.base} names a file: write agent:{module.removesuffix('.py').replace('/', '.')}:{name}")
    look_here()
    first = module.partition(".")[0]
    if first not in sys.modules and not find_spec(first):
        raise UsageError(
            f"{spec.base} cannot be imported: there is no module {first!r} here; write agent:MODULE:FACTORY"
        )
    return module, name


def _name_of(factory: object) -> str:
    module = getattr(factory, "__module__", None) or type(factory).__module__
    return f"{module}:{getattr(factory, '__qualname__', type(factory).__qualname__)}"


def _remedy(error: BaseException) -> str:
    """Advice for an agent's exception: its place in the user's code, else the argument of a factory."""
    if place := place_of(error):
        return f"correct {place}, then resume the run"
    return "a factory takes one argument, the entry, and returns a function that takes the user's message"


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:500]


async def _called(function: Callable[[str], Any], message: str) -> Any:
    """The function's result; a plain function runs in a thread, because it would block the loop."""
    inner = function.func if isinstance(function, functools.partial) else function
    if inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__):
        return await function(message)
    from pytest_bfcl.conversation.world import in_thread  # heavy, and `--help` imports this room

    result = await in_thread(function, message)
    return await result if inspect.isawaitable(result) else result
