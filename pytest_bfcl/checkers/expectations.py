"""Compares expectations with a conversation: one implementation for entries, Python and recorded tools.

`pytest_bfcl.dataset.expectation` has shapes and values; docs/expectations.md is the page for users.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.agentic import contains_answer, last_message
from pytest_bfcl.checkers.ast import augment
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import AnswerDetails, EndDetails, ServerDetails
from pytest_bfcl.checkers.entries import is_error, step_calls
from pytest_bfcl.dataset.expectation import ABSENT, LISTS, argument_rule
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.dataset.untouched import not_allowed, states_of
from pytest_bfcl.failures import HarnessError, Reason, Verdict
from pytest_bfcl.syntax.python_syntax import exact_text, read_call
from pytest_bfcl.transcript import FAILED_CALLS, OBSERVED, TOUCHED, Call, Transcript
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.expectation import CalledTool, Expectation


SHOWN_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Made:
    """One call of the model: its step in the conversation, and whether it was executed.

    A call counts as executed if it was sent and answered without an error.
    """

    call: Call
    step: int
    carried_out: bool
    result: str = ""

    def __str__(self) -> str:
        return exact_text(self.call) + ("" if self.carried_out else " (failed)")


def conversation_verdict(each: Expectation, transcript: Transcript, turn: int, rules: RuleSet) -> Verdict | None:
    """``None`` if an assertion about the text or the calls is met after a turn, else the verdict."""
    if each.kind in ("answer", "said"):
        return _answer_verdict(transcript, turn, each, rules)
    made = calls_made(transcript, turn)
    asked = broken_rule(each, made)
    return None if asked is None else wrong(reasons.SERVER_CALLS, turn, asked, list(map(str, made)), "the calls")


def state_verdict(each: Expectation, told: Any, turn: int, asked: str) -> Verdict | None:
    """``None`` if a value of the state is as expected; a missing one is ``{ABSENT: True}``."""
    there = told != {ABSENT: True}
    return None if each.holds(told, there=there) else wrong(reasons.SERVER_STATE, turn, each.wanted, told, asked)


def calls_made(transcript: Transcript, turn: int) -> list[Made]:
    """Every attempted call up to the end of a turn, in order. A call of no tool does not count."""
    found: list[Made] = []
    told = transcript.extra.get(FAILED_CALLS)
    failed = Counter(map(str, told) if isinstance(told, list) else ())
    steps = [step for each in transcript.turns[: turn + 1] for step in each.steps]
    for number, step in enumerate(steps):
        texts = step_calls(step, transcript) or ()
        for text, result in zip_longest(texts, step.results[: len(texts)]):
            carried_out = result is None or not is_error(result)
            if carried_out and failed[text] > 0:
                failed[text] -= 1
                carried_out = False
            with contextlib.suppress(ValueError):
                found.append(Made(Call(*read_call(text)), number, carried_out, result or ""))
    return found


def broken_rule(each: Expectation, made: Sequence[Made]) -> str | None:
    """The problem of the calls in words; ``None`` without one."""
    attempted = each.attempted is not None or each.not_called is not None
    counted = [one for one in made if one.carried_out or attempted]
    calls = [one.call for one in counted]
    if each.max_calls is not None:
        return f"at most {each.max_calls} calls, not {len(calls)}" if len(calls) > each.max_calls else None
    if each.kind in LISTS:
        right = _list_holds(each, counted)
        names = ", ".join(_call_text(one) for one in each.listed) or "no call"
        enough = f", {each.at_least} of them" if each.at_least is not None else ""
        return None if right else f"{_LIST_WORDS[each.kind]}{enough}: {names}"
    wanted = each.wanted_call
    fitting = sum(fits(call, wanted) for call in calls)
    if each.not_called is not None:
        return f"no call of {_call_text(wanted)}" if fitting else None
    if each.count is not None:
        return f"{each.count} calls of {_call_text(wanted)}, not {fitting}" if fitting != each.count else None
    return None if fitting else f"a call of {_call_text(wanted)}"


def _call_text(wanted: CalledTool) -> str:
    given = {name: argument_rule(value).wanted for name, value in wanted.arguments.items()}
    return f"{' or '.join(wanted.names)}{f' with {given}' if given else ''}{' only' if wanted.closed else ''}"


def fits(call: Call, wanted: CalledTool) -> bool:
    """Whether a call is one of the expected ones."""
    names = [portable_name(each) for each in wanted.names]
    if "*" not in wanted.names and portable_name(str(call.name)) not in names:
        return False
    if wanted.closed and not set(call.arguments) <= set(wanted.arguments):
        return False
    return all(
        argument_rule(value).holds(call.arguments.get(name), there=name in call.arguments)
        for name, value in wanted.arguments.items()
    )


def _list_holds(each: Expectation, made: Sequence[Made]) -> bool:
    calls, listed = [one.call for one in made], each.listed
    match each.kind:
        case "exact":
            return _exact(each, made)
        case "unordered":
            return len(calls) == len(listed) == _pairs(listed, calls)
        case "subset":
            return _pairs(listed, calls) == len(calls)
    enough = each.at_least or len(listed)
    return (_pairs if each.kind == "superset" else _longest_in_order)(listed, calls) >= enough


def _exact(each: Expectation, made: Sequence[Made]) -> bool:
    """In this order; listed steps must be the model's steps."""
    listed = each.exact or []
    if not any(isinstance(one, list) for one in listed):
        wanted = each.listed
        return len(wanted) == len(made) and all(fits(one.call, two) for one, two in zip(made, wanted, strict=True))
    numbers = list(dict.fromkeys(one.step for one in made))
    steps = [[one.call for one in made if one.step == number] for number in numbers]
    return len(steps) == len(each.steps) and all(
        len(calls) == len(wanted) == _pairs(wanted, calls) for calls, wanted in zip(steps, each.steps, strict=True)
    )


