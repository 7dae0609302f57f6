"""Tests a streaming parser with every split of a text: its result must not depend on the deltas.

The texts have calls in models' formats: one row of ``writings.toml`` a format, one set of calls for all. Our own
decoder reads each written call; calls that a format cannot express are left out.
"""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from pytest_bfcl.extensions.formats.installed_parser import Cuts, deltas_of, shrunk, splits_of
from pytest_bfcl.extensions.wire.differences import Wanted, compare
from pytest_bfcl.extensions.wire.parser import Hung, Read, Target
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import TEXT, Request, Tool, documents, schema
from pytest_bfcl.extensions.wire.row import Cell, Judged
from pytest_bfcl.extensions.wire.rules import ROWS
from pytest_bfcl.formats.served import NOTATIONS
from pytest_bfcl.syntax.limits import DecodeError

LOOK_UP = Tool(
    "look_up",
    {
        "type": "object",
        "properties": {
            "key": TEXT, "count": {"type": "integer"}, "rate": {"type": "number"}, "exact": {"type": "boolean"},
            "tags": {"type": "array", "items": TEXT}, "place": {"type": "object"},
        },
        "required": [],
    },
    "Looks a key up.",
)  # fmt: skip
STATUS = Tool("get_status", schema({}), "Tells the status.")
TOOLS = (LOOK_UP, STATUS)


@dataclass(frozen=True, slots=True)
class Writing:
    """How a format writes calls: ``call`` once for each, ``between`` them, ``before`` and ``after`` all.

    Templates: ``$name``, ``$number`` (from 0), ``$json`` (the arguments), ``$member`` (an object of name and
    arguments), ``$python``, ``$signs`` (Gemma's) or ``$elements``. The last has one ``element`` an argument with
    ``$key``, ``$value`` and whether it is a ``$string``. ``alone``: nothing may come with the calls.
    """

    call: str
    before: str = ""
    after: str = ""
    between: str = "\n"
    element: str = ""
    quote: str = ""
    alone: bool = False

    def text(self, calls: Sequence[Wanted], *, ascii_only: bool = False) -> str:
        """The calls in this format."""

        def dumps(value: object) -> str:
            return json.dumps(value, ensure_ascii=ascii_only)

        def written(number: int, call: Wanted) -> str:
            return Template(self.call).substitute(
                name=call.name, number=number, json=dumps(call.arguments),
                member=dumps({"name": call.name, "arguments": call.arguments}),
                python=f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})",
                signs=f"call:{call.name}{_signs(call.arguments, self.quote)}",
                elements="".join(self._element(key, value, dumps) for key, value in call.arguments.items()),
            )  # fmt: skip

        listed = self.between.join(written(number, call) for number, call in enumerate(calls))
        return f"{self.before}{listed}{self.after}"

    def _element(self, key: str, value: object, dumps: Any) -> str:
        text = value if isinstance(value, str) else dumps(value)
        return Template(self.element).substitute(key=key, value=text, string=str(isinstance(value, str)).lower())


def _signs(value: object, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_signs(each, quote)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_signs(each, quote) for each in value) + "]"
    return json.dumps(value)


@cache
def writings() -> Mapping[str, Writing]:
    """Format → how its calls are written, by the models' chat templates."""
    listed = tomllib.loads(Path(__file__).with_name("writings.toml").read_text(encoding="utf-8"))
    return {name: Writing(**said) for name, said in listed.items()}


def _look(**arguments: Any) -> Wanted:
    return Wanted(LOOK_UP.name, arguments)


ONE = (_look(key="Oslo"),)
BATTERY: Mapping[str, tuple[Wanted, ...]] = {
    "one call": ONE,
    "no arguments": (Wanted(STATUS.name, {}),),
    "two calls": (_look(key="Oslo"), _look(key="Rome", count=2)),
    "numbers": (_look(count=-17, rate=0.5, exact=True),),
    "nested": (_look(tags=["a", "b"], place={"at": {"x": 1, "names": []}}),),
    "braces": (_look(key='} ], {"a": "b"}'),),
    "quotes": (_look(key="she said \"no\" and 'yes' \\ twice"),),
    "line ends": (_look(key="first\nsecond\tthird"),),
    "markup": (_look(key="1 < 2 && <b>3</b> > 2"),),
    "letters": (_look(key="Grüße, 世界 😀👩‍🚀"),),
}
SAID = "I look it up. "
PLAIN = "Is 2 < 3? Yes: f(x) = {1, [2]}, and <b>that</b> is | all."


