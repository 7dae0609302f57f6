"""The driver of a run on many actors: starts them, gives them trials, receives results, replaces lost ones.

It does not import Ray: a `Pool` starts actors, a `Worker` is one of them. Each slot has a coroutine: start an actor,
then give it trials and take results until nothing is left. If an actor is lost, its trials go back with every arrived
reply, and the slot starts another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from pytest_bfcl.conversation.lookahead import RunStopped
from pytest_bfcl.extensions.cluster.messages import (
    CONDEMNED,
    Answered,
    Backlog,
    Ended,
    Event,
    Hello,
    Job,
    Joiner,
    Lined,
    Memory,
    Noted,
    Recorded,
    Spent,
    Switched,
    Troubled,
    Unit,
    WorkerConfig,
    units_of,
)
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.runs.lines import parse_object
from pytest_bfcl.session.earlier import errored_record
from pytest_bfcl.session.runner import DRAIN_S
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.extensions.cluster.store import RunStore
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.earlier import DoneKey
    from pytest_bfcl.session.trial import Trial

ENDING_S = 10.0
"""How long actors may take to end, besides the time for paid replies."""
RECENT_S = 30.0
"""If the endpoint answered others within this time, it is not down, and the error is the actor's."""
MOST_LOSSES = 5
"""Actors lost in a row, for each place, without a line in between, after which the run stops."""


PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0
"""Wait before a lost actor is replaced; longer while none makes progress."""


class WorkerLost(Exception):
    """An actor or its node is lost."""


class _Troubled(WorkerLost):
    """An actor is alive and must not send requests any more."""


class Worker(Protocol):
    """One actor. Every method raises `WorkerLost` if it is lost."""

    def begin(self, config: WorkerConfig) -> Awaitable[Hello]:
        """See `pytest_bfcl.extensions.cluster.worker_main.WorkerMain.begin`."""
        ...

    def work(self, jobs: Sequence[Job], memories: Sequence[Memory]) -> Awaitable[None]:
        """See `WorkerMain.work`."""
        ...

    def take(self) -> Awaitable[bytes]:
        """See `WorkerMain.take`."""
        ...

    def stop(self, reason: str, drain_s: float) -> Awaitable[None]:
        """See `WorkerMain.stop`."""
        ...

    def kill(self) -> None:
        """End the actor at once."""
        ...


class Pool(Protocol):
    """Starts actors. ``size`` is how many the run should have at a time."""

    size: int

    def start(self, slot: int) -> Awaitable[Worker]:
        """A running actor; waits for a place. Raises `WorkerLost` if it died on the way, else `UsageError`."""
        ...


