"""JSON pointers (RFC 6901) into requests: what is to be ignored, and where two requests differ; ``*`` is every item."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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


def steps_of(pointer: str) -> tuple[str, ...]:
    """The steps of a pointer. Raises `UsageError`."""
    if not pointer.startswith("/") or len(pointer) < 2:
        raise UsageError(f"{pointer!r} is no JSON pointer: write it like /messages/0/content, * for every item")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))


def masked(value: Any, pointers: Sequence[tuple[str, ...]]) -> Any:
    """The value with `IGNORED` in the places that pointers lead to; a pointer that leads nowhere changes nothing."""
    if any(not steps for steps in pointers):
        return IGNORED
    if isinstance(value, dict):
        items: Iterator[tuple[Any, Any]] = iter(value.items())
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        return value
    found = {key: masked(each, [steps[1:] for steps in pointers if steps[0] in ("*", str(key))]) for key, each in items}
    return found if isinstance(value, dict) else list(found.values())


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
