"""Judges every answer of the matrix by every rule: broken rules, their cells, and whose fault it is.

A rule's check covers all its cells. A fault in an unusual cell (a forced call, thinking, strict) and in no plainer one
also belongs to that cell. ``choice_required`` is broken by every fault of ``required`` alone.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from pytest_bfcl.extensions.wire.probe import AGAIN, Blocked, Broke, LikelyBroke, NotCalled, Probe, Refused, Suspected
from pytest_bfcl.extensions.wire.row import CELLS, Cell, Check, Finding, Found, Judged, Row, request_for
from pytest_bfcl.extensions.wire.rules import ROWS

MOST_ASKED_AGAIN = 3
"""Number of broken cells that are sent again alone."""
SEED = "matrix"


@dataclass(frozen=True, slots=True)
class Fault:
    """A finding of a rule in a cell; ``right``: the correct plainer answer of the same rule."""

    row: Row
    judged: Judged
    finding: Finding
    right: Judged | None = None

    @property
    def cell(self) -> Cell:
        """The place of the finding."""
        return self.judged.cell


@dataclass(slots=True)
class Verdict:
    """The matrix's result for one check."""

    faults: list[Fault] = field(default_factory=list)
    spoke: list[Judged] = field(default_factory=list)
    refused: list[Judged] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Matrix:
    """The answers by cell, and the verdicts by check."""

    replies: Mapping[Cell, Judged]
    verdicts: Mapping[str, Verdict]

    @property
    def called(self) -> bool:
        """Whether any answer had a call."""
        return any(judged.reply.calls for judged in self.replies.values())


async def fill(probe: Probe, cells: Iterable[Cell] = CELLS, *, at_once: bool = True) -> dict[Cell, Judged]:
    """Send the cells, and for a streamed one its unstreamed twin; all share two fresh words."""
    words = probe.word(), probe.word()
    wanted = dict.fromkeys(each for cell in cells for each in (replace(cell, streamed=False), cell))
    requests = {cell: request_for(cell, *words) for cell in wanted}
    if at_once:
        replies = await asyncio.gather(*(probe.replies(request) for request, _ in requests.values()))
    else:
        replies = [await probe.replies(request) for request, _ in requests.values()]
    first = {cell: found[0] for cell, found in zip(requests, replies, strict=True)}
    model = probe.line.model
    return {
        cell: Judged(
            cell, request, dictated, first[cell], probe.api, model,
            first[replace(cell, streamed=False)] if cell.streamed else None,
        )
        for cell, (request, dictated) in requests.items()
    }  # fmt: skip


def judge(replies: Mapping[Cell, Judged], rows: Iterable[Row] = ROWS) -> Matrix:
    """Every answer by every rule."""
    heard = {cell: each for cell, each in replies.items() if not each.refused}
    found = {
        row.name: {cell: row.judge(judged) for cell, judged in heard.items() if row.applies(judged)} for row in rows
    }
    verdicts: dict[str, Verdict] = defaultdict(Verdict)
    for row in rows:
        verdict = verdicts[row.name]
        left: dict[Cell, Found] = {}
        for cell, said in found[row.name].items():
            sure = [name for name in row.after if said and _explains(found.get(name, {}), cell, weighed=False)]
            verdict.behind += sure[:1]
            unsure = said and said[0].weighed and any(_explains(found.get(name, {}), cell) for name in row.after)
            if not sure and not unsure:
                left[cell] = said
        _sum(row, left, replies, verdicts)
    for judged in replies.values():
        for row in rows:
            if judged.refused and row.applies(judged):
                verdicts[row.name].refused.append(judged)
    return Matrix(replies, verdicts)


def _explains(found: Mapping[Cell, Found], cell: Cell, *, weighed: bool = True) -> bool:
    """Whether another rule has findings in this answer, its unstreamed twin or a plainer one; ``weighed``: also weaker
    ones."""
    near = (found.get(each) for each in (cell, replace(cell, streamed=False), *cell.plainer()))
    return any(each and (weighed or not each[0].weighed) for each in near)


