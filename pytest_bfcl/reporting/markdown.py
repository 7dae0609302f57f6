"""The summary as Markdown, for a pull request or ``$GITHUB_STEP_SUMMARY``, and the annotations of a GitHub job.

Annotations are workflow commands of GitHub Actions on standard output. GitHub shows ten of a kind: missed gates, the
worst regressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from pytest_bfcl.checkers.reasons import rule_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import overview
from pytest_bfcl.reporting.rendering import visible
from pytest_bfcl.reporting.scores import (
    PARTIAL,
    caveats,
    headline_basis,
    lost_calls,
    matrix,
    matrix_table,
    score_rows,
    score_table,
    spent,
)
from pytest_bfcl.reporting.tables import Table, filled, whole

if TYPE_CHECKING:
    from pytest_bfcl.runs.summary_types import CheckSummary, GateSummary, Summary


MAX_REASONS = 8


def write_markdown(summary: Fields) -> str:
    """``summary.json`` as GitHub Markdown: notices, gates, scores with intervals, failures, cost; ends in a newline."""
    models: Mapping[str, Fields] = summary["models"]
    blocks = [f"### {cell(overview.title(summary))}"]
    blocks += [f"> {cell(notice)}" for notice in overview.notices(summary)]
    blocks += _gates(summary.get("gate") or {})
    if len(models) == 1:
        blocks += [table(score_table(score_rows(model, summary["fingerprint"]))) for model in models.values()]
    elif models:
        blocks.append(table(matrix_table(matrix(models, summary["fingerprint"]), list(models))))
    for name, model in models.items():
        facts = list(_facts(model, summary["fingerprint"]))
        if facts:
            title = [f"**{cell(name)}**"] if len(models) > 1 else []
            blocks.append("\n".join([*title, *(f"- {fact}" for fact in facts)]))
    short = summary["fingerprint"].get("short")
    blocks += [f"<sub>{cell(short)}</sub>"] if short else []
    return "\n\n".join(blocks) + "\n"


def cell(text: object) -> str:
    """Inert text for Markdown: no markup, no table breaks, one line."""
    plain = " ".join(visible(str(text)).split())
    for character in "\\`*_[]|~":
        plain = plain.replace(character, f"\\{character}")
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def table(found: Table) -> str:
    """A table in GitHub's Markdown without empty columns: figures to the right, names of groups bold."""
    found = found.of(filled(found.rows, found.head))
    rule = ["---" if number in found.texts else "---:" for number in range(len(found.head))]
    rows = [[cell(whole(each)) for each in row] for row in found.rows]
    for kind, row in zip(found.kinds, rows, strict=False):
        row[0] = row[0] if kind == "category" else f"**{row[0]}**"
    return "\n".join(f"| {' | '.join(row)} |" for row in ([*map(cell, found.head)], rule, *rows))


def _gates(gate: Fields) -> list[str]:
    checks = gate.get("checks") or ()
    lines = [f"- {'✅' if check['ok'] else '❌'} {cell(check['why'])}" for check in checks]
    lines += [f"- {cell(note)}" for note in gate.get("notes") or ()]
    return ["\n".join(["**Gates**", "", *lines])] if lines else []


def _reason(name: str) -> str:
    """The broken rule in words, and its name."""
    rule = rule_of(name, {})
    return f"{cell(rule)} ({cell(name)})" if rule else cell(name)


def _facts(model: Fields, fingerprint: Fields) -> Iterator[str]:
    if basis := headline_basis(model, fingerprint):
        yield cell(basis)
    for row in score_rows(model, fingerprint):  # the report has the formulas
        if row.name == PARTIAL or (row.kind == "overall" and row.accuracy is None):
            yield f"{cell(row.name)}: {cell(row.note)}"
    yield from caveats(model, cell)
    if model["failure_counts"]:
        yield "failures: " + ", ".join(f"{cell(tag)} {count}" for tag, count in model["failure_counts"].items())
        top = list(model["reasons"].items())[:MAX_REASONS]
        yield "most often:" + "".join(f"\n  - {count} × {_reason(reason)}" for reason, count in top)
        if lost := lost_calls(model):
            yield f"lost calls: {cell(lost)}"
    if told := spent(model):
        yield told


SHOWN = 10
"""Annotations of a kind that a job shows."""


def annotation_lines(gate: GateSummary, environment: Mapping[str, str]) -> Iterator[str]:
    """At most ten errors and ten warnings, the worst first; none outside a GitHub job."""
    if environment.get("GITHUB_ACTIONS") != "true":
        return
    missed = [check for check in gate["checks"] if not check["ok"]]
    yield from islice((_command("error", f"gate {check['name']} missed", check["why"]) for check in missed), SHOWN)
    yield from islice((_command("warning", title, text) for title, text in _regressed(missed)), SHOWN)


def _regressed(missed: list[CheckSummary]) -> Iterator[tuple[str, str]]:
    """Each entry once, even if several groups have it."""
    told: set[str] = set()
    for check in missed:
        for entry in check.get("entries") or []:
            if entry not in told:
                told.add(entry)
                yield f"{check['name']}: {entry.split()[0] if entry.strip() else ''}", entry


def _command(kind: str, title: str, message: str) -> str:
    name = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def append_step_summary(summary: Summary, environment: Mapping[str, str]) -> str | None:
    """Append the summary as Markdown to the file that GitHub shows with a job, if there is one.

    Returns the reason in words if that fails, else ``None``.
    """
    path = environment.get("GITHUB_STEP_SUMMARY")
    if not path:
        return None
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(write_markdown(summary))
    except OSError as error:
        return f"the step summary could not be written: {error}"
    return None
