"""The results of a run as terminal lines: the tables and facts that plugin and verb print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import GROUPS
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.printing import aligned
from pytest_bfcl.reporting.rendering import percent
from pytest_bfcl.reporting.scores import (
    HEAD,
    ScoreRow,
    caveats,
    formula_text,
    group_formula,
    headline_basis,
    lost_calls,
    score_rows,
    score_table,
    spent,
)
from pytest_bfcl.reporting.tables import words
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.conduct import conduct_line

if TYPE_CHECKING:
    from pytest_bfcl.runs.summary_types import ModelSummary, Summary

SHOWN_GROUPS = ("non_live", "live", "multi_turn", "web_search", "memory", "agentic")
COLUMNS = [n for n, name in enumerate(HEAD) if name not in ("difference", "excluding known issues", "verified data")]
"""Columns of the table of scores on a terminal; `fact_lines` has the others."""
FORMAT_HEAD = ("calls as", "tag", "documents as", "prompt", "style", "correct", "accuracy")
GAP = "  "


def run_lines(summary: Summary, stopped: str | None, *, verbosity: int = 0) -> Iterator[tuple[str, str]]:
    """The results of a run, each line with its style (`Printer.line`); ``stopped``: why it ended early."""
    for name in summary["models"]:
        yield title(summary, name), "bold"
        for line in model_lines(summary, name, verbosity=verbosity):
            yield line, ""
    if "machine_cost_usd" in summary:
        yield f"machine: {summary['machine_cost_usd']:.4f} USD", ""
    if stopped:
        yield f"stopped: {stopped}; results are kept", "red"


def model_lines(summary: Summary, name: str, *, verbosity: int = 0) -> Iterator[str]:
    """The results of one model of a run; ``verbosity`` as pytest counts ``-v`` and ``-q``."""
    model = summary["models"][name]
    if (summary["fingerprint"].get("selection") or {}).get("last_failed"):
        yield rerun_line(model)
    elif verbosity > -2:
        yield from table_lines(model, summary["fingerprint"])
        yield from format_lines(model)
    yield from fact_lines(model)
    if verbosity > 0:
        yield from detail_lines(model)


def nothing_answered(summary: Summary) -> bool:
    """Whether the run has errors and skipped entries only: there is no score to show."""
    found = [row for model in summary["models"].values() for row in model["categories"].values()]
    return not any(row["passed"] or row["failed"] for row in found)


def title(summary: Summary, name: str) -> str:
    """The heading over `model_lines`."""
    info = summary["models"][name]["info"]
    known = f" ({info['name']})" if info else ""
    return f"function calling: {name}{known}"


def rerun_line(model: ModelSummary) -> str:
    """The result of ``--lf``: how many of the earlier failures pass now, which is no score."""
    from pytest_bfcl.scoring.model_summary import RERUN

    passed = sum(found["passed"] for found in model["categories"].values())
    failed = sum(found["failed"] for found in model["categories"].values())
    return f"{RERUN}: {passed} of {passed + failed} pass now"


def table_lines(model: ModelSummary, fingerprint: Fields) -> list[str]:
    """One aligned line per category, then per group of several categories; retired categories in their own table.

    For a part of the data set a last line gives the number of entries.
    """
    rows = score_rows(model, fingerprint)
    categories = [row for row in rows if row.kind == "category"]
    retired = [row for row in categories if row.name in GROUPS["retired"]]
    current = [row for row in categories if row not in retired]
    groups = [row for row in rows if row.kind == "group" and row.name in SHOWN_GROUPS]
    lines = _table(current, sorted(groups, key=lambda row: SHOWN_GROUPS.index(row.name)))
    if retired:
        lines += ([""] if current else []) + ["retired categories (no part of any overall score)"]
        lines += _table(retired, [row for row in rows if row.name == "retired"])
    basis = headline_basis(model, fingerprint)
    return [*lines, basis] if basis else lines


def format_lines(model: ModelSummary) -> list[str]:
    """Format sensitivity: one aligned line per prompt format, then the spread over them (data spec §6.1)."""
    from pytest_bfcl.dataset.expansion import format_configs

    found = model.get("format_sensitivity")
    if not found:
        return []
    rows = [FORMAT_HEAD]
    for config in format_configs():
        if cell := found["configurations"].get(str(config)):
            tag = "yes" if config.tool_call_tag else "no"
            told = (config.return_format, tag, config.doc_format, config.prompt_format, config.prompt_style)
            rows.append((*told, f"{cell['passed']}/{cell['total']}", percent(cell["accuracy"])))
    spread = f"largest difference {found['max_delta']:.2f}, standard deviation {found['standard_deviation']:.2f} points"
    title = "format sensitivity (no part of any overall score)"
    return ["", title, *aligned(rows, left=5, gap=GAP), spread, ""]


def _table(categories: Sequence[ScoreRow], groups: Sequence[ScoreRow]) -> list[str]:
    """Categories, a rule, groups; nothing without categories."""
    found = score_table([*categories, *groups]).of(COLUMNS)
    head, *lines = aligned([found.head, *([words(cell) for cell in row] for row in found.rows)], gap=GAP)
    both = [*lines[: len(categories)], *["-" * len(head)] * bool(groups), *lines[len(categories) :]]
    return [head, *both] if categories else []


def fact_lines(model: ModelSummary) -> Iterator[str]:
    """Overall, tags, known issues, cost, latency: one line each, if there is something to report."""
    overall = model["overall"]
    if overall["value"] is not None:
        low, high = _bounds(overall["interval95"])
        corrected = percent(model.get("overall_corrected"))
        yield f"overall: {percent(overall['value'])} (95 %: {low:.1f} - {high:.1f}), corrected rules {corrected}"
    else:
        yield f"overall: not claimed, {overall.get('why') or 'categories are missing'}"
        if partial := overall.get("partial"):
            low, high = _bounds(partial["interval95"])
            weights = ", ".join(f"{name} {weight:.0f} %" for name, weight in partial["weights"].items())
            yield (
                f"partial: {partial['categories']} of {partial['of']} categories, {percent(partial['value'])} "
                f"(95 %: {low:.1f} - {high:.1f}) by {weights}"
            )
    yield from model.get("remarks") or ()
    if published := model.get("published"):
        yield published
    older = model["overall_v3"]
    if older["value"] is not None:
        yield f"overall as in v3: {percent(older['value'])}, the {older['label']}"
    if (share := model["hallucination"]["share"]) is not None:
        turns = model["hallucination"]["turns"]
        yield f"hallucination: {percent(share)} of {turns} turns that expect no call have one"
    if repeats := model.get("repeats"):
        k = repeats["k"]
        yield (
            f"repeated {k} times: pass@1 {percent(repeats['pass_at_1'])}, pass^{k} {percent(repeats['pass_pow_k'])}, "
            f"pass@{k} {percent(repeats['pass_at_k'])}, flip rate {percent(repeats['flip_rate'])}"
        )
    for name, cell in (model.get("robustness") or {}).items():
        if cell["difference"] is not None:
            low, high = _bounds(cell["interval95"])
            yield (
                f"{name}: {percent(cell['accuracy'])} -> {percent(cell['transformed'])} over {cell['pairs']} entries, "
                f"{100 * cell['difference']:+.1f} points (95 %: {low:+.1f} - {high:+.1f})"
            )
    yield from caveats(model)
    if (conduct := model.get("conduct")) and (told := conduct_line(conduct)):
        yield told
    if model["failure_counts"]:
        yield "failures: " + ", ".join(f"{tag} {count}" for tag, count in model["failure_counts"].items())
        top = list(model["reasons"].items())[:5]
        yield "most often: " + ", ".join(f"{reason} {count}" for reason, count in top)
        if lost := lost_calls(model):
            yield f"lost calls: {lost}"
    if told := spent(model):
        yield told


def _bounds(interval: Sequence[float] | None) -> tuple[float, float]:
    """An interval in percent; a claimed value has one."""
    assert interval is not None
    return 100 * interval[0], 100 * interval[1]


def detail_lines(model: ModelSummary) -> Iterator[str]:
    """With ``-v``: the formulas behind the numbers, and the breakdowns."""
    for name in (*SHOWN_GROUPS, "irrelevance"):
        found = model["groups"].get(name)
        if found is not None and found["accuracy"] is not None:
            yield f"{name} {percent(found['accuracy'])} = {group_formula(name)}"
            if found["missing"]:
                yield f"    partial, without {', '.join(found['missing'])}"
    if model["overall"]["value"] is not None:
        yield f"overall {percent(model['overall']['value'])} = {formula_text(aggregate.OVERALL)}"
    for kind, cells in model["breakdown"].items():
        told = ", ".join(f"{name} {cell['passed']}/{cell['total']}" for name, cell in cells.items())
        yield f"by {kind.replace('_', ' ')}: {told}"
