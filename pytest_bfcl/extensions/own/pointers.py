"""JSON pointers (RFC 6901) into requests: what is to be ignored, and where two requests differ; ``*`` is every item."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.failures import UsageError

IGNORED = "(ignored)"
"""What stands where something is ignored."""
SHOWN = 60


class Difference(NamedTuple):
    """One place where two values differ; a value that is not there is ``None``."""

    pointer: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: recorded {_value_text(self.before)}, now {_value_text(self.after)}"


ROOTS = ("messages", "tools", "name", "arguments", "reply", "result")
"""What a recorded line has that a pointer may begin with."""


class Pointer:
    """One pointer, and whether it has led anywhere yet."""

    def __init__(self, text: str) -> None:
        """Raises `UsageError` for what is no pointer, or begins with nothing that a recording has."""
        if not text.startswith("/") or len(text) < 2:
            raise UsageError(f"{text!r} is no JSON pointer: write it like /messages/0/content, * for every item")
        self.text = text
        self.steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))
        self.led = False
        if self.steps[0] not in ROOTS:
            raise UsageError(f"{text!r} leads nowhere in a recording; it begins with one of /{', /'.join(ROOTS)}")

    def masked(self, value: Any, steps: Sequence[str], found: Callable[[Any], None]) -> Any:
        """The value with `IGNORED` in the places that ``steps`` lead to; ``found`` receives the old values.

        Texts of JSON are gone into as well: results of tools, arguments of calls.
        """
        if not steps:
            self.led = True
            found(value)
            return IGNORED
        first, rest = steps[0], steps[1:]
        if isinstance(value, dict):
            return {k: self.masked(v, rest, found) if first in ("*", str(k)) else v for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.masked(v, rest, found) if first in ("*", str(n)) else v for n, v in enumerate(value)]
        if isinstance(value, str) and value[:1] in ("{", "["):
            with contextlib.suppress(ValueError, RecursionError):
                inside = self.masked(whole := json.loads(value), steps, found)
                return value if inside == whole else json.dumps(inside, ensure_ascii=False)
        return value


def differences(before: Any, after: Any, pointer: str = "") -> Iterator[Difference]:
    """Every place where two JSON values differ, in order."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            step = str(key).replace("~", "~0").replace("/", "~1")
            yield from differences(before.get(key), after.get(key), f"{pointer}/{step}")
    elif isinstance(before, list) and isinstance(after, list):
        for number in range(max(len(before), len(after))):
            old, new = (side[number] if number < len(side) else None for side in (before, after))
            yield from differences(old, new, f"{pointer}/{number}")
    elif before != after:
        yield Difference(pointer, before, after)


def _value_text(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
