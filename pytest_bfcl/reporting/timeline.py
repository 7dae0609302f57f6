"""The steps of a conversation on one line, as long as the model took for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.chat import TurnView


class TimedStep(NamedTuple):
    """One step on the time line of an entry: its beginning and length, of `WIDTH`; ``wrong``: a call failed."""

    turn: int
    step: int
    start: float
    width: float
    seconds: str
    wrong: bool


WIDTH = 1000


def timeline(record: Fields, turns: Sequence[TurnView]) -> list[TimedStep]:
    """The steps of a conversation one after the other, as long as the model took; empty for a single reply.

    Where not every step has a time all are of one length.
    """
    steps = [(turn, step) for turn in turns for step in turn.steps]
    told = record.get("latency_s")
    flat = [each for part in told if isinstance(part, list) for each in part] if isinstance(told, list) else []
    timed = len(flat) == len(steps) and all(isinstance(each, int | float) and each > 0 for each in flat)
    times = flat if timed else [1.0] * len(steps)
    whole, at, found = sum(times), 0.0, []
    for (turn, step), time in zip(steps if len(steps) > 1 else (), times, strict=False):
        width = WIDTH * time / whole
        words = rendering.seconds(time) if timed else ""
        wrong = any(call.failed for call in step.calls)
        found.append(TimedStep(turn.number, step.number, round(at, 1), round(width, 1), words, wrong))
        at += width
    return found
