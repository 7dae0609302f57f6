"""Entry and transcript → verdict: pure functions that do no I/O and execute nothing a model wrote."""

from pytest_bfcl.checkers.assertions import assert_answer, assert_calls, assert_no_calls, assert_state
from pytest_bfcl.checkers.corrected import CORRECTED_RULES, rule_set
from pytest_bfcl.checkers.explain import FailureText, describe, failure_text
from pytest_bfcl.checkers.judge import Judgement, judge, judge_both, judge_under

__all__ = [
    "CORRECTED_RULES",
    "FailureText",
    "Judgement",
    "assert_answer",
    "assert_calls",
    "assert_no_calls",
    "assert_state",
    "describe",
    "failure_text",
    "judge",
    "judge_both",
    "judge_under",
    "rule_set",
]
