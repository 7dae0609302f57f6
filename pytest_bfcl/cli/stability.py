"""What many runs of one model say: entries that always pass, flip or never pass, and what difference chance makes.

A run is a run directory, a results.jsonl, verdicts of `pytest-bfcl score`, or an official score/ folder; PATH#MODEL
picks one of several models. Repeats inside a run count as runs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.failures import UsageError

if TYPE_CHECKING:
    from pytest_bfcl.scoring.measurements import Judged, Key
    from pytest_bfcl.scoring.stability import Stability


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="runs of one model")
    parser.add_argument("--rules", choices=("official", "corrected"), default="official", help="whose verdicts")
    parser.add_argument("--data", default="official", help="data of official score folders (default: official)")
    parser.add_argument("--never", type=Path, metavar="FILE", help="write the entries that never pass, an id a line")
    parser.add_argument("--smoke", type=int, metavar="N", help="choose N entries that predict the whole score")
    parser.add_argument("--smoke-out", type=Path, metavar="FILE", help="write them, for --bfcl-ids")
    parser.add_argument("--seed", type=int, default=0, help="of the smoke set (default: %(default)s)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything for programs")


def run(args: argparse.Namespace) -> int:
    """Print the table, write the files asked for."""
    from pytest_bfcl.reporting.stability import print_stability, stability_html
    from pytest_bfcl.scoring.stability import smoke_set, stability

    if args.smoke_out is not None and args.smoke is None:
        raise UsageError("--smoke-out needs --smoke N, the number of entries")
    found = stability(dict(_verdicts(text, args) for text in args.runs))
    if not found.entries:
        raise UsageError("no entry was judged in every run")
    smoke = smoke_set(found, args.smoke, args.seed) if args.smoke is not None else None
    print_stability(found, smoke)
    _write(args.never, "".join(f"{entry_id}\n" for entry_id in found.ids("never")))
    _write(args.smoke_out, "".join(f"{entry_id}\n" for entry_id in smoke.ids) if smoke else "")
    _write(args.html, stability_html(found, smoke))
    _write(args.json, _json(found))
    return 0


def _verdicts(text: str, args: argparse.Namespace) -> tuple[str, dict[Key, Judged]]:
    from pytest_bfcl.rescoring import open_data
    from pytest_bfcl.scoring import open_measurement
    from pytest_bfcl.scoring.official_scores import is_score_folder

    scores = is_score_folder(Path(text.partition("#")[0]))
    measurement = open_measurement(text, open_data(args.data)) if scores else open_measurement(text)
    models = measurement.models(args.rules)
    if len(models) != 1:
        known = ", ".join(models) or "no results"
        raise UsageError(f"{text} has {known}: name one model as PATH#MODEL")
    return text, next(iter(models.values()))


def _json(found: Stability) -> str:
    return json.dumps(found.to_dict(), indent=1) + "\n"


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    print(f"written: {path}")
