"""Worker processes that carry out calls, started when needed, replaced when a call breaks one.

A worker lives on between requests (a call then costs a few tenths of a millisecond); one that exceeds its time or
dies is ended, and the call it was on gets an outcome that says so.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_bfcl.execution.limits import MOST_REQUEST, WALL_SECONDS
from pytest_bfcl.execution.outcome import Outcome
from pytest_bfcl.execution.worker import READY
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Call

START_SECONDS = 60.0
MOST_CALLS = 200
"""Calls of one reply that are carried out."""

_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from pytest_bfcl.execution.worker import main; main()"


class Executor:
    """Carries out calls in subprocesses; safe to use from several threads. Close it, or use it as a context."""

    def __init__(self, size: int = 2, *, wall_s: float = WALL_SECONDS) -> None:
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self._idle.put(None)
        self._wall_s = wall_s
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
        """One call by name; functions that are not in the table give an outcome that says so."""
        if not isinstance(name, str) or any(not isinstance(key, str) for key in arguments):
            return Outcome(error="arguments must be named", kind="arguments")
        return self._ask({"call": name, "arguments": dict(arguments)})

    def query(self, tables: Fields, statement: str) -> Outcome:
        """One SQL statement on fresh tables (`execution.tables`)."""
        return self._ask({"sql": statement, "tables": dict(tables)})

    def close(self) -> None:
        """End the idle workers; busy ones end when their call does. A call after that starts a worker of its own."""
        self._closed = True
        taken: list[_Worker | None] = []
        while True:
            try:
                taken.append(self._idle.get_nowait())
            except queue.Empty:
                break
        for worker in taken:
            if worker is not None:
                worker.end()
            self._idle.put(None)

    def _ask(self, request: Fields) -> Outcome:
        try:
            line = json.dumps(request)
        except (TypeError, ValueError, RecursionError) as error:
            return Outcome(error=f"the arguments cannot be passed on: {error}"[:300], kind="arguments")
        if len(line) > MOST_REQUEST:
            return Outcome(error=f"the arguments have {len(line):,} characters", kind="limit")
        worker = self._idle.get()
        try:
            if worker is None or not worker.alive:
                worker = _Worker()
            answer = worker.ask(line, self._wall_s)
            if answer is None:
                worker.end()
                worker = None
                return Outcome(error="the call took too much time or memory and was stopped", kind="limit")
            return Outcome.from_text(answer)
        finally:
            if self._closed and worker is not None:
                worker.end()
                worker = None
            self._idle.put(worker)


class _Worker:
    """One process; its answers are read by a thread, so that waiting for them can end."""

    def __init__(self) -> None:
        root = Path(__file__).resolve().parents[2]
        kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _PROGRAM, str(root)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=kept, text=True, encoding="utf-8", close_fds=True,
            )  # fmt: skip
        except OSError as error:
            raise HarnessError("executor", f"the process that carries out calls cannot be started: {error}") from error
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="bfcl calls", daemon=True).start()
        if self._next(START_SECONDS) != READY:
            self.end()
            raise HarnessError("executor", "the process that carries out calls ended at once")

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def ask(self, line: str, wall_s: float) -> str | None:
        """The answer to a request; ``None`` when there is none in time, or the process died of it."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            return None
        return self._next(wall_s)

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue

    def _next(self, seconds: float) -> str | None:
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._answers.put(line.rstrip("\n"))
        except (OSError, ValueError):
            pass  # ended from outside
        self._answers.put(None)
