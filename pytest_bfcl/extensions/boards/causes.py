"""Why an entry failed, as one of a few named causes: what happened in the reply, not which rule it broke.

Read off the result line alone (docs/contracts.md §4), so that stored runs need neither data nor transcripts. The causes
are a closed list, tried in the order of `_RULES`; what none of them names is ``other``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.response import is_error
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.json_types import Fields, leaves


class Cause(NamedTuple):
    """A named cause: ``title`` for people, and the next thing to try, as a command.

    In ``next_step`` ``{model}`` is the model's spec and ``{ids}`` a file with the ids of this cause.
    """

    key: str
    title: str
    next_step: str


_AGAIN = "pytest --model {model} --bfcl-ids {ids} --bfcl-out again"
_WIRE = "pytest --model {model} -m wire"

CAUSES: Mapping[str, Cause] = {
    cause.key: cause
    for cause in (
        Cause("never_two", "never two calls in one reply", _WIRE + " -k parallel"),
        Cause("lost", "lost or damaged by the server's parser", "pytest-bfcl doctor --model {model}"),
        Cause("thought", "thought, and did not answer", _AGAIN + " --bfcl-max-tokens 8192"),
        Cause("overflow", "the conversation did not fit into the context", _AGAIN + " --bfcl-max-tokens 1024"),
        Cause("cut", "the reply was cut off at its token limit", _AGAIN + " --bfcl-max-tokens 8192"),
        Cause("filtered", "the provider's filter stopped the reply", _AGAIN),
        Cause("distractor", "chose the distractor: another offered function", _AGAIN + " --bfcl-transform rename"),
        Cause("eager", "called although nothing fits", _AGAIN + " --bfcl-rules corrected"),
        Cause("not_asked", "called before asking for what is missing", _AGAIN + " --bfcl-rules corrected"),
        Cause("asked", "asked back instead of calling", _AGAIN),
        Cause("prose", "answered in words, no call", "pytest --model {model} --bfcl-mode prompt --bfcl-ids {ids}"),
        Cause("unreadable", "wrote calls that cannot be read", "pytest-bfcl doctor --model {model}"),
        Cause("unit", "right call, one argument: unit or scale", _AGAIN),
        Cause("date", "right call, one argument: date or time", _AGAIN),
        Cause("casing", "right call, one argument: casing or punctuation", _AGAIN + " --bfcl-rules corrected"),
        Cause("default", "right call, one argument: default left out or filled in", _AGAIN),
        Cause("type", "right call, one argument: type", "pytest --model {model} -m wire -k schema"),
        Cause("wording", "right call, one argument: more or fewer words", _AGAIN),
        Cause("argument", "right call, one argument: another value", _AGAIN),
        Cause("arguments", "right functions, several arguments wrong", _AGAIN),
        Cause("one_early", "stopped one call early", _AGAIN),
        Cause("too_few", "made fewer calls than are due", _AGAIN),
        Cause("too_many", "made more calls than are due", _AGAIN),
        Cause("ignored_error", "went on after an error result", _AGAIN),
        Cause("repeated", "repeated a call that had failed", _AGAIN),
        Cause("no_end", "went on calling until the step limit", _AGAIN),
        Cause("first_turn", "first wrong call in turn 1", _AGAIN),
        Cause("later_turn", "first wrong call in a later turn", _AGAIN),
        Cause("final_answer", "the final answer is wrong", _AGAIN),
        Cause("no_answer", "no final answer", _AGAIN),
        Cause("other", "other", _AGAIN),
    )
}


@dataclass(frozen=True)
class Failed:
    """A failed line as the rules see it. ``two_calls``: whether the model ever put two calls into one reply."""

    line: Fields
    two_calls: bool = True

    @property
    def reason(self) -> str:
        """The reason of the verdict."""
        return str(self.line.get("reason") or "")

    @property
    def detail(self) -> Fields:
        """What applies of the verdict's details."""
        found = self.line.get("detail")
        return found if isinstance(found, Mapping) else {}

    @property
    def category(self) -> str:
        """The entry's category."""
        return str(self.line.get("category") or "")

    @property
    def text(self) -> str:
        """The last text of the model, empty where it only called."""
        return next((each for each in reversed(list(leaves(self.line.get("output")))) if isinstance(each, str)), "")

    @property
    def reasoning(self) -> str:
        """Everything the model thought aloud."""
        return " ".join(str(each) for each in leaves(self.line.get("reasoning")) if isinstance(each, str))

    @property
    def expected(self) -> list[str]:
        """Call texts due in the turn that failed; of conversations only."""
        return _texts(self.detail.get("expected"))

    @property
    def called(self) -> list[str]:
        """Call texts made in that turn."""
        return _texts(self.detail.get("called"))

    @property
    def results(self) -> dict[int, str]:
        """Results of that turn's calls by number, as far as they are told."""
        turn, told = self.detail.get("turn"), self.line.get("tool_results")
        if isinstance(told, list) and isinstance(turn, int) and turn < len(told) and any(leaves(told[turn])):
            return dict(enumerate(str(each) for each in leaves(told[turn])))
        found = self.detail.get("results")
        return {int(key): str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}