def _sum(row: Row, found: Mapping[Cell, Found], replies: Mapping[Cell, Judged], verdicts: dict[str, Verdict]) -> None:
    """Assign a rule's findings to checks."""
    own = verdicts[row.name]
    everywhere = row.optional or any(said and not cell.special and not said[0].weighed for cell, said in found.items())
    for cell, said in found.items():
        if said is not None and not said:
            own.spoke.append(replies[cell])
        if not said:
            continue
        plainer = [found.get(each) for each in cell.plainer()]
        smallest = not any(plainer)
        finding = said[0]
        fault = Fault(row, replies[cell], finding, _right(cell, found, replies))
        facet = facet_of(cell) if smallest and cell.special and not everywhere else None
        if finding.weighed and (not smallest or fault.right is None):
            continue
        if facet is not None and facet != row.name:
            verdicts[facet].faults.append(fault)
        if not (row.gate and cell.special):
            own.faults.append(fault)


def _right(cell: Cell, found: Mapping[Cell, Found], replies: Mapping[Cell, Judged]) -> Judged | None:
    """A correct plainer answer: for the rule, or, for rules on other parts, in its calls."""
    for each in (*cell.plainer(), Cell(streamed=cell.streamed), Cell()):
        if each in replies and _is_right(found.get(each), replies[each]):
            return replies[each]
    return None


def _is_right(said: Found, judged: Judged) -> bool:
    if said is not None:
        return not said
    return not judged.reply.problem and bool(judged.wanted) and judged.match.kind == "exact"


def facet_of(cell: Cell) -> str:
    """The check of an unusual cell."""
    stream = "_stream" * cell.streamed
    if cell.choice != "auto":
        return {"required": f"choice_required{stream}", "named": f"choice_function{stream}"}.get(
            cell.choice, "choice_none"
        )
    return "strict" if cell.strict else "stream_reasoning" if cell.streamed else "reasoning_apart"


# -- the checks ------------------------------------------------------------------------------------------------------


def checks() -> Iterator[Check]:
    """A check for every rule."""
    return (row.check(partial(_examine, row)) for row in ROWS)


async def _examine(row: Row, probe: Probe) -> None:
    """Raise unless the rule was met in all its cells."""

    async def whole() -> Matrix:
        return judge(await fill(probe.with_name(SEED)))

    matrix = await probe.shared(SEED, whole)
    probe.called = matrix.called
    verdict = matrix.verdicts.get(row.name, Verdict())
    faults = sorted(verdict.faults, key=lambda fault: (fault.finding.weighed, not fault.finding.certain))
    if probe.again:
        faults = await _again(probe, faults)
        if not faults:
            return
    for fault in faults:
        if fault.finding.weighed:
            await _weigh(probe, fault)
        raise _broke(row, fault, faults)
    if verdict.spoke and (matrix.called or not verdict.behind):
        return
    plain = matrix.replies[Cell()].reply
    if verdict.behind or plain.problem:
        raise Blocked((*verdict.behind, "answers")[0])
    if verdict.refused and row.optional:
        shown = verdict.refused[0].reply
        raise Refused(shown.problem, shown)
    raise NotCalled("the model did not call" if not plain.calls else "no answer was one that this rule is about", plain)


def _broke(row: Row, fault: Fault, faults: Iterable[Fault]) -> Broke:
    finding = fault.finding
    broken = tuple(dict.fromkeys(str(each.cell) for each in faults))
    rule = f"{fault.row.name}: " if fault.row is not row else ""
    more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
    kind = Suspected if finding.weighed else Broke if finding.certain else LikelyBroke
    shown = [fault.judged.reply, *([fault.right.reply] if fault.right and finding.weighed else [])]
    return kind(f"{rule}{finding.why} [{fault.cell}{more}]", *shown, proof=finding.proof, cells=broken)


async def _again(probe: Probe, faults: Iterable[Fault]) -> list[Fault]:
    """The faults that remain when their cells are sent alone."""
    cells = list(dict.fromkeys(fault.cell for fault in faults))[:MOST_ASKED_AGAIN]
    replies = await fill(probe, cells, at_once=False)
    found: list[Fault] = []
    for fault in faults:
        if fault.cell in cells:
            said = fault.row.judge(replies[fault.cell])
            if said:
                found.append(replace(fault, judged=replies[fault.cell], finding=said[0]))
    return found


async def _weigh(probe: Probe, fault: Fault) -> None:
    """Sends both forms again. Raises `NotCalled` as soon as the model varies."""
    assert fault.right is not None
    for judged, odd in ((fault.judged, True), (fault.right, False)):
        for _ in range(AGAIN):
            reply = (await probe.replies(judged.request))[0]
            again = replace(judged, reply=reply)
            wrong = not _is_right(fault.row.judge(again) if fault.row.applies(again) else None, again)
            if wrong != odd:
                raise NotCalled(f"the model answers now so, now otherwise: {fault.finding.why}")
