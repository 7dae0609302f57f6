"""The engines of a run, one for each model that names one: log, health, end.

The engine is started below a keeper process (`engines.keeper`), so that it always ends with us. While it starts, an
engine that writes its log or uses the processor is loading; one that does neither for `STALL_S` is stuck.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pytest_bfcl.extensions.serving import keeper
from pytest_bfcl.extensions.serving.table import ENGINES, Engine
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import ModelSpec
from pytest_bfcl.redaction import environment_secrets, hide, process_secrets
from pytest_bfcl.session.serving import get

STALL_S = 180.0
"""Seconds without a sign of progress after which the start fails."""
START_LIMIT_S = 3600.0
"""Longest time of a start in seconds."""
PROBE_EVERY_S = 0.25
TAIL_LINES = 12
LONGEST_LINE = 64 * 1024
"""Size of the log pieces that are searched for credentials, in bytes."""


class RunningEngine:
    """A started engine. ``base_url`` is its OpenAI-compatible address, ``log`` its log file."""

    def __init__(
        self,
        engine: Engine,
        process: subprocess.Popen[bytes],
        port: int,
        log: Path,
        command: str,
        secrets: Sequence[str],
    ) -> None:
        self.engine = engine
        self.command = command
        self.log = log
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self._health = f"http://127.0.0.1:{port}{engine.health}"
        self._process = process
        self._writer = threading.Thread(target=self._write_log, args=(tuple(secrets),), daemon=True)
        self._writer.start()

    @property
    def ended(self) -> int | None:
        """The exit code of an ended engine, ``None`` while it runs."""
        return self._process.poll()

    def wait_until_ready(self, *, stall_s: float = STALL_S, limit_s: float = START_LIMIT_S) -> float:
        """Wait until it accepts requests; returns the seconds. Raises `UsageError` with the end of the log if it ends,
        hangs or takes too long.
        """
        started = moved = time.monotonic()
        seen: tuple[int, int] = (-1, -1)
        while True:
            if self.ended is not None:
                raise UsageError(self.trouble(f"ended with code {self.ended} before it was ready"))
            if self._answers():
                return time.monotonic() - started
            now = time.monotonic()
            progress = (_size(self.log), _cpu_ticks(self._process.pid))
            if progress != seen:
                seen, moved = progress, now
            if now - moved > stall_s:
                raise UsageError(self.trouble(f"showed no sign of life for {stall_s:.0f} s"))
            if now - started > limit_s:
                raise UsageError(self.trouble(f"was not ready after {limit_s:.0f} s"))
            time.sleep(PROBE_EVERY_S)

    def trouble(self, what: str) -> str:
        """Why the engine ended, in a few lines: a sentence, the end of its log, the log's place."""
        if self.ended is not None:
            self._writer.join(keeper.GRACE_S)
        tail = "\n".join(f"  {line}" for line in log_tail(self.log))
        return f"{self.engine.title} {what}; its log ends with\n{tail or '  (nothing)'}\nwhole log: {self.log}"

    def stop(self) -> None:
        """End the engine and all its child processes; does nothing if it has ended."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()  # the keeper sees it and ends the group
        try:
            self._process.wait(keeper.GRACE_S + 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._writer.join(keeper.GRACE_S)

    def _write_log(self, secrets: Sequence[str]) -> None:
        """Write the engine's output, without the credentials of its start."""
        assert self._process.stdout is not None
        with self.log.open("ab", buffering=0) as sink, contextlib.suppress(OSError, ValueError):
            for line in iter(lambda: self._process.stdout.readline(LONGEST_LINE), b""):  # type: ignore[union-attr]
                sink.write(hide(line.decode("utf-8", "replace"), secrets).encode() if secrets else line)

    def _answers(self) -> bool:
        return get(self._health, timeout_s=2.0, most_bytes=1_000_000) is not None


def start_engine(
    engine: Engine,
    model: str,
    folder: Path,
    *,
    native: bool = True,
    extra: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    said: Callable[[str], None] = lambda text: None,
) -> RunningEngine:
    """Start an engine on a free port of this machine; `RunningEngine.wait_until_ready` waits for it.

    ``folder`` gets the log (``<engine>.log``), ``extra`` goes to the engine unchanged, ``said`` receives the command. A
    port in ``extra`` (``--port N``) is used if it is free. Raises `UsageError`.
    """
    if os.name != "posix":
        raise UsageError("--bfcl-serve needs Linux or macOS; start the engine yourself and give --bfcl-base-url")
    port = _wanted_port(extra) or free_port()
    if not _is_free(port):
        raise UsageError(f"--bfcl-serve-args: port {port} is in use; leave --port out and a free one is taken")
    command = engine.command_line(model, port, native=native, extra=extra)
    folder.mkdir(parents=True, exist_ok=True)
    log = _free_name(folder, engine.name)
    whole = shlex.join(command)
    secrets = process_secrets(whole) + environment_secrets()
    shown = hide(whole, secrets)
    said(shown)
    log.write_text(f"$ {shown}\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, keeper.__file__, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **engine.environment(port), **(environment or {})},
    )
    return RunningEngine(engine, process, port, log, shown, secrets)


