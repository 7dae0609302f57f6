"""What one failed reply did, in words: predicates over the facts and the verdict of its line, without its entry.

These are descriptions, not causes. They appear for entries without a recurring cause, and in comparisons of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytest_bfcl.checkers import reasons
from pytest_bfcl.json_types import Fields

Rule = Callable[[Fields, Fields], str | None]


def mistake_of(line: Fields) -> str:
    """What a failed line did; ``other`` words only if the line has nothing more specific."""
    facts = line.get("facts")
    told: Fields = facts if isinstance(facts, Mapping) else {}
    return next((found for rule in _RULES if (found := rule(line, told)) is not None), "another mistake")


def _by_reason(line: Fields, facts: Fields) -> str | None:
    detail = line.get("detail")
    if isinstance(detail, Mapping) and detail.get("last_turn") is not None and not line.get("forced_quit"):
        return "gave no reply to the last turns"
    return {
        reasons.REPLY_OVERFLOW.name: "did not fit into the context",
        reasons.REPLY_LENGTH.name: "was cut at the token limit",
        reasons.REPLY_FILTERED.name: "was stopped by a filter",
        reasons.FORCED_END.name: "went on calling until the step limit",
        reasons.NO_ANSWER.name: "gave another final answer",
        reasons.NO_MESSAGE.name: "gave no final answer",
        reasons.UNDUE_CALL.name: "called although nothing fits",
        reasons.UNDUE_ATTEMPT.name: "called although nothing fits",
        reasons.QUIET_TURN.name: "called before it was asked to",
    }.get(str(line.get("reason") or ""))


def _by_calls(line: Fields, facts: Fields) -> str | None:
    """The problem of the calls themselves."""
    if facts.get("broken"):
        return "wrote arguments that are no JSON"
    if facts.get("unknown"):
        return "called a name that was never offered"
    return None


def _by_words(line: Fields, facts: Fields) -> str | None:
    """The reply's content in place of a call."""
    if not facts.get("due", 1):
        return None
    said = line.get("output")
    if line.get("mode") == "prompt" and isinstance(said, str) and said.lstrip().startswith(_OF_NOTATIONS):
        return "wrote calls that cannot be read"
    return {
        "nothing": "said nothing",
        "thoughts": "thought, and did not answer",
        "question": "asked back",
        "words": "answered in words",
    }.get(str(facts.get("said")))


_OF_NOTATIONS = ("[", "{", "(", "<", "`")


def _by_count(line: Fields, facts: Fields) -> str | None:
    due, made = facts.get("due"), facts.get("made")
    if not isinstance(due, int) or not isinstance(made, int) or made == due or _is_conversation(line):
        return None
    return "made too few calls" if made < due else "made too many calls"


def _by_arguments(line: Fields, facts: Fields) -> str | None:
    if facts.get("extra"):
        return "gave an argument the function does not have"
    if facts.get("missing"):
        return "left out a required argument"
    if facts.get("types"):
        return "gave an argument of the wrong type"
    if facts.get("outside_enum"):
        return "took a value outside the enum"
    return None


def _by_verdict(line: Fields, facts: Fields) -> str | None:
    reason, detail = str(line.get("reason") or ""), line.get("detail")
    if reason.endswith("cannot_find_match") and isinstance(detail, Mapping):
        tried = [each for each in detail.get("sub_errors") or () if isinstance(each, Mapping)]
        near = [str(each.get("reason")) for each in tried if not str(each.get("reason")).endswith("wrong_func_name")]
        if not near:
            return "called another offered function"
        reason = near[0]
    if reason.endswith("wrong_func_name"):
        return "called another offered function"
    if "missing" in reason:
        return "left out an argument"
    if "unexpected" in reason:
        return "gave an argument nobody asked for"
    if reason.startswith(("value_error", "type_error")):
        return "gave another value"
    return None


def _by_turn(line: Fields, facts: Fields) -> str | None:
    detail = line.get("detail")
    turn = detail.get("turn") if isinstance(detail, Mapping) else None
    if not _is_conversation(line) or not isinstance(turn, int):
        return None
    return "went wrong in a later turn" if turn else "went wrong in the first turn"


def _is_conversation(line: Fields) -> bool:
    return str(line.get("reason") or "").startswith("multi_turn:")


_RULES: Sequence[Rule] = (_by_reason, _by_calls, _by_words, _by_count, _by_arguments, _by_verdict, _by_turn)
