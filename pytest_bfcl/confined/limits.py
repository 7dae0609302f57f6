"""Limits of one worker process, set before it reads its first request.

Memory, file size, processes and open files are limited for good; CPU time is granted again for every request; an audit
hook refuses whatever Python announces beyond a closed list of events. Where the system knows no such limits (Windows),
the wall clock of the parent remains.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

HARMLESS_EVENTS = frozenset(
    {
        "builtins.id", "compile", "resource.setrlimit", "sqlite3.connect", "sqlite3.connect/handle",
        "sys.unraisablehook",
    }
)  # fmt: skip
"""``compile`` is announced by parsing too; running what was compiled is ``exec``, which is refused."""


def confine(memory: int, allowed: tuple[str, ...] = ()) -> None:
    """Set the lasting limits and the audit hook of this process; cannot be undone."""
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
    """Allow that much more from now; the kernel ends a process that takes more."""
    with contextlib.suppress(ImportError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime) + 1 + seconds
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
