"""A pytest plugin: this process as Windows would have it, as far as Python lets one pretend.

Modules and functions that only POSIX has are gone; ``os.name`` and ``sys.platform`` say Windows to our own modules,
which are imported only then. pytest and the standard library were imported before and stay what they are.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import types
from collections.abc import Sequence

MODULES = ("fcntl", "resource", "termios", "pwd", "grp", "pty", "tty", "posix_ipc", "crypt", "syslog")
FUNCTIONS = (
    *("fork", "killpg", "setsid", "getpgid", "setpgid", "getuid", "geteuid", "getgid", "uname", "mkfifo", "nice"),
    *("wait3", "wait4", "getloadavg", "sched_getaffinity", "pread", "chown", "O_NOFOLLOW", "O_DIRECTORY"),
)
SIGNALS = (
    *("SIGKILL", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGQUIT", "SIGPIPE"),
    *("alarm", "setitimer", "pthread_sigmask", "sigwait"),
)


class _Pretended(types.ModuleType):
    """A module as our code gets it: without some names, others replaced, everything else the real one's."""

    def __init__(self, real: types.ModuleType, gone: Sequence[str], **others: object) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(others, _real=real, _gone=frozenset(gone))

    def __getattr__(self, name: str) -> object:
        if name in self._gone:
            raise AttributeError(f"{self.__name__} has no {name!r} on Windows")
        return getattr(self._real, name)


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs a module of ours with the pretended ones in place of `os`, `signal` and `sys`."""

    def exec_module(self, module: types.ModuleType) -> None:
        real = {name: sys.modules[name] for name in PRETENDED}
        sys.modules.update(PRETENDED)
        try:
            super().exec_module(module)
        finally:
            sys.modules.update(real)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> object:
        if name.partition(".")[0] != "pytest_bfcl":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            spec.loader = _Loader(name, spec.origin)
        return spec


PRETENDED = {
    "os": _Pretended(os, FUNCTIONS, name="nt"),
    "signal": _Pretended(signal, SIGNALS),
    "sys": _Pretended(sys, (), platform="win32"),
}

imported = [name for name in sys.modules if name.partition(".")[0] == "pytest_bfcl"]
assert not imported, f"too late: {imported}"
sys.meta_path.insert(0, _Finder())
for _name in MODULES:
    sys.modules[_name] = None  # type: ignore[assignment]
