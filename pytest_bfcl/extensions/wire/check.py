"""What a check is: a rule, and a judgement that asks and raises an `ends.Ending` unless the rule
held.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_bfcl.extensions.wire.probe import Probe

Api = Literal["chat", "responses", "anthropic", "completions"]
APIS: tuple[Api, ...] = ("chat", "responses", "anthropic", "completions")
OPENAI: tuple[Api, ...] = ("chat", "responses")
"""The two that have one set of checks."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What must be so, in one or two sentences, and where it is written (a section's name, never a made-up link)."""

    text: str
    where: str


Judges = Mapping[str, Callable[[Probe], Awaitable[None]]]
"""What judges a rule, by its name in ``rules.toml``."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its rule, and ``judge``, which asks and raises unless the rule held.

    ``after``: checks without which this one means nothing; when one of them is broken, this one is not judged.
    ``optional``: a server may refuse what is asked here with a clean 4xx. ``alone``: nothing else runs beside it.
    ``streamed``: it is about streams and nothing else. ``chain``: so many requests follow one another; it goes first.
    """

    name: str
    rule: Rule
    judge: Callable[[Probe], Awaitable[None]]
    after: tuple[str, ...] = ()
    apis: tuple[Api, ...] = OPENAI
    optional: bool = False
    alone: bool = False
    group: str = ""
    streamed: bool = False
    chain: int = 0

    @property
    def reason(self) -> str:
        """The reason of a failure."""
        return f"wire:{self.name}"
