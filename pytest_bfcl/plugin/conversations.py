"""Conversations of one process: its models, its event loop, its look-ahead, its journal.

Items ask for a transcript in their setup; by then its conversation is usually over, because the look-ahead holds the
next ones in the background. What cannot be held ahead (a model of function or module scope, an item outside the
worker's own stripe) is held on demand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_bfcl.conversation import Job, converse
from pytest_bfcl.conversation.planning import expected_requests
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import BenchmarkError, HarnessError
from pytest_bfcl.models import stop_reason
from pytest_bfcl.plugin import selection

if TYPE_CHECKING:
    from pytest_bfcl.conversation import Budget, LookAhead, ModeSwitch, Services, Snapshots
    from pytest_bfcl.dataset import DataSet, Entry
    from pytest_bfcl.models import Model, ModelSpec
    from pytest_bfcl.plugin.collection import EntryItem
    from pytest_bfcl.plugin.session import BfclSession
    from pytest_bfcl.runs import Journal, ReplyKey, TranscriptStore
    from pytest_bfcl.transcript import Mode, Reply, Transcript

T = TypeVar("T")

DRAIN_S = 60.0
"""How long replies that are paid for may take to arrive when the budget has stopped the run."""

STEPS_OF_A_TURN = 4
"""Turns of the event loop between two items that need not wait: from bytes on a socket to the next request sent."""
TURN_EVERY_S = 0.002
"""Items that need not wait and follow faster than this share a turn of the event loop."""


class Loop:
    """The session's event loop, driven from synchronous fixtures."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._turned = 0.0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until the work is done; other tasks of the loop go on meanwhile."""
        return self.loop.run_until_complete(work)

    def wait(self, future: asyncio.Future[Any]) -> None:
        """Run until it is done, whatever it holds."""
        future.add_done_callback(self._arrived)
        try:
            self.loop.run_forever()
        finally:
            future.remove_done_callback(self._arrived)
            self._turned = self.loop.time()

    def _arrived(self, future: asyncio.Future[Any]) -> None:
        self.loop.stop()

    def turn(self) -> None:
        """Let the loop do what is ready, without waiting."""
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