def free_port() -> int:
    """A free port of the loopback interface."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def log_tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of a log, each shortened to 200 characters."""
    try:
        with log.open("rb") as source:
            source.seek(max(0, log.stat().st_size - 16_384))
            text = source.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line[:200] for line in text.splitlines() if line.strip()][-lines:]


def _wanted_port(extra: Sequence[str]) -> int | None:
    for place, argument in enumerate(extra):
        name, equals, value = argument.partition("=")
        if name == "--port":
            value = value if equals else next(iter(extra[place + 1 :]), "")
            if not value.isdecimal() or not 0 < int(value) < 65_536:
                raise UsageError(f"--bfcl-serve-args: --port needs a number from 1 to 65535, not {value!r}")
            return int(value)
    return None


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _free_name(folder: Path, name: str) -> Path:
    """``<name>.log``, or ``<name>-2.log`` if that exists."""
    number = 1
    while (path := folder / (f"{name}.log" if number == 1 else f"{name}-{number}.log")).exists():
        number += 1
    return path


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _cpu_ticks(root: int) -> int:
    """Processor time of a process and its descendants in clock ticks; 0 without ``/proc``."""
    ticks, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = int(fields[11]) + int(fields[12])
    total, level = 0, {root}
    while level:
        total += sum(ticks.get(process, 0) for process in level)
        level = {process for process, parent in parents.items() if parent in level}
    return total


Said = Callable[[str], None]
FOLDER = "engines"
"""Folder of a run directory with the logs of its engines."""


class Fleet:
    """The started engines of a run by spec (without mode). Raises `UsageError` if no spec names an engine, or if an
    address is given as well.
    """

    def __init__(self, specs: Sequence[ModelSpec], base_url: str | None) -> None:
        self.specs = [spec for spec in specs if spec.provider in ENGINES]
        if not self.specs:
            models = ", ".join(spec.text for spec in specs)
            raise UsageError(f"--bfcl-serve starts {', '.join(ENGINES)}; none of them is named by --model {models}")
        if base_url:
            raise UsageError("--bfcl-serve starts an engine, --bfcl-base-url names one that runs: give one of them")
        self._engines: dict[str, RunningEngine] = {}
        self._stopping = False

    @property
    def addresses(self) -> Mapping[str, str]:
        """Spec → base URL."""
        return {base: engine.base_url for base, engine in self._engines.items()}

    def start(self, folder: Path, *, arguments: str = "", said: Said = print) -> None:
        """Start an engine for every spec and wait until all accept requests; after an error all are stopped.

        Logs go into `FOLDER` of the run's ``folder``. ``arguments`` go to every engine as they are (shell quoting);
        ``said`` receives each command and waiting time. Raises `UsageError`: an engine that is not installed, does not
        start, or a spec without a model.
        """
        extra = split_arguments(arguments)
        for spec in self.specs:
            if not spec.name:
                raise UsageError(f"--bfcl-serve: which model? write --model {spec.provider}:PATH_OR_NAME")
        try:
            for spec in self.specs:
                if spec.base not in self._engines:
                    self._engines[spec.base] = start_engine(
                        ENGINES[spec.provider], spec.name, folder / FOLDER, native=spec.mode != "prompt", extra=extra,
                        said=lambda command: said(f"starting: {command}"),
                    )  # fmt: skip
            for base, engine in self._engines.items():
                took = engine.wait_until_ready()
                said(f"{base} is ready after {took:.0f} s at {engine.base_url}; log: {engine.log}")
        except BaseException:
            self.stop()
            raise

    async def launch(self, folder: Path, *, arguments: str = "", said: Said = print) -> None:
        """`start` for callers inside an event loop; if cancelled, it stops started engines."""
        try:
            await asyncio.to_thread(self.start, folder, arguments=arguments, said=said)
        except BaseException:
            self.stop()
            raise

    def trouble(self) -> str | None:
        """Why an engine ended by itself, ``None`` while all run."""
        if self._stopping or not self._engines:
            return None
        ended = [engine for engine in self._engines.values() if engine.ended is not None]
        return ended[0].trouble(f"ended with code {ended[0].ended} while it was asked") if ended else None

    def stop(self) -> None:
        """End every engine."""
        self._stopping = True
        for engine in list(self._engines.values()):
            engine.stop()


def split_arguments(text: str) -> list[str]:
    """The arguments of an engine, split like by a shell; nothing is expanded and no shell runs."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--bfcl-serve-args: {text!r} cannot be split into arguments: {error}") from None
