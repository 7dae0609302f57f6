"""What the endings of a conversation's replies do to its verdict: nothing that was not answered passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.details import TroubleDetails, UnreadDetails
from pytest_bfcl.endings import MALFORMED_CALL, PASSED_BY_REFERENCE, TROUBLE, UnknownEnding, has_answer, problem_of
from pytest_bfcl.failures import Verdict

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Reply, Transcript

Place = tuple[int, str, "Reply"]
"""Turn, problem, and the reply that has it."""


class Ends:
    """The replies of one transcript that did not end normally; most transcripts have none.

    Replies whose ending nobody told (outputs of others, most recordings) are judged by what they are.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.places: list[Place] = [
            (number, problem, step.reply)
            for number, turn in enumerate(transcript.turns)
            for step in turn.steps
            if (step.reply.finish_reason or step.reply.problem) and (problem := problem_of(step.reply))
        ]
        self.turns = len(transcript.turns)
        self.worst = self._worst()

    def weighed(self, verdict: Verdict) -> Verdict:
        """The checker's verdict in the light of the endings (docs/endings.md).

        Trouble is an error. A call that its API could not read, and a reply that ended before anything was said, pass
        nowhere: an exception to the reference, which takes them for answers without a call (docs/fidelity.md, (d)).
        Other failures are put down to the ending of the reply that decided.
        """
        if not self.places or (verdict.tag is not None and not verdict.tag.counts):
            return verdict
        if self.worst is not None:
            _, problem, reply = self.worst
            if problem == TROUBLE:
                return _trouble(reply)
            if problem == MALFORMED_CALL and verdict.tag is not reasons.MALFORMED:
                verdict, passed = _unread(reply), verdict.valid
            elif verdict.valid:
                verdict, passed = Verdict.wrong(reasons.reply_reason(problem)), True
            else:
                return self._put_down(verdict)
            return verdict.with_detail(reference=PASSED_BY_REFERENCE) if passed else verdict
        return verdict if verdict.valid else self._put_down(verdict)

    def _worst(self) -> Place | None:
        """The reply because of which the whole cannot pass, whatever else was said."""
        if not self.places:
            return None
        for kind in (TROUBLE, MALFORMED_CALL):
            found = next((place for place in self.places if place[1] == kind), None)
            if found is not None:
                return found
        return next((place for place in self.places if not has_answer(place[2])), None)

    def _put_down(self, verdict: Verdict) -> Verdict:
        turn = None if verdict.details is None else verdict.details.place
        anywhere = turn is None or not 0 <= turn < self.turns
        told = [problem for number, problem, _ in self.places if anywhere or number == turn]
        problem = told[-1] if told else None
        if problem is None or problem == MALFORMED_CALL or verdict.reason == f"reply:{problem}":
            return verdict
        return verdict.put_down_to(reasons.reply_reason(problem))


def _trouble(reply: Reply) -> Verdict:
    error = UnknownEnding(reply.finish_reason)
    return Verdict.wrong(reasons.ADAPTER_ENDING, TroubleDetails(error=error.message)).with_detail(ending=error.ending)


def _unread(reply: Reply) -> Verdict:
    error = f"the provider could not read the call that the model wrote ({reply.finish_reason})"
    return Verdict.wrong(reasons.UNREADABLE, UnreadDetails(error=error, called=reply.output))
