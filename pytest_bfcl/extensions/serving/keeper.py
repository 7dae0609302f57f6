"""A process between us and an engine that ends the engine when we end, in every way.

Run as a script with a command. Its standard input is a pipe that the starting process holds open and never writes to.
When that process dies, also by a signal, the pipe closes and the engine's whole process group is ended. Exits with the
engine's exit code.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

GRACE_S = 15.0
"""How long an engine may take to end by itself."""


def main(command: list[str]) -> int:
    """Start the command in its own process group and wait for it."""
    # Ctrl-C in a terminal goes to the group of the test run: we end when the run ends, not before its requests do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_parent)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error}\n")
        return 127
    signal.signal(signal.SIGTERM, lambda *_: end_group(child))
    threading.Thread(target=_wait_for_owner, args=(child,), daemon=True).start()
    code = child.wait()
    _signal_group(child, signal.SIGKILL)  # workers that outlived their engine
    return code


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Send the engine's process group a request to end, then end it."""
    _signal_group(child, signal.SIGTERM)
    waited = 0.0
    while child.poll() is None and waited < GRACE_S:
        time.sleep(0.1)
        waited += 0.1
    _signal_group(child, signal.SIGKILL)


def _wait_for_owner(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            pass
    end_group(child)


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(OSError):  # gone already
        os.killpg(child.pid, number)


def _die_with_parent() -> None:
    """On Linux the engine also dies with this process (``PR_SET_PDEATHSIG``)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
