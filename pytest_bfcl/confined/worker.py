"""A worker process from its parent's side: started on demand, ended when a request exceeds a limit."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from pytest_bfcl.confined.process import READY, Service
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.troubles import HarnessTrouble

START_SECONDS = 60.0

_PROGRAM = (
    "import sys; sys.path[:0] = sys.argv[2:3]; sys.path += sys.argv[3:]; "
    "from pytest_bfcl.confined.process import main; main(sys.argv[1])"
)


class Stopped(Exception):
    """A request exceeded a limit of its service, and its process was ended."""


class Worker:
    """One process for one service; thread-safe: callers wait for each other.

    It stays alive between requests (then one costs some tenths of a millisecond), ignores Ctrl-C, and ends with this
    object or its parent.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def ask(self, line: str) -> str:
        """The answer to a one-line request. Raises `Stopped`, and `HarnessError` if no process can be started."""
        if len(line) > self.service.longest:
            raise Stopped(f"it has {len(line):,} characters")
        with self._lock:
            if self._running is None or not self._running.alive:
                self._running = _Running(self.service)
            try:
                answer = self._running.ask(line)
            except BaseException:  # Ctrl-C: the answer that is still to come would be taken for the next one's
                self._end()
                raise
            if answer is None:
                self._end()
                raise Stopped("it took too much time or memory and was stopped")
            return answer

    def close(self) -> None:
        """End the process; the next request starts a new one."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.end()


class _Running:
    """The process; a thread reads its answers, so that waiting can be limited."""

    def __init__(self, service: Service) -> None:
        self._service = service
        kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        places = [str(Path(__file__).resolve().parents[2]), *map(_place_of, service.packages)]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _PROGRAM, service.text(), *places],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=kept, text=True, encoding="utf-8", close_fds=True,
            )  # fmt: skip
        except OSError as error:
            raise HarnessError(
                HarnessTrouble.EXECUTOR, f"the process that {service.what} cannot be started: {error}"
            ) from error
        self.end = weakref.finalize(self, _end, self._process)
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        assert self._process.stdout is not None
        reading = (self._process.stdout, self._answers, service.longest)
        threading.Thread(target=_read, args=reading, name="bfcl worker", daemon=True).start()
        if self._next(START_SECONDS) != READY:
            self.end()
            raise HarnessError(HarnessTrouble.EXECUTOR, f"the process that {service.what} ended at once")

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def ask(self, line: str) -> str | None:
        """The answer to a request; ``None`` after the time limit, or if the process died."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            return None
        return self._next(self._service.wall_s)

    def _next(self, seconds: float) -> str | None:
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None


def _place_of(package: str) -> str:
    """The folder from which a package is imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise HarnessError(HarnessTrouble.EXECUTOR, f"the package {package} is not installed")
    return str(Path(spec.origin).resolve().parents[1])


def _read(stream: IO[str], answers: queue.SimpleQueue[str | None], longest: int) -> None:
    """Put every line of a stream into the queue; ``None`` means its end or a line that is too long."""
    try:
        while (line := stream.readline(longest + 2)).endswith("\n"):
            answers.put(line[:-1])
    except (OSError, ValueError):
        pass  # ended from outside
    answers.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                continue
