"""What one more single-turn entry takes: calls of our functions, changes of room. ``python benchmarks/calls.py``.

Deterministic: two runs of the ``oracle:`` over 4 and 14 bundled entries, without pages.
A call is one of a function of this package; a change of room is a call from one room into another.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest_bfcl

ROOT = str(Path(pytest_bfcl.__file__).parent) + os.sep
FEW, MANY = 4, 14
HOW = ("run", "plugin")
CALLERS = "CALLERS" in os.environ


def main() -> int:
    """Print both counts, with ``--top`` the functions that are called most."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=0)
    parser.add_argument("--one", choices=HOW, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        _carried_out(args.one, contextlib.nullcontext(), FEW)  # what is imported and kept for all entries
        told = [_counted(args.one, count) for count in (FEW, MANY)]
        sys.__stdout__.write("\n" + json.dumps(told) + "\n")
        return 0
    for how, (calls, rooms, names) in measured().items():
        print(f"{how}: {calls:.0f} calls of ours and {rooms:.0f} changes of room for one more entry")
        for name, count in names.most_common(args.top):
            print(f"{count / (MANY - FEW):8.2f}  {name}")
    return 0


def measured() -> dict[str, tuple[float, float, Counter[str]]]:
    """How → calls and changes of room for one more entry, and by name the calls of all entries more."""
    found = {}
    for how in HOW:
        few, many = _in_process_of_its_own(how)
        calls, rooms = ((many[what] - few[what]) / (MANY - FEW) for what in ("calls", "rooms"))
        names = Counter(many["names"])
        names.subtract(few["names"])
        found[how] = (calls, rooms, names)
    return found


def _in_process_of_its_own(how: str) -> list:  # type: ignore[type-arg]
    command = [sys.executable, __file__, "--one", how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def _counted(how: str, count: int) -> dict[str, object]:
    counter = _Counter()
    _carried_out(how, counter, count)
    return {"calls": sum(counter.names.values()), "rooms": counter.rooms, "names": counter.names}


def _carried_out(how: str, counter: contextlib.AbstractContextManager[None], count: int) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        {"run": _run, "plugin": _plugin}[how](counter, count)


def _run(counter: contextlib.AbstractContextManager[None], count: int) -> None:
    from pytest_bfcl.session.evaluation import open_data

    data = open_data("bundled")
    with counter:
        pytest_bfcl.run(data, ["oracle:"], categories=["simple_python"], sample=count, out=Path("out"))


def _plugin(counter: contextlib.AbstractContextManager[None], count: int) -> None:
    import pytest

    which = ["--bfcl-data=bundled", "--bfcl-categories=simple_python", f"--bfcl-sample={count}"]
    how = ["--model=oracle:", "--bfcl-report=none", "--bfcl-out=out", "-q", "-p", "no:cacheprovider"]
    with counter:
        assert pytest.main([*which, *how]) == 0


class _Counter:
    """Calls of this package's functions, by name, and how often one room calls another; in every thread."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()
        self.rooms = 0

    def __enter__(self) -> None:
        threading.setprofile(self._see)
        sys.setprofile(self._see)

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _see(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(ROOT):
            return
        caller = frame.f_back.f_code.co_filename if frame.f_back else ""
        name = f"{path.removeprefix(ROOT)}:{frame.f_code.co_qualname}"
        self.names[f"{name} < {frame.f_back.f_code.co_qualname}" if CALLERS and frame.f_back else name] += 1
        self.rooms += caller.startswith(ROOT) and _room(caller) != _room(path)


def _room(path: str) -> str:
    return path.removeprefix(ROOT).partition(os.sep)[0]


if __name__ == "__main__":
    sys.exit(main())
