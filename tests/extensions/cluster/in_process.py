"""A pool in this process: every worker has a real `WorkerMain`, what Ray would carry is pickled, and they can die."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from typing import Any

from pytest_bfcl.extensions.cluster import Cluster
from pytest_bfcl.extensions.cluster.driver import WorkerLost
from pytest_bfcl.extensions.cluster.messages import Event, Joiner
from pytest_bfcl.extensions.cluster.worker_main import WorkerMain


class InProcessWorker:
    """One worker. ``dies(worker, event)`` is asked for everything it tells; see `InProcess`."""

    def __init__(self, pool: InProcess, slot: int) -> None:
        self.pool = pool
        self.slot = slot
        self.main = WorkerMain()
        self.dead: str | None = None
        self._joiner = Joiner()

    async def _call(self, method: str, *args: Any) -> Any:
        if self.dead is not None:
            raise WorkerLost(self.dead)
        return await getattr(self.main, method)(*pickle.loads(pickle.dumps(args)))

    async def begin(self, config: Any) -> Any:
        self.pool.configs.append(config)
        return await self._call("begin", config)

    async def work(self, jobs: Any, memories: Any) -> None:
        self.pool.jobs.append((self.slot, list(jobs)))
        await self._call("work", jobs, memories)

    async def take(self) -> bytes:
        piece: bytes = await self._call("take")
        events = self._joiner.events(piece)
        ways = {self.pool.dies(self, event) for event in events}
        if ways & {"heard", "unheard"}:
            self.die("the test killed it")
        if "unheard" in ways:
            raise WorkerLost("the test killed it")
        return piece

    async def stop(self, reason: str, drain_s: float) -> None:
        await self._call("stop", reason, drain_s)

    def die(self, why: str) -> None:
        """As a process dies: what goes on ends, and nothing it still says is heard."""
        self.dead = self.main._halted = why  # nothing more is begun
        for task in list(self.main._tasks):
            task.cancel()
        runner = getattr(self.main, "_runner", None)
        if runner is not None and runner._ahead is not None:
            for task in list(runner._ahead._running):
                task.cancel()

    def kill(self) -> None:
        self.die("killed")
        self.pool.killed += 1


class InProcess(Cluster):
    """A cluster of ``size`` workers in this process.

    ``dies`` says of an event whether its worker ends with it: ``heard`` right after the driver has it, ``unheard``
    before, so that all that came with it is lost.
    """

    def __init__(
        self, size: int = 2, dies: Callable[[InProcessWorker, Event], str | None] = lambda worker, event: None
    ) -> None:
        super().__init__()
        self.size = size
        self.dies = dies
        self.started: list[InProcessWorker] = []
        self.configs: list[Any] = []
        self.jobs: list[tuple[int, list[Any]]] = []
        self.killed = 0
        self.closed = False

    async def pool(self, concurrency: int) -> InProcess:
        self.size = min(self.size, concurrency)
        return self

    async def start(self, slot: int) -> InProcessWorker:
        await asyncio.sleep(0)
        self.started.append(InProcessWorker(self, slot))
        return self.started[-1]

    async def aclose(self) -> None:
        for worker in self.started:  # a process's end closes its connections
            if (runner := getattr(worker.main, "_runner", None)) is not None:
                await runner.aclose()
        self.closed = True
