"""Whether a reply calls anything at all: irrelevance and relevance (ast_checker spec §9), corrected rule C8."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import UndueDetails, UnreadDetails
from pytest_bfcl.failures import Verdict

if TYPE_CHECKING:
    from pytest_bfcl.decoding import ReplyDecoder
    from pytest_bfcl.transcript import Reply


def check_irrelevance(
    reply: Reply, decoder: ReplyDecoder, attempts: Callable[[], bool], rules: RuleSet = OFFICIAL
) -> Verdict:
    """Right when there is no call; names and arguments do not matter.

    ``decoder`` reads the reply by the Python or native rules; ``attempts`` says whether it attempts a call (C8).
    """
    calls = decoder.calls_if_any(rules)
    if calls:
        return Verdict.wrong(reasons.UNDUE_CALL, UndueDetails(expected="no call", called=calls))
    if "C8" in rules and attempts():
        return Verdict.wrong(reasons.UNDUE_ATTEMPT, UndueDetails(expected="no call", called=reply.output))
    return Verdict.passed()


def check_relevance(reply: Reply, decoder: ReplyDecoder, rules: RuleSet = OFFICIAL) -> Verdict:
    """Right when there is a call, whichever it is."""
    if decoder.calls_if_any(rules):
        return Verdict.passed()
    return Verdict.wrong(reasons.NO_CALL, UnreadDetails(expected="a call", called=reply.output))
