"""Agents in their own processes: a pool of workers, each plays one entry at a time.

An agent that blocks its event loop, exits, uses all memory or leaks descriptors harms only its own process. The parent
measures time, ends processes over the limit, and starts new ones.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_bfcl.extensions.agents.episode import Agent
from pytest_bfcl.failures import AdapterError, HarnessError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean
from pytest_bfcl.redaction import discreet, environment_secrets, hide
from pytest_bfcl.transcript import PLAYED_BEFORE
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation.played import PlayedConversation

START_SECONDS = 120.0
LONGEST_LINE = 16 * 2**20
_PROGRAM = (
    "import sys; sys.path += [each for each in sys.argv[2:] if each not in sys.path]; "
    "from pytest_bfcl.extensions.agents.worker import main; main(sys.argv[1])"
)


class PooledAgent(Agent):
    """An agent as a contender, ``module:factory``, played by at most ``workers`` processes at a time."""

    def __init__(self, name: str, spec: str, workers: int) -> None:
        super().__init__(spec)
        self._name = name
        self._workers = workers
        self._free: list[_Worker] = []
        self._room: asyncio.Semaphore | None = None
        if workers:  # an agent that cannot be imported is said before anything is asked
            self._free.append(_Worker(name).started())

    def fresh(self) -> PooledAgent:
        """The same agent without a process: it plays its first entry alone."""
        return PooledAgent(self._name, self.spec, 0)

    @asynccontextmanager
    async def room(self) -> AsyncIterator[None]:
        """Wait until a process is free; this time does not count as the agent's."""
        self._room = self._room or asyncio.Semaphore(max(1, self._workers))
        async with self._room:
            yield

    async def play(self, conversation: PlayedConversation) -> None:
        """Let the agent play. Raises `AdapterError` ``fixture`` for its exceptions, and if its process ends."""
        worker = self._free.pop() if self._free else await asyncio.to_thread(_Worker(self._name).started)
        kept = False
        conversation.transcript.extra[PLAYED_BEFORE] = worker.played
        try:
            kept = await worker.play(conversation)
        finally:
            if kept:
                self._free.append(worker)
            else:
                worker.end()

    async def aclose(self) -> None:
        """End the processes."""
        while self._free:
            self._free.pop().end()


class _Worker:
    """One process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.played = 0

    def started(self) -> _Worker:
        """The process, once it has imported the agent. Raises `UsageError` if that fails or takes too long."""
        places = [*map(str, sys.path), str(Path(__file__).resolve().parents[2])]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "utf8", "-c", _PROGRAM, self._name, *places],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
                errors="replace", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise HarnessError(
                HarnessTrouble.EXECUTOR, f"the process of {self._name} cannot be started: {error}"
            ) from error
        self.end = weakref.finalize(self, _end, self._process)
        self._lines: queue.SimpleQueue[Parsed | None] = queue.SimpleQueue()
        self._arrived: collections.deque[Any] = collections.deque(maxlen=1)
        self._said: collections.deque[str] = collections.deque(maxlen=20)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        reading = (self._process.stdout, self._lines, self._arrived)
        threading.Thread(target=_read, args=reading, name="bfcl agent", daemon=True).start()
        self._draining = threading.Thread(target=_drain, args=(self._process.stderr, self._said), daemon=True)
        self._draining.start()
        try:
            first = self._lines.get(timeout=START_SECONDS)
        except queue.Empty:
            self.end()
            raise UsageError(f"agent:{self._name} was not imported within {START_SECONDS:g} s") from None
        if first is None or "ready" not in first:
            self.end()
            why = str(first["failed"]) if first else f"its process ended; its last output: {self._last}"
            raise UsageError(f"agent:{self._name} cannot be imported: {clean(why)}")
        return self

    @property
    def _last(self) -> str:
        last = next((line.strip() for line in reversed(self._said) if line.strip()), "nothing")
        return clean(hide(last, environment_secrets()))[:300]

    async def play(self, conversation: PlayedConversation) -> bool:
        """Whether the process can continue. Raises `AdapterError`."""
        self.played += 1
        loop = asyncio.get_running_loop()
        wake = asyncio.Event()
        self._arrived.append((loop, wake))
        entry = conversation.entry
        self._send({"play": {"id": entry.id, "category": entry.category}})
        calling: set[asyncio.Task[None]] = set()
        try:
            while True:
                while self._lines.empty():
                    await wake.wait()
                    wake.clear()
                message = self._lines.get()
                if message is None:
                    raise self._ended()
                if "over" in message:
                    if message["raised"]:
                        told, advice = map(str, message["raised"])
                        raise AdapterError(AdapterTrouble.FIXTURE, told, advice=advice)
                    return not message["worn"]
                if message.get("do") == "calls":
                    task = asyncio.ensure_future(self._carry_out(conversation, message))
                    calling.add(task)
                    task.add_done_callback(calling.discard)
                else:
                    self._send({"n": message["n"], **_answered(conversation, message)})
        finally:
            self._arrived.clear()
            for task in calling:
                task.cancel()

    def _ended(self) -> AdapterError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._draining.join(1)  # its last words may still be on their way
        status = self._process.returncode
        how = f"was ended by signal {-status}" if status is not None and status < 0 else f"ended with status {status}"
        return AdapterError(
            AdapterTrouble.FIXTURE, f"the agent's process {how} in an entry; its last output: {self._last}"
        )

    async def _carry_out(self, conversation: PlayedConversation, message: Parsed) -> None:
        try:
            results = await asyncio.gather(
                *(conversation.call(str(c["name"]), c["arguments"]) for c in message["calls"])
            )
            self._send({"n": message["n"], "value": list(results)})
        except AdapterError as error:
            self._send({"n": message["n"], "error": error.message})

    def _send(self, message: Parsed) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # the end of its lines says that it is gone
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()


def _answered(conversation: PlayedConversation, message: Parsed) -> Parsed:
    from pytest_bfcl.runs.journal import reply_from_dict

    match message.get("do"):
        case "messages" | "tools" as name:
            return {"value": getattr(conversation, name)}
        case "opening" | "begin_turn" as name:
            return {"value": getattr(conversation, name)()}
        case "end_turn":
            conversation.end_turn(reply_from_dict(message["reply"]))
            return {"value": None}
        case other:
            return {"error": f"nothing is known of {str(other)[:40]!r}"}


def _read(stream: IO[str], lines: queue.SimpleQueue[Parsed | None], arrived: collections.deque[Any]) -> None:
    """Every line of a process, and ``None`` at its end or for an invalid line. The process has the environment's
    credentials; they are removed from its output.
    """
    secrets = environment_secrets()
    with contextlib.suppress(OSError, ValueError, RecursionError):
        while (text := stream.readline(LONGEST_LINE)).endswith("\n"):
            message = json.loads(text)
            if not isinstance(message, dict):
                break
            lines.put(discreet(message, secrets))
            _wake(arrived)
    lines.put(None)
    _wake(arrived)


def _wake(arrived: collections.deque[Any]) -> None:
    for loop, event in list(arrived):
        with contextlib.suppress(RuntimeError):  # closed
            loop.call_soon_threadsafe(event.set)


def _drain(stream: IO[str], said: collections.deque[str]) -> None:
    """Read the agent's output, so that it never blocks; the last lines are stored."""
    with contextlib.suppress(OSError, ValueError):
        while text := stream.readline(2_000):
            said.append(text)


def _end(process: subprocess.Popen[str]) -> None:
    """The process and all that it started."""
    kill_group(process)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def kill_group(process: asyncio.subprocess.Process | subprocess.Popen[str]) -> None:
    """End the leader of a session, with all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
