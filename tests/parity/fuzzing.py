"""Both sides asked the same until the time is up; a difference is shrunk to the smallest case.

    PARITY_PYTHON=.venv-parity/bin/python PARITY_MINUTES=15 python -m tests.parity

Hypothesis draws and shrinks; what is found stays found: later cases that differ for the same reason are passed over.
"""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.parity.cases import KINDS, Request, Source
from tests.parity.exceptions import excused

ANSWER_S = 20.0
"""Seconds an answer may take; the reference does not bound its work."""
ROUND = 60
"""Cases of one kind before the next has its turn."""
MOST_SHRINKING_S = 120.0

Answer = dict[str, Any]


class Unanswered(Exception):
    """The reference's process was ended: it took too long, or it died."""


class Reference:
    """The process with the installed bfcl-eval, started anew when it has to be ended."""

    def __init__(self, python: str) -> None:
        self.python = python
        self._process: subprocess.Popen[str] | None = None

    def answer(self, request: Request) -> Answer:
        """Raises `Unanswered`."""
        process = self._process or self._started()
        clock = threading.Timer(ANSWER_S, process.kill)
        clock.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        finally:
            clock.cancel()
        if not line:
            self.close()
            raise Unanswered
        found: Answer = json.loads(line)
        return found

    def _started(self) -> subprocess.Popen[str]:
        program = Path(__file__).with_name("reference.py")
        self._process = process = subprocess.Popen(
            [self.python, str(program), "--quiet"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        if not process.stdout.readline():
            raise RuntimeError(f"bfcl-eval cannot be asked by {self.python}: {process.stderr.read()[-1000:]}")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        return process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@dataclass
class Difference:
    """A smallest case on which the sides differ."""

    kind: str
    request: Request
    ours: Answer
    theirs: Answer

    @property
    def place(self) -> str:
        """What is alike in cases that differ for one reason."""
        return place_of(self.request, self.ours, self.theirs)

    def told(self) -> str:
        """For people."""
        first = first_difference(self.ours, self.theirs)
        return f"{self.kind}: {self.place}\n  case   {json.dumps(shown(self.request))}\n  {first}"


@dataclass
class Found:
    """What a run came to."""

    cases: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    differences: list[Difference] = field(default_factory=list)


class _Differs(Exception):
    pass


def fuzz(
    ours: Callable[[Request], Answer],
    theirs: Reference,
    source: Source,
    seconds: float,
    *,
    kinds: tuple[str, ...] = tuple(KINDS),
    start: int | None = None,
    most: int = 20,
    say: Callable[[str], None] = lambda text: None,
) -> Found:
    """Ask both sides for so many seconds, each kind of case in turn; at most ``most`` differences are looked for."""
    found, end, known = Found(), time.monotonic() + seconds, set[str]()
    number = random.randrange(2**32) if start is None else start
    while time.monotonic() < end and len(found.differences) < most:
        for kind in kinds:
            number += 1
            difference = _round(ours, theirs, source, kind, number, end, known, found)
            if difference is not None:
                known.add(difference.place)
                found.differences.append(difference)
                say(difference.told())
    return found


def _round(
    ours: Callable[[Request], Answer],
    theirs: Reference,
    source: Source,
    kind: str,
    number: int,
    end: float,
    known: set[str],
    found: Found,
) -> Difference | None:
    last: list[Difference] = []
    since: list[float] = []

    @seed(number)
    @settings(
        max_examples=ROUND, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink), report_multiple_bugs=False,
    )  # fmt: skip
    @given(KINDS[kind](source))
    def both(request: Request) -> None:
        late = since and time.monotonic() - since[0] > MOST_SHRINKING_S
        if late or (not since and time.monotonic() > end):
            return
        found.cases[kind] += 1
        try:
            expected = theirs.answer(request)
        except Unanswered:
            found.unanswered += 1
            return
        here = ours(request)
        if here == expected:
            return
        if reason := excused(request, here, expected):
            found.excused[reason] += 1
            return
        difference = Difference(kind, request, here, expected)
        if difference.place in known or (last and difference.place != last[0].place):
            return
        since.append(time.monotonic())
        last[:] = [difference]
        raise _Differs

    try:
        both()
    except BaseException as error:
        if not last or isinstance(error, KeyboardInterrupt):
            raise
    return _trimmed(last[0], ours, theirs) if last else None


def _trimmed(difference: Difference, ours: Callable[[Request], Answer], theirs: Reference) -> Difference:
    """Without the calls or replies that it does not take: hypothesis gives up on long lists before they are short."""
    name = {"execute": "calls", "converse": "replies"}.get(difference.request["do"], "")
    place = len(difference.request.get(name, ())) - 1
    while place >= 0:
        kept = difference.request[name]
        request = {**difference.request, name: kept[:place] + kept[place + 1 :]}
        try:
            less = Difference(difference.kind, request, ours(request), theirs.answer(request))
        except Unanswered:
            break
        if less.ours != less.theirs and less.place == difference.place:
            difference = less
        place -= 1
    return difference


# -- telling ---------------------------------------------------------------------------------------------------------


def place_of(request: Request, ours: Answer, theirs: Answer) -> str:
    """Where two answers part: the call and the kind of result, or the verdicts."""
    if "raised" in theirs:
        return f"{request['do']}: the reference raises {theirs['raised'].partition(':')[0]}"
    if request["do"] == "execute":
        for call, here, there in zip(request["calls"], ours["results"], theirs["results"], strict=False):
            if here != there:
                return f"{call.partition('(')[0]}: {_shape(here)} for {_shape(there)}"
        names = [name for name in theirs["state"] if ours["state"].get(name) != theirs["state"][name]]
        return f"state of {', '.join(names)}"
    if request["do"] == "judge":
        group = request["category"].rpartition("_")[2]
        return f"{group} {request['mode']}: {ours['error_type']} for {theirs['error_type']}"
    return f"{request['category']} {request['mode']}: requests"


def _shape(result: str) -> str:
    """A result without its values."""
    words = ("Error during execution: ", '{"error": ')
    start = next((word for word in words if result.startswith(word)), "")
    return (start + result[len(start) :][:24]) if start else f"a {'JSON' if result[:1] == '{' else 'text'}"


def first_difference(ours: Any, theirs: Any, path: str = "") -> str:
    """The first place at which two values differ, both sides of it."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        for key in ours:
            if ours[key] != theirs[key]:
                return first_difference(ours[key], theirs[key], f"{path}.{key}")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (here, there) in enumerate(zip(ours, theirs, strict=True)):
            if here != there:
                return first_difference(here, there, f"{path}[{number}]")
    return f"{path or 'answer'}\n    ours   {json.dumps(ours)[:600]}\n    theirs {json.dumps(theirs)[:600]}"


def shown(request: Request) -> Request:
    """A request without what its entry says."""
    return {name: value for name, value in request.items() if name != "config"}
