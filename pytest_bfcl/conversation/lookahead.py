"""The look-ahead: conversations that run before their items report them.

One `LookAhead` per session keeps up to ``concurrency`` conversations running while items finish in order. The window
(running and finished conversations that wait for their items) is 16 times that. With long-tailed latencies a window of
the size of the concurrency reaches only a fifth of the ideal rate.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from pytest_bfcl.failures import AdapterError, BenchmarkError, HarnessError
from pytest_bfcl.transcript import Transcript

WINDOW_FACTOR = 16
CANCEL_LIMIT_S = 0.9


class Job(Protocol):
    """One planned conversation; in a run a trial."""

    @property
    def key(self) -> Hashable:
        """Its key."""

    def demands(self) -> tuple[Sequence[Hashable], float]:
        """Keys of jobs that must end before it, and its approximate number of requests: 1 for a single turn."""


AnyJob = TypeVar("AnyJob", bound=Job)


class RunStopped(Exception):
    """The conversation did not start because the run is stopping; ``reason`` says why (budget, endpoint, ...)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


StopReason = Callable[[], str | None]


class _Slot(Generic[AnyJob]):
    """A job and its position in the plan."""

    def __init__(self, job: AnyJob, position: int) -> None:
        self.job = job
        self.key = job.key
        self.needs, self.cost = job.demands()
        self.critical = self.cost
        self.position = position
        self.blocked_by: set[Hashable] = set()
        self.dependents: list[_Slot[AnyJob]] = []
        self.admitted = False  # counted into the window
        self.passed = False  # no longer counted: taken, or its item was passed over
        self.demanded = False  # somebody waits for it, or for one that depends on it
        self.started = False
        self.future: asyncio.Future[Transcript] | None = None

    def fail(self, error: Exception) -> None:
        """Put the error into the promise; if it is never awaited, asyncio must not print it."""
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)
            self.future.exception()


