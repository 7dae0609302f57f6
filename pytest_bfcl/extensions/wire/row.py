"""A rule as a row, and ``rules.toml``: what must be so, where it is written, and what judges an answer by it.

A check asks for itself and raises unless its rule held (`NotHeld`); a row is a plain function from one answer to what
is wrong with it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.probe import Probe
from pytest_bfcl.json_types import Parsed

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


Form = Literal["unstreamed", "streamed", "both"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one answer; ``proof``: the bytes that show it.

    ``certain``: no model could have done this. ``weighed``: a model could, so that it counts only where every plainer
    way of asking is right, and the same is seen again and again.
    """

    why: str
    proof: bytes = b""
    certain: bool = True
    weighed: bool = False


Found = Sequence[Finding] | None
"""What a rule says of an answer: faults, none (it held), or ``None``: nothing to judge here."""


RowJudges = Mapping[str, Callable[[Judged], Found]]
"""What judges an answer, by the rule's name in ``rules.toml``."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule over every answer of the matrix that it applies to.

    ``after``: rules whose findings in the same answer, or in the unstreamed answer to the same question, explain this
    one's. ``optional``: nothing but cells that a server may refuse. ``gate``: in unusual cells the fault is the cell's.
    """

    name: str
    rule: Rule
    judge: Callable[[Judged], Found]
    form: Form = "unstreamed"
    after: tuple[str, ...] = ()
    apis: tuple[Api, ...] = OPENAI
    optional: bool = False
    gate: bool = False

    def applies(self, judged: Judged) -> bool:
        """Whether it is about answers of this API and form."""
        return judged.api in self.apis and self.form in ("both", "streamed" if judged.cell.streamed else "unstreamed")


def wrong(why: str | None, proof: bytes = b"", *, certain: bool = True, weighed: bool = False) -> list[Finding]:
    """One finding, none without words."""
    return [Finding(why, proof, certain and not weighed, weighed)] if why else []


_ROOTS = ("blocks_message", "blocks_fields", "blocks_input")
_EVENTS = ("blocks_stream", "blocks_order", "blocks_indexes", "blocks_deltas", "blocks_inputs")


@cache
def _book() -> Parsed:
    return tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))


def basics() -> tuple[str, ...]:
    """What a check about anything finer builds on."""
    return tuple(_book()["basics"])


def checks_of(group: str, judges: Judges) -> tuple[Check, ...]:
    """A group's checks. Those of the other APIs that Messages has, too, build on its streams as well."""
    found = []
    for name, said in _book()["checks"][group].items():
        given = _given(said)
        if "messages" in said and "stream_events" in given["after"]:
            given["after"] += ("blocks_stream",)
        more = {key: said[key] for key in ("alone", "streamed", "chain") if key in said}
        found.append(Check(name, Rule(said["text"], said["where"]), judges[name], group=group, **given, **more))
    return tuple(found)


def rows_of(group: str, *judges: RowJudges) -> tuple[Row, ...]:
    """A group's rows; the same."""
    judging: RowJudges = {name: judge for each in judges for name, judge in each.items()}
    found = []
    for name, said in _book()["rows"][group].items():
        given, form = _given(said), said.get("form", "unstreamed")
        if "messages" in said:
            given["after"] += _ROOTS if form == "unstreamed" else (*_ROOTS, *_EVENTS)
        rule = Rule(said["text"], said["where"])
        found.append(Row(name, rule, judging[name], form, gate=said.get("gate", False), **given))
    return tuple(found)


def of_messages(check: Check) -> Check:
    """A check as Messages has it: its rule is written elsewhere."""
    groups = (group for kind in ("checks", "rows") for group in _book()[kind].values())
    said: Mapping[str, Any] = next((group[check.name] for group in groups if check.name in group), {})
    return replace(check, rule=Rule(check.rule.text, said.get("messages", check.rule.where)))


def _given(said: Mapping[str, Any]) -> Parsed:
    listed = (basics() if name == "@basics" else (name,) for name in said.get("after", ()))
    apis = (*said.get("apis", OPENAI), *(("anthropic",) if "messages" in said else ()))
    after = tuple(name for each in listed for name in each)
    return {"after": after, "apis": apis, "optional": said.get("optional", False)}
