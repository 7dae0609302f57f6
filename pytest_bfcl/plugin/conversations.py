"""Items and their conversations: the effect of the model fixture's scope, and which items a worker holds ahead.

An item needs its transcript in setup. Usually the conversation has ended by then, because the runner holds the next
ones in the background. Other conversations are held on demand: a model of function or module scope, an item outside the
worker's stripe.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.nodes import OWN_MODEL, USERS_MODEL, EntryItem
from pytest_bfcl.selection import selection
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.models import Model
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.runner import Runner
    from pytest_bfcl.session.trial import Trial
    from pytest_bfcl.transcript import Transcript


T = TypeVar("T")

STEPS_OF_A_TURN = 4
"""Steps of the event loop between two items that need not wait: from bytes on a socket to the next request."""
TURN_EVERY_S = 0.002
"""Items that need not wait and follow within this time share a step of the event loop."""


class Loop:
    """An event loop, driven from synchronous code."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._awaited: asyncio.Future[Any] | None = None
        self._turned = 0.0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until the work is done; other tasks of the loop continue meanwhile."""
        return self.loop.run_until_complete(work)

    def wait(self, future: asyncio.Future[Any]) -> None:
        """Run until it is done, in any case."""
        self._awaited = future
        future.add_done_callback(self._arrived)
        try:
            self.loop.run_forever()
        finally:
            self._awaited = None
            future.remove_done_callback(self._arrived)
            self._turned = self.loop.time()

    def _arrived(self, future: asyncio.Future[Any]) -> None:
        if future is self._awaited:  # Ctrl-C in between: or the loop would be stopped when it runs next
            self.loop.stop()

    def turn(self) -> None:
        """Run what is ready, without waiting."""
        if self.loop.time() - self._turned < TURN_EVERY_S:
            return
        self._step = self.loop.call_soon(self._turn, STEPS_OF_A_TURN)
        try:
            self.loop.run_forever()
        finally:
            self._step.cancel()  # Ctrl-C: or the loop would be stopped when it runs next
            self._turned = self.loop.time()

    def _turn(self, left: int) -> None:
        if left:
            self._step = self.loop.call_soon(self._turn, left - 1)
        else:
            self.loop.stop()


OLDEST_ASYNCIO = (1, 1)
"""Older pytest-asyncio knows only the async fixtures of their own items."""

Close = Callable[[], Coroutine[Any, Any, None]]


def loop_fixture(config: pytest.Config, close: Close) -> Any:
    """The fixture ``bfcl_loop``; ``close`` is awaited in the loop before it ends. If pytest-asyncio is active, its
    session loop is also ours, so users' async models share it.
    """
    return _shared_loop(close) if has_asyncio(config) else _own_loop(close)


def _own_loop(close: Close) -> Any:
    @pytest.fixture(scope="session")
    def bfcl_loop() -> Iterator[Loop]:
        """The session's event loop."""
        with asyncio.Runner() as runner:
            loop = Loop(runner.get_loop())
            try:
                yield loop
            finally:
                loop.run(close())

    return bfcl_loop


def _shared_loop(close: Close) -> Any:
    import pytest_asyncio

    @pytest_asyncio.fixture(scope="session", loop_scope="session")
    async def bfcl_loop() -> AsyncIterator[Loop]:
        """The session's event loop."""
        yield Loop(asyncio.get_running_loop())
        await close()

    return bfcl_loop


def has_asyncio(config: pytest.Config) -> bool:
    """Whether pytest-asyncio is active, by its entry point or ``-p``, and new enough to share its loop with us."""
    active = any(map(config.pluginmanager.hasplugin, ("asyncio", "pytest_asyncio", "pytest_asyncio.plugin")))
    return active and _asyncio_version() >= OLDEST_ASYNCIO


@cache
def _asyncio_version() -> tuple[int, ...]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return tuple(int(part) for part in version("pytest-asyncio").split(".")[:2])
    except (PackageNotFoundError, ValueError):  # a checkout, a development version
        return OLDEST_ASYNCIO


