"""Ray's actors: connecting, starting, and the meaning of its errors. The only module that imports Ray's core.

Recorded outputs are judged there, too: a data set of pieces, mapped by workers that write the verdicts.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_bfcl.extensions.cluster.driver import WorkerLost
from pytest_bfcl.extensions.cluster.messages import Hello, Job, Memory, WorkerConfig
from pytest_bfcl.extensions.cluster.worker_main import WorkerMain
from pytest_bfcl.extensions.training.judging import Judging, Piece, Tally, are_cut, counted, judge_piece, lines_in
from pytest_bfcl.extras import install_command, require
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.fingerprint import plugin_version

if TYPE_CHECKING:
    from pytest_bfcl.extensions.cluster import Cluster


INSTALL = install_command("ray")
LOCAL = "local"
CONNECT_S = 5.0
PLACE_S = 120.0
SETTINGS_FRAME = 4
HTTP2_OPENING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, SETTINGS_FRAME, 0, 0, 0, 0, 0))
FULL = 16
"""Number of conversations that justifies one actor."""

T = TypeVar("T")


def import_ray() -> Any:
    """The module. Raises `UsageError` with the install command if Ray is missing."""
    require("ray", "a run on a cluster")
    import ray

    return ray


def connect(address: str | None) -> bool:
    """Connect this process to a cluster, or start one here (``local``); returns whether this call connected.

    Raises `UsageError` if no cluster answers, or if it has other versions of Ray or Python.
    """
    ray = import_ray()
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What matters of Ray's own lines comes as an exception, too; all of them are in its files.
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL, "include_dashboard": False}
    if address == LOCAL:
        try:
            with _own_sigterm():
                ray.init(address="local", **quiet)
        except Exception as error:  # of no narrower class, when a machine is too busy or too small
            raise UsageError(f"Ray does not start here: {str(error).splitlines()[0][:300]}") from None
        return True
    del quiet["include_dashboard"]
    _reach(address)
    try:
        with _own_sigterm():
            ray.init(address=address or "auto", **quiet)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise UsageError(_refused(address, str(error))) from None
    return True


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Restore the process's SIGTERM handler, because Ray replaces it at its start and would end the process."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    if callable(handler) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


def _reach(address: str | None) -> None:
    """Raise `UsageError` if no server listens, because Ray would try for minutes."""
    named = (address or os.environ.get("RAY_ADDRESS") or "auto").removeprefix("ray://")
    if named == "auto":
        return
    host, colon, port = named.rpartition(":")
    if not (colon and host and port.isdecimal()):
        raise UsageError(f"--ray {named}: write HOST:PORT (6379 usually), auto, or local")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_S) as connection:
            if os.environ.get("RAY_USE_TLS", "0") == "0" and not _speaks_http2(connection):
                raise UsageError(f"what answers at {named} is no Ray cluster (its usual port: 6379)")
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error) or "no answer"
        raise UsageError(
            f"no Ray cluster at {named}: {why}\n"
            "`ray start --head` starts one and prints its address; --ray local starts one for this run only"
        ) from None


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether the other end may speak gRPC, as Ray does; a server that sends nothing in time may only be busy."""
    try:
        connection.sendall(HTTP2_OPENING)
        told = connection.recv(4)
    except TimeoutError:
        return True
    except OSError:
        return False
    return len(told) == 4 and told[3] == SETTINGS_FRAME


def _refused(address: str | None, text: str) -> str:
    """Ray's message about an unusable cluster, in two lines."""
    if "ersion mismatch" in text:
        told = " ".join(line.strip() for line in text.splitlines() if line.strip())
        return f"{told[:400]}\ninstall the same versions of Ray and Python here and there"
    if address in (None, "auto"):
        return (
            "no Ray cluster is running on this machine: name its address (--ray HOST:6379),\n"
            "start one with `ray start --head`, or let --ray local start one for this run only"
        )
    return f"the Ray cluster at {address} cannot be used: {text.splitlines()[0][:300] if text else 'no reason given'}"


