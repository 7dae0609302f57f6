"""How many requests may be in flight given the limit of open files (``ulimit -n``)."""

from __future__ import annotations

import os

from pytest_bfcl.failures import UsageError

RESERVE = 24
"""Files besides the connections: results, journal, pages, pipes of workers."""


def room_for(wanted: int) -> tuple[int, str]:
    """The number of wanted connections that fit, and a message if it is smaller.

    Raises the soft limit to the hard one if needed. Raises `UsageError` if none fits.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted, ""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = _open_files() + RESERVE
    if soft == resource.RLIM_INFINITY or taken + wanted <= soft:
        return wanted, ""
    raised = taken + wanted if hard == resource.RLIM_INFINITY else min(hard, taken + wanted)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    except (OSError, ValueError):
        raised = soft
    room = raised - taken
    if room >= wanted:
        return wanted, ""
    if room < 1:
        raise UsageError(f"this process may open {raised} files, too few for one request: raise it, ulimit -n 1024")
    return room, (
        f"this process may open {raised} files: {room} requests are in flight instead of {wanted} "
        f"(ulimit -n {taken + wanted} allows them)"
    )


def _open_files() -> int:
    """Number of files that are open now."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(os.listdir(folder))
        except OSError:
            continue
    return RESERVE
