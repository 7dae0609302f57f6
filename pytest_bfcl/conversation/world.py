"""The world of one conversation's calls: its own simulators, its memory, its web.

State belongs to one conversation and ends with it; only write stages save a snapshot (agentic spec §2.1).
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pytest_bfcl.dataset.likeness import same
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.failures import BenchmarkError, HarnessError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import ERROR_PREFIX, CallExecutor, create_simulator
from pytest_bfcl.simulators.toolkit import error_text
from pytest_bfcl.syntax.python_syntax import read_call
from pytest_bfcl.tools.json_schema import argument_problem, is_native
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Snapshots
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.settings import Settings
    from pytest_bfcl.simulators import Simulator
    from pytest_bfcl.transcript import Transcript


A = TypeVar("A")
T = TypeVar("T")
WEB = "WebSearchAPI"
MEMORY = "MemoryAPI_"

TOO_MUCH = f"{ERROR_PREFIX}too much was asked for in this conversation; nothing was run"
MOST_CALLS = 10_000
MOST_SHOWN = 50_000_000
"""Most calls and characters of results in one conversation: far above any correct one, well within memory."""


class World:
    """The simulators of one conversation, made by `open_world`."""

    def __init__(
        self,
        entry: Entry,
        simulators: Mapping[str, Simulator],
        executor: CallExecutor | RecordedTools,
        snapshots: Snapshots | None = None,
    ) -> None:
        self.entry = entry
        self.simulators = simulators
        self._executor = executor
        self._snapshots = snapshots
        self._calls = 0
        self._shown = 0
        # A page or a search may take seconds: such calls must not hold up the other conversations.
        self._blocking = any(name == WEB or getattr(s, "blocking", False) for name, s in simulators.items())

    async def execute(self, call_text: str) -> str:
        """The result text of one call as the model sees it (multi_turn spec §3.2); never raises."""
        return await in_thread(self.execute_now, call_text) if self._blocking else self.execute_now(call_text)

    def execute_now(self, call_text: str) -> str:
        """The same for callers that cannot wait; a blocking simulator blocks the whole loop."""
        self._calls += 1
        if self._calls > MOST_CALLS or self._shown > MOST_SHOWN:
            return TOO_MUCH
        result = self._executor.execute(call_text)
        self._shown += len(result)
        return result

    async def new_functions(self) -> list[Parsed] | None:
        """The offered documents, if calls have changed them; ``None``: unchanged."""
        return None

    def keep_in(self, transcript: Transcript) -> None:
        """Where to store the reported state of an external world; simulators are replayed instead."""

    async def finish(self) -> None:
        """After the last turn of an external world: read the state that expectations need."""

    @property
    def memory(self) -> Simulator | None:
        """The memory backend of a memory entry."""
        return next((s for name, s in self.simulators.items() if name.startswith(MEMORY)), None)

    def keep_memory(self) -> None:
        """Save the memory of a write stage; questions save nothing (agentic spec §2.1)."""
        if self._snapshots is None or self.entry.row.checker != "none":
            return
        memory = self.memory
        assert memory is not None
        content = memory.snapshot()  # type: ignore[attr-defined]
        self._snapshots.save(self.entry.row.backend, str(self.entry.scenario), self.entry.id, content)


async def in_thread(function: Callable[[A], T], argument: A) -> T:
    """``function(argument)`` in its own thread, with the caller's context.

    A daemon thread, not the loop's executor: closing a loop waits for its executor, and a page may take 20 s, a user's
    agent for ever. What ends a thread (`SystemExit`) is raised as `RuntimeError`.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():  # cancelled meanwhile
            return
        if error is not None:
            done.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
        else:
            done.set_result(cast("T", result))

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function, argument)
        except BaseException as caught:
            error = caught
        # The loop may be closed by now; then nobody waits for the result.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="bfcl call", daemon=True).start()
    return await done


