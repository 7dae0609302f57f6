"""Scores for other places: badges, tables for papers, the Hub's ``.eval_results``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.out.finished import Finished, file_name
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.reporting.markdown import cell, table
from pytest_bfcl.reporting.tables import Table
from pytest_bfcl.scoring.aggregate import FORMULAS, ROW_OF_A_GROUP
from pytest_bfcl.scoring.score_record import ScoreRecord, headline_record

_COLOURS = ((0.8, "#2e7d32", "green"), (0.6, "#7a6a00", "yellow"), (0.0, "#b3261e", "red"))
_CHARACTER = 7.2
"""Approximate width of a character of 12 px (px)."""


def badges(run: Path, folder: Path) -> Iterator[Path]:
    """Two files a model: the overall score if claimed, else the share of all entries."""
    finished = Finished.open(run)
    for model in finished.models:
        score = headline_record(finished.scores(model))
        if score is None:
            continue
        label = f"{finished.benchmark} {score.name}" if score.name != "overall" else finished.benchmark
        message = f"{100 * score.value:.1f} %"
        if score.interval95 is not None:
            message += f" ({100 * score.interval95[0]:.0f}–{100 * score.interval95[1]:.0f})"
        if score.why or not score.is_whole:
            message += f", {score.basis}"
        _, colour, name = next(each for each in _COLOURS if score.value >= each[0])
        stem = file_name(model)
        svg, told = folder / f"{stem}.svg", folder / f"{stem}.badge.json"
        svg.write_text(drawn(label, message, colour), encoding="utf-8")
        told.write_text(json.dumps({"schemaVersion": 1, "label": label, "message": message, "color": name}) + "\n")
        yield from (svg, told)


def drawn(label: str, message: str, colour: str) -> str:
    """The badge; texts are escaped, nothing is loaded."""
    left, right = (round(len(text) * _CHARACTER + 14) for text in (label, message))
    whole = escape(f"{label}: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="22" role="img" aria-label="{whole}">'
        f"<title>{whole}</title>"
        f'<rect width="{left}" height="22" fill="#424242"/>'
        f'<rect x="{left}" width="{right}" height="22" fill="{colour}"/>'
        '<g fill="#fff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="12" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="15">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="15">{escape(message)}</text></g></svg>\n'
    )


PUBLISHED = {*CATEGORIES, *FORMULAS, "overall"}
HEAD = ("model", "score", "accuracy", "95 % interval", "n", "errors", "note")
_SPECIAL = re.compile(r"[\\&%$#_{}~^]")
_ESCAPED = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def markdown(run: Path, folder: Path) -> list[Path]:
    """``scores.md``; each note once, below the table."""
    rows, notes = _noted(Finished.open(run))
    below = [f"\n{number}: {cell(note)}" for note, number in notes.items()]
    return _written(folder / "scores.md", [table(Table(HEAD, rows, range(len(HEAD)))), *below])


def latex(run: Path, folder: Path) -> list[Path]:
    """``scores.tex``: a tabular for ``booktabs``; each note once, in its last rows."""
    rows, notes = _noted(Finished.open(run))
    body = [" & ".join(map(escaped, row)) + r" \\" for row in (HEAD, *rows)]
    below = rf"\multicolumn{{{len(HEAD)}}}{{p{{\linewidth}}}}{{\footnotesize %s: %s}} \\"
    lines = [
        r"\begin{tabular}{llrlrrl}",
        r"\toprule",
        body[0],
        r"\midrule",
        *body[1:],
        r"\bottomrule",
        *(below % (number, escaped(note)) for note, number in notes.items()),
        r"\end{tabular}",
    ]
    return _written(folder / "scores.tex", lines)


def escaped(text: str) -> str:
    """A text that LaTeX prints unchanged."""
    return _SPECIAL.sub(lambda found: _ESCAPED.get(found.group(), "\\" + found.group()), " ".join(text.split()))


def _noted(finished: Finished) -> tuple[list[tuple[str, ...]], dict[str, str]]:
    """The rows with the numbers of their notes, and the number of each note."""
    notes: dict[str, str] = {}
    rows = []
    for *row, told in _rows(finished):
        numbers = [notes.setdefault(note, str(len(notes) + 1)) for note in told.split("; ") if note]
        rows.append((*row, ", ".join(sorted(numbers, key=int))))
    return rows, notes


def _rows(finished: Finished) -> Iterator[tuple[str, ...]]:
    """Categories, the groups that the benchmark scores, and Overall; a group of a category's name has a suffix."""
    for model in finished.models:
        seen: set[str] = set()
        for score in finished.scores(model):
            name = score.name + ROW_OF_A_GROUP * (score.name in seen)
            seen.add(score.name)
            if score.name not in PUBLISHED:
                continue
            low, high = score.interval95 or (None, None)
            span = "" if low is None or high is None else f"{100 * low:.2f}–{100 * high:.2f}"
            of = f"{score.judged}" if score.judged == score.planned else f"{score.judged} of {score.planned}"
            note = score.why or ("" if score.chosen == "all" else score.chosen)
            yield model, name, f"{100 * score.value:.2f}", span, of, str(score.errors), note


def _written(path: Path, lines: list[str]) -> list[Path]:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [path]


DATASET = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"


def hub(run: Path, folder: Path) -> list[Path]:
    """One file a model. Scores on other data than the official set name that data, never the benchmark. A row has no
    place for the number of entries, so only complete scores name the official data set. Raises `UsageError` for a model
    without one.
    """
    finished = Finished.open(run)
    data = finished.dataset
    source = DATASET if finished.is_official else f"pytest-bfcl/{data['name']}"
    files = {model: [_row(finished, source, score) for score in _whole(finished, model)] for model in finished.models}
    written = []
    for model, rows in files.items():
        target = folder / ".eval_results" / f"{file_name(model)}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        written.append(target)
    return written


def _whole(finished: Finished, model: str) -> list[ScoreRecord]:
    scores = list(finished.scores(model))
    found = [score for score in scores if (score.is_whole and not score.why) or not finished.is_official]
    if scores and not found:
        raise UsageError(
            f"{finished.run.path}: no score of {model} is of a whole category ({scores[0].name}: {scores[0].note})\n"
            "rows on the Hub cannot show this: run whole categories, or take --format every-eval-ever"
        )
    return found


def _row(finished: Finished, source: str, score: ScoreRecord) -> Parsed:
    notes = (
        f"pytest-bfcl {finished.fingerprint['plugin_version']}, {finished.fingerprint['rules']} rules, {score.basis}"
    )
    if score.interval95 is not None:
        notes += f", 95 % interval {100 * score.interval95[0]:.2f} to {100 * score.interval95[1]:.2f}"
    data = finished.dataset
    return {
        "dataset": {"id": source, "task_id": score.name},
        "value": round(100 * score.value, 4),
        "date": finished.ended_at,
        "notes": f"{notes}; data {data['version']} ({data['sha256'][:8]})",
    }