def _longest_in_order(wanted: Sequence[CalledTool], calls: Sequence[Call]) -> int:
    """The length of the longest common part of both orders."""
    longest = [0] * (len(wanted) + 1)
    for call in calls:
        before = longest[:]
        for number, one in enumerate(wanted):
            longest[number + 1] = before[number] + 1 if fits(call, one) else max(longest[number], before[number + 1])
    return longest[-1]


def _pairs(wanted: Sequence[CalledTool], calls: Sequence[Call]) -> int:
    """How many of the expected calls can have a different actual one each."""
    owner: dict[int, int] = {}
    return sum(
        augment(number, len(calls), lambda answer, call: fits(calls[call], wanted[answer]), owner)
        for number in range(len(wanted))
    )


_LIST_WORDS = {
    "exact": "exactly these calls, in this order",
    "unordered": "exactly these calls, in any order",
    "superset": "these calls and any others",
    "subset": "no calls but these",
    "in_order": "these calls in this order",
}


def _answer_verdict(transcript: Transcript, turn: int, each: Expectation, rules: RuleSet) -> Verdict | None:
    said = last_message(transcript, turn)
    wanted = each.answers or [str(each.wanted)]
    if not said:
        steps = len(transcript.turns[turn].steps)
        return Verdict.wrong(reasons.NO_MESSAGE, AnswerDetails(expected=wanted, steps=steps))
    if each.kind == "said":
        right = each.holds(said) == each.said
    else:
        texts = [text for text in each.answers if isinstance(text, str)]
        right = contains_answer(said, texts, rules) or each.names_a_number(said)
    return None if right else Verdict.wrong(reasons.NO_ANSWER, AnswerDetails(expected=wanted, called=said))


def wrong(reason: Reason, turn: int, wanted: Any, told: Any, asked: str) -> Verdict:
    """The verdict with both sides as texts."""
    details = ServerDetails(
        turn=turn, expected=_short_text(wanted), called=_short_text(told), asked=asked[:SHOWN_CHARS]
    )
    return Verdict.wrong(reason, details)


def _short_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:SHOWN_CHARS]


def check_served(entry: Entry, transcript: Transcript, rules: RuleSet = OFFICIAL) -> Verdict:
    """The first expectation that is not met decides. Raises `HarnessError` if the state was not recorded."""
    turns = len(entry.question)
    if transcript.forced_quit or len(transcript.turns) != turns:
        end = EndDetails(expected=f"{turns} turns", called=f"{len(transcript.turns)} turns")
        end.last_turn = max(len(transcript.turns) - 1, 0)
        return Verdict.wrong(reasons.FORCED_END, end)
    for number, each in enumerate(entry.expect):
        found = [
            _failure_of(entry, transcript, one, (number, place), rules) for place, one in enumerate(each.alternatives)
        ]
        if all(verdict is not None for verdict in found):
            return next(verdict for verdict in found if verdict is not None)
    return _untouched_verdict(entry, transcript) or Verdict.passed()


def _untouched_verdict(entry: Entry, transcript: Transcript) -> Verdict | None:
    """``None`` if only places changed that expectations describe or allow to change."""
    told = transcript.extra.get(TOUCHED)
    only = [place for each, _ in states_of(entry.expect) for place in each.only or ()]
    places = not_allowed(told, only) if isinstance(told, list) else []
    if not places:
        return None
    return wrong(reasons.SERVER_STATE, len(entry.question) - 1, "nothing else changed", places, "the rest of the state")


def _failure_of(
    entry: Entry, transcript: Transcript, each: Expectation, place: tuple[int, int], rules: RuleSet
) -> Verdict | None:
    """``None`` if one assertion is met, else the verdict if it alone decides."""
    turn = len(entry.question) - 1 if each.turn is None else each.turn
    if each.looked_at is not None:
        return state_verdict(each, _observed_at(entry, transcript, *place), turn, each.looked_at.subject_text)
    return conversation_verdict(each, transcript, turn, rules)


def _observed_at(entry: Entry, transcript: Transcript, number: int, place: int) -> Any:
    observed = transcript.extra.get(OBSERVED)
    several = entry.expect[number].any_of is not None
    try:
        if not isinstance(observed, list):
            raise LookupError
        return observed[number][place] if several else observed[number]
    except (LookupError, TypeError):
        raise HarnessError(
            HarnessTrouble.MCP,
            f"{entry.id}: the server's report of its state is not recorded, so it cannot be judged",
            advice="run the entry again with --bfcl-mcp",
        ) from None
