"""Runs hostile call texts in a process of its own, under an audit hook that notes every reach for the outside.

Usage: ``python -m tests.simulators.hostile_run COUNT SEED``; prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pytest_bfcl.simulators import ERROR_PREFIX, CallExecutor, create_simulator
from tests.simulators.hostile_texts import BOUNDED, REFUSED, generated

FORBIDDEN = ("open", "exec", "import", "socket.", "subprocess.", "os.", "shutil.", "ctypes.", "pickle.", "tempfile.")
CONFIG = {
    "root": {
        "r": {
            "type": "directory",
            "contents": {"d": {"type": "directory", "contents": {}}, "f": {"type": "file", "content": "x\ny"}},
        }
    }
}


class Watch:
    """Notes and stops every reach for the outside, from now until ``on`` is false; the hook itself stays for good."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.on = True
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event.startswith(FORBIDDEN):
            self.events.append(f"{event} {arguments!r:.80}")
            raise RuntimeError(event)


def executor() -> CallExecutor:
    """Fresh simulators of four classes."""
    simulators = {
        "GorillaFileSystem": create_simulator("GorillaFileSystem", CONFIG),
        "MathAPI": create_simulator("MathAPI"),
        "TwitterAPI": create_simulator("TwitterAPI", {"authenticated": True}),
        "MessageAPI": create_simulator("MessageAPI", {"current_user": "USR001"}),
    }
    return CallExecutor(simulators)


def main(count: int, seed: int) -> dict[str, Any]:
    """What happened: forbidden events, texts wrongly accepted, non-texts, the slowest text."""
    warm = executor()
    for text in ("logarithm(8, 2, 5)", "square_root(2, 3)", "pwd()", "echo('\\d')", "standard_deviation([1, 2])"):
        assert not warm.execute(text).startswith(ERROR_PREFIX)
    warm.execute("f(")
    warm.execute("écho()")  # the parser imports unicodedata for names outside ASCII
    watch = Watch()
    found: dict[str, Any] = {"accepted": [], "not_text": [], "errors": 0, "texts": 0}
    slowest = ("", 0.0)
    for number, text in enumerate([*REFUSED, *BOUNDED, *generated(count, seed)]):
        if number % 500 == 0:
            current = executor()
            before = {name: repr(s.public_state()) for name, s in current.simulators.items()}
        start = time.perf_counter()
        result = current.execute(text)
        current.writes(text)
        slowest = max(slowest, (text[:80], time.perf_counter() - start), key=lambda pair: pair[1])
        found["texts"] += 1
        if type(result) is not str:
            found["not_text"].append(text[:80])
        if result.startswith(ERROR_PREFIX):
            found["errors"] += 1
        elif number < len(REFUSED):
            found["accepted"].append(text[:80])
        if number == len(REFUSED) - 1:
            found["changed"] = {n: repr(s.public_state()) for n, s in current.simulators.items()} != before
    watch.on = False
    return {**found, "events": watch.events, "slowest_text": slowest[0], "slowest_s": slowest[1]}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
