"""An agent's process: it plays one entry after another and exchanges JSON lines with its parent about tools and turns.

Started by `agents.pool` as ``python -c …``. The agent's output goes to standard error; the channel is a copy of the
original standard input and output. When the channel ends, the process ends at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import threading
from concurrent.futures import Future, InvalidStateError
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl.extensions.agents.episode import NoFactory, factory_of
from pytest_bfcl.extensions.agents.factories import AgentModel
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.transcript import Message, Reply

if TYPE_CHECKING:
    from pytest_bfcl.conversation.played import PlayedConversation

MOST_MEMORY = 4 * 2**30
"""Bytes of data of one process (`RLIMIT_DATA`)."""
MOST_FILES = 1024
MOMENT_S = 2.0
MOST_ENTRIES = 200
"""Entries after which a new process replaces the old one, so that leaks end with it."""


def main(name: str) -> None:
    """Play entries with the agent ``module:factory`` until the parent closes the channel."""
    channel = _Channel()
    _limit()
    try:
        factory = factory_of(name)
    except BaseException as error:
        kind = "" if isinstance(error, NoFactory) else f"{type(error).__name__}: "
        channel.say(failed=f"{kind}{str(error).partition(chr(10))[0][:500]}")
        return
    channel.say(ready=True)
    entries = 0
    with asyncio.Runner() as runner:  # one loop for all entries: clients that libraries keep belong to it
        while True:
            raised = runner.run(_play(factory, name, channel, channel.plays()))
            entries += 1
            channel.say(over=True, raised=raised, worn=is_worn(entries))


async def _play(factory: Any, name: str, channel: _Channel, asked: Parsed) -> tuple[str, str] | None:
    """The agent's exception and the advice, each in a line; ``None`` for an agent that played to its end."""
    played = cast("PlayedConversation", RemoteConversation(channel, asked))
    try:
        await AgentModel(factory, f"agent:{name}").play(played)
    except BenchmarkError as error:
        return error.message, error.advice
    finally:
        await _end_tasks()
        gc.collect()
    return None


async def _end_tasks() -> None:
    """Cancel tasks that an entry left running; they get a short time to end."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=MOMENT_S)


class _Channel:
    """Lines to and from the parent. Answers are matched by number, from any thread."""

    def __init__(self) -> None:
        self._in = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._number = 0
        self._waiting: dict[int, Future[Any]] = {}
        self._plays: Future[Parsed] = Future()
        threading.Thread(target=self._read, name="bfcl channel", daemon=True).start()

    def say(self, **message: Any) -> None:
        """Send a line."""
        text = json.dumps(message)
        with self._lock:
            self._out.write(text + "\n")
            self._out.flush()

    def answer_to(self, **message: Any) -> Future[Any]:
        """The pending answer."""
        with self._lock:
            self._number += 1
            number = self._number
        future: Future[Any] = Future()
        self._waiting[number] = future
        self.say(n=number, **message)
        return future

    def plays(self) -> Parsed:
        """The next entry to play."""
        found = self._plays.result()
        self._plays = Future()
        return found

    def _read(self) -> None:
        with contextlib.suppress(Exception):
            for line in self._in:
                message = json.loads(line)
                if "play" in message:
                    self._plays.set_result(message["play"])
                elif (future := self._waiting.pop(message["n"], None)) is not None:
                    with contextlib.suppress(InvalidStateError):  # a library cancelled the call that waited for it
                        if "error" in message:
                            future.set_exception(RuntimeError(message["error"]))
                        else:
                            future.set_result(message["value"])
        os._exit(0)  # the parent is gone, or hung up: nobody wants what still runs here


class RemoteConversation:
    """The parts of a conversation that `AgentEntry` needs; the parent holds it."""

    def __init__(self, channel: _Channel, asked: Parsed) -> None:
        self.entry = SimpleNamespace(**asked)
        self._channel = channel
        self._pending: list[tuple[Parsed, asyncio.Future[str]]] = []

    @property
    def messages(self) -> list[Message]:
        """The conversation so far."""
        return list(self._answer_to("messages"))

    @property
    def tools(self) -> list[Parsed]:
        """The offered tools."""
        return list(self._answer_to("tools"))

    def opening(self) -> list[Message]:
        """The first turn's messages."""
        return list(self._answer_to("opening"))

    def begin_turn(self) -> list[Message] | None:
        """The messages of the next turn, if there is one."""
        found: list[Message] | None = self._answer_to("begin_turn")
        return found

    def end_turn(self, reply: Reply) -> None:
        """The agent's message."""
        from pytest_bfcl.runs.journal import reply_to_dict

        self._answer_to("end_turn", reply=reply_to_dict(reply))

    async def call(self, name: str, arguments: Fields) -> str:
        """The result of one call; calls of concurrent tasks are sent together, as one step."""
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pending.append(({"name": name, "arguments": dict(arguments)}, answered))
        if len(self._pending) == 1:
            await asyncio.sleep(0)
            pending, self._pending = self._pending, []
            asking = self._channel.answer_to(do="calls", calls=[call for call, _ in pending])
            try:
                results = await asyncio.wrap_future(asking)
            except Exception as error:
                for _, other in pending:
                    other.set_exception(error)
                    other.exception()  # each caller is told by its own
                raise
            for (_, other), result in zip(pending, results, strict=True):
                if not other.done():
                    other.set_result(result)
        return await answered

    def call_now(self, name: str, arguments: Fields) -> str:
        """The same for callers that cannot wait."""
        (result,) = self._answer_to("calls", calls=[{"name": name, "arguments": dict(arguments)}])
        return str(result)

    def _answer_to(self, do: str, **more: Any) -> Any:
        return self._channel.answer_to(do=do, **more).result()


def is_worn(entries: int) -> bool:
    """Whether this process should be replaced: after enough entries, or with half of its descriptors in use."""
    if entries >= MOST_ENTRIES:
        return True
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        return len(os.listdir("/proc/self/fd")) * 2 > resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return False


def _limit() -> None:
    with contextlib.suppress(ImportError):
        import resource

        wanted = (("RLIMIT_DATA", MOST_MEMORY), ("RLIMIT_NOFILE", MOST_FILES), ("RLIMIT_CORE", 0))
        for name, value in wanted:
            with contextlib.suppress(AttributeError, ValueError, OSError):
                kind = getattr(resource, name)
                soft, hard = resource.getrlimit(kind)
                known = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
                resource.setrlimit(kind, (min([value, *known]), hard))
