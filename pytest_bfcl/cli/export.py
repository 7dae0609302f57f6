"""Write a run as the reference's result/ and score/ folders with the six leaderboard CSV files.

Without --official the CSV files leave errors out, quote fields and show N/A where a category was not run; with it they
are written as the reference does: errors count as answers, categories not run as zero.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.scoring.model_info import ModelInfo
    from pytest_bfcl.scoring.official_csv import ModelRow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="a run directory, a results.jsonl, or an official score/ folder")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="DIR", help="where to write")
    parser.add_argument("--official", action="store_true", help="the reference's arithmetic and CSV format, exactly")
    parser.add_argument("--csv-only", action="store_true", help="only the CSV files, not result/ and score/")
    parser.add_argument("--data", default="auto", help="data set whose questions go into score/ (default: auto)")
    parser.add_argument("--model-info", type=Path, metavar="FILE", help="TOML: display name, link, licence, prices")


def run(args: argparse.Namespace) -> int:
    """Export and list what was written."""
    from pytest_bfcl.scoring.model_info import read_model_info
    from pytest_bfcl.scoring.official_csv import write_csvs

    infos = read_model_info(args.model_info) if args.model_info else {}
    written = []
    if not args.csv_only and not _is_score_folder(args.run):
        written += _folders(args)
    rows = _rows(args, infos)
    written += write_csvs(rows, args.out if args.csv_only else args.out / "score", official=args.official)
    print(f"{len(written)} files for {len(rows)} models written to {args.out}")
    return 0


def _is_score_folder(path: Path) -> bool:
    return path.is_dir() and next(path.rglob("BFCL_v*_score.json"), None) is not None


def _rows(args: argparse.Namespace, infos: dict[str, ModelInfo]) -> list[ModelRow]:
    from pytest_bfcl.runs import read_replay_lines
    from pytest_bfcl.runs.official_scores import read_scores
    from pytest_bfcl.scoring.leaderboard import model_rows, rows_of_scores

    if _is_score_folder(args.run):
        return rows_of_scores(read_scores(args.run), infos)
    return model_rows(read_replay_lines(args.run), infos, official=args.official)


def _folders(args: argparse.Namespace) -> list[Path]:
    """``result/`` and ``score/``, with questions from the data set where there is one."""
    from pytest_bfcl.evaluation import open_data
    from pytest_bfcl.runs import export_official

    return export_official(args.run, args.out, dataset=open_data(args.data))