@dataclass(frozen=True, slots=True)
class Written:
    """A text, its subject, its calls and its prose (``said``); for foreign texts neither is ``known``."""

    what: str
    text: str
    wanted: tuple[Wanted, ...]
    said: str = ""
    tools: tuple[Tool, ...] = TOOLS
    known: bool = True


def written_in(name: str) -> list[Written]:
    """The set of calls in one format, from the shortest text to the longest."""
    return sorted((each for each in _written(writings()[name]) if _reads(name, each)), key=lambda each: len(each.text))


def _written(writing: Writing) -> Iterator[Written]:
    for what, calls in BATTERY.items():
        yield Written(what, writing.text(calls), calls)
    for what in ("letters", "quotes"):
        yield Written(f"{what}, escaped", writing.text(BATTERY[what], ascii_only=True), BATTERY[what])
    if not writing.alone:
        yield Written("prose before a call", SAID + writing.text(ONE), ONE, SAID)
    yield Written("prose alone", PLAIN, (), PLAIN)


def _reads(name: str, each: Written) -> bool:
    """Whether our decoder finds the original calls in a text."""
    try:
        found = NOTATIONS[name].pairs(each.text, documents(each.tools))
    except DecodeError:
        return not each.wanted
    return found == [(call.name, call.arguments) for call in each.wanted]


# -- every split -----------------------------------------------------------------------------------------------------

SHRINK_S = 4.0
"""Longest time for shortening one finding's text."""

