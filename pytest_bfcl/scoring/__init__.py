"""Aggregation: category accuracies, weights, error bars, gates, paired comparison, leaderboard files."""

from pytest_bfcl.scoring.comparison import (
    Comparison,
    compare,
    compare_models,
    compare_runs,
    compare_sides,
    pair_models,
)
from pytest_bfcl.scoring.gates import Gate, GateCheck, GateResult, evaluate_gates, parse_gate
from pytest_bfcl.scoring.sides import Side, by_model, open_side, side_of_run
from pytest_bfcl.scoring.statistics import mcnemar, wilson
from pytest_bfcl.scoring.summary import full_sizes, summarise

__all__ = [
    "Comparison",
    "Gate",
    "GateCheck",
    "GateResult",
    "Side",
    "by_model",
    "compare",
    "compare_models",
    "compare_runs",
    "compare_sides",
    "evaluate_gates",
    "full_sizes",
    "mcnemar",
    "open_side",
    "pair_models",
    "parse_gate",
    "side_of_run",
    "summarise",
    "wilson",
]
