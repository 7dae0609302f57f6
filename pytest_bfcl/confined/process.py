"""The worker process: one line in, one line out, until its input ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from pytest_bfcl.json_types import Parsed

HARMLESS_EVENTS = frozenset(
    {
        "builtins.id", "compile", "resource.setrlimit", "sqlite3.connect", "sqlite3.connect/handle",
        "sys.unraisablehook",
    }
)  # fmt: skip
"""Parsing also causes the event ``compile``; running the result causes ``exec``, which is refused."""


def confine(memory: int, allowed: tuple[str, ...] = ()) -> None:
    """Set the permanent limits and the audit hook of this process; cannot be undone."""
    with contextlib.suppress(ImportError):
        import resource

        for name, value in (("RLIMIT_AS", memory), ("RLIMIT_FSIZE", 0), ("RLIMIT_NPROC", 0), ("RLIMIT_CORE", 0)):
            limit = getattr(resource, name, None)
            if limit is not None:
                with contextlib.suppress(ValueError, OSError):  # some systems refuse some limits
                    resource.setrlimit(limit, (value, value))
    harmless = HARMLESS_EVENTS.union(allowed)

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in harmless:
            return
        if event == "import":
            # Modules already loaded are found without this event; the rest of the library stays out of reach.
            raise PermissionError(f"nothing may be imported here: {arguments[0]}")
        raise PermissionError(f"not allowed here: {event}")

    sys.addaudithook(refuse)


def grant_cpu(seconds: int) -> None:
    """Allow that much more from now on; the kernel ends a process that takes more."""
    with contextlib.suppress(ImportError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime) + 1 + seconds
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


WALL_SECONDS = 5.0 if os.name == "nt" else 30.0
"""The time after which the parent ends the process. A limit of CPU time decides first, because a busy machine is no
slow work."""


@dataclass(frozen=True, slots=True)
class Service:
    """``module`` of this package has ``opened()``, which loads everything and returns the function line → line.
    ``packages`` are imported distributions outside the standard library; ``allowed`` are audit events besides those of
    a pure computation (`confine`). A request has ``cpu_s`` (up to a second more by rounding), ``wall_s`` and ``memory``
    bytes; neither it nor its answer is longer than ``longest`` characters.
    """

    module: str
    what: str
    packages: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    cpu_s: int = 1
    wall_s: float = WALL_SECONDS
    memory: int = 512 * 2**20
    longest: int = 1_000_000

    def text(self) -> str:
        """Its form for the process."""
        return json.dumps(asdict(self))

    @classmethod
    def of_text(cls, text: str) -> Service:
        """The inverse of `text`."""
        values: Parsed = json.loads(text)
        kept: Parsed = {name: tuple(each) if isinstance(each, list) else each for name, each in values.items()}
        return cls(**kept)


READY = "ready"


def main(text: str) -> None:
    """Serve requests from stdin; ``text`` is the `Service`'s."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's: what it still wants, it asks
    service = Service.of_text(text)
    requests, answers = sys.stdin, sys.stdout
    answer = import_module(service.module).opened()
    answers.write(READY + "\n")
    answers.flush()
    confine(service.memory, service.allowed)
    for line in requests:
        grant_cpu(service.cpu_s)
        answers.write(answer(line) + "\n")
        answers.flush()
