"""Compare runs entry by entry: what improved, what regressed, and whether that could be chance.

What is compared is a run directory, a results.jsonl, verdicts of `pytest-bfcl score`, or an official score/ folder;
PATH#MODEL picks one of several models. The first is the baseline of all others; one run with several models is
compared within itself. Exit code 1 with --fail and a significant regression.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.failures import UsageError

if TYPE_CHECKING:
    from pytest_bfcl.scoring import Comparison, Measurement


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("measurements", nargs="+", metavar="RUN", help="the baseline, then what is compared with it")
    parser.add_argument("--shared", action="store_true", help="compare runs of other data or rules on shared ids, too")
    parser.add_argument("--allow-missing", action="store_true", help="compare results with gaps, too")
    parser.add_argument("--rules", choices=("official", "corrected"), default="official", help="whose verdicts")
    parser.add_argument("--fail", action="store_true", help="exit code 1 on a significant regression")
    parser.add_argument("--margin", type=float, default=0.0, metavar="PTS", help="points of loss --fail accepts")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write Markdown")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything for programs")
    parser.add_argument("--data", default="official", help="data of official score folders (default: official)")


def run(args: argparse.Namespace) -> int:
    """Print the comparisons, write the files asked for."""
    from rich.console import Console

    from pytest_bfcl.reporting.comparison import print_comparison

    if not 0 <= args.margin <= 100:
        raise UsageError("--margin: percentage points between 0 and 100")
    comparisons = list(_comparisons(args))
    margin = args.margin / 100
    # Output of a program is not cut to the width nobody looks at.
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    written = _write_files(args, comparisons, margin)  # first: a reader like `head` may end the printing
    for comparison in comparisons:
        print_comparison(comparison, console, margin)
    for path in written:
        print(f"written: {path}")
    lost = any(comparison.losses(margin) or not comparison.rows for comparison in comparisons)
    return 1 if args.fail and lost else 0


def _comparisons(args: argparse.Namespace) -> list[Comparison]:
    from pytest_bfcl.scoring import compare_measurements, compare_models

    first, *others = [_measurement(text, args) for text in args.measurements]
    if others:
        gaps = args.allow_missing
        return [
            found
            for other in others
            for found in compare_measurements(first, other, args.rules, shared=args.shared, allow_missing=gaps)
        ]
    found = compare_models(first, args.rules, allow_missing=args.allow_missing)
    if not found:
        raise UsageError(f"{first.label} has one model: name another run to compare it with")
    return found


def _measurement(text: str, args: argparse.Namespace) -> Measurement:
    from pytest_bfcl.scoring import open_measurement
    from pytest_bfcl.scoring.official_scores import is_score_folder

    if not is_score_folder(Path(text.partition("#")[0])):
        return open_measurement(text)
    from pytest_bfcl.rescoring import open_data

    return open_measurement(text, open_data(args.data))


def _write_files(args: argparse.Namespace, comparisons: list[Comparison], margin: float) -> list[Path]:
    import json

    from pytest_bfcl.reporting.comparison import comparison_html, comparison_markdown

    texts: dict[Path | None, Callable[[], str]] = {
        args.markdown: lambda: comparison_markdown(comparisons, margin),
        args.html: lambda: comparison_html(comparisons, margin),
        args.json: lambda: json.dumps([found.to_dict() for found in comparisons], indent=1) + "\n",
    }
    paths = [path for path in texts if path is not None]
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(texts[path]().encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    return paths