LOOK_EVERY_S = 1.0
"""How often the endpoint's state is read while an item waits."""
LONGEST_SAID = 300


@dataclass(frozen=True, slots=True)
class Source:
    """The fixture that gives an item its model. ``own``: it returns the adapter made from ``--model``."""

    definition: pytest.FixtureDef[Any]
    own: bool
    shared: bool
    """Whether the model stays the same for the whole session, so that entries can run concurrently."""


class Conversations:
    """Gives items their transcripts.

    ``items`` are those of this process, in order; ``current`` is in setup; ``loop`` is the session's, once an item
    needed it.
    """

    def __init__(self, session: Session, runner: Runner) -> None:
        self._session = session
        self._notices = session.notices
        self._runner = runner
        self.items: Sequence[EntryItem] = ()
        self.current: EntryItem | None = None
        self.loop: Loop | None = None
        self.model_failed = False
        self._interrupted = False
        self.model_loop: asyncio.AbstractEventLoop | None = None
        self._lent_trials: dict[EntryItem, Trial] = {}
        self._transcripts: dict[EntryItem, Transcript] = {}
        self._planned: set[int] = set()
        self._sources: dict[pytest.FixtureDef[Any], Source] = {}

    def skip_reason(self, category: str) -> str | None:
        """Why no model of the run can run a category of the data set; else ``None``."""
        return self._runner.skip_reason(category, self._session.data.dataset)

    # -- models --------------------------------------------------------------------------------------------------

    def model(self) -> Model:
        """The adapter that ``--model`` names for the current item."""
        contender = self.current.contender if self.current is not None else self._runner.contenders[0]
        return contender.model

    def create_models(self) -> None:
        """Make the adapters that the items will need. Raises `UsageError` before anything has run."""
        for contender in {
            item.contender for item in self.items if pytest_internals.is_ours(item.file.model_definition)
        }:
            contender.check_key()

    # -- items ---------------------------------------------------------------------------------------------------

    def trial_of(self, item: EntryItem) -> Trial:
        """The item as a trial, with the user's model once it is known."""
        return self._lent_trials.get(item, item.trial)

    def entry_of(self, item: EntryItem) -> Entry:
        """The item's entry, parsed once while it is needed. Raises `HarnessError` for a broken line."""
        return self._runner.entry(self.trial_of(item))

    def transcript(self, item: EntryItem, model: object, loop: Loop) -> Transcript:
        """The item's conversation, held ahead or now. Raises `AdapterError`, `HarnessError`, `RunStopped`."""
        self.loop = loop
        if item not in self._transcripts:  # asked for by a fixture of the project before
            source = self._source(item, model)
            try:
                self._transcripts[item] = self._transcript(item, model, loop, source)
            except AdapterError as error:
                if error.kind == AdapterTrouble.FIXTURE and not source.own and not error.advice:
                    error.advice = f"fix {self._place(source)}; {self._way_out(item)}"
                raise
        return self._transcripts[item]

    def release(self, item: EntryItem) -> None:
        """Release an item that has ended."""
        self._transcripts.pop(item, None)
        self._runner.discard(self._lent_trials.pop(item, item.trial))

    def _source(self, item: EntryItem, model: object) -> Source:
        definition = item.file.model_definition
        source = self._sources.get(definition)
        if source is None:
            own = pytest_internals.is_ours(definition)
            source = self._sources[definition] = Source(definition, own, own or definition.scope == "session")
        if not source.own and item.contender.has_made(model):
            return Source(definition, own=True, shared=True)
        return source

    def _transcript(self, item: EntryItem, model: object, loop: Loop, source: Source) -> Transcript:
        if not source.own and (contender := self._lent(item, model, source)) is not item.contender:
            self._lent_trials[item] = item.trial_of(contender)
        trial = self._lent_trials.get(item, item.trial)
        elsewhere = self.model_loop not in (None, loop.loop) and not source.own
        if not source.shared or elsewhere:
            self._say_slow(source)
            driver = Loop(self.model_loop) if self.model_loop is not None and not source.own else loop
            return driver.run(self._runner.hold(trial))
        if id(source.definition) not in self._planned:
            self._planned.add(id(source.definition))
            loop.run(self._runner.plan(self._upcoming_trials(item, model, source)))
        held = self._runner.ask(trial)
        if held.done():
            loop.turn()
        else:
            with self._watched(loop):
                loop.wait(held)
        transcript = self._runner.take(trial)
        assert transcript is not None
        return transcript

    @contextlib.contextmanager
    def _watched(self, loop: Loop) -> Iterator[None]:
        """Report an endpoint's problem while requests are retried, which can take minutes."""

        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal timer
            if trouble := self._runner.trouble():
                self._notices.say(trouble.partition("\n")[0][:LONGEST_SAID])
            timer = loop.loop.call_later(LOOK_EVERY_S, look)

        timer = loop.loop.call_later(LOOK_EVERY_S, look)
        try:
            yield
        finally:
            timer.cancel()

    def _upcoming_trials(self, item: EntryItem, model: object, source: Source) -> list[Trial]:
        """The trials of all later items that use the same model fixture and are not skipped."""
        return [
            other.trial if source.own else other.trial_of(self._lent(other, model, source))
            for other in self._upcoming(item)
            if other.file.model_definition is source.definition and not other.get_closest_marker("skip")
        ]

    def _upcoming(self, item: EntryItem) -> Sequence[EntryItem]:
        """The items that this process should run, in order: all of them, or the worker's stripe."""
        worker = self._session.worker
        if not worker:
            return self.items
        every = item.session.items
        dealt = selection.stripes([each.nodeid for each in every], worker["slots"])
        mine = set(self.items)
        stripe = (every[position] for unit in dealt[worker["slot"]] for position in unit)
        return [each for each in stripe if isinstance(each, EntryItem) and each in mine]

    async def end(self) -> None:
        """End the current conversations, because the user's model is about to be closed."""
        self._planned.clear()
        await self._runner.end_conversations(self._session.settings.grace_s if self._interrupted else None)

    async def aclose(self) -> None:
        """End everything; close our own models and files."""
        self._planned.clear()
        await self._runner.aclose(interrupted=self._interrupted)

    def pytest_keyboard_interrupt(self) -> None:
        """Ctrl-C: wait a short time for pending replies."""
        self._interrupted = True

    # -- models of the user's ------------------------------------------------------------------------------------

    def _lent(self, item: EntryItem, model: object, source: Source) -> Contender:
        """The contender with the user's model. Raises `UsageError` if that cannot be used."""
        try:
            lent = item.contender.lent(model, kept=source.shared)
        except UsageError as error:
            text = f"the fixture {item.file.model_fixture} of {self._place(source)} cannot be used: {error}"
            raise UsageError(f"{text}\n{self._way_out(item)}") from None
        spec = item.contender.spec
        if spec is not None and spec.provider != "fixture" and not _wraps(source):
            fixture = f"the fixture {item.file.model_fixture} of {self._place(source)}"
            self._notices.say(f"{fixture} answers, and --model {spec.text} is not asked; {self._way_out(item)}")
            self._notices.note(f"{fixture} answers; --model {spec.text} only names it in the results")
        return lent

    def _place(self, source: Source) -> str:
        return pytest_internals.place_of(source.definition, self._session.config)

    def _way_out(self, item: EntryItem) -> str:
        """What to do if the fixture was not meant as the model."""
        label = item.contender.label
        return (
            f"if it is not the model under test, keep {label}: add to that conftest.py\n"
            f'    @pytest.fixture(scope="session")\n    def {OWN_MODEL}({OWN_MODEL}): return {OWN_MODEL}'
        )

    def _say_slow(self, source: Source) -> None:
        self._notices.warn(
            f"the model fixture has {source.definition.scope} scope: entries are asked one after the other, which is "
            'slow; give it scope="session" and they are asked together'
        )


def _wraps(source: Source) -> bool:
    """Whether a user's fixture uses ours, by its arguments."""
    return bool({OWN_MODEL, USERS_MODEL} & set(source.definition.argnames))
