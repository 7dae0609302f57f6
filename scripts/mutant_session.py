"""A pytest plugin for ``mutants.py``: tests are traced once, then tried in forks with one function changed.

Requests come in as lines of JSON: ``["trace", part, parts, file]``, ``["know", names of traced tests]`` and
``["try", file, names of tests, seconds, room]``; ``mutant: traced``, ``mutant: found`` or ``mutant: passed`` go out.
The changed file lies on the disk, for processes that tests start; functions of this process get their code from it.
"""

from __future__ import annotations

import ast
import faulthandler
import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import mutants
import pytest
from _pytest.runner import runtestprotocol

MEMORY = 6 << 30
LONGEST_S = 3600
HANGS_S = 25
"""Of a whole trace, and of one test of a mutant on an idle machine: one that hangs was noticed."""
ROOT = f"{Path.cwd() / 'pytest_bfcl'}{os.sep}"
TRACED = tuple(f"{ROOT}{room}{os.sep}" for room in os.environ.get(mutants.TRACED, "").split(","))
_IN, _OUT = os.fdopen(os.dup(0)), os.dup(1)  # before pytest captures them


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Instead of the tests: what is asked for."""
    items = {item.nodeid: item for item in session.items}
    gc.unfreeze()
    functions = _functions()
    originals = {file: _code_of(file) for file in functions}
    new: list[pytest.Item] = []
    _say("ready")
    for line in _IN:
        match json.loads(line):
            case ["know", names]:
                new = [items[name] for name in items.keys() - set(names)]
            case ["trace", part, parts, found]:
                size = -(-len(session.items) // parts)
                _in_child(partial(_trace, session.items[part * size : (part + 1) * size], Path(found)), LONGEST_S)
                _say("traced")
            case ["try", file, names, seconds, room]:
                tests = [items[name] for name in names if name in items]
                tests += [item for item in new if item.nodeid.startswith(room)]  # written since a map was kept
                # What was not imported yet is read as it lies on the disk.
                changed = _changed(functions[file], originals[file], _code_of(file)) if file in functions else []
                if changed is None:
                    _say("apart")
                    continue
                passed = _in_child(partial(_try, tests, changed, seconds), 60 + seconds * 20)
                _say("passed" if passed else "found")
    return True


def _say(word: str) -> None:
    os.write(_OUT, f"\nmutant: {word}\n".encode())


def _in_child(work: Callable[[], bool], longest: float) -> bool:
    """Whether it returns true in a fork, in time."""
    child = os.fork()
    if not child:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            os._exit(int(not work()))
        except BaseException as error:
            _say(f"{error!r}")
            os._exit(1)
    descriptor = os.pidfd_open(child)
    ready, _, _ = select.select([descriptor], [], [], longest)
    os.close(descriptor)
    if not ready:  # it hangs: it was noticed
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status == 0


def _trace(items: list[pytest.Item], found: Path) -> bool:
    """Run tests once, and keep which come past which lines."""
    met: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    spent: dict[str, float] = {}
    seen: set[tuple[str, int]] = set()
    spawners = []
    started: list[object] = []
    outermost: dict[str, dict[int, str]] = {}

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def everywhere(frame: FrameType, event: str, argument: Any) -> Any:
        return local(frame, event, argument) if frame.f_code.co_filename.startswith(TRACED) else None

    whole = subprocess.Popen.__init__

    def start(*arguments: Any, **named: Any) -> None:
        started.append(arguments)
        whole(*arguments, **named)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign]
    for number, item in enumerate(items, 1):
        following = items[number] if number < len(items) else None
        seen.clear()
        started.clear()
        began = time.monotonic()
        threading.settrace(everywhere)
        sys.settrace(everywhere)
        reports = runtestprotocol(item, log=False, nextitem=following)
        sys.settrace(None)
        spent[item.nodeid] = time.monotonic() - began
        if any(report.failed for report in reports):
            _say(f"left out, it fails without a mutant: {item.nodeid}")
            continue
        if started:
            spawners.append(item.nodeid)
        for path, line in seen:
            if not path.endswith(".py"):  # a template of a page
                continue
            file = os.path.relpath(path)
            if file not in outermost:
                outermost[file] = _places(file)
            met[file][outermost[file].get(line, f"<module>+{line}")].append(item.nodeid)
    for file, places in met.items():
        # What processes of their own come past is not seen: tests of the file's room that start some are asked as well.
        room = f"tests/{mutants.room_of(Path(file).resolve())}/"
        others = [each for each in spawners if each.startswith(room)]
        for place, names in places.items():
            places[place] = list(dict.fromkeys(names + others))
    found.write_text(json.dumps([spent, met]))
    return True


def _places(file: str) -> dict[int, str]:
    functions = mutants.outermost(ast.parse(Path(file).read_bytes()))
    return {line: f"{name}+{line - first}" for name, first, last in functions for line in range(first, last + 1)}


def _functions() -> dict[str, list[FunctionType]]:
    """The functions of this process by their file."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(ROOT):
            found[os.path.relpath(each.__code__.co_filename)].append(each)
    return found


def _code_of(file: str) -> CodeType:
    return compile(Path(file).read_bytes(), str(Path(file).resolve()), "exec", dont_inherit=True)


def _codes(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """All code within, by name and how many of the name came before."""
    found: dict[tuple[str, int], CodeType] = {}
    count: Counter[str] = Counter()
    waiting = [code]
    while waiting:
        one = waiting.pop(0)
        found[one.co_qualname, count[one.co_qualname]] = one
        count[one.co_qualname] += 1
        waiting += [each for each in one.co_consts if isinstance(each, CodeType)]
    return found


def _changed(
    functions: list[FunctionType], original: CodeType, changed: CodeType
) -> list[tuple[FunctionType, CodeType]] | None:
    """Functions with their new code; ``None`` where one cannot take it, as it closes over something else."""
    new, found = _codes(changed), []
    places = {(code.co_qualname, code.co_firstlineno): key for key, code in _codes(original).items()}
    for function in functions:
        code = function.__code__
        other = new.get(places.get((code.co_qualname, code.co_firstlineno), ("", 0)))
        if other is not None:
            if other.co_freevars != code.co_freevars:
                return None
            found.append((function, other))
    return found


def _try(items: list[pytest.Item], changed: list[tuple[FunctionType, CodeType]], seconds: float) -> bool:
    """Whether tests pass with other code in some functions."""
    for function, code in changed:
        function.__code__ = code
    until, nowhere = _cpu_s() + seconds, open(os.devnull, "w")  # noqa: SIM115
    for number, item in enumerate(items, 1):
        following = items[number] if number < len(items) else None
        faulthandler.dump_traceback_later(HANGS_S * mutants.busy(), exit=True, file=nowhere)
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return False
        if _cpu_s() > until:
            break
    return True


def _cpu_s() -> float:
    """Seconds of processor time, of processes that ended too: a busy machine must not shorten a trial."""
    return sum(os.times()[:4])