def open_world(
    entry: Entry,
    *,
    settings: Settings,
    texts: Texts,
    snapshots: Snapshots | None = None,
    search: object = None,
    names: Mapping[str, str] | None = None,
) -> World:
    """Fresh simulators for every class the entry involves, loaded from its configuration.

    ``names`` maps sent names to documented ones. Raises `HarnessError` if a class cannot be loaded.
    """
    if entry.category == "recorded":
        return World(entry, {}, RecordedTools(entry))
    if entry.mcp is not None:
        raise HarnessError(
            HarnessTrouble.MCP, f"{entry.id} needs its own MCP server, which is not available here",
            advice="run it with pytest --model … --bfcl-mcp NAME=…",
        )  # fmt: skip
    simulators: dict[str, Simulator] = {}
    for name in entry.involved_classes:
        try:
            simulators[name] = _simulator(name, entry, settings, texts, snapshots, search)
        except BenchmarkError:
            raise
        except Exception as error:
            raise HarnessError(HarnessTrouble.SIMULATOR, f"{entry.id}: {name} could not be loaded: {error}") from error
    return World(entry, simulators, CallExecutor(simulators, names, entry.renames), snapshots)


def _simulator(
    name: str, entry: Entry, settings: Settings, texts: Texts, snapshots: Snapshots | None, search: object
) -> Simulator:
    config = entry.initial_config.get(name)
    context: Parsed = {}
    if name == WEB:
        if search is None:
            raise HarnessError(
                HarnessTrouble.SEARCH,
                f"{entry.id}: there is no search provider",
                advice="select one with --bfcl-search",
            )
        config = {"show_snippet": entry.category != "web_search_no_snippet", **(config or {})}
        context["provider"] = search
    elif name.startswith(MEMORY):
        context["snapshot"] = _stored_memory(entry, snapshots)
    return create_simulator(
        name,
        config,
        long_context=entry.row.long_context,
        texts=texts.long_context,
        sentences=texts.sentences.get(name),
        kind=settings.simulators,
        **context,
    )


def _stored_memory(entry: Entry, snapshots: Snapshots | None) -> Any | None:
    """The memory an entry starts from; the first write stage of a chain starts empty even if one is stored.

    Raises `HarnessError` if the write stages saved nothing, because a lost memory is not the model's mistake.
    """
    if snapshots is None or (entry.row.checker == "none" and not entry.depends_on):
        return None
    before = entry.depends_on[-1] if entry.depends_on else None
    stored = snapshots.load(entry.row.backend, str(entry.scenario), before)
    if stored is None and before is not None:
        raise HarnessError(
            HarnessTrouble.WRITE_STAGE,
            f"{entry.id}: there is no memory snapshot of {before}",
            advice="let one process run a whole scenario (xdist: --dist load), or run it again in a new run directory",
        )
    return stored


UNRECORDED = "nothing is recorded for these arguments"


class RecordedTools:
    """The tools of a recorded conversation: a recorded call gets its result, any other an error. A repeated call gets
    its results in order, and then always the last one.
    """

    def __init__(self, entry: Entry) -> None:
        self._results = entry.results
        self._tools = {portable_name(str(doc["name"])): doc for doc in entry.all_functions}
        self._given: Counter[int] = Counter()

    def execute(self, call_text: str) -> str:
        """The result text of one call; never raises."""
        try:
            return self._result(call_text)
        except Exception as error:
            return error_text(error)

    def _result(self, call_text: str) -> str:
        name, arguments = read_call(call_text)
        if name not in self._tools:
            raise NameError(f"there is no tool {name[:100]!r}")
        tool = self._tools[name]
        if is_native(tool) and (problem := argument_problem(tool["parameters"], arguments)):
            raise ValueError(f"invalid arguments: {problem[1]}")
        fitting = [
            number
            for number, each in enumerate(self._results)
            if portable_name(each.call) == name and same(each.arguments, arguments)
        ]
        if not fitting:
            raise LookupError(UNRECORDED)
        number = fitting[min(self._given[fitting[0]], len(fitting) - 1)]
        self._given[fitting[0]] += 1
        return self._results[number].result
