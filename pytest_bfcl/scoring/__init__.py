"""Aggregation: category accuracies, weights, error bars, gates, paired comparison, leaderboard files."""

from pytest_bfcl.scoring.comparison import Comparison, by_model, compare, compare_runs, pair_models
from pytest_bfcl.scoring.gates import Gate, GateCheck, GateResult, evaluate_gates, parse_gate
from pytest_bfcl.scoring.statistics import mcnemar, wilson
from pytest_bfcl.scoring.summary import summarise

__all__ = [
    "Comparison",
    "Gate",
    "GateCheck",
    "GateResult",
    "by_model",
    "compare",
    "compare_runs",
    "evaluate_gates",
    "mcnemar",
    "pair_models",
    "parse_gate",
    "summarise",
    "wilson",
]
