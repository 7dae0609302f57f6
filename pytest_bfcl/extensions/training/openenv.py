"""OpenEnv: a server of entries with ``reset``, ``step`` and ``state``, and its client (``pip install openenv``).

    uvicorn --factory my_server:app       # def app(): return openenv.server(tasks("bundled", mode="fc"))
    with openenv.EntryClient("http://127.0.0.1:8000").sync() as env:
        found = env.reset(entry_id="multi_turn_base_0")
        found = env.step(openenv.EntryAction(text="[cd(folder='x')]"))

Each WebSocket is a session. Over plain HTTP name an ``episode_id`` in ``/reset`` and ``/step``. Clients can only select
among the server's entries, and cannot set paths, data or options. The size of their messages is limited. Their mistakes
are returned as ``error`` and end no session.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.extensions.training.tasks import Tasks
from pytest_bfcl.extras import naming
from pytest_bfcl.failures import BenchmarkError, did_you_mean
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.transcript import CALLS_A_STEP, Reply, ToolCall

with naming("the server of episodes", "pip install openenv"):
    from fastapi import HTTPException
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
    from openenv.core.env_server.types import ConcurrencyConfig

MAX_TEXT = 1_000_000
"""Characters of a reply's text, and of the arguments of one call."""
MAX_BODY = 8_000_000
"""Bytes of one request."""
IDLE_S = 3600.0
"""Seconds after which an episode without a step is forgotten."""


class EntryCall(BaseModel):
    """One call of a reply."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=1000)
    arguments: str = Field(default="{}", max_length=MAX_TEXT)
    """JSON text, as the policy wrote it."""


class EntryAction(Action):  # type: ignore[misc]
    """A reply of the policy: text, native calls, or both."""

    text: str | None = Field(default=None, max_length=MAX_TEXT)
    tool_calls: list[EntryCall] = Field(default_factory=list, max_length=CALLS_A_STEP)


class EntryObservation(Observation):  # type: ignore[misc]
    """The result of a reply: new messages, the offered tools, the turn; ``error`` for a mistake of the client."""

    messages: list[dict[str, Any]] = Field(default_factory=list)
    tools: list[dict[str, Any]] = Field(default_factory=list)
    user_turn: int = 0
    error: str | None = None


class EntryState(State):  # type: ignore[misc]
    """The state of an episode."""

    entry_id: str | None = None
    category: str | None = None
    user_turn: int = 0
    done: bool = False
    verdict: float = 0.0


@dataclass(slots=True)
class _Played:
    """One episode in progress."""

    episode: Episode
    steps: int = 0
    touched: float = field(default_factory=time.monotonic)
    lock: Any = field(default_factory=threading.Lock)


class Episodes:
    """The episodes of all sessions, at most ``limit``: the one with the oldest step is replaced."""

    def __init__(self, tasks: Tasks, limit: int) -> None:
        self.tasks = tasks
        self.limit = limit
        self._entries = {entry.id: entry for entry in tasks}
        self._played: OrderedDict[str, _Played] = OrderedDict()
        self._lock = threading.Lock()
        self._next = itertools.count()

    def begin(self, name: str, entry_id: str | None, seed: int | None) -> _Played:
        """A new episode under a name; it replaces an older one. Raises `LookupError` for an unknown entry."""
        if entry_id is None:
            entry = self.tasks.entries[(next(self._next) if seed is None else seed) % len(self.tasks)]
        elif entry_id in self._entries:
            entry = self._entries[entry_id]
        else:
            raise LookupError(f"no entry {entry_id[:200]!r} here; {did_you_mean(entry_id[:200], self._entries)}")
        played = _Played(self.tasks.episode(entry))
        with self._lock:
            self._played[name] = played
            self._played.move_to_end(name)
            old = time.monotonic() - IDLE_S
            while len(self._played) > self.limit or next(iter(self._played.values())).touched < old:
                self._played.popitem(last=False)
        return played

    def find(self, name: str) -> _Played | None:
        """The episode of a name."""
        with self._lock:
            played = self._played.get(name)
            if played is not None:
                played.touched = time.monotonic()
                self._played.move_to_end(name)
        return played

    def end(self, name: str) -> None:
        """Forget an episode; an unknown name is no mistake."""
        with self._lock:
            self._played.pop(name, None)


class EntryEnvironment(Environment[EntryAction, EntryObservation, EntryState]):  # type: ignore[misc]
    """One session. Over HTTP, where every request has its own session, ``episode_id`` names the episode."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, episodes: Episodes) -> None:
        super().__init__()
        self._episodes = episodes
        self._own = secrets.token_hex(16)
        self._name = self._own

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, entry_id: str | None = None, **_: Any
    ) -> EntryObservation:
        """Begin an entry: the named one, that of a seed, or the next."""
        self._name = _short_text(episode_id) or self._own
        try:
            played = self._episodes.begin(self._name, entry_id if isinstance(entry_id, str) else None, _seed(seed))
        except (LookupError, BenchmarkError) as error:
            return _mistake(str(error))
        episode = played.episode
        return EntryObservation(messages=episode.messages, tools=episode.tools)

    def step(
        self, action: EntryAction, timeout_s: float | None = None, episode_id: str | None = None, **_: Any
    ) -> EntryObservation:
        """Take a reply. Never raises for a policy's text."""
        played = self._episodes.find(_short_text(episode_id) or self._name)
        if played is None:
            return _mistake("no episode has begun here: reset first; over plain HTTP name its episode_id in both")
        calls = tuple(ToolCall(call.name, call.arguments) for call in action.tool_calls)
        with played.lock:
            if played.episode.done:
                return _mistake("the episode is over: reset")
            played.steps += 1
            try:
                found = played.episode.step(Reply(text=action.text, tool_calls=calls))
            except BenchmarkError as error:  # the entry's data, not the policy's words
                return _mistake(str(error))
            tools = played.episode.tools
        return EntryObservation(
            messages=found.observations, tools=tools, user_turn=found.user_turn, done=found.done, reward=found.reward
        )

    @property
    def state(self) -> EntryState:
        """The state of this session's episode."""
        played = self._episodes.find(self._name)
        if played is None:
            return EntryState()
        episode = played.episode
        return EntryState(
            episode_id=self._name if self._name != self._own else None,
            step_count=played.steps,
            entry_id=episode.entry.id,
            category=episode.entry.category,
            user_turn=episode.user_turn,
            done=episode.done,
            verdict=episode.verdict,
        )

    def close(self) -> None:
        """Forget the session's own episode; named ones stay for the next request."""
        self._episodes.end(self._own)


