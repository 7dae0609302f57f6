"""The effect of the replies' endings on a verdict: an unanswered entry never passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.details import TroubleDetails, UnreadDetails
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
from pytest_bfcl.failures import Verdict
from pytest_bfcl.formats.thinking import begins_call, may_hold_thoughts, said

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Reply, Transcript

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
        self.turns = len(transcript.turns)
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
        anywhere = turn is None or not 0 <= turn < self.turns
        told = [problem for number, problem, _ in self.places if anywhere or number == turn]
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