def cause_of(line: Fields, *, two_calls: bool = True) -> Cause:
    """The cause of one failed line."""
    failed = Failed(line, two_calls)
    return CAUSES[next((key for rule in _RULES if (key := rule(failed)) is not None), "other")]


def holds_two_calls(line: Fields) -> bool:
    """Whether some reply of a line holds two calls."""
    return any(len(calls) > 1 for calls in _replies(line.get("calls")))


# -- replies -------------------------------------------------------------------------------------------------------


def _trouble(failed: Failed) -> str | None:
    return {
        reasons.REPLY_OVERFLOW.name: "overflow",
        reasons.REPLY_LENGTH.name: "cut",
        reasons.REPLY_FILTERED.name: "filtered",
        reasons.FORCED_END.name: "no_end",
    }.get(failed.reason)


def _garbled(failed: Failed) -> str | None:
    """A function's name with pieces of the model's own format in it: the server's parser cut at the wrong place."""
    names = (str(call.get("name") or "") for call in leaves(failed.line.get("output")) if isinstance(call, Mapping))
    return "lost" if any("<|" in name or "|>" in name or "</" in name for name in names) else None


def _no_call(failed: Failed) -> str | None:
    """A call was due and none was read."""
    if not re.search("decoder|nothing_said|empty_turn|wrong_count|relevance_error:decoder_failed", failed.reason):
        return None
    if failed.reason == reasons.UNDUE_CALL.name or _holds_a_call(failed):
        return None
    text = failed.text
    if not text.strip():
        return "thought" if failed.reasoning.strip() or failed.reason == reasons.REPLY_NOTHING_SAID.name else "prose"
    if lost_calls(text[:20_000]) is not None:
        return "lost"
    if failed.detail.get("error") and re.search(r"[\[(]\s*\w+\(|\{\s*\"", text):
        return "unreadable"
    return "asked" if text.rstrip(" \n*)").endswith("?") or text.count("?") > 1 else "prose"


def _eager(failed: Failed) -> str | None:
    if failed.reason in (reasons.UNDUE_CALL.name, reasons.UNDUE_ATTEMPT.name):
        return "eager"
    if failed.reason == reasons.QUIET_TURN.name:
        return "not_asked" if "miss_param" in failed.category else "eager"
    return None


def _counts(failed: Failed) -> str | None:
    """Single turn: another number of calls."""
    if not failed.reason.endswith("wrong_count"):
        return None
    wanted, made = failed.detail.get("expected"), failed.detail.get("called")
    if not isinstance(wanted, int) or not isinstance(made, int):
        return None
    if made > wanted:
        return "too_many"
    if made == 1 and wanted > 1 and not failed.two_calls:
        return "never_two"
    return "one_early" if made == wanted - 1 else "too_few"


def _wrong_function(failed: Failed) -> str | None:
    return "distractor" if failed.reason.endswith("wrong_func_name") else None


# -- arguments -----------------------------------------------------------------------------------------------------

_MONTHS = "january february march april may june july august september october november december"
_DATE = re.compile(
    r"\b\d{4}-\d\d?-\d\d?|\b\d\d?[/.]\d\d?[/.]\d{2,4}|\b\d\d?:\d\d\b"
    rf"|\b(?:{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in _MONTHS.split())})\b",
    re.I,
)
_DATED = re.compile(r"date|time|day|month|year|when|deadline|birth", re.I)
_UNITS = re.compile(r"unit|scale|currency", re.I)
_FACTORS = (7, 10, 12, 24, 60, 100, 1_000, 3_600, 86_400, 1_000_000, 1.609344, 2.54, 0.3048, 0.45359237)


def _argument(failed: Failed) -> str | None:
    """Single turn: the function is right, and something in its arguments is not."""
    detail = failed.detail
    if failed.reason.endswith("cannot_find_match"):
        subs = [sub for sub in detail.get("sub_errors") or () if isinstance(sub, Mapping)]
        near = [sub for sub in subs if not str(sub.get("reason")).endswith("wrong_func_name")]
        if not near:
            return "distractor"
        if len(near) > 1:
            return "arguments"
        return _kind(str(near[0].get("reason")), near[0])
    if re.match(r"value_error|type_error|simple_function_checker:(missing|unexpected)", failed.reason):
        return _kind(failed.reason, detail)
    return None