class LookAhead(Generic[AnyJob]):
    """Starts planned conversations early and returns each transcript on request.

    Order: awaited jobs come first. Then up to half of the places go to the jobs with the longest remaining path
    (dependent jobs form one path). The others go to the next in item order. So neither the report nor the end of the
    run waits. When few jobs are left, all places go to the longest. All methods belong to one event loop; `plan` may be
    called before it runs.
    """

    def __init__(
        self,
        hold: Callable[[AnyJob], Awaitable[Transcript]],
        *,
        concurrency: int,
        window: int | None = None,
        stop_reason: StopReason | None = None,
    ) -> None:
        self._hold = hold
        self._concurrency = max(1, concurrency)
        self._window = max(self._concurrency, window if window is not None else WINDOW_FACTOR * self._concurrency)
        self._stop_reason = stop_reason or (lambda: None)
        self._slots: dict[Hashable, _Slot[AnyJob]] = {}
        self._planned: list[_Slot[AnyJob]] = []
        self._awaited: dict[Hashable, _Slot[AnyJob]] = {}  # asked for before they were started
        self._ended: dict[Hashable, BenchmarkError | None] = {}
        self._admitted = 0  # position up to which jobs were admitted into the window
        self._outstanding = 0  # admitted jobs whose transcripts were neither taken nor passed over
        self._base = 0  # positions below were taken or passed over
        self._in_order: list[tuple[float, int, _Slot[AnyJob]]] = []
        self._longest: list[tuple[float, int, _Slot[AnyJob]]] = []
        self._serial = itertools.count()
        self._running: dict[asyncio.Task[None], bool] = {}  # task → whether it was started out of order
        self._early = 0  # running tasks that were started out of order
        self._begun = 0  # jobs that were started
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    # -- planning ------------------------------------------------------------------------------------------------

    def plan(self, jobs: Iterable[AnyJob]) -> None:
        """Add jobs in item order. Planned keys are ignored; dependencies outside the plan count as done."""
        added = []
        for job in jobs:
            if job.key in self._slots:
                continue
            slot = _Slot(job, len(self._planned))
            self._slots[job.key] = slot
            self._planned.append(slot)
            added.append(slot)
        chained = [slot for slot in added if slot.needs]
        for slot in chained:
            self._link(slot)
        if chained:
            self._measure_chains(added)
        for slot in added:
            if slot.dependents:  # a link of a chain: started early, wherever its item stands, outside the window
                slot.passed = slot.admitted = True
                if not slot.blocked_by:
                    self._enqueue(slot)
        self._pump()

    def _link(self, slot: _Slot[AnyJob]) -> None:
        for key in slot.needs:
            before = self._slots.get(key)
            if before is not None and before is not slot and key not in self._ended:
                slot.blocked_by.add(key)
                before.dependents.append(slot)

    @staticmethod
    def _measure_chains(added: list[_Slot[AnyJob]]) -> None:
        """Give every job the cost of the longest path through its dependents, itself included."""
        waiting = {id(slot): len(slot.dependents) for slot in added}
        ready = [slot for slot in added if not slot.dependents]
        by_key = {slot.key: slot for slot in added}
        while ready:
            slot = ready.pop()
            for key in slot.blocked_by:
                before = by_key.get(key)
                if before is None:
                    continue
                before.critical = max(before.critical, before.cost + slot.critical)
                waiting[id(before)] -= 1
                if waiting[id(before)] == 0:
                    ready.append(before)

    # -- taking --------------------------------------------------------------------------------------------------

    async def transcript(self, job: AnyJob) -> Transcript:
        """Wait for the transcript of a job and release its memory. A job outside the plan (or taken before) runs on
        demand. Raises the conversation's error, `RunStopped` if it did not start because the run is stopping.
        """
        self._loop = asyncio.get_running_loop()
        promise = self.ask(job)
        try:
            return promise.result() if promise.done() else await asyncio.shield(promise)
        finally:
            if promise.done():
                self._release(job.key)

    def ask(self, job: AnyJob) -> asyncio.Future[Transcript]:
        """The task that makes the transcript, for callers that run the loop themselves and then `take` it.

        Do not cancel it. Call `plan` or `transcript` inside the loop first.
        """
        assert self._loop is not None
        slot = self._slots.get(job.key)
        if slot is None:  # outside the plan
            slot = self._slots[job.key] = _Slot(job, -1)
            self._link(slot)
            slot.passed = True
        while self._base <= slot.position:  # items report in order: those before were skipped, or are deselected
            before = self._planned[self._base]
            self._outstanding -= before.admitted and not before.passed
            before.passed = True
            self._base += 1
        if slot.future is None:
            slot.future = self._loop.create_future()
        if not slot.started:
            self._awaited[slot.key] = slot
            self._demand(slot)
        self._pump()
        return slot.future

    def take(self, key: Hashable) -> Transcript | None:
        """The transcript of a requested job that has ended, else ``None``; raises the job's error."""
        slot = self._slots.get(key)
        if slot is None or slot.future is None or not slot.future.done():
            return None
        future = slot.future
        self._release(key)
        return future.result()

    def discard(self, key: Hashable) -> None:
        """Mark a job as not needed; it will not start unless others depend on it."""
        slot = self._slots.get(key)
        if slot is None:
            return
        self._outstanding -= slot.admitted and not slot.passed
        slot.passed = True
        settled = slot.future is not None and slot.future.done()
        if settled or not (slot.started or slot.dependents):
            self._release(key)
        self._pump()

    def hurry(self) -> None:
        """Cancel running conversations. For signal handlers."""
        running = list(self._running)
        if running and self._loop is not None:
            self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in running])

    async def aclose(self, drain_s: float = 0.0) -> None:
        """Start nothing more, wait ``drain_s`` seconds for running conversations, cancel the rest and wait at most a
        second.

        If cancelled, it cancels running conversations at once.
        """
        self._closed = True
        tasks = [task for task in self._running if not task.done()]
        try:
            if tasks and drain_s > 0:
                await asyncio.wait(tasks, timeout=drain_s)
        finally:
            tasks = [task for task in tasks if not task.done()]
            for task in tasks:
                task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CANCEL_LIMIT_S)
        for slot in self._slots.values():
            if slot.future is not None:
                slot.future.cancel()
        self._slots.clear()

    # -- scheduling ----------------------------------------------------------------------------------------------

    def _demand(self, slot: _Slot[AnyJob]) -> None:
        """Put a job and its dependencies at the head of the queue."""
        stack = [slot]
        while stack:
            current = stack.pop()
            if current.demanded:
                continue
            current.demanded = True
            if not current.blocked_by:
                self._enqueue(current)
            stack.extend(self._slots[key] for key in current.blocked_by if key in self._slots)

    def _enqueue(self, slot: _Slot[AnyJob]) -> None:
        """Make a job eligible; a requested one goes before all others."""
        order = -math.inf if slot.demanded else slot.position
        heapq.heappush(self._in_order, (order, next(self._serial), slot))
        heapq.heappush(self._longest, (-slot.critical, next(self._serial), slot))

    def _pump(self) -> None:
        """Start eligible jobs. Has no effect before the first call inside a running loop."""
        if self._loop is None:
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                return
        if self._closed:
            return
        while self._admitted < len(self._planned) and self._outstanding < self._window:
            slot = self._planned[self._admitted]
            self._admitted += 1
            slot.admitted = True
            self._outstanding += not slot.passed
            if not slot.blocked_by:
                self._enqueue(slot)
        if not self._longest or len(self._running) >= self._concurrency:
            return
        if (stopped := self._stop_reason()) is not None:
            self._refuse(stopped)
            return
        while self._longest and len(self._running) < self._concurrency:
            following = self._next()
            if following is None:
                return
            self._start(*following, self._loop)

    def _next(self) -> tuple[_Slot[AnyJob], bool] | None:
        """The job to start now: the next in item order, unless the longest ones have fewer than their places. The
        second value is whether it is one of the longest, started out of order.
        """
        for heap in (self._in_order, self._longest):
            while heap and (heap[0][2].started or self._slots.get(heap[0][2].key) is not heap[0][2]):
                heapq.heappop(heap)
        waited_for = bool(self._in_order) and self._in_order[0][0] < 0
        few_left = len(self._planned) - self._begun <= 2 * self._concurrency
        places = self._concurrency if few_left else self._concurrency // 2
        if self._longest and not waited_for and self._early < places:
            return heapq.heappop(self._longest)[2], True
        return (heapq.heappop(self._in_order)[2], False) if self._in_order else None

    def _start(self, slot: _Slot[AnyJob], early: bool, loop: asyncio.AbstractEventLoop) -> None:
        slot.started = True
        self._begun += 1
        if slot.future is None:
            slot.future = loop.create_future()
        task = loop.create_task(self._run(slot, slot.future))
        self._running[task] = early
        self._early += early
        task.add_done_callback(partial(self._finish, slot))

    async def _run(self, slot: _Slot[AnyJob], promise: asyncio.Future[Transcript]) -> None:
        """Hold the conversation; its error concerns only its own item and goes into the promise."""
        try:
            for key in slot.needs:
                trouble = self._ended.get(key)
                if trouble is not None:
                    raise _dependent_error(slot.key, key, trouble)
            transcript = await self._hold(slot.job)
        except Exception as error:
            self._ended[slot.key] = error if isinstance(error, BenchmarkError) else None
            slot.fail(error)
        else:
            self._ended[slot.key] = None
            if not promise.done():
                promise.set_result(transcript)

    def _finish(self, slot: _Slot[AnyJob], task: asyncio.Task[None]) -> None:
        self._early -= self._running.pop(task)
        if not task.cancelled():
            task.exception()  # Ctrl-C in the middle of a step: asyncio must not print it once more
        else:
            self._ended.setdefault(slot.key, None)
            if slot.future is not None:
                slot.future.cancel()
        for dependent in slot.dependents:
            dependent.blocked_by.discard(slot.key)
            if not dependent.blocked_by and (dependent.admitted or dependent.demanded):
                self._enqueue(dependent)
        self._pump()

    def _release(self, key: Hashable) -> None:
        """Forget the transcript: only the plan keeps the slot."""
        slot = self._slots.pop(key, None)
        self._awaited.pop(key, None)
        if slot is not None:
            slot.future = None

    def _refuse(self, reason: str) -> None:
        """Tell those who wait for a job that it will not start."""
        for slot in self._awaited.values():
            if not slot.started:
                slot.fail(RunStopped(reason))


def _dependent_error(name: Hashable, key: Hashable, trouble: BenchmarkError) -> BenchmarkError:
    """The error for a question whose write stage failed, which is not the model's mistake."""
    text = f"{name}: {key}, which must come first, could not be run: {trouble.message}"
    advice = trouble.advice or "continue the run: what was answered is not asked again"
    if isinstance(trouble, AdapterError):
        return AdapterError(trouble.kind, text, advice=advice, status=trouble.status)
    return HarnessError(trouble.kind, text, advice=advice)
