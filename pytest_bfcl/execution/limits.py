"""Limits of one worker process, set before it reads its first request.

Memory, file size, processes and open files are limited for good; CPU time is granted anew for every request; an audit
hook refuses whatever Python announces beyond the few events a pure computation causes. Where the system knows no such
limits (Windows), the wall clock of the parent remains.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

MEMORY_BYTES = 512 * 1024 * 1024
CPU_SECONDS = 1
"""Granted to one request, up to a second more by rounding; the kernel ends a process that takes more."""
WALL_SECONDS = 5.0 if os.name == "nt" else 30.0
"""After which the parent ends the process. Where CPU time is limited that limit decides: a busy machine must not look
like a call that takes too long."""
MOST_REQUEST = 1_000_000
MOST_RESULT = 1_000_000
"""Characters of a request or result line."""

HARMLESS_EVENTS = frozenset(
    {
        "builtins.id", "compile", "resource.setrlimit", "sqlite3.connect", "sqlite3.connect/handle",
        "sys.unraisablehook",
    }
)  # fmt: skip
"""``compile`` is announced by parsing too; running what was compiled is ``exec``, which is refused."""


def confine() -> None:
    """Set the lasting limits and the audit hook of this process; cannot be undone."""
    with contextlib.suppress(ImportError):
        import resource

        for name, value in (("RLIMIT_AS", MEMORY_BYTES), ("RLIMIT_FSIZE", 0), ("RLIMIT_NPROC", 0), ("RLIMIT_CORE", 0)):
            limit = getattr(resource, name, None)
            if limit is not None:
                with contextlib.suppress(ValueError, OSError):  # some systems refuse some limits
                    resource.setrlimit(limit, (value, value))
    sys.addaudithook(_refuse)


def grant_cpu() -> None:
    """Allow `CPU_SECONDS` more from now."""
    with contextlib.suppress(ImportError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime) + 1 + CPU_SECONDS
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "import":
        # Modules already loaded are found without this event; the rest of the library stays out of reach.
        raise PermissionError(f"nothing may be imported here: {arguments[0]}")
    if event not in HARMLESS_EVENTS:
        raise PermissionError(f"not allowed here: {event}")
