"""A streaming parser under every split of a text: its result must not depend on where deltas end."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_bfcl.extensions.formats.parser_streams import Cuts, deltas_of, shrunk, splits_of
from pytest_bfcl.extensions.wire.cells import Cell, Judged
from pytest_bfcl.extensions.wire.differences import compare
from pytest_bfcl.extensions.wire.parser import Hung, Read, Target
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import Request
from pytest_bfcl.extensions.wire.rules import ROWS
from pytest_bfcl.extensions.wire.written import WRITINGS, Written, written_in

SHRINK_S = 4.0
"""Longest time for making one finding's text smaller."""

RULES = {
    "whole": "The whole text at once comes to the calls and the text that its format says.",
    "fails": "No split makes the parser raise, hang, or yield what is no delta.",
    "split_calls": "Every split comes to the calls of the whole text, with the same arguments.",
    "split_text": "Every split comes to the text and the reasoning of the whole text.",
    "whole_characters": "No event holds half a character.",
}
"""Rules about splits; those about deltas are the ones servers are held to."""
_HALVES = re.compile("[\ud800-\udfff]")
_OF_DELTAS = (
    "delta_index", "delta_id", "delta_type", "delta_name", "delta_arguments", "arguments_text", "arguments_parse",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cut:
    """A broken rule, at the smallest text and the fewest deltas that were found; ``count``: splits that break it."""

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
        return RULES.get(self.rule) or next(row.rule.text for row in ROWS if row.name == self.rule)


def formats_of(target: Target) -> list[str]:
    """The formats in which the parser finds a plain call."""
    return [name for name in WRITINGS if any(_finds(target, each) for each in written_in(name)[:3] if each.wanted)]


def _finds(target: Target, written: Written) -> bool:
    try:
        (read,) = target.read(written.text, written.tools, [()])
    except Hung:
        return False
    return not isinstance(read, str) and compare(written.wanted, read).kind == "exact"


def examined(target: Target, texts: Iterable[Written]) -> Iterator[Cut]:
    """Each rule that is broken, once, with the first text that breaks it made smaller."""
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
    """The rules that one split breaks, with what is wrong."""
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
    """The same fault in a shorter text: pieces are left out for as long as it stays."""
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
    """The fault in this text, if its whole is still read as a call where the fault is about one."""
    try:
        (whole,) = target.read(text.text, text.tools, [()])
    except Hung:
        return None
    if rule != "fails" and (isinstance(whole, str) or (rule == "split_calls" and not whole.calls)):
        return None
    return next((cut for cut in _cuts(target, text) if cut.rule == rule and not cut.hung), None)
