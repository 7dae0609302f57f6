"""A badge: an SVG of our own making, and the JSON that badge services read (schemaVersion 1)."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from pytest_bfcl.extensions.out.finished import Finished, file_name
from pytest_bfcl.scoring.score_record import headline_record

_COLOURS = ((0.8, "#2e7d32", "green"), (0.6, "#7a6a00", "yellow"), (0.0, "#b3261e", "red"))
_CHARACTER = 7.2
"""Width of a character of 12 px (px), roughly."""


def export(finished: Finished, folder: Path) -> list[Path]:
    """Two files a model: the overall score where it is claimed, else the share of all entries asked."""
    written = []
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
        written += [svg, told]
    return written


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