class _Slot:
    """One slot: its actor, and its units."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.worker: Worker | None = None
        self.by_value = False
        self.units: dict[int, Unit] = {}
        self.answered_at = -RECENT_S
        self.trouble: str | None = None
        self.troubles = 0

    @property
    def held_units(self) -> list[Unit]:
        """Its units, each once."""
        return list({id(unit): unit for unit in self.units.values()}.values())


class Driver:
    """Runs planned trials on a pool; `lines` gives their result lines as they arrive.

    Args:
        pool: Starts actors.
        contenders: The models of the run; their budgets are charged here.
        store: Stores what actors report.
        config_of: The first message to the actor of a slot.
        share: Conversations that one actor holds at a time.
        grace_s: How long pending replies may take when `lines` is cancelled. rules: Of the headline verdict, for lines
            that are made here. note: Receives notes for the user. on_switch: Called when mode ``auto`` selects
            prompting for a contender.
    """

    def __init__(
        self,
        pool: Pool,
        contenders: Sequence[Contender],
        store: RunStore,
        config_of: Callable[[int], WorkerConfig],
        *,
        share: int,
        grace_s: float = 0.0,
        rules: str = "official",
        note: Callable[[str], None] = lambda text: None,
        on_switch: Callable[[Contender], None] = lambda contender: None,
    ) -> None:
        self._pool = pool
        self._contenders = {contender.label: contender for contender in contenders}
        self._store = store
        self._config_of = config_of
        self._room = 2 * share
        self._grace_s = grace_s
        self._rules = rules
        self._note = note
        self._on_switch = on_switch
        self._slots = [_Slot(number) for number in range(pool.size)]
        self._trials: dict[int, Trial] = {}
        self._numbers: dict[DoneKey, int] = {}
        self._backlog = Backlog((), pool.size)
        self._left: set[int] = set()
        self._lines: asyncio.Queue[ResultLine | BaseException | None] = asyncio.Queue()
        self._stopped: str | None = None
        self._losses = 0
        self._begun = False
        self._native: set[str] = set()
        self._sending: set[asyncio.Task[None]] = set()

    async def lines(self, trials: Iterable[Trial]) -> AsyncIterator[ResultLine]:
        """The lines of all these trials, each as soon as it arrives, in no order. Raises `RunStopped` if the run must
        stop; replies are journaled by then.
        """
        units = units_of(trials)
        self._trials = {number: trial for unit in units for number, trial in unit.trials.items()}
        self._numbers = {self._store.key(trial): number for number, trial in self._trials.items()}
        self._store.read(self._numbers)
        self._left = set(self._trials)
        self._backlog = Backlog(units, self._pool.size)
        tasks = [asyncio.create_task(self._fill(slot)) for slot in self._slots] if self._left else []
        try:
            while self._left or not self._lines.empty():
                found = await self._lines.get()
                if found is None:
                    break
                if isinstance(found, BaseException):
                    raise found
                yield found
            if self._stopped is not None and self._left:
                raise RunStopped(self._stopped)
        except asyncio.CancelledError:  # Ctrl-C: what is on its way is kept
            self._stopped = self._stopped or "interrupted"
            await self._end(self._stopped, self._grace_s)
            raise
        finally:
            await self._kill_all(tasks)

    async def _kill_all(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        for task in (*tasks, *self._sending):
            task.cancel()
        for slot in self._slots:
            if slot.worker is not None:
                slot.worker.kill()
        await asyncio.gather(*tasks, *self._sending, return_exceptions=True)
        self._store.close()

    # -- one slot ------------------------------------------------------------------------------------------------

    async def _fill(self, slot: _Slot) -> None:
        """Keep an actor in this slot until nothing is left to do."""
        try:
            while self._left and self._stopped is None:
                if (lost := await self._run_worker(slot)) is not None:
                    self._worker_lost(slot, str(lost))
                    if isinstance(lost, _Troubled) and not await self._is_alone(slot, str(lost)):
                        return
                    await asyncio.sleep(min(PAUSE_S * self._losses, LONGEST_PAUSE_S))
        except Exception as error:
            self._lines.put_nowait(error)

    async def _run_worker(self, slot: _Slot) -> WorkerLost | None:
        """Start and serve one actor until everything is done or it is lost."""
        try:
            slot.worker = await self._pool.start(slot.number)
            await self._serve(slot, slot.worker)
        except WorkerLost as lost:
            return lost
        finally:
            if slot.worker is not None:
                slot.worker.kill()
            slot.worker = None
        return None

    async def _serve(self, slot: _Slot, worker: Worker) -> None:
        """Give an actor trials and take its reports until everything is done."""
        hello = await worker.begin(self._config_of(slot.number))
        if hello.problem is not None:
            text = f"{hello.host} cannot take part: {hello.problem}"
            raise WorkerLost(text) if self._begun else UsageError(text)
        self._begun = True
        slot.by_value = not hello.has_data
        joiner = Joiner()
        self._feed(slot)
        while self._left or self._stopped is not None:
            for event in joiner.events(await worker.take()):
                if isinstance(event, Ended):
                    return
                self._receive(slot, event)
            self._feed(slot)

    def _feed(self, slot: _Slot) -> None:
        """Give a slot as many units as it has room for."""
        if slot.worker is None or self._stopped is not None:
            return
        given: list[Unit] = []
        while not any(unit.suspicious for unit in slot.held_units):
            room = self._room - sum(not unit.chained for unit in slot.held_units)
            vacant = [other.number for other in self._slots if other.worker is None]
            unit = self._backlog.next(slot.number, room=room, busy=bool(slot.units), vacant=vacant)
            if unit is None:
                break
            slot.units.update(dict.fromkeys(unit.trials, unit))
            given.append(unit)
        if given:
            self._send(slot, slot.worker, [each for unit in given for each in unit.trials.items()])

    def _send(self, slot: _Slot, worker: Worker, trials: Sequence[tuple[int, Trial]]) -> None:
        jobs = [job for number, trial in trials if (job := self._job(slot, number, trial)) is not None]
        memories = self._store.memories(trial for _, trial in trials)
        task = asyncio.create_task(self._send_work(worker, jobs, memories))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_work(self, worker: Worker, jobs: Sequence[Job], memories: Sequence[Memory]) -> None:
        try:
            await worker.work(jobs, memories)
        except WorkerLost:  # whoever takes from it hears of it too
            pass
        except Exception as error:
            self._lines.put_nowait(error)

    def _job(self, slot: _Slot, number: int, trial: Trial) -> Job | None:
        """The message for an actor about a trial; one that cannot be loaded gets its line here."""
        entry = trial.given
        if entry is None and slot.by_value:
            try:
                entry = trial.load()
            except HarnessError as error:
                self._over(slot, number, errored_record(trial, error, rules=self._rules))
                return None
        label = trial.contender.label
        return Job(number, label, trial.repeat, trial.entry_id, entry, self._store.replies(trial))

    # -- what actors tell ----------------------------------------------------------------------------------------

    def _receive(self, slot: _Slot, event: Event) -> None:
        try:
            self._apply(slot, event)
        except HarnessError as error:  # replies cannot be kept: paying for more would be a waste
            self._halt(error.message)

    def _apply(self, slot: _Slot, event: Event) -> None:
        if isinstance(event, Answered | Memory | Recorded):
            self._store.keep(event)
            if isinstance(event, Answered):
                slot.answered_at = time.monotonic()
                self._progressed(slot, self._numbers[event.key])
        elif isinstance(event, Lined):
            self._line(slot, event)
        elif isinstance(event, Spent):
            budget = self._contenders[event.label].budget
            budget.spent_usd += event.usd
            if (reason := budget.stop_reason()) is not None:
                self._halt(reason, drain_s=DRAIN_S)
        elif isinstance(event, Noted):
            self._note(event.text)
        elif isinstance(event, Switched):
            self._switched(event.label)
        elif isinstance(event, Troubled) and self._stopped is None:
            raise _Troubled(event.reason)

    def _line(self, slot: _Slot, event: Lined) -> None:
        trial = self._trials[event.number]
        if event.outcome in ("passed", "failed") and event.mode == "fc":
            self._native.add(trial.contender.label)
        self._progressed(slot, event.number)
        self._over(slot, event.number, parse_object(event.line), event.outcome)

    def _progressed(self, slot: _Slot, number: int) -> None:
        """A reply or a line has arrived, so neither this trial nor the cluster ends every actor."""
        self._losses = 0
        unit = slot.units.get(number)
        if unit is not None and number not in unit.failed:  # a stage that fails again gets nobody further
            unit.losses = 0

    def _over(self, slot: _Slot, number: int, record: object, outcome: str = "error") -> None:
        """A trial has its line."""
        trial = self._trials[number]
        unit = slot.units.pop(number, None)
        if unit is None:  # told twice: it was given again, and both actors came to its end
            return
        unit.over(number, outcome)
        if outcome != "error" or not unit.chained:  # a write stage may run again with its questions
            self._store.settle(trial)
        self._left.discard(number)
        self._lines.put_nowait(record)  # type: ignore[arg-type]
        if not self._left:
            self._lines.put_nowait(None)

    def _switched(self, label: str) -> None:
        contender = self._contenders[label]
        if contender.mode == "prompt":
            return
        if label in self._native:
            self._halt(f"{label}: tools were refused after native calls had been answered; name a mode (@fc, @prompt)")
            return
        contender.settle("prompt")
        self._on_switch(contender)

    # -- losses and ends -----------------------------------------------------------------------------------------

    def _worker_lost(self, slot: _Slot, why: str) -> None:
        """An actor is lost: its units go back; after too many in a row the run stops."""
        self._losses += 1
        units, slot.units = slot.held_units, {}
        back = []
        for unit in units:
            unit.losses += 1
            unit.trials, unit.stages = unit.again(), {}
            self._left.update(unit.trials)
            if unit.losses >= CONDEMNED:
                self._condemn(slot, unit, why)
            elif unit.trials:
                back.append(unit)
        self._backlog.give_back(back, slot.number)
        if self._losses > MOST_LOSSES * len(self._slots) + CONDEMNED:
            self._halt(f"actors are lost again and again: {why}")
            return
        self._note(f"an actor was lost and is replaced: {why}")
        for other in self._slots:
            self._feed(other)

    def _condemn(self, slot: _Slot, unit: Unit, why: str) -> None:
        slot.units.update(dict.fromkeys(unit.trials, unit))
        for number, trial in list(unit.trials.items()):
            text = f"{trial.entry_id}: {unit.losses} actors were lost while they had it: {why}"
            self._over(
                slot, number, errored_record(trial, HarnessError(HarnessTrouble.WORKER_CRASH, text), rules=self._rules)
            )

    async def _is_alone(self, slot: _Slot, reason: str) -> bool:
        """Whether an error belongs to one actor, because others get answers, so that another actor may succeed.
        Otherwise the run stops, as in one process. A slot with a second such error stays without an actor.
        """
        since = time.monotonic()
        slot.trouble = reason
        slot.troubles += 1
        while self._left and self._stopped is None:
            if all(each.trouble for each in self._slots) or time.monotonic() > since + RECENT_S:
                self._halt(reason)
                break
            if slot.troubles == 1 and any(
                each.answered_at > since - RECENT_S for each in self._slots if each is not slot
            ):
                slot.trouble = None
                return True
            if slot.troubles > 1 and any(each.answered_at > since for each in self._slots if each is not slot):
                break
            await asyncio.sleep(PAUSE_S)
        return False

    def _halt(self, reason: str, *, drain_s: float = 0.0) -> None:
        """Start nothing new on any actor."""
        if self._stopped is None:
            self._stopped = reason
            task = asyncio.create_task(self._end(reason, drain_s))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _end(self, reason: str, drain_s: float) -> None:
        """End all actors, take their last reports, then let `lines` raise."""
        slots = [slot for slot in self._slots if slot.worker is not None]
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s + ENDING_S):
                await asyncio.gather(*(self._ended(slot, reason, drain_s) for slot in slots))
        self._lines.put_nowait(None)

    async def _ended(self, slot: _Slot, reason: str, drain_s: float) -> None:
        worker = slot.worker
        if worker is None:
            return
        with suppress(WorkerLost):
            await worker.stop(reason, drain_s)
        while slot.worker is worker:  # its coroutine goes on taking until it hears `Ended`
            await asyncio.sleep(0.02)
