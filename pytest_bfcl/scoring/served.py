"""Who answered a run: replies of another model than asked, and ids that came twice.

Providers answer for a name with its dated snapshot (``gpt-4o`` → ``gpt-4o-2024-08-06``), with or without the path and
the vendor's name in front: that is the model asked. Everything else is reported and not judged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.runs.result_line import ResultLine

_VENDOR = re.compile(r"^(?:[a-z]+\.)+(?=[a-z])")
_SNAPSHOT = re.compile(r"[-@:_](?:latest|v?(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{3,4}))(?:-v\d+(?::\d+)?)?$")
_NAMES_SHOWN = 5
_NAMES_KEPT = 50
"""Other names that are counted apart; a server that answers with a new one each time has one more, ``others``."""


class ServedTally:
    """Counts over result lines: ``others`` name → replies, ``repeated`` replies whose id had come before."""

    def __init__(self) -> None:
        self.others: Counter[str] = Counter()
        self.repeated = 0
        self._ids: set[int] = set()

    def add(self, record: ResultLine) -> None:
        """Count the replies of one line."""
        asked = name_of(record.get("model") or "")
        for served in _replies(record.get("served")):
            name, reply_id = served.get("model"), served.get("id")
            if isinstance(name, str) and not is_same_model(asked, name):
                known = name in self.others or len(self.others) < _NAMES_KEPT
                self.others[name if known else "others"] += 1
            if isinstance(reply_id, str):
                sign = hash(reply_id)
                self.repeated += sign in self._ids
                self._ids.add(sign)

    def sentences(self) -> Iterator[str]:
        """What is odd about who answered; nothing most of the time."""
        if self.others:
            first = self.others.most_common(_NAMES_SHOWN)
            more = f" and {len(self.others) - len(first)} more" if len(self.others) > len(first) else ""
            names = ", ".join(f"{cut(clean(name), 80)} {count}" for name, count in first)
            yield f"replies of another model than asked: {names}{more}"
        if self.repeated:
            made_up = "a cache between, or a server that makes up its ids"
            yield f"replies with the id of an earlier one: {self.repeated} ({made_up})"


def name_of(spec: str) -> str:
    """The model's name in a spec ``provider:name@mode``."""
    return (spec.rpartition("@")[0] or spec).partition(":")[2] or spec


def is_same_model(asked: str, served: str) -> bool:
    """Whether a provider that calls its model ``served`` answered for ``asked``."""
    wanted, found = _base(asked), _base(served)
    if wanted == found:
        return True
    return _SNAPSHOT.sub("", found) == (wanted.removesuffix("-latest").removesuffix(":latest"))


def _base(name: str) -> str:
    return _VENDOR.sub("", name.strip().lower().rpartition("/")[2])


def _replies(served: object) -> Iterator[Fields]:
    """What the server reported of each reply of a line: one, or turns → steps → one."""
    if isinstance(served, dict):
        yield served
    elif isinstance(served, list):
        for part in served:
            yield from _replies(part)
