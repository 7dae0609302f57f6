"""A table for papers: LaTeX or Markdown, a row a score, with n, interval and what keeps it from a published score."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pytest_bfcl.extensions.out.finished import Finished
from pytest_bfcl.reporting.markdown import cell

HEAD = ("model", "score", "accuracy", "95 % interval", "n", "errors", "note")
_SPECIAL = re.compile(r"[\\&%$#_{}~^]")
_ESCAPED = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def markdown(finished: Finished, folder: Path) -> list[Path]:
    """``scores.md``."""
    rows = [HEAD, ("---",) * len(HEAD), *(tuple(map(cell, row)) for row in _rows(finished))]
    return _written(folder / "scores.md", [f"| {' | '.join(row)} |" for row in rows])


def latex(finished: Finished, folder: Path) -> list[Path]:
    """``scores.tex``: a tabular for ``booktabs``."""
    body = [" & ".join(map(escaped, row)) + r" \\" for row in (HEAD, *_rows(finished))]
    lines = [
        r"\begin{tabular}{llrlrrl}",
        r"\toprule",
        body[0],
        r"\midrule",
        *body[1:],
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return _written(folder / "scores.tex", lines)


def escaped(text: str) -> str:
    """A text that LaTeX prints as it is."""
    return _SPECIAL.sub(lambda found: _ESCAPED.get(found.group(), "\\" + found.group()), " ".join(text.split()))


def _rows(finished: Finished) -> Iterator[tuple[str, ...]]:
    for model in finished.models:
        for score in finished.scores(model):
            low, high = score.interval95 or (None, None)
            span = "" if low is None or high is None else f"{100 * low:.2f}–{100 * high:.2f}"
            of = f"{score.judged}" if score.judged == score.planned else f"{score.judged} of {score.planned}"
            note = score.why or ("" if score.chosen == "all" else score.chosen)
            yield model, score.name, f"{100 * score.value:.2f}", span, of, str(score.errors), note


def _written(path: Path, lines: list[str]) -> list[Path]:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [path]
