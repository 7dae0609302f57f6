"""``summary.json`` and ``run.json`` as types (docs/contracts.md, "summary.json"): writers and readers share them.

Accuracies are fractions, intervals pairs of fractions, money is USD, times are seconds.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from annotated_types import Ge, Le, Len, Predicate
from typing_extensions import TypedDict

from pytest_bfcl.json_types import Parsed, first_problem

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_SHARD = re.compile(r"\d{1,4}/\d{1,4}")
Count = Annotated[int, Ge(0), Le(10**15)]
Share = Annotated[float, Ge(0), Le(1)]

Interval = tuple[Share, Share] | Annotated[list[Share], Len(2, 2)] | None


class DataFacts(TypedDict, total=False):
    """The data set of a run."""

    name: str
    version: str
    sha256: str
    files: dict[str, str]


class ModelFacts(TypedDict, total=False):
    """One model of a run with its settings."""

    model: str
    mode: str
    parameters: Parsed
    base_url: str | None
    prompt_sha256: str | None
    api: str | None
    reasoning: str
    stream: bool
    decoder: NotRequired[str]
    think: NotRequired[str]
    template: NotRequired[str]
    read_as: NotRequired[str]
    headers: NotRequired[dict[str, str]]


def _repeats_are_counted(conditions: Parsed) -> bool:
    return type(conditions.get("repeat", 1)) in (int, type(None))


class RunFacts(TypedDict, total=False):
    """``run.json``; every field may be missing, because a run may be killed while it writes."""

    dataset: DataFacts
    models: list[ModelFacts]
    rules: str
    rules_version: str
    plugin_version: str
    selection: Parsed
    conditions: Annotated[Parsed, Predicate(_repeats_are_counted)]
    started_at: str
    ended_at: str | None
    state: str
    counted: dict[str, dict[str, Count]]
    left_out: Count
    planned: Count
    archives: dict[str, str]
    short: str
    label: str
    profile: str


class Counts(TypedDict):
    """Entries by outcome."""

    total: Count
    passed: Count
    failed: Count
    errors: Count
    skipped: Count


class Scores(Counts):
    """Entries by outcome, and the shares that passed."""

    accuracy: Share | None
    interval95: Interval
    official_accuracy: Share | None
    corrected_accuracy: Share | None
    accuracy_without_known_issues: float | None
    verified_accuracy: NotRequired[Share | None]
    """On the verified data; only if lines have verdicts for it. Never part of an official score."""


class CategorySummary(Scores):
    """One category; ``planned`` are the entries of one repeat."""

    known_issues: Count
    planned: NotRequired[Count]
    reviewed: NotRequired[Count]


class GroupSummary(Scores):
    """One group; ``missing`` are categories of its formula that the run does not have."""

    complete: bool
    missing: list[str]


class PartialOverall(TypedDict):
    """The overall formula over the categories that ran; ``weights`` in percent."""

    value: float
    interval95: Interval
    categories: Count
    of: Count
    weights: dict[str, float]


class OverallSummary(TypedDict):
    """``overall`` and ``overall_v3``; ``why`` is the reason for no score."""

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

    passed: Count
    total: Count
    accuracy: Share | None
    interval95: NotRequired[Interval]


class Hallucination(TypedDict):
    """Turns that expect no call, and how many of them have one."""

    share: float | None
    turns: Count
    with_call: Count
    categories: dict[str, float]


class Repeats(TypedDict):
    """Over entries that ran more than once."""

    entries: Count
    k: Count
    pass_at_1: float
    pass_pow_k: float
    pass_at_k: float
    flip_rate: float


class FormatSensitivity(TypedDict):
    """Range over the prompt formats, in percentage points."""

    max_delta: float
    standard_deviation: float
    variance: float
    configurations: dict[str, Cell]


class RobustnessCell(TypedDict):
    """One transform: entries judged both in the original (``accuracy``) and rephrased (``transformed``)."""

    pairs: Count
    accuracy: Share | None
    transformed: Share | None
    difference: float | None
    interval95: tuple[float, float] | list[float] | None
    improved: Count
    regressed: Count
    errors: Count


class Latency(TypedDict):
    """Seconds per request."""

    mean: float | None
    std: float | None
    p95: float | None


class Tokens(TypedDict):
    """Tokens of a run, write stages included; ``reasoning`` is a part of the output, if the provider reports it."""

    input: int | float
    output: int | float
    reasoning: NotRequired[int | float]


class ConductSummary(TypedDict):
    """The server's part, measured without ground truth: judged entries, native calls and their faults."""

    entries: Count
    called: Count
    reasoning_only: Count
    empty: Count
    calls: Count
    unknown: Count
    broken: Count
    invalid: Count
    valid_share: Share | None


