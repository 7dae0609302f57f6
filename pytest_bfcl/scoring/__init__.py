"""Aggregation: category accuracies, weights, error bars, gates, paired comparison, leaderboard files."""

from pytest_bfcl.scoring.comparison import (
    Comparison,
    compare,
    compare_measurements,
    compare_models,
    compare_runs,
    pair_models,
)
from pytest_bfcl.scoring.gates import Gate, GateCheck, GateResult, evaluate_gates, parse_gate, unreachable
from pytest_bfcl.scoring.measurements import Measurement, by_model, measurement_of_run, open_measurement
from pytest_bfcl.scoring.statistics import mcnemar, wilson
from pytest_bfcl.scoring.summary import Tallies, full_sizes, summarise

__all__ = [
    "Comparison",
    "Gate",
    "GateCheck",
    "GateResult",
    "Measurement",
    "Tallies",
    "by_model",
    "compare",
    "compare_measurements",
    "compare_models",
    "compare_runs",
    "evaluate_gates",
    "full_sizes",
    "mcnemar",
    "measurement_of_run",
    "open_measurement",
    "pair_models",
    "parse_gate",
    "summarise",
    "unreachable",
    "wilson",
]
