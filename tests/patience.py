"""Limits of time on machines that are busy with something else, too."""

import os


def patience(seconds: float) -> float:
    """``seconds`` on a machine that is otherwise idle; as many times more as processes wait for each of its cores."""
    waiting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 1.0
    return seconds * max(1.0, waiting / (os.cpu_count() or 1))