class TrainedOn(TypedDict):
    """How many judged entries the model was trained on."""

    entries: Count
    of: Count


class ModelSummary(TypedDict):
    """One model's part of the summary."""

    model: str
    mode: str
    categories: dict[str, CategorySummary]
    groups: dict[str, GroupSummary]
    overall: OverallSummary
    overall_corrected: float | None
    overall_without_known_issues: float | None
    overall_verified: NotRequired[float | None]
    overall_v3: OverallSummary
    failure_counts: dict[str, Count]
    reasons: dict[str, Count]
    lost_calls: NotRequired[dict[str, Count]]
    remarks: NotRequired[list[str]]
    """Warnings about the numbers, in sentences."""
    published: NotRequired[str]
    """The model's place in a published table (``--bfcl-board``), in a sentence."""
    endings: NotRequired[dict[str, Count]]
    """Unknown words of endings → entries with an error because of them."""
    other_models: NotRequired[dict[str, Count]]
    """Models that answered without being requested → their replies."""
    repeated_ids: NotRequired[Count]
    """Replies with an id that occurred before."""
    corrected_rules: dict[str, Count]
    hallucination: Hallucination
    multi_turn: dict[str, dict[str, int | float | None]]
    breakdown: dict[str, dict[str, Cell]]
    repeats: Repeats | None
    format_sensitivity: FormatSensitivity | None
    robustness: NotRequired[dict[str, RobustnessCell]]
    write_stages: dict[str, Count]
    trained_on: NotRequired[TrainedOn]
    conduct: NotRequired[ConductSummary]
    cost_usd: float | None
    unpriced: Count
    cost_by: NotRequired[str]
    cost_per_1000_usd: NotRequired[float]
    """Mean cost of 1,000 requests; only if every entry has a cost, or the machine a price."""
    unreviewed: NotRequired[int]
    """Judged entries that no person has read."""
    info: Parsed | None
    latency: Latency
    first_token: NotRequired[Latency]
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
    """The verdict of the gates: ``passed``, ``failed`` or ``none``; ``notes``: differences between run and baseline."""

    verdict: str
    checks: list[CheckSummary]
    notes: NotRequired[list[str]]


class Summary(TypedDict):
    """``summary.json``."""

    fingerprint: RunFacts
    models: dict[str, ModelSummary]
    gate: GateSummary
    model_info: NotRequired[Parsed]
    machine_cost_usd: NotRequired[float]


_WRITTEN = ("dataset", "models", "rules", "rules_version", "conditions")
"""Fields of ``run.json`` that describe the measurement."""


def problem_of_run(value: object) -> str | None:
    """Why a value cannot be the content of ``run.json``; else ``None``."""
    problem = _problem(RunFacts, value)
    if problem is not None:
        return problem
    assert isinstance(value, dict)
    missing = next((name for name in _WRITTEN if name not in value), None)
    if missing is not None:
        return f"{missing} is missing"
    for model in value["models"]:
        temperature = (model.get("parameters") or {}).get("temperature")
        if not isinstance(temperature, int | float | None) or isinstance(temperature, bool):
            return "models.parameters.temperature should be a number"
    shards = (value.get("selection") or {}).get("shard") or []
    if any(not _SHARD.fullmatch(str(part)) for part in (shards if isinstance(shards, list) else [shards])):
        return "selection.shard should be I/N"
    return None


def problem_of_summary(value: object) -> str | None:
    """Why a value cannot be the content of ``summary.json``; else ``None``."""
    return _problem(Summary, value)


def _problem(kind: type, value: object) -> str | None:
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        return first_problem(error)
    return None


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
