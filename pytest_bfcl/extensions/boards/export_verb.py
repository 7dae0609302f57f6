"""Export runs: in the reference's layout, as its six leaderboard CSV files, as one flat table, or in another format.

RUN is a run directory, a results.jsonl, an official result/ folder (judged first) or an official score/ folder.
Without --official the CSV files leave out errors, quote fields and show N/A for categories that were not run. With
--official they equal the reference's byte for byte: errors count as answers, categories that were not run as zero.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.plain_text import say
from pytest_bfcl.runs.lines import staged
from pytest_bfcl.runs.wire_names import NAMES

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.export_sources import Source
    from pytest_bfcl.scoring.model_info import ModelInfo

SUMMARY = "write a run in the official layout or as CSV"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="what to export; for CSV files no two have a category of one model",
    )
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help="where to write the official layout or CSV files")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="write one flat table, a row an entry and request: .parquet or .csv"
    )
    parser.add_argument("--format", metavar="NAME", help="write DIR in another tool's format: " + _formats())
    parser.add_argument(
        "--layout", choices=("official", "csv"), default="official", help="result/ and score/, or only the CSV files"
    )
    parser.add_argument("--official", action="store_true", help="the reference's arithmetic and CSV format, exactly")
    parser.add_argument(
        "--as", dest="names", action="append", default=[], metavar="[MODEL=]NAME",
        help="name of the model in the reference's registry; with several models MODEL=NAME",
    )  # fmt: skip
    parser.add_argument(
        "--names", dest="spelling", choices=NAMES, default="auto", help="native names in result folders"
    )
    parser.add_argument("--data", help="data set whose questions go into score/ (default: the run's own)")
    parser.add_argument(
        "--decoder", metavar="NAME|auto", help="the format of calls in the texts of an official result folder"
    )
    parser.add_argument("--model-info", type=Path, metavar="FILE", help="TOML: display name, link, licence, prices")


def run(args: argparse.Namespace) -> int:
    """Export and list the written files; 1 if lines could not be judged."""
    from pytest_bfcl.extensions.boards.export_sources import Source
    from pytest_bfcl.extensions.boards.official_csv import write_csvs
    from pytest_bfcl.extensions.boards.standings import Standings

    if args.out is None and args.table is None:
        raise UsageError("say where to write: -o DIR, or --table FILE.parquet|FILE.csv")
    if args.format is not None:
        return _write_format(args)
    if args.table is not None:
        wrong = _write_table(args)
        if args.out is None or wrong:
            return wrong
    if args.out.suffix in (".csv", ".parquet", ".json", ".jsonl") and not args.out.is_dir():
        raise UsageError(f"-o {args.out} is a folder's place; one file: --table {args.out.with_suffix('.csv')}")
    csv_only = args.layout == "csv"
    sources = [Source(path, args.data, args.spelling, args.decoder) for path in args.runs]
    names = _names(args.names, [model for source in sources for model in source.models]) if args.names else {}
    standings = Standings(official=args.official)
    written: list[Path] = []
    with staged(args.out) as out:
        for source in sorted(sources, key=lambda source: source.is_scores):  # what was evaluated comes first
            if not csv_only and not source.is_scores:
                written += source.export(out, names)
            source.add_to(standings, names)
        if standings.replaced:
            model, category = standings.replaced[0]
            raise UsageError(
                f"two of these have {category} of {model}: a table has one row a model\nexport them one by one"
            )
        rows = standings.rows(_infos(args, sources, names))
        place = out if csv_only else out / "score"
        written += write_csvs(rows, place, official=args.official)
        notes = [part for source in sources if args.official and (part := source.part())]
        if notes:  # the columns of the leaderboard have no place for it
            (place / NOTES).write_text("".join(f"{note}\n" for note in notes), encoding="utf-8")
    say(f"{len(written)} files for {len(rows)} {'model' if len(rows) == 1 else 'models'} written to {args.out}")
    for note in notes:
        say(f"note: {note}", file=sys.stderr)
    return _tell_unused(sources)


def _tell_unused(sources: Sequence[Source]) -> int:
    """Print the lines that could not be judged or read; 1 if there are any."""
    from pytest_bfcl.cli import tell_left_out

    unjudged = [error for source in sources for error in source.unjudged]
    for error in unjudged[:5]:
        say(f"not judged, left out: {error}", file=sys.stderr)
    return 1 if tell_left_out("export", *(source.left_out for source in sources)) or unjudged else 0


NOTES = "NOT_COMPARABLE.txt"
"""The note next to CSV files whose numbers are no leaderboard scores."""


_OTHER_FORMATS = {
    "csv": "--table FILE.csv writes one row an entry, --layout csv the leaderboard's files",
    "parquet": "--table FILE.parquet",
    "jsonl": "RUN/results.jsonl is one line an entry",
    "json": "RUN/summary.json has the scores, RUN/results.jsonl one line an entry",
    "official": "--official -o DIR",
    "bfcl": "--official -o DIR",
    "wandb": "a sink, while the run goes on: pytest … --bfcl-report wandb",
    "mlflow": "it takes traces: --format otel, or --bfcl-report otel while the run goes on",
    "langfuse": "it takes traces: --format otel, or --bfcl-report otel while the run goes on",
    "html": "pytest-bfcl export report RUN",
    "huggingface": "hf-eval-results",
}
"""Other words that users try as formats, and where to find them."""


def _formats() -> str:
    return ", ".join(sorted(entry_points.offered("exporters"))) or "none is installed"


def _write_format(args: argparse.Namespace) -> int:
    """Runs in another tool's format, by the exporter of that name."""
    from pytest_bfcl.runs.directory import is_run

    point = entry_points.find("exporters", args.format)
    if point is None:
        names = sorted(entry_points.offered("exporters"))
        meant = _OTHER_FORMATS.get(args.format.casefold()) or instead_of(args.format, names)
        raise UsageError(f"no format {args.format!r}; {meant}")
    if args.out is None or args.table is not None:
        raise UsageError("--format writes a folder: -o DIR, and no --table")
    exporter = entry_points.load(point, "exporter")
    places = {run_folder.resolve().name: run_folder for run_folder in args.runs}
    if len(places) < len(args.runs):
        raise UsageError(
            "two of these runs are in folders of one name, and -o has one folder a name\nexport them one by one"
        )
    for name, run_folder in places.items():
        if not is_run(run_folder):
            raise UsageError(f"{run_folder} is no run directory: --format needs one (run.json, summary.json)")
        folder = args.out if len(args.runs) == 1 else args.out / name
        with staged(folder) as beside:
            beside.mkdir()
            written = [folder / path.relative_to(beside) for path in exporter(run_folder, beside)]
        for path in written:
            say(f"written: {path}")
    return 0


