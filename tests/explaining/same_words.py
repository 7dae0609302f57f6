"""Whether a page tells all that the lines on a terminal tell: marks, results and errors of tools, the rule, advice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.explaining.explanation import Explanation, explain
from pytest_bfcl.explaining.terminal import failure_text
from pytest_bfcl.failures import Verdict
from pytest_bfcl.transcript import Transcript

TOLD = ("  rule", "  advice", "  undecoded", "  then said", "  missing")


def failure_lines(entry: Entry, transcript: Transcript, verdict: Verdict) -> str:
    """The failure's text, after a look whether its page tells the same."""
    shown = failure_text(entry, transcript, verdict)
    line = {"outcome": verdict.outcome, "reason": verdict.reason, "detail": dict(verdict.detail)}
    why = explain(line, entry, transcript)
    told = _plain(" ".join(words(why)))
    missing = [part for part in parts(shown) if _plain(part) not in told]
    assert missing == [], why
    return shown


def words(why: Explanation) -> Iterator[str]:
    """All texts of an explanation."""
    yield from (why.headline, why.caption, why.rule, why.advice, why.owner)
    for group in (why.rows, why.expected, why.called, why.state, why.facts):
        for row in group:
            yield from row


def parts(shown: str) -> Iterator[str]:
    """The beginnings of what a failure's text tells beside the calls themselves."""
    for line in shown.splitlines()[1:]:
        for mark in ("<-- ", "-> ", "^ does not decode: "):
            before, found, after = line.partition(mark)
            if found and '"' not in before and after[0] not in '<"' and not after.endswith(" times"):
                yield after[:30]
        if line.startswith(TOLD):
            yield line[12:40].removeprefix("the result of ")


def _plain(text: Any) -> str:
    return "".join(
        character for character in str(text).removesuffix("…") if not character.isspace() and character != "\\"
    )
