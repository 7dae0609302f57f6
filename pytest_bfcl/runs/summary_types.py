"""``summary.json`` and ``run.json`` as types (docs/contracts.md, "summary.json"): writers and readers share them.

Accuracies are fractions, intervals pairs of fractions, money is USD, times are seconds.
"""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

Interval = tuple[float, float] | list[float] | None


class DataFacts(TypedDict):
    """The data set of a run."""

    name: str
    version: str
    sha256: str


class ModelFacts(TypedDict):
    """One model of a run as it was asked."""

    model: str
    mode: str
    parameters: dict[str, Any]
    base_url: str | None
    prompt_sha256: str | None


class RunFacts(TypedDict, total=False):
    """``run.json``; every field may be missing in runs of earlier versions."""

    dataset: DataFacts
    models: list[ModelFacts]
    rules: str
    rules_version: str
    plugin_version: str
    selection: dict[str, Any]
    conditions: dict[str, Any]
    started_at: str
    ended_at: str | None
    state: str
    short: str


class Counts(TypedDict):
    """Entries by outcome."""

    total: int
    passed: int
    failed: int
    errors: int
    skipped: int


class CategorySummary(Counts):
    """One category; ``planned`` are the entries of one repeat."""

    accuracy: float | None
    interval95: Interval
    official_accuracy: float | None
    corrected_accuracy: float | None
    accuracy_without_known_issues: float | None
    known_issues: int
    planned: NotRequired[int]


class GroupSummary(Counts):
    """One group; ``missing`` are the categories its formula needs and the run does not have."""

    accuracy: float | None
    interval95: Interval
    official_accuracy: float | None
    corrected_accuracy: float | None
    accuracy_without_known_issues: float | None
    complete: bool
    missing: list[str]


class PartialOverall(TypedDict):
    """The overall formula over the categories that were run; ``weights`` in percent."""

    value: float
    interval95: Interval
    categories: int
    of: int
    weights: dict[str, float]


class OverallSummary(TypedDict):
    """``overall`` and ``overall_v3``; ``why`` says why no score is claimed."""

    value: float | None
    complete: bool
    missing: list[str]
    interval95: Interval
    why: NotRequired[str]
    label: NotRequired[str]
    partial: NotRequired[PartialOverall | None]
    sampled: NotRequired[bool]
    interval95_full_set: NotRequired[Interval]


class Cell(TypedDict):
    """One cell of a breakdown."""

    passed: int
    total: int
    accuracy: float | None


class Hallucination(TypedDict):
    """Turns that should have no call, and how many of them have one."""

    share: float | None
    turns: int
    with_call: int
    categories: dict[str, float]


class Repeats(TypedDict):
    """Over the entries that were run more than once."""

    entries: int
    k: int
    pass_at_1: float
    pass_pow_k: float
    pass_at_k: float
    flip_rate: float


class FormatSensitivity(TypedDict):
    """Spread over the prompt formats, in percentage points."""

    max_delta: float
    standard_deviation: float
    variance: float
    configurations: dict[str, Cell]


class Latency(TypedDict):
    """Seconds per request."""

    mean: float | None
    std: float | None
    p95: float | None


class Tokens(TypedDict):
    """Tokens of a run, write stages included."""

    input: int | float
    output: int | float


class ModelSummary(TypedDict):
    """One model's part of the summary."""

    model: str
    mode: str
    categories: dict[str, CategorySummary]
    groups: dict[str, GroupSummary]
    overall: OverallSummary
    overall_corrected: float | None
    overall_without_known_issues: float | None
    overall_v3: OverallSummary
    failure_counts: dict[str, int]
    reasons: dict[str, int]
    corrected_rules: dict[str, int]
    hallucination: Hallucination
    multi_turn: dict[str, dict[str, int | float | None]]
    breakdown: dict[str, dict[str, Cell]]
    repeats: Repeats | None
    format_sensitivity: FormatSensitivity | None
    write_stages: dict[str, int]
    cost_usd: float | None
    unpriced: int
    cost_by: NotRequired[str]
    info: dict[str, Any] | None
    latency: Latency
    tokens: Tokens


class CheckSummary(TypedDict):
    """One check of the gates; ``value`` and ``limit`` in percent."""

    name: str
    model: str
    ok: bool
    why: str
    value: float | None
    limit: float | None
    entries: list[str]


class GateSummary(TypedDict):
    """The gates' verdict: ``passed``, ``failed`` or ``none``."""

    verdict: str
    checks: list[CheckSummary]


class Summary(TypedDict):
    """``summary.json``."""

    fingerprint: RunFacts
    models: dict[str, ModelSummary]
    gate: GateSummary
    model_info: NotRequired[dict[str, Any]]
    machine_cost_usd: NotRequired[float]