def _write_table(args: argparse.Namespace) -> int:
    """One flat table of all runs; 1 if lines were left out."""
    from pytest_bfcl.extensions.boards import flat_table
    from pytest_bfcl.extensions.boards.export_sources import Source

    sources = [Source(path, args.data, args.spelling, args.decoder) for path in args.runs]
    scores = next((source.path for source in sources if source.is_scores), None)
    if scores is not None:
        raise UsageError(f"{scores} has scores only, and a table needs replies: name the result/ folder")
    of_runs = (flat_table.rows_of(str(each.path), each.lines(), each.fingerprint) for each in sources)
    rows = flat_table.write_table(args.table, chain.from_iterable(of_runs))
    say(f"{rows:,} rows written to {args.table}")
    return _tell_unused(sources)


def _names(texts: list[str], models: list[str]) -> dict[str, str]:
    """Model → registered name. Raises `UsageError` for a name that could mean several models, or none."""
    from pytest_bfcl.runs.snapshots import folder_name

    known = list(dict.fromkeys(models))
    names: dict[str, str] = {}
    for text in texts:
        model, equals, name = text.partition("=")
        if not equals:
            if len(known) != 1:
                raise UsageError(f"--as {text}: say which model, --as MODEL={text}; there are {', '.join(known)}")
            model, name = known[0], text
        if model not in known:
            raise UsageError(f"--as {text}: no model {model!r}; there are {', '.join(known)}")
        if folder_name(name) != name.replace("/", "_"):
            raise UsageError(f"--as {text}: {name!r} is no name of the reference's registry (letters, digits, . - /)")
        names[model] = name
    return names


def _infos(args: argparse.Namespace, sources: list[Source], names: Mapping[str, str]) -> dict[str, ModelInfo]:
    """Model information by the name in the CSV files: the file's, else the run's."""
    from pytest_bfcl.extensions.boards.standings import own_infos
    from pytest_bfcl.scoring.model_info import find_info, read_model_info

    infos: dict[str, ModelInfo] = {}
    for source in sources:
        infos |= own_infos(source.run) if source.run is not None else {}
    if args.model_info:
        infos |= read_model_info(args.model_info)
    for model, name in names.items():
        if name not in infos and (info := find_info(infos, model)) is not None:
            infos[name] = info
    for name in list(infos):  # folders of the reference hold a registered name with / written as _
        infos.setdefault(name.replace("/", "_"), infos[name])
    return infos
