"""Hostile replies through episodes in a process of its own, under an audit hook.

Usage: ``python -m tests.extensions.training.hostile_run COUNT SEED``; prints one JSON object.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

from pytest_bfcl.checkers import details
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.training import Episode
from pytest_bfcl.transcript import Mode, Reply
from tests.multi_turn.hostile_run import INJECTED, native, prompted
from tests.simulators.hostile_run import Watch
from tests.simulators.hostile_texts import BOUNDED, REFUSED, generated

IDS = (
    "multi_turn_base_0", "multi_turn_base_7", "multi_turn_miss_func_0",
    "simple_python_0", "parallel_0", "simple_java_0",
)  # fmt: skip
MODES: tuple[Mode, ...] = ("fc", "prompt")


def hostile(texts: Iterator[str], rng: random.Random, mode: Mode) -> Reply | None:
    """The next reply, native or text as the mode has it and now and then the other way."""
    text = next(texts, None)
    if text is None:
        return None
    if (mode == "fc") == (rng.random() < 0.9):
        return Reply(tool_calls=(native(text, rng),))
    return Reply(text=prompted(text, rng))


def play(entry: Entry, mode: Mode, rules: str, texts: Iterator[str], rng: random.Random, slow: list[float]) -> int:
    """One episode to its end; how many steps it took."""
    episode = Episode(entry, mode=mode, rules=rules, partial=True)  # type: ignore[arg-type]
    episode.reset()
    steps = 0
    while not episode.done:
        reply = hostile(texts, rng, mode) or Reply(text="That is all.")
        start = time.perf_counter()
        result = episode.step(reply)
        slow[0] = max(slow[0], time.perf_counter() - start)
        assert 0.0 <= result.reward <= 1.0
        steps += 1
    return steps


def main(count: int, seed: int) -> dict[str, Any]:
    """What happened: forbidden events, what was raised, steps, the slowest step."""
    data = open_data("bundled")
    entries = [data.entry(each) for each in IDS]
    cases = [(entry, mode, rules) for entry in entries for mode in MODES for rules in ("official", "corrected")]
    rng = random.Random(f"hostile episodes {seed}")
    _ = "\x01".encode("unicode_escape")  # the codec is imported when first used
    for case in cases:  # everything that is imported on the way
        play(*case, iter([*generated(40, -1), "écho()", "f(", "logarithm(8, 2, 5)", "square_root(2, 3)"]), rng, [0.0])
    for family in vars(details).values():  # their hints are evaluated when first written down
        if isinstance(family, type) and issubclass(family, details.Details):
            details._fields(family)
    watch = Watch()
    source = (text for group in (REFUSED, BOUNDED, INJECTED, generated(count, seed)) for text in group)
    found: dict[str, Any] = {"steps": 0, "episodes": 0, "raised": []}
    slow = [0.0]
    while found["steps"] < count:
        case = cases[found["episodes"] % len(cases)]
        found["episodes"] += 1
        try:
            found["steps"] += play(*case, source, rng, slow)
        except Exception as error:
            found["raised"].append(f"{case[0].id} {case[1:]}: {type(error).__name__}: {error}"[:300])
            found["steps"] += 1
    watch.on = False
    # CPython looks for the line of a syntax error in the file, by the constant name that `ast.parse` gives it.
    events = [event for event in watch.events if not event.startswith("open ('<unknown>'")]
    return {**found, "slowest_s": slow[0], "events": events}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
