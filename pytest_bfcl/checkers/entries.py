"""How an entry's single reply is read: its language, its notation, its calls. An unanswered entry never passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import TroubleDetails, UnreadDetails
from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.expansion import typed_as_sent
from pytest_bfcl.decoding import DecodeError, ReplyDecoder, call_texts, is_empty
from pytest_bfcl.endings import (
    MALFORMED_CALL,
    NOTHING_SAID,
    PASSED_BY_REFERENCE,
    TROUBLE,
    UNFINISHED,
    Ending,
    UnknownEnding,
    has_answer,
    problem_of,
)
from pytest_bfcl.failures import HarnessError, Verdict
from pytest_bfcl.formats.thinking import begins_call, may_hold_thoughts, said
from pytest_bfcl.transcript import CALLS_A_STEP, Call, Reply
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Reply, Step, Transcript, Turn


def language_of(entry: Entry) -> Language:
    """The language of the type rules: the entry's own, or its category's."""
    return entry.language if entry.language != "python" else entry.row.language


def reply_of(transcript: Transcript) -> Reply:
    """The only reply; the text of a recorded inference error counts as the model's output (official rules)."""
    if transcript.inference_error is not None:
        return Reply(text=transcript.inference_error or "inference error")
    return transcript.first_reply


def single_turn_calls(entry: Entry, transcript: Transcript, rules: RuleSet = OFFICIAL) -> list[Call]:
    """The calls of a single-turn conversation. Raises `DecodeError` if none can be read."""
    stored = stored_calls(transcript)
    return single_turn_decoder(entry, transcript).calls(rules) if stored is None else stored


def stored_calls(transcript: Transcript) -> list[Call] | None:
    """The calls of a transcript that was stored decoded; ``None`` if the reply must be read."""
    if not transcript.decoded or not transcript.steps or transcript.steps[0].calls is None:
        return None
    if transcript.steps[0].call_texts:
        raise HarnessError(HarnessTrouble.DATA, f"{transcript.entry_id}: call texts, where output is needed")
    return transcript.steps[0].decoded_calls


def single_turn_decoder(entry: Entry, transcript: Transcript) -> ReplyDecoder:
    """Reads the only reply of a single-turn conversation, under any rules."""
    if transcript.mode == "fc" and transcript.decoder is None:  # nothing below matters to native calls
        return ReplyDecoder(reply_of(transcript), "fc")
    own_format = entry.return_format != "python" or entry.config  # else the notation is that of its language
    return ReplyDecoder(
        reply_of(transcript),
        transcript.mode,
        return_format=entry.return_format if own_format else language_of(entry),
        tool_call_tag=entry.tool_call_tag,
        functions=entry.function if transcript.decoder is None else typed_as_sent(entry.function, entry.language),
        decoder=transcript.decoder,
    )


STEP_LIMIT = 20
"""Executed steps of a turn; one more is executed and ends the conversation (multi_turn spec §2.1)."""


def step_calls(step: Step, transcript: Transcript) -> list[str] | None:
    """The call texts of one step; ``None`` if its reply does not decode, decodes to nothing, or is text only."""
    calls = None if step.calls is None else step.call_texts
    if calls is None and step.error is None and not transcript.decoded:
        try:
            calls = call_texts(step.reply, transcript.mode, transcript.decoder, transcript.functions)
        except DecodeError:
            return None
    return None if calls is None or is_empty(calls) else calls


def turn_calls(turn: Turn, transcript: Transcript) -> list[list[str]]:
    """The steps of one turn with calls; others are dropped completely (multi_turn spec §4.1)."""
    return [calls for step in turn.steps if (calls := step_calls(step, transcript)) is not None]


def ran_away(transcript: Transcript) -> bool:
    """Whether a step has more calls than are executed."""
    return any(len(calls) > CALLS_A_STEP for turn in transcript.turns for calls in turn_calls(turn, transcript))


def was_forced(transcript: Transcript) -> bool:
    """Whether the step limit ended the conversation; if not recorded, by the number of steps."""
    if transcript.forced_quit:
        return True
    return bool(transcript.decoded and transcript.turns) and (
        len(turn_calls(transcript.turns[-1], transcript)) > STEP_LIMIT
    )


def missing_results(expected: Iterable[str], obtained: Iterable[str]) -> list[str]:
    """Expected results that are missing among the obtained ones, each of which counts once (multiset inclusion)."""
    held = Counter(obtained)
    missing = []
    for result in expected:
        if held[result] > 0:
            held[result] -= 1
        else:
            missing.append(result)
    return missing


def calls_behind(missing: Sequence[str], calls: Sequence[str], results: Sequence[str]) -> list[str]:
    """The expected calls whose results are missing, in order."""
    wanted = Counter(missing)
    found = []
    for call, result in zip(calls, results, strict=True):
        if wanted[result] > 0:
            wanted[result] -= 1
            found.append(call)
    return found