class Conversations:
    """Holds conversations and hands out their transcripts."""

    def __init__(self, bfcl: BfclSession) -> None:
        self.bfcl = bfcl
        self.switches: dict[tuple[str, int], ModeSwitch] = {}
        self.created: dict[str, Model] = {}
        self.factories: dict[str, Any] | None = None
        self.model_loop: asyncio.AbstractEventLoop | None = None
        self.slow_said = False
        self.unkept: str | None = None
        self.draining = False
        self._entries: dict[EntryItem, Entry] = {}
        self._transcripts: dict[EntryItem, Transcript] = {}
        self._ahead: LookAhead | None = None
        self._planned: set[int] = set()
        self._journal: Journal | None = None
        self._store: TranscriptStore | None = None
        self._snapshots: dict[tuple[str, int], Snapshots] = {}
        self._search: dict[int, Any] = {}
        self._services: dict[int, Services] = {}
        self._budgets: dict[str, Budget] = {}

    # -- models --------------------------------------------------------------------------------------------------

    def create(self, spec: ModelSpec, mode: Any = None) -> Model:
        """The adapter of a spec: one of a registered provider, or of our own."""
        from pytest_bfcl.models import create_model
        from pytest_bfcl.models.callable import as_model

        if self.factories is None:
            self.factories = {}
            self.bfcl.config.hook.pytest_bfcl_register_models(register=self.factories.__setitem__)
        mode = mode or self.bfcl.continuation.decided.get(spec.base)
        factory = self.factories.get(spec.provider)
        if factory is None:
            return create_model(spec, self.bfcl.settings, dataset=self.bfcl.dataset, mode=mode)
        chosen = mode or self.bfcl.mode_of(spec)
        return as_model(factory(spec, self.bfcl.settings, chosen), spec.with_mode(chosen).text, mode=chosen)

    def model_for(self, spec: ModelSpec) -> Model:
        """The run's adapter for a spec, created once."""
        if spec.text not in self.created:
            self.created[spec.text] = self.create(spec)
        return self.created[spec.text]

    def create_models(self, items: list[EntryItem]) -> None:
        """Create the adapters these items will ask for; raises `UsageError` before anything has run."""
        for spec in {item.spec for item in items if is_own(model_definition(item))}:
            self.model_for(spec)

    def switch_for(self, item: EntryItem, model: Any, *, own: bool, shared: bool) -> ModeSwitch:
        """The model an item is asked with, behind the switch that mode ``auto`` needs; a user's object is wrapped."""
        from pytest_bfcl.conversation import ModeSwitch
        from pytest_bfcl.models.callable import as_model

        key = (item.spec.text, id(model))
        if key in self.switches and shared:
            return self.switches[key]
        adapter = model if own else as_model(model, item.spec.base, mode=self.bfcl.mode_of(item.spec))
        free = item.spec.mode is None and self.bfcl.settings.mode == "auto"
        undecided = own and free and item.spec.base not in self.bfcl.continuation.decided
        prompting = (lambda: self.create(item.spec, "prompt")) if undecided else None
        switch = ModeSwitch(adapter, prompting, on_switch=lambda error: self._say_switch(item.spec, error))
        if shared:
            self.switches[key] = switch
        return switch

    def _say_switch(self, spec: ModelSpec, error: Exception) -> None:
        note = f"{spec.base} refuses tools ({error}): the whole run is asked in prompting mode"
        self.bfcl.outcomes.notes.append(note)

    def identity(self, item: EntryItem) -> tuple[str, Mode]:
        """The model's canonical spec and mode, as results name it."""
        for (text, _), switch in self.switches.items():
            if text == item.spec.text:
                return switch.model.spec, switch.model.mode
        return self.bfcl.canonical(item.spec), self.bfcl.mode_of(item.spec)

    def stop_reason(self) -> str | None:
        """Why no further conversation should start: budget spent, endpoint down, key refused."""
        reasons = [stop_reason(switch.model) for switch in self.switches.values()]
        reasons += [budget.stop_reason() for budget in self._budgets.values()]
        return next((reason for reason in reasons if reason), self.unkept or self.bfcl.outcomes.stopped)

    def _budget_of(self, spec: ModelSpec) -> Budget:
        """This process's share of the budget; the controller adds up what all of them spent."""
        if spec.text not in self._budgets:
            from pytest_bfcl.conversation import Budget
            from pytest_bfcl.settings import Price

            limit, share = self.bfcl.settings.budget_usd, self.bfcl.worker["slots"] if self.bfcl.worker else 1
            price = self.bfcl.price_of(spec) or Price()
            self._budgets[spec.text] = Budget(limit / share if limit is not None else None, price)
        return self._budgets[spec.text]

    # -- entries -------------------------------------------------------------------------------------------------

    def entry_of(self, item: EntryItem) -> Entry:
        """The item's entry, parsed once while it is needed; raises `HarnessError` for a broken line."""
        if item not in self._entries:
            try:
                self._entries[item] = item.file.dataset.load(item.ref)
            except BenchmarkError:
                raise
            except Exception as error:
                text = f"{item.ref.id} cannot be loaded: {type(error).__name__}: {error}"
                raise HarnessError("data", text) from error
        return self._entries[item]

    def forget(self, item: EntryItem) -> None:
        """The item is over."""
        self._entries.pop(item, None)
        self._transcripts.pop(item, None)
        if self._ahead is not None:
            self._ahead.discard(item.nodeid)

    # -- transcripts ---------------------------------------------------------------------------------------------

    def transcript(self, item: EntryItem, model: Any, loop: Loop) -> Transcript:
        """The item's conversation: held ahead, or now. Raises `AdapterError`, `HarnessError`, `RunStopped`."""
        if item not in self._transcripts:  # asked for by a fixture of the project before
            self._transcripts[item] = self._transcript(item, model, loop)
        return self._transcripts[item]

    def _transcript(self, item: EntryItem, model: Any, loop: Loop) -> Transcript:
        definition = model_definition(item)
        own = is_own(definition)
        shared = own or definition.scope == "session"
        switch = self.switch_for(item, model, own=own, shared=shared)
        if not shared or (self.model_loop not in (None, loop.loop) and not own):
            self._say_slow(definition.scope)
            driver = Loop(self.model_loop) if self.model_loop is not None and not own else loop
            return driver.run(self._hold(item, switch))
        ahead = self._look_ahead(definition, loop, item, model, own)
        held = ahead.ask(item.nodeid, self._job(item, switch))
        if held.done():
            loop.turn()
        else:
            loop.wait(held)
        transcript = ahead.take(item.nodeid)
        assert transcript is not None
        return transcript

    def _look_ahead(self, definition: Any, loop: Loop, item: EntryItem, model: Any, own: bool) -> LookAhead:
        """The look-ahead, with every upcoming item of the same model fixture planned."""
        from pytest_bfcl.conversation import LookAhead

        if self._ahead is None:
            self._ahead = LookAhead(
                lambda job: self._hold(*job.payload),
                concurrency=self.bfcl.settings.concurrency,
                stop_reason=self.stop_reason,
            )
        if id(definition) not in self._planned:
            self._planned.add(id(definition))
            jobs = []
            for other in self._upcoming(item):
                if model_definition(other) is definition and not other.get_closest_marker("skip"):
                    used = self.model_for(other.spec) if own else model
                    jobs.append(self._job(other, self.switch_for(other, used, own=own, shared=True)))
            loop.run(self._plan(jobs))
        return self._ahead

    async def _plan(self, jobs: list[Job]) -> None:
        assert self._ahead is not None
        self._ahead.plan(jobs)

    def _upcoming(self, item: EntryItem) -> list[EntryItem]:
        """Items this process is expected to run, in order: all of them, or the worker's own stripe."""
        items = self.bfcl.items
        if self.bfcl.worker:
            every = item.session.items
            dealt = selection.stripes([each.nodeid for each in every], self.bfcl.worker["slots"])
            positions = [position for unit in dealt[self.bfcl.worker["slot"]] for position in unit]
            mine = set(items)
            return [every[position] for position in positions if every[position] in mine]
        return items

    def _job(self, item: EntryItem, switch: ModeSwitch) -> Job:
        depends: tuple[Hashable, ...] = ()
        if CATEGORIES[item.ref.category].backend:
            ids = set(item.file.dataset.depends_on(item.ref))
            label = item.name.partition("[")[2]
            depends = tuple(
                other.nodeid for other in self.bfcl.items
                if other.ref.id in ids and other.name.partition("[")[2] == label
            )  # fmt: skip
        row = CATEGORIES[item.ref.category]
        turns = item.file.dataset.turns(item.ref) if row.checker == "state" else None
        return Job(item.nodeid, (item, switch), depends, expected_requests(row.name, turns))

    async def _hold(self, item: EntryItem, switch: ModeSwitch) -> Transcript:
        """Hold the conversation of one item and keep its messages."""
        try:
            return await self._converse(item, switch)
        except HarnessError as error:
            if error.kind == "storage":  # replies cannot be kept: paying for more would be a waste
                self.unkept = error.message
            raise

    async def _converse(self, item: EntryItem, switch: ModeSwitch) -> Transcript:
        entry = self.entry_of(item)
        dataset = item.file.dataset
        searches = entry.row.group == "web_search"

        async def with_model(model: Model) -> Transcript:
            return await converse(
                entry,
                model,
                settings=self.bfcl.settings,
                texts=dataset.texts,
                journal=_Paid(self, self.journal) if self.journal is not None else None,
                repeat=item.repeat,
                snapshots=self._snapshots_of(model.spec, item.repeat),
                search=self._search_for(dataset) if searches and not hasattr(model, "transcript_for") else None,
                services=self._services_for(dataset),
                on_reply=self._budget_of(item.spec).charge,
            )

        transcript = await switch.converse(entry, with_model)
        if self._store is not None:
            self._store.save(transcript)
        return transcript

    @property
    def journal(self) -> Journal | None:
        """This process's journal in the run directory."""
        if self._journal is None and not self.bfcl.plan.dry_run:
            from pytest_bfcl.runs import Journal, TranscriptStore

            path = self.bfcl.run_path
            self._journal = Journal(path / "journal", self.bfcl.process)
            again = "the reply on it is asked for again"
            self.bfcl.outcomes.notes += [f"damaged line: {line}; {again}" for line in self._journal.damaged]
            self._store = TranscriptStore(path / "transcripts", self.bfcl.process)
        return self._journal

    def _snapshots_of(self, model: str, repeat: int) -> Snapshots:
        key = (model, repeat)
        if key not in self._snapshots:
            from pytest_bfcl.runs import RunDirectory

            # Not opened for writing: workers, also those on other machines, only add files of their own.
            self._snapshots[key] = RunDirectory(self.bfcl.run_path, self.bfcl.fingerprint()).snapshots(model, repeat)
        return self._snapshots[key]

    # -- web search ----------------------------------------------------------------------------------------------

    def _search_for(self, dataset: DataSet) -> Any:
        """The provider behind the web tools; what it finds is kept in the run directory."""
        from pytest_bfcl.providers import open_search

        if id(dataset) not in self._search:
            self._search[id(dataset)] = open_search(
                self.bfcl.settings.search,
                official=dataset.official,
                site=dataset.site,
                archive=self.bfcl.run_path / "web",
                process=self.bfcl.process,
            )
        return self._search[id(dataset)]

    def _services_for(self, dataset: DataSet) -> Services:
        """What calls of retired categories reach; nothing starts before one is made."""
        from pytest_bfcl.conversation import Services

        if id(dataset) not in self._services:
            self._services[id(dataset)] = Services.of(
                self.bfcl.settings,
                official=dataset.official,
                archive=self.bfcl.run_path / "rest",
                process=self.bfcl.process,
            )
        return self._services[id(dataset)]

    # -- end -----------------------------------------------------------------------------------------------------

    async def aclose(self, *, models: bool = True) -> None:
        """Cancel what is in flight; close our own models and files."""
        if self._ahead is not None:
            self.draining = any(budget.stop_reason() for budget in self._budgets.values())
            await self._ahead.aclose(min(self.bfcl.settings.timeout_s, DRAIN_S) if self.draining else 0.0)
            self._ahead = None
            self._planned.clear()
        if models:
            adapters = {id(s.model): s.model for s in self.switches.values() if s.switched} | {
                id(model): model for model in self.created.values()
            }
            for model in adapters.values():
                await model.aclose()
            self.created.clear()
            self.switches.clear()
            for file in (self._journal, self._store, *self._search.values(), *self._services.values()):
                if file is not None:
                    file.close()
            self._search.clear()
            self._services.clear()
            self._journal = self._store = None

    def _say_slow(self, scope: str) -> None:
        if self.slow_said:
            return
        self.slow_said = True
        text = (
            f"the model fixture has {scope} scope: entries are asked one after the other, which is slow; "
            'give it scope="session" and they are asked together'
        )
        self.bfcl.outcomes.notes.append(text)
        self.bfcl.config.issue_config_time_warning(pytest.PytestWarning(text), stacklevel=2)


class _Paid:
    """The journal as a conversation sees it: once the budget is spent, replies on their way are kept, no more asked."""

    def __init__(self, conversations: Conversations, journal: Journal) -> None:
        self.conversations = conversations
        self.journal = journal

    def find(self, key: ReplyKey) -> Reply | None:
        """The recorded reply, if there is one."""
        reply = self.journal.find(key)
        if reply is None and self.conversations.draining:
            raise HarnessError("stopped", "the run is stopping")
        return reply

    def record(self, key: ReplyKey, reply: Reply) -> None:
        """Keep a reply."""
        self.journal.record(key, reply)


def model_definition(item: EntryItem) -> Any:
    """The fixture definition of ``model`` that the item uses."""
    return item._fixtureinfo.name2fixturedefs["model"][-1]


def is_own(definition: Any) -> bool:
    """Whether that is this plugin's own fixture."""
    return str(getattr(definition.func, "__module__", "")).startswith("pytest_bfcl.plugin")