RULES = {
    "whole": "The whole text at once comes to the calls and the text that its format says.",
    "fails": "No split makes the parser raise, hang, or yield what is no delta.",
    "split_calls": "Every split comes to the calls of the whole text, with the same arguments.",
    "split_text": "Every split comes to the text and the reasoning of the whole text.",
    "whole_characters": "No event holds half a character.",
}
"""Rules about splits; servers' rules are about deltas."""
_HALVES = re.compile("[\ud800-\udfff]")
_OF_DELTAS = (
    "delta_index", "delta_id", "delta_type", "delta_name", "delta_arguments", "arguments_text", "arguments_parse",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cut:
    """A broken rule, with the smallest text and the fewest deltas; ``count``: splits that break it."""

    rule: str
    why: str
    text: Written
    deltas: tuple[str, ...]
    count: int
    tried: int
    hung: bool = False

    @property
    def rule_text(self) -> str:
        """The rule in words."""
        return RULES.get(self.rule) or next(row.text for row in ROWS if row.name == self.rule)


def formats_of(target: Target) -> list[str]:
    """The formats in which the parser finds a plain call."""
    return [name for name in writings() if any(_finds(target, each) for each in written_in(name)[:3] if each.wanted)]


def _finds(target: Target, written: Written) -> bool:
    try:
        (read,) = target.read(written.text, written.tools, [()])
    except Hung:
        return False
    return not isinstance(read, str) and compare(written.wanted, read).kind == "exact"


def examined(target: Target, texts: Iterable[Written]) -> Iterator[Cut]:
    """Each broken rule once, with its first text made smaller."""
    broken: set[str] = set()
    for written in texts:
        for cut in _cuts(target, written):
            if cut.rule not in broken:
                broken.add(cut.rule)
                yield cut if cut.hung or cut.rule == "whole" else _smaller(target, cut)
            if cut.hung:  # and would again
                return


def _cuts(target: Target, written: Written) -> list[Cut]:
    """The rules that one text breaks, with the fewest deltas."""
    atoms = target.atoms(written.text, written.tools)
    splits = splits_of(atoms)
    try:
        reads = target.read(written.text, written.tools, splits)
    except Hung as hung:
        return [Cut("fails", str(hung), written, hung.deltas, 1, len(splits), hung=True)]
    whole = reads[0]
    found: dict[str, list[tuple[Cuts, str]]] = {}
    for cuts, read in zip(splits, reads, strict=True):
        for rule, why in _faults(written, whole, read, uncut=not cuts):
            found.setdefault(rule, []).append((cuts, why))

    def wrong(rule: str) -> Callable[[Sequence[Cuts]], list[tuple[Cuts, str]]]:
        def tried(fewer: Sequence[Cuts]) -> list[tuple[Cuts, str]]:
            again = zip(fewer, target.read(written.text, written.tools, fewer), strict=True)
            faults = ((cuts, dict(_faults(written, whole, read, uncut=not cuts)).get(rule)) for cuts, read in again)
            return [(cuts, why) for cuts, why in faults if why]

        return tried

    made = []
    for rule, failing in found.items():
        cuts, why = min(failing, key=lambda each: (len(each[0]), each[0]))
        cuts, why = shrunk(cuts, why, wrong(rule))
        made.append(Cut(rule, why, written, deltas_of(atoms, cuts), len(failing), len(splits)))
    return made


def _faults(written: Written, whole: Read, read: Read, *, uncut: bool) -> Iterator[tuple[str, str]]:
    """The rules that one split breaks, with the errors."""
    if isinstance(read, str):
        yield "fails", read
        return
    if uncut and written.known:
        match = compare(written.wanted, read)
        if match.kind != "exact":
            yield "whole", match.why
        elif read.text.strip() != written.said.strip():
            yield "whole", f"the text is {read.text!a:.120}, not {written.said!a:.120}"
    if not uncut and not isinstance(whole, str):
        yield from _apart(whole, read)
    yield from _of_deltas(written, read)


def _apart(whole: Reply, read: Reply) -> Iterator[tuple[str, str]]:
    if len(whole.calls) != len(read.calls):
        yield "split_calls", f"{len(read.calls)} calls, {len(whole.calls)} in the whole text"
    for one, other in zip(whole.calls, read.calls, strict=False):
        if one.name != other.name:
            yield "split_calls", f"the name is {other.name!a:.80}, of the whole text {one.name!a:.80}"
        elif (one.values, one.values or one.arguments) != (other.values, other.values or other.arguments):
            yield "split_calls", f"the arguments are {other.arguments!a:.160}, of the whole text {one.arguments!a:.160}"
    for what in ("text", "reasoning"):
        before, after = getattr(whole, what), getattr(read, what)
        if before.strip() != after.strip():
            yield "split_text", f"the {what} is {after!a:.120}, of the whole text {before!a:.120}"


def _of_deltas(written: Written, read: Reply) -> Iterator[tuple[str, str]]:
    escaped = b"\\ud" in read.exchange.received  # as our own JSON has them
    if escaped and any(_HALVES.search(json.dumps(each.parsed, ensure_ascii=False)) for each in read.exchange.events):
        yield "whole_characters", "an event holds half a surrogate pair"
    judged = Judged(Cell(streamed=True), Request.of("", *written.tools), (), read, "chat")
    for row in ROWS:
        if row.name in _OF_DELTAS and (findings := row.judge(judged)):
            yield row.name, findings[0].why


def _smaller(target: Target, cut: Cut) -> Cut:
    """The same fault in a shorter text: pieces are removed while it stays."""
    until = time.monotonic() + SHRINK_S
    size = len(cut.text.text) // 2
    while size and time.monotonic() < until:
        for start in range(0, len(cut.text.text), size):
            text = cut.text.text[:start] + cut.text.text[start + size :]
            shorter = replace(cut.text, text=text, wanted=(), said="", known=False)
            again = _still(target, shorter, cut.rule) if text else None
            if again is not None:
                cut = again
                break
            if time.monotonic() > until:
                break
        else:
            size //= 2
        size = min(size, len(cut.text.text) // 2)
    return cut


def _still(target: Target, text: Written, rule: str) -> Cut | None:
    """The fault in this text, if the whole text is still read as a call where needed."""
    try:
        (whole,) = target.read(text.text, text.tools, [()])
    except Hung:
        return None
    if rule != "fails" and (isinstance(whole, str) or (rule == "split_calls" and not whole.calls)):
        return None
    return next((cut for cut in _cuts(target, text) if cut.rule == rule and not cut.hung), None)
