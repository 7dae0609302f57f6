"""Whether a process still runs."""

from __future__ import annotations

from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie that nobody has waited for yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