def server(tasks: Tasks, *, sessions: int = 64, episodes: int = 1024) -> Any:
    """The server as an ASGI application, for uvicorn; ``sessions``: WebSockets at a time."""
    held = Episodes(tasks, episodes)
    limits = ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=IDLE_S)
    app = create_fastapi_app(lambda: EntryEnvironment(held), EntryAction, EntryObservation, concurrency_config=limits)
    app.add_middleware(_Bounded)
    return app


class _Bounded:
    """Refuses bodies of more than `MAX_BODY` bytes on arrival; the server limits WebSockets."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Parsed, receive: Any, send: Any) -> None:
        seen = 0

        async def counted() -> Parsed:
            nonlocal seen
            message: Parsed = await receive()
            seen += len(message.get("body") or b"") if scope["type"] == "http" else 0
            if seen > MAX_BODY:
                raise HTTPException(413, f"more than {MAX_BODY} bytes")
            return message

        await self.app(scope, counted, send)


def _short_text(text: object) -> str | None:
    return text if isinstance(text, str) and 0 < len(text) <= 255 else None


def _seed(seed: object) -> int | None:
    return seed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63 else None


def _mistake(text: str) -> EntryObservation:
    return EntryObservation(error=text[:1000], done=True, reward=0.0)


class EntryClient(EnvClient[EntryAction, EntryObservation, EntryState]):  # type: ignore[misc]
    """The client: `reset`, `step` and `state`, awaited, or plain by ``.sync()``."""

    def _step_payload(self, action: EntryAction) -> Parsed:
        found: Parsed = action.model_dump(mode="json")
        return found

    def _parse_result(self, payload: Fields) -> StepResult[EntryObservation]:
        told = payload.get("observation") or {}
        done, reward = bool(payload.get("done")), payload.get("reward")
        observation = EntryObservation(**{**told, "done": done, "reward": reward})
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: Fields) -> EntryState:
        return EntryState(**payload)
