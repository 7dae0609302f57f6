"""Entries on a user's own MCP server: what was said, what was called, and what was told of the state."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.answer import contains_answer, last_message
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import AnswerDetails, EndDetails, ServerDetails
from pytest_bfcl.checkers.response import is_error
from pytest_bfcl.checkers.steps import step_calls
from pytest_bfcl.dataset.expectation import ABSENT, argument_rule
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.dataset.untouched import not_allowed, states_of
from pytest_bfcl.failures import HarnessError, Reason, Verdict
from pytest_bfcl.syntax.writing import exact_text, read_call
from pytest_bfcl.transcript import FAILED_CALLS, OBSERVED, TOUCHED, Call, Transcript
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.expectation import CalledTool, Expectation

SHOWN_CHARS = 2_000


def check_served(entry: Entry, transcript: Transcript, rules: RuleSet = OFFICIAL) -> Verdict:
    """The first expectation that does not hold decides; raises `HarnessError` when the state was not recorded."""
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
    """``None`` if nothing changed but what the looks at the state are about, or what they allow to change."""
    told = transcript.extra.get(TOUCHED)
    only = [place for each, _ in states_of(entry.expect) for place in each.only or ()]
    places = not_allowed(told, only) if isinstance(told, list) else []
    if not places:
        return None
    return _wrong(
        reasons.SERVER_STATE, len(entry.question) - 1, "nothing else changed", places, "the rest of the state"
    )


def _failure_of(
    entry: Entry, transcript: Transcript, each: Expectation, place: tuple[int, int], rules: RuleSet
) -> Verdict | None:
    """``None`` if one assertion holds, else the verdict where it alone decides."""
    turn = len(entry.question) - 1 if each.turn is None else each.turn
    if each.looked_at is not None:
        told = _observed_at(entry, transcript, *place)
        there = told != {ABSENT: True}
        if each.holds(told, there=there):
            return None
        return _wrong(reasons.SERVER_STATE, turn, each.wanted, told, each.looked_at.subject_text)
    if each.kind in ("answer", "said"):
        return _answer_verdict(transcript, turn, each, rules)
    made = _calls_until(transcript, turn)
    attempted = each.attempted is not None or each.not_called is not None
    calls = [call for call, carried_out in made if carried_out or attempted]
    asked = _broken_rule(each, calls)
    if asked is None:
        return None
    told = [exact_text(call) + ("" if carried_out else " (failed)") for call, carried_out in made]
    return _wrong(reasons.SERVER_CALLS, turn, asked, told, "the calls")


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


def _broken_rule(each: Expectation, calls: Sequence[Call]) -> str | None:
    """What of the calls is not as it must be, in words; ``None`` if all is."""
    if each.max_calls is not None:
        return f"at most {each.max_calls} calls, not {len(calls)}" if len(calls) > each.max_calls else None
    if each.in_order is not None:
        rest = iter(calls)
        missing = next((one for one in each.order if not any(_fits(call, one) for call in rest)), None)
        return None if missing is None else f"in this order: {', '.join('/'.join(one.names) for one in each.order)}"
    wanted = each.wanted_call
    fitting = sum(_fits(call, wanted) for call in calls)
    name = f"{' or '.join(wanted.names)}{f' with {wanted.arguments}' if wanted.arguments else ''}"
    if each.not_called is not None:
        return f"no call of {name}" if fitting else None
    if each.count is not None:
        return f"{each.count} calls of {name}, not {fitting}" if fitting != each.count else None
    return None if fitting else f"a call of {name}"


def _fits(call: Call, wanted: CalledTool) -> bool:
    names = [portable_name(each) for each in wanted.names]
    if "*" not in wanted.names and portable_name(str(call.name)) not in names:
        return False
    return all(
        argument_rule(value).holds(call.arguments.get(name), there=name in call.arguments)
        for name, value in wanted.arguments.items()
    )


def carried_out_calls(transcript: Transcript) -> list[Call]:
    """The calls of a conversation that were sent and answered without an error, under names every notation has."""
    made = _calls_until(transcript, len(transcript.turns))
    return [Call(portable_name(str(call.name)), call.arguments) for call, carried_out in made if carried_out]


def _calls_until(transcript: Transcript, turn: int) -> list[tuple[Call, bool]]:
    """Every call that was attempted up to the end of a turn, in order, and whether it was carried out.

    Carried out is what was sent and answered without an error. What is no call of a tool counts as none.
    """
    found: list[tuple[Call, bool]] = []
    told = transcript.extra.get(FAILED_CALLS)
    failed = Counter(told if isinstance(told, list) else ())
    for each in transcript.turns[: turn + 1]:
        for step in each.steps:
            texts = step_calls(step, transcript) or ()
            for text, result in zip_longest(texts, step.results[: len(texts)]):
                carried_out = result is None or not is_error(result)
                if carried_out and failed[text] > 0:
                    failed[text] -= 1
                    carried_out = False
                with contextlib.suppress(ValueError):
                    found.append((Call(*read_call(text)), carried_out))
    return found


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
            f"{entry.id}: what its server told of the state is not recorded, so it cannot be judged",
            advice="hold the conversation again, with --bfcl-mcp",
        ) from None


def _wrong(reason: Reason, turn: int, wanted: Any, told: Any, asked: str) -> Verdict:
    details = ServerDetails(
        turn=turn, expected=_short_text(wanted), called=_short_text(told), asked=asked[:SHOWN_CHARS]
    )
    return Verdict.wrong(reason, details)


def _short_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:SHOWN_CHARS]
