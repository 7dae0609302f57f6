"""Whether a reply calls anything at all: irrelevance and relevance (ast_checker spec §9), corrected rule C8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.problem import RULE_WORDS, plain
from pytest_bfcl.decoding import DecodeError, decode_reply
from pytest_bfcl.failures import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_bfcl.transcript import Mode, Reply


def calls_of(
    reply: Reply, mode: Mode, functions: Sequence[Mapping[str, Any]], rules: RuleSet = OFFICIAL
) -> list[dict[str, Any]]:
    """The calls of a reply by the Python or native rules; empty when nothing decodes to a list of calls."""
    try:
        return list(decode_reply(reply, mode, rules=rules, functions=functions))
    except DecodeError:
        return []


def check_irrelevance(
    reply: Reply, mode: Mode, functions: Sequence[Mapping[str, Any]], rules: RuleSet = OFFICIAL
) -> Verdict:
    """Right when there is no call; names and arguments do not matter."""
    calls = calls_of(reply, mode, functions, rules)
    if calls:
        reason = "irrelevance_error:decoder_success"
        return Verdict.wrong(reason, rule=RULE_WORDS[reason], expected="no call", called=plain(calls))
    if "C8" in rules and _attempts(reply, mode, functions):
        reason = "irrelevance_error:malformed_call"
        return Verdict.wrong(reason, rule=RULE_WORDS[reason], expected="no call", called=plain(reply.output))
    return Verdict.passed()


def check_relevance(
    reply: Reply, mode: Mode, functions: Sequence[Mapping[str, Any]], rules: RuleSet = OFFICIAL
) -> Verdict:
    """Right when there is a call, whichever it is."""
    if calls_of(reply, mode, functions, rules):
        return Verdict.passed()
    reason = "relevance_error:decoder_failed"
    return Verdict.malformed(reason, rule=RULE_WORDS[reason], expected="a call", called=plain(reply.output))


def _attempts(reply: Reply, mode: Mode, functions: Sequence[Mapping[str, Any]]) -> bool:
    from pytest_bfcl.decoding import attempts_call

    return attempts_call(reply, mode, functions)
