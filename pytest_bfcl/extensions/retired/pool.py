"""Worker processes that execute calls: started on demand, kept between calls.

Only they execute calls for a model, with limits on time, memory and system calls. The conversation stores the results
in the transcript; checkers judge them and execute nothing.
"""

from __future__ import annotations

import contextlib
import json
import queue
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_bfcl.confined import Stopped, Worker
from pytest_bfcl.confined.process import WALL_SECONDS
from pytest_bfcl.extensions.retired.worker import SERVICE
from pytest_bfcl.extensions.sql import Outcome
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Call

MOST_CALLS = 200
"""Most executed calls of one reply."""


class Executor:
    """Executes calls in subprocesses; thread-safe. Close it, or use it as a context."""

    def __init__(self, size: int = 2, *, wall_s: float = WALL_SECONDS) -> None:
        service = replace(SERVICE, wall_s=wall_s)
        self._idle: queue.LifoQueue[Worker] = queue.LifoQueue()
        for _ in range(size):
            self._idle.put(Worker(service))
        self._closed = False

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call_all(self, calls: Sequence[Call]) -> list[Outcome]:
        """The outcome of every call of a reply, in order."""
        if len(calls) > MOST_CALLS:
            return [Outcome(error=f"{len(calls)} calls in one reply", kind="limit")] * len(calls)
        return [self.call(*call) for call in calls]

    def call(self, name: str, arguments: Mapping[Any, Any]) -> Outcome:
        """One call by name; an unknown function gives an outcome with that error."""
        if not isinstance(name, str) or any(not isinstance(key, str) for key in arguments):
            return Outcome(error="arguments must be named", kind="arguments")
        return self._ask({"call": name, "arguments": dict(arguments)})

    def query(self, tables: Fields, statement: str) -> Outcome:
        """One SQL statement on fresh tables (`pytest_bfcl.extensions.sql`)."""
        return self._ask({"sql": statement, "tables": dict(tables)})

    def close(self) -> None:
        """End the idle workers; busy ones end after their call. A later call starts a new process."""
        self._closed = True
        taken: list[Worker] = []
        with contextlib.suppress(queue.Empty):
            while True:
                taken.append(self._idle.get_nowait())
        for worker in taken:
            worker.close()
            self._idle.put(worker)

    def _ask(self, request: Fields) -> Outcome:
        try:
            line = json.dumps(request)
        except (TypeError, ValueError, RecursionError) as error:
            return Outcome(error=f"the arguments cannot be passed on: {error}"[:300], kind="arguments")
        worker = self._idle.get()
        try:
            return Outcome.from_text(worker.ask(line))
        except Stopped as stopped:
            return Outcome(error=f"the call was not carried out: {stopped}", kind="limit")
        finally:
            if self._closed:
                worker.close()
            self._idle.put(worker)