def is_error(result: str) -> bool:
    """Whether a result text reports a failed call: an exception, or an object (or list of one) with ``error``."""
    from pytest_bfcl.simulators import ERROR_PREFIX

    return result.startswith((ERROR_PREFIX, "[{'error'")) or (result.startswith("{") and '"error": ' in result[:60])


OVERFLOW = Ending.OVERFLOW.value
CUT = (Ending.CUT.value, Ending.FILTERED.value, OVERFLOW)
Place = tuple[int, str, "Reply"]
"""Turn, problem and reply."""


class Ends:
    """The replies of one transcript that did not end normally; most transcripts have none. Replies without an ending
    (third-party outputs, most recordings) are judged by their content.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.places: list[Place] = []
        self.begun: list[Reply] = []
        for number, turn in enumerate(transcript.turns):
            for step in turn.steps:
                reply = step.reply
                problem = problem_of(reply) if reply.finish_reason or reply.problem else None
                if problem or (reply.text and (problem := _silent(reply))):
                    self.places.append((number, problem, reply))
                if reply.tool_calls and reply.finish_reason:
                    self.begun.append(reply)
        self.worst = self._worst() if self.places else None

    def weighed(self, verdict: Verdict, *, quiet: bool = False) -> Verdict:
        """The checker's verdict, changed by the endings (docs/answers.md); ``quiet``: no call is right.

        An abnormal ending is an error. A call that its API could not read, and a reply without content, never pass. The
        reference judges both as answers without a call (docs/fidelity.md, (d)). Other failures get the reason of the
        deciding reply's ending.
        """
        if quiet and verdict.valid and self.begun:  # nobody could read the calls: begun ones are no answer without one
            problem = problem_of(self.begun[0])
            found = Verdict.wrong(reasons.reply_reason(problem)) if problem in CUT else _broken(self.begun[0])
            return found.with_detail(reference=PASSED_BY_REFERENCE)
        if not self.places or (verdict.tag is not None and not verdict.tag.counts):
            return verdict
        if self.worst is not None:
            _, problem, reply = self.worst
            if problem in (TROUBLE, UNFINISHED):
                return _trouble(reply)
            if problem == MALFORMED_CALL and verdict.tag is not reasons.MALFORMED:
                verdict, passed = _unread(reply), verdict.valid
            elif verdict.valid:
                verdict, passed = Verdict.wrong(reasons.reply_reason(problem)), True
            else:
                return self._put_down(verdict)
            return verdict.with_detail(reference=PASSED_BY_REFERENCE) if passed else verdict
        if verdict.valid and quiet:
            return self._without_begun_call(verdict)
        return verdict if verdict.valid else self._put_down(verdict)

    def _without_begun_call(self, verdict: Verdict) -> Verdict:
        """Whether a cut reply begins a call, or ends at the context limit, so that it is no answer without a call."""
        for _, problem, reply in self.places:
            if problem == OVERFLOW or (reply.text and begins_call(said(reply.text, cut=True))):
                return Verdict.wrong(reasons.reply_reason(problem)).with_detail(reference=PASSED_BY_REFERENCE)
        return verdict

    def _worst(self) -> Place | None:
        """The reply because of which the conversation cannot pass, with any other content."""
        for kind in (TROUBLE, UNFINISHED, MALFORMED_CALL):
            found = next((place for place in self.places if place[1] == kind), None)
            if found is not None:
                return found
        return next((place for place in self.places if not is_answered(place[2])), None)

    def _put_down(self, verdict: Verdict) -> Verdict:
        turn = None if verdict.details is None else verdict.details.place
        told = [problem for number, problem, _ in self.places if turn is None or number == turn]
        problem = told[-1] if told else None
        if problem is None or problem == MALFORMED_CALL or verdict.reason == f"reply:{problem}":
            return verdict
        return verdict.put_down_to(reasons.reply_reason(problem))


def _silent(reply: Reply) -> str | None:
    """The problem of a reply that ended normally: its text has only thoughts."""
    return None if is_answered(reply) or str(reply.text).isspace() else NOTHING_SAID


def is_answered(reply: Reply) -> bool:
    """Whether there is anything besides thoughts: a call, or words."""
    if reply.tool_calls or not reply.text or not may_hold_thoughts(reply.text):
        return has_answer(reply)
    return bool(said(reply.text, cut=problem_of(reply) is not None))


def _trouble(reply: Reply) -> Verdict:
    error = UnknownEnding(reply.finish_reason)
    return Verdict.wrong(reasons.ADAPTER_ENDING, TroubleDetails(error=error.message)).with_detail(ending=error.ending)


def _broken(reply: Reply) -> Verdict:
    details = UnreadDetails(error="the arguments of the call are no JSON object", called=reply.output)
    return Verdict.wrong(reasons.UNREADABLE, details)


def _unread(reply: Reply) -> Verdict:
    error = f"the provider could not read the call that the model wrote ({reply.finish_reason})"
    return Verdict.wrong(reasons.UNREADABLE, UnreadDetails(error=error, called=reply.output))