def _kind(reason: str, detail: Fields) -> str:
    """Which kind of argument is wrong, the most telling first."""
    name, called = str(detail.get("param") or ""), detail.get("called")
    wanted = detail.get("expected")
    allowed = wanted if isinstance(wanted, list) else [wanted]
    if "missing" in reason or "unexpected" in reason:
        return "default"
    if _is_date(called) and (_DATED.search(name) or any(map(_is_date, allowed))):
        return "date"
    if _UNITS.search(name) or any(_scaled(called, each) for each in allowed):
        return "unit"
    if reason.startswith("type_error"):
        return "type"
    if called in ("", None, False, True, 0) or "" in allowed:
        return "default"
    if isinstance(called, str):
        return _spelling(called, [each for each in allowed if isinstance(each, str)])
    return "argument"


def _spelling(called: str, allowed: Sequence[str]) -> str:
    plain = re.sub(r"\W|_", "", called).casefold()
    if plain and any(re.sub(r"\W|_", "", each).casefold() == plain for each in allowed):
        return "casing"
    said = set(re.findall(r"\w+", called.casefold()))
    shares = any(said & set(re.findall(r"\w+", each.casefold())) for each in allowed)
    return "wording" if shares else "argument"


def _is_date(value: object) -> bool:
    return isinstance(value, str) and _DATE.search(value) is not None


def _scaled(called: object, wanted: object) -> bool:
    """Whether one number is the other in another unit."""
    if isinstance(called, bool) or isinstance(wanted, bool):
        return False
    if not isinstance(called, int | float) or not isinstance(wanted, int | float) or not called or not wanted:
        return False
    ratio = max(abs(called / wanted), abs(wanted / called))
    return any(
        math.isclose(ratio, factor, rel_tol=1e-3) or math.isclose(ratio, 1 / factor, rel_tol=1e-3)
        for factor in _FACTORS
    )


# -- conversations -------------------------------------------------------------------------------------------------


def _called_too_early(failed: Failed) -> str | None:
    """Something was missing, and the model called before it was said."""
    extra = failed.line.get("extra")
    if "miss_param" not in failed.category or not isinstance(extra, Mapping):
        return None
    return "not_asked" if extra.get("quiet_turns_with_calls") else None


def _errors(failed: Failed) -> str | None:
    """What the model did after a call of the failed turn had failed."""
    called = failed.called
    if not _is_conversation(failed) or not called:
        return None
    wrong = [number for number, text in failed.results.items() if number < len(called) and is_error(text)]
    if any(called[number] in called[number + 1 :] for number in wrong):
        return "repeated"
    tool = [call.partition("(")[0] for call in called]
    return "ignored_error" if any(tool[number] not in tool[number + 1 :] for number in wrong) else None


def _early(failed: Failed) -> str | None:
    """Everything that was called is due, and something is missing."""
    if not _is_conversation(failed) or not failed.called:
        return None
    left = [_spelled(call) for call in failed.expected]
    due = list(left)
    for call in map(_spelled, failed.called):
        if call in left:
            left.remove(call)
    made = len(due) - len(left)
    if not left or made < len(due) - len(left) or not made:
        return None
    return "one_early" if len(left) == 1 else "too_few"


def _turn(failed: Failed) -> str | None:
    turn = failed.detail.get("turn")
    if not _is_conversation(failed) or not isinstance(turn, int):
        return None
    return "later_turn" if turn else "first_turn"


def _answers(failed: Failed) -> str | None:
    return {reasons.NO_ANSWER.name: "final_answer", reasons.NO_MESSAGE.name: "no_answer"}.get(failed.reason)


_RULES: Sequence[Callable[[Failed], str | None]] = (
    _trouble,
    _garbled,
    _eager,
    _answers,
    _no_call,
    _counts,
    _wrong_function,
    _argument,
    _called_too_early,
    _errors,
    _early,
    _turn,
)


def _is_conversation(failed: Failed) -> bool:
    return failed.reason in (reasons.STATE.name, reasons.RESULTS.name)


def _holds_a_call(failed: Failed) -> bool:
    """Whether the reply, or the turn that failed, holds a call."""
    turn, calls = failed.detail.get("turn"), failed.line.get("calls")
    if isinstance(turn, int) and isinstance(calls, list) and turn < len(calls):
        return any(True for each in _replies(calls[turn]) if each)
    return any(True for each in _replies(calls) if each)


def _replies(calls: object) -> Iterator[list[Any]]:
    """The calls of each reply, from however deep a nesting."""
    if isinstance(calls, list):
        if any(isinstance(each, list) for each in calls):
            for each in calls:
                yield from _replies(each)
        else:
            yield calls


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _spelled(call: str) -> str:
    """A call text with its spaces and kinds of quotes left out."""
    return re.sub(r"\s", "", call).replace('"', "'")