class RayPool:
    """Starts actors of a connected cluster, spread over its nodes."""

    def __init__(self, cluster: Cluster, concurrency: int) -> None:
        ray = import_ray()
        self._cluster = cluster
        self._ray = ray
        cpus = float(ray.cluster_resources().get("CPU", 0.0))
        fitting = int(cpus // cluster.cpus) if cluster.cpus > 0 else int(cpus)
        self.size = max(1, min(cluster.actors or min(fitting, math.ceil(concurrency / FULL)), concurrency))
        self._actor = ray.remote(WorkerMain)
        self._began = time.monotonic()
        self._up = False

    async def start(self, slot: int) -> RayWorker:
        """A running actor; waits for a place, the first time no longer than `PLACE_S`."""
        options = {"num_cpus": self._cluster.cpus, "max_restarts": 0, "max_task_retries": 0}
        worker = RayWorker(self._actor.options(**options, scheduling_strategy="SPREAD").remote())
        try:
            while True:
                try:
                    async with asyncio.timeout(PLACE_S):
                        await worker.there()
                except TimeoutError:
                    if not self._up:
                        raise UsageError(self._no_place()) from None
                else:
                    self._up = True
                    return worker
        except BaseException:
            worker.kill()
            raise

    def _no_place(self) -> str:
        free = self._ray.available_resources()
        return (
            f"no place for an actor of {self._cluster.cpus:g} CPU in {PLACE_S:g} s: the cluster has "
            f"{self._ray.cluster_resources().get('CPU', 0):g} CPU, {free.get('CPU', 0):g} free\n"
            "wait for other jobs, or ask for less (--ray-cpus)"
        )


class RayWorker:
    """One actor (see `pytest_bfcl.extensions.cluster.driver.Worker`)."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def there(self) -> None:
        """Return when the actor is running."""
        await _answer(self._actor.__ray_ready__.remote())

    async def begin(self, config: WorkerConfig) -> Hello:
        """See `WorkerMain.begin`."""
        try:
            call = self._actor.begin.remote(config)
        except (TypeError, AttributeError) as error:
            raise UsageError(f"the model cannot be sent to actors: {str(error).splitlines()[0][:300]}") from None
        found: Hello = await _answer(call)
        return found

    async def work(self, jobs: Sequence[Job], memories: Sequence[Memory]) -> None:
        """See `WorkerMain.work`."""
        await _answer(self._actor.work.remote(list(jobs), list(memories)))

    async def take(self) -> bytes:
        """See `WorkerMain.take`."""
        piece: bytes = await _answer(self._actor.take.remote())
        return piece

    async def stop(self, reason: str, drain_s: float) -> None:
        """See `WorkerMain.stop`."""
        await _answer(self._actor.stop.remote(reason, drain_s))

    def kill(self) -> None:
        """Kill the actor; nothing of it is needed."""
        ray = import_ray()
        if ray.is_initialized():
            ray.kill(self._actor, no_restart=True)


async def _answer(reference: Awaitable[T]) -> T:
    """The answer of an actor. Raises `WorkerLost` if it is lost, `UsageError` if it could not be started."""
    errors = import_ray().exceptions
    try:
        return await reference
    except errors.RayTaskError:
        raise
    except (errors.ActorUnschedulableError, errors.RuntimeEnvSetupError) as error:
        raise UsageError(f"Ray cannot place actors: {first_line(error)}") from None
    except errors.RayError as error:
        text = str(error)
        if "No module named 'pytest_bfcl" in text:
            raise UsageError(f"a node of the cluster lacks pytest-bfcl: {INSTALL} there, the same version") from None
        raise WorkerLost(first_line(error)) from None


def first_line(error: Exception) -> str:
    """The relevant part of Ray's many lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "cause" in line.lower() or "died" in line.lower()]
    return (told or lines or [type(error).__name__])[0][:300]


def judged_on_ray(pieces: Sequence[Piece], how: Judging, address: str | None) -> Iterator[Tally]:
    """Judge all pieces; a tally after each, in no order. Every node needs the files and ``how.out`` under the same
    path, this version of the package and the same data. Otherwise, and if the cluster cannot be used, it raises
    `UsageError`.
    """
    ray = import_ray()
    ours = connect(address)
    try:
        _quiet(ray)
        how = how.pinned()
        if are_cut(pieces):
            # A file in several pieces: where its lines begin is counted first, by the workers too.
            found = {row["at"]: row["lines"] for row in _mapped(ray, pieces, _count, how)}
            pieces = counted(pieces, [found[at] for at in range(len(pieces))])
        for row in _mapped(ray, pieces, _judge, how):
            yield Tally(*(row[name] for name in Tally._fields))
    finally:
        if ours:
            ray.shutdown()


def _quiet(ray: Any) -> None:
    """Ray Data prints every step to the terminal; its files have all of it."""
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            handler.setLevel(logging.ERROR)


def _mapped(
    ray: Any, pieces: Sequence[Piece], work: Callable[..., dict[str, Any]], how: Judging
) -> Iterator[dict[str, Any]]:
    """A row of each piece. An error on a node is also a row, because Ray would wrap it in many lines."""
    rows = [dict(zip(Piece._fields, piece, strict=True)) | {"at": at} for at, piece in enumerate(pieces)]
    made = ray.data.from_items(rows, override_num_blocks=len(rows)).map(work, fn_args=(how, plugin_version()))
    try:
        for row in made.iter_rows():
            if row["problem"]:
                raise UsageError(row["problem"])
            yield row
    except ray.exceptions.RayError as error:
        if "No module named 'pytest_bfcl" in str(error):
            raise UsageError(f"a node of the cluster lacks pytest-bfcl: {INSTALL} there, the same version") from None
        raise UsageError(
            f"Ray gave up: {first_line(error)}\nsee its log files in /tmp/ray/session_latest/logs"
        ) from None


def _count(row: dict[str, Any], how: Judging, version: str) -> dict[str, Any]:
    return _row_of(row, how, version, lambda piece: Tally(piece.path, lines_in(piece), 0, 0, ""))


def _judge(row: dict[str, Any], how: Judging, version: str) -> dict[str, Any]:
    return _row_of(row, how, version, lambda piece: judge_piece(piece, how))


def _row_of(row: dict[str, Any], how: Judging, version: str, work: Callable[[Piece], Tally]) -> dict[str, Any]:
    """On a node: the row of one piece, or its error."""
    tally, problem = Tally(row["path"], 0, 0, 0, ""), ""
    try:
        if version != plugin_version():
            raise UsageError(f"it has pytest-bfcl {plugin_version()}, the driver {version}")
        tally = work(Piece(*(row[name] for name in Piece._fields)))
    except UsageError as error:
        problem = f"{socket.gethostname()} cannot judge: {error}"
    except OSError as error:
        problem = f"{socket.gethostname()} cannot use {error.filename or row['path']}: {error.strerror or error}"
    return {"at": row["at"], "problem": problem, **tally._asdict()}
