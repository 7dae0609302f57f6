"""Entry and transcript → verdict: pure functions without I/O that never execute a model's text."""

from pytest_bfcl.checkers.corrected import CORRECTED_RULES, rule_set
from pytest_bfcl.checkers.judge import Judgement, judge, judge_both, judge_under

__all__ = [
    "CORRECTED_RULES",
    "Judgement",
    "judge",
    "judge_both",
    "judge_under",
    "rule_set",
]
