"""Entry and transcript → verdict: the checker of the entry's category, under official or corrected rules.

No text of a model makes a function of this module raise. Defects of the data become ``HARNESS_ERROR`` verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

from pytest_bfcl.checkers import advice, reasons
from pytest_bfcl.checkers.agentic import check_answer
from pytest_bfcl.checkers.ast import CallRules, check_calls
from pytest_bfcl.checkers.corrected import (
    CORRECTED,
    OFFICIAL,
    RULES_OF_CHECKER,
    RuleSet,
    deciding_rules,
    rule_set,
)
from pytest_bfcl.checkers.details import TriedDetails, TroubleDetails, UndueDetails, UnreadDetails
from pytest_bfcl.checkers.entries import Ends, reply_of, single_turn_decoder, stored_calls
from pytest_bfcl.checkers.exact import all_exactly_right
from pytest_bfcl.checkers.expectations import check_served
from pytest_bfcl.checkers.plugged import category_group, check_plugged, own_checker
from pytest_bfcl.checkers.state import Kind, StateRecord, replay
from pytest_bfcl.dataset.categories import CATEGORIES, ELSEWHERE
from pytest_bfcl.decoding import DecodeError, ReplyDecoder, WrongShape, attempts_call, decode_native
from pytest_bfcl.failures import BenchmarkError, HarnessError, Reason, UsageError, Verdict
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Call, Transcript


@dataclass(frozen=True, slots=True)
class Judgement:
    """Both verdicts of one transcript.

    ``corrected_rules``: names of the corrected rules that change the outcome. ``extra``: figures beyond the reference
    (multi-turn: credit per turn, steps and calls compared with the ground truth's).
    """

    official: Verdict
    corrected: Verdict
    corrected_rules: tuple[str, ...] = ()
    extra: Parsed = field(default_factory=dict)


def judge(
    entry: Entry, transcript: Transcript, rules: str | Iterable[str] = "official", *, simulators: Kind = "own"
) -> Verdict:
    """The verdict on one conversation.

    ``rules``: ``official``, ``corrected``, or names of corrected rules (``{"C6", "C7"}``). ``simulators`` selects the
    classes of multi-turn entries. Raises `UsageError` for unknown rules or simulators that are not installed.
    """
    return _Judge(entry, transcript, simulators).verdict(OFFICIAL if rules == "official" else rule_set(rules))


def judge_under(entry: Entry, transcript: Transcript, *rule_sets: str | Iterable[str]) -> tuple[Verdict, ...]:
    """`judge` under several rule sets, in their order; common work is done once."""
    judged = _Judge(entry, transcript, "own")
    return tuple([judged.verdict(rule_set(rules)) for rules in rule_sets])


def judge_both(entry: Entry, transcript: Transcript, *, simulators: Kind = "own") -> Judgement:
    """Official and corrected verdict, the rules that make the difference, and figures beyond the reference."""
    judged = _Judge(entry, transcript, simulators)
    official = judged.verdict(OFFICIAL)
    row = CATEGORIES.get(entry.category)
    candidates = RULES_OF_CHECKER.get(row.checker, ()) if row is not None else ()
    corrected = judged.verdict(CORRECTED) if candidates and not judged.right_under_all else official
    mattered: tuple[str, ...] = ()
    if corrected.outcome != official.outcome:
        mattered = deciding_rules(candidates, lambda names: judged.verdict(names).outcome == corrected.outcome)
        corrected = replace(corrected, detail={**corrected.detail, "corrected_rules": list(mattered)})
    return Judgement(official, corrected, mattered, judged.record.extra() if "record" in vars(judged) else {})


class _Judge:
    """One transcript under judgement; its decoded reply and multi-turn replay serve all rule sets."""

    _ends: Ends | None = None
    _native: list[Call] | None = None
    _right: list[Call] | None = None
    """Calls that are right under every rule set."""
    right_under_all = False
    """Whether native calls, which all rule sets read alike, passed in a reply that ended normally."""

    def __init__(self, entry: Entry, transcript: Transcript, simulators: Kind) -> None:
        self.entry = entry
        self.transcript = transcript
        self.simulators: Kind = simulators

    def verdict(self, rules: RuleSet) -> Verdict:
        """The verdict under one rule set, with advice for a known mistake."""
        try:
            ends = self._ends = self._ends or Ends(self.transcript)
            if self.right_under_all:
                return _PASSED
            row = CATEGORIES.get(self.entry.category)
            if row is None:
                raise HarnessError(
                    HarnessTrouble.CHECKER, f"nothing judges entries of category {self.entry.category!r}"
                )
            check, trouble = _CHECKS[row.checker]
            if "checker" in (self.entry.model_extra or ()) and (own := own_checker(self.entry)):
                verdict = check_plugged(own, self.entry, self.transcript)
            elif (said := self.transcript.inference_error) is not None:
                verdict = Verdict.wrong(trouble, TroubleDetails(error=said[:500]))
            else:
                verdict = check(self, rules)
            if ends.places or row.checker == "irrelevance":
                verdict = ends.weighed(verdict, quiet=row.checker == "irrelevance")
            self.right_under_all = self._right is not None and self._right is self._native and not ends.worst
        except BenchmarkError as error:
            return error.verdict
        except UsageError:
            raise
        except Exception as error:  # a defect here must not stop a run, nor be laid at the model's door
            details = TroubleDetails(error=f"{type(error).__name__}: {error}"[:500])
            return Verdict.wrong(reasons.HARNESS_CHECKER, details)
        if verdict.valid:  # of irrelevance: it was the server that held the call back, not the model
            lost = self._lost_call if row.checker == "irrelevance" else None
            return verdict if lost is None else verdict.with_detail(lost_call=lost)
        if verdict.tag is None or not verdict.tag.counts:
            return verdict
        if (lost := self._lost_call) is not None:
            return verdict.with_detail(advice=advice.lost_call(lost), lost_call=lost)
        words = _advice(verdict, self.entry, self.transcript)
        return verdict if words is None else verdict.with_detail(advice=words)

    @cached_property
    def record(self) -> StateRecord:
        """The replay of a conversation that executes calls; it also gives figures beyond the reference."""
        return replay(self.entry, self.transcript, self.simulators)

    @cached_property
    def _lost_call(self) -> str | None:
        """The decoder that finds calls in a text where native calls are expected: the server's parser lost them."""
        if self.transcript.mode != "fc" or self.transcript.decoder is not None or self.transcript.decoded:
            return None
        texts = (step.reply.text for step in self.transcript.steps if not step.reply.tool_calls)
        found = (lost_calls(text, self.entry.all_functions) for text in texts if text)
        return next((name for name, _ in filter(None, found)), None)

    def _calls_against_answers(self, rules: RuleSet) -> Verdict:
        entry, transcript = self.entry, self.transcript
        try:
            calls = self._calls(rules)
        except DecodeError as error:
            return _undecodable(error, transcript)
        answers, functions, underscored = entry.possible_answer, entry.function, transcript.underscore_names
        language = entry.language if entry.language != "python" else entry.row.language
        rule = (entry.row.rule if entry.config is None else entry.rule) or "simple"
        if language == "python" and all_exactly_right(calls, answers, functions, rule, underscored):
            self._right = calls
            return _PASSED
        for each in answers if isinstance(answers, list) else [None]:
            if not isinstance(each, dict) or not each:
                raise HarnessError(
                    HarnessTrouble.DATA, f"{entry.id}: possible_answer must be a list of {{function: {{…}}}} objects"
                )
        assert isinstance(answers, list)
        return check_calls(calls, answers, rule, CallRules(language, underscored, rules, functions))

    def _calls(self, rules: RuleSet) -> list[Call]:
        """The calls of the only reply: the same list for rules that read alike. Raises `DecodeError`."""
        transcript = self.transcript
        if transcript.decoded and (stored := stored_calls(transcript)) is not None:
            return stored
        if transcript.mode == "fc" and transcript.decoder is None:
            if self._native is None:
                step = transcript.turns[0].steps[0] if transcript.turns and transcript.turns[0].steps else None
                if step is not None and step.native is step.reply:
                    self._native = cast("list[Call]", step.calls)
                else:
                    self._native = decode_native(reply_of(transcript))
            return self._native
        return self._decoder.calls(rules)

    @cached_property
    def _decoder(self) -> ReplyDecoder:
        return single_turn_decoder(self.entry, self.transcript)

    def _no_call_due(self, rules: RuleSet) -> Verdict:
        """Irrelevance: right without a call; names and arguments do not matter (ast_checker spec §9, C8)."""
        reply = reply_of(self.transcript)
        if calls := self._any_call.calls_if_any(rules):
            return Verdict.wrong(reasons.UNDUE_CALL, UndueDetails(expected="no call", called=calls))
        if "C8" in rules and self._attempts:
            return Verdict.wrong(reasons.UNDUE_ATTEMPT, UndueDetails(expected="no call", called=reply.output))
        return Verdict.passed()

    def _call_due(self, rules: RuleSet) -> Verdict:
        """Relevance: right with any call."""
        if self._any_call.calls_if_any(rules):
            return Verdict.passed()
        return Verdict.wrong(reasons.NO_CALL, UnreadDetails(expected="a call", called=reply_of(self.transcript).output))

    @cached_property
    def _any_call(self) -> ReplyDecoder:
        """Reads a reply where any call is accepted: Python or native calls, in any format of the entry."""
        said = self.transcript
        return ReplyDecoder(reply_of(said), said.mode, functions=self.entry.function, decoder=said.decoder)

    @cached_property
    def _attempts(self) -> bool:
        reply = reply_of(self.transcript)
        return attempts_call(reply, self.transcript.mode, self.entry.function, self._any_call)

    def _elsewhere(self, rules: RuleSet) -> Verdict:
        """Categories of an extension; corrected rules change nothing for executed calls."""
        row = self.entry.row
        if row.checker == "sql" and self.entry.tables is None:
            return self._calls_against_answers(rules)
        return category_group(row.group).check(self.entry, self.transcript)


_PASSED = Verdict.passed()
_Check = Callable[[_Judge, RuleSet], Verdict]
_CHECKS: dict[str, tuple[_Check, Reason]] = {
    "ast": (_Judge._calls_against_answers, reasons.ADAPTER_INFERENCE),
    "irrelevance": (_Judge._no_call_due, reasons.ADAPTER_INFERENCE),
    "relevance": (_Judge._call_due, reasons.ADAPTER_INFERENCE),
    "state": (lambda judged, rules: judged.record.verdict(rules), reasons.MULTI_TURN_INFERENCE),
    "answer": (lambda judged, rules: check_answer(judged.entry, judged.transcript, rules), reasons.AGENTIC_INFERENCE),
    "none": (lambda judged, rules: _PASSED, reasons.AGENTIC_INFERENCE),  # write stages are not scored
    "served": (lambda judged, rules: check_served(judged.entry, judged.transcript, rules), reasons.AGENTIC_INFERENCE),
    **dict.fromkeys(ELSEWHERE, (_Judge._elsewhere, reasons.ADAPTER_INFERENCE)),
}
"""Checker → the check, and the reason of an imported line that holds an inference error."""


def _undecodable(error: DecodeError, transcript: Transcript) -> Verdict:
    if isinstance(error, WrongShape):
        return Verdict.wrong(reasons.WRONG_SHAPE, UnreadDetails(error=str(error)[:500], called=error.decoded))
    details = UnreadDetails(error=str(error)[:500], called=reply_of(transcript).output)
    return Verdict.wrong(reasons.UNREADABLE, details)


def _advice(verdict: Verdict, entry: Entry, transcript: Transcript) -> str | None:
    """Advice for a known mistake behind the failure (of the closest call, if several were compared)."""
    reason, details = verdict.reason, verdict.details
    if isinstance(details, TriedDetails) and details.attempts:
        closest = max(details.attempts, key=lambda tried: tried.reason != reasons.WRONG_NAME.name)
        reason, details = closest.reason, closest.details
    known = reasons.reason_named(reason)
    if known is None or known.advice is None or details is None:
        return None
    return known.advice(details, entry, transcript)
