"""The result of the proof: compared lines, equal verdicts, each exception; as Markdown and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.reporting.markdown import cell


class Cause(NamedTuple):
    """A cause in a word and in a sentence; ``known``: our verdict is right, or the difference is explained."""

    name: str
    words: str
    known: bool = True


FAILED_REQUEST = Cause(
    "failed request",
    "The request failed. The reference takes the error's text for an answer; here it is an error and enters no score.",
)
UNANSWERED = Cause(
    "nothing answered",
    "The reply was cut, filtered or refused before it said anything. Here that never passes (exception d).",
)
TOO_MANY_CALLS = Cause(
    "too many calls", "A step of more than 500 calls ends its conversation here; the reference carries out all of them."
)
EVALUATED = Cause(
    "evaluated text", "The reference evaluates model text; here it is parsed and never run (exception a)."
)
CRASH = Cause("crash", "The reference's checker raises and ends the run; here the entry fails (exception b).")
NAMES = Cause(
    "names",
    "The folder was scored with the other spelling of native names: with it (`score --names`) the verdicts are equal.",
)
OTHER_DATA = Cause("other data", "The folder was scored against another question or answer than this data set has.")
EARLIER_RELEASE = Cause(
    "older benchmark",
    "An older release of the benchmark scored it (the name of its file tells): data and checker have changed since.",
)
NO_RESULT = Cause("no result", "The score file lists an entry that has no line in the result file.", known=False)
NETWORK = Cause(
    "network",
    "The call asks a service of the network, whose answer is not recorded (`--bfcl-search rest=replay:PATH`).",
)
NOT_JUDGED = Cause("not judged", "The result line cannot be judged.", known=False)
HEADER = Cause("header", "The counts in the score file's first line are not those of its lines.", known=False)
PARTLY_SCORED = Cause(
    "partly scored",
    "Not as many entries were scored as have results. Which passed cannot be told; the failed ones are compared.",
)
UNKNOWN = Cause("unknown", "Nothing explains it: one of the two verdicts is wrong.", known=False)


LISTED = 40
"""Differences of one cause that are listed separately."""
WIDTH = 160


class Difference(NamedTuple):
    """One line whose recorded verdict differs from ours; ``where`` names it."""

    where: str
    recorded: str
    here: str
    cause: Cause

    @property
    def text(self) -> str:
        """The line and both verdicts."""
        return f"{self.where}: recorded {cut(clean(self.recorded), WIDTH)}, here {cut(clean(self.here), WIDTH)}"


@dataclass(slots=True)
class Part:
    """One compared part: its lines, its differences, and notes."""

    name: str
    compared: str = ""
    lines: int = 0
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def equal(self) -> int:
        """Lines with the recorded verdict."""
        return self.lines - sum(each.cause.name not in _NO_LINES for each in self.differences)

    @property
    def unexplained(self) -> list[Difference]:
        """Differences without a known cause."""
        return [each for each in self.differences if not each.cause.known]

    def to_dict(self) -> Parsed:
        """A JSON-able copy."""
        return {
            "name": self.name,
            "compared": self.compared,
            "lines": self.lines,
            "equal": self.equal,
            "differences": [
                {"where": each.where, "recorded": each.recorded, "here": each.here, "cause": each.cause.name,
                 "known": each.cause.known}
                for each in self.differences
            ],
            "notes": list(self.notes),
        }  # fmt: skip


_NO_LINES = frozenset({"header", "no result", "partly scored"})
"""Causes that belong to no line: they count next to the compared lines."""


def proof_markdown(parts: Sequence[Part], title: str, about: Iterable[str] = ()) -> str:
    """All parts as Markdown: one table, then every exception by its cause; ends in a newline."""
    return "\n\n".join([f"# {title}", *about, *_blocks(parts)]) + "\n"


def _blocks(parts: Sequence[Part]) -> Iterator[str]:
    rows = [
        f"| {cell(part.name)} | {cell(part.compared)} | {part.lines:,} | {part.equal:,} | {_exceptions(part)} |"
        for part in parts
    ]
    lines, equal = sum(part.lines for part in parts), sum(part.equal for part in parts)
    total = f"| **all** | | **{lines:,}** | **{equal:,}** | **{lines - equal:,}** |"
    yield "\n".join(["| recorded | compared | lines | equal | exceptions |", "|---|---|---:|---:|---|", *rows, total])
    found = [(part, each) for part in parts for each in part.differences]
    if found:
        yield "## Exceptions"
    causes = dict.fromkeys(each.cause for _, each in found)
    for cause in sorted(causes, key=lambda cause: (cause.known, cause.name)):
        yield f"### {cause.name}" + ("" if cause.known else " (not explained)")
        yield cause.words
        same = [(part, each) for part, each in found if each.cause == cause]
        listed = [f"- {cell(part.name)}: {cell(each.text)}" for part, each in same[:LISTED]]
        left = Counter(part.name for part, _ in same[LISTED:])
        listed += [f"- {cell(name)}: {count:,} more" for name, count in left.items()]
        yield "\n".join(listed)
    notes = [f"- {cell(part.name)}: {cell(note)}" for part in parts for note in part.notes]
    if notes:
        yield "## Notes"
        yield "\n".join(notes)


def _exceptions(part: Part) -> str:
    counts = Counter(each.cause.name for each in part.differences)
    return ", ".join(f"{count:,} {cell(name)}" for name, count in counts.most_common()) or "none"
