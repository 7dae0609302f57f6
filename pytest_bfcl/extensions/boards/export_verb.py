"""Export runs: in the reference's layout, as its six leaderboard CSV files, as one flat table, or in another format.

RUN is a run directory, a results.jsonl, an official result/ folder (judged first) or an official score/ folder.
Without --official the CSV files leave out errors, quote fields and show N/A for categories that were not run. With
--official they equal the reference's byte for byte: errors count as answers, categories that were not run as zero.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import FailureTag, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import say
from pytest_bfcl.runs.comparability import published_comparability
from pytest_bfcl.runs.lines import LeftOut, staged
from pytest_bfcl.runs.wire_names import NAMES, Names

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.scoring.model_info import ModelInfo

Line = Fields

SUMMARY = "write a run in the official layout or as CSV"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="what to export; later runs win")
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


def _opened(path: Path) -> RunDirectory:
    from pytest_bfcl.runs.directory import RunDirectory

    return RunDirectory.open(path)


def _is_run(path: Path) -> bool:
    from pytest_bfcl.runs.directory import is_run

    return is_run(path)


def run(args: argparse.Namespace) -> int:
    """Export and list the written files; 1 if lines could not be judged."""
    from pytest_bfcl.cli import tell_left_out
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
    sources = [_Source(path, args.data, args.spelling, args.decoder) for path in args.runs]
    names = _names(args.names, [model for source in sources for model in source.models]) if args.names else {}
    _refuse_same_names(sources, names)
    standings = Standings(official=args.official)
    written: list[Path] = []
    with staged(args.out) as out:
        for source in sorted(sources, key=lambda source: source.is_scores):  # what was evaluated comes first
            if not csv_only and not source.is_scores:
                written += source.export(out, names)
            source.add_to(standings, names)
        rows = standings.rows(_infos(args, sources, names))
        place = out if csv_only else out / "score"
        written += write_csvs(rows, place, official=args.official)
        notes = [part for source in sources if args.official and (part := source.part())]
        if notes:  # the columns of the leaderboard have no place for it
            (place / NOTES).write_text("".join(f"{note}\n" for note in notes), encoding="utf-8")
    say(f"{len(written)} files for {len(rows)} {'model' if len(rows) == 1 else 'models'} written to {args.out}")
    for note in notes:
        say(f"note: {note}", file=sys.stderr)
    unjudged = [error for source in sources for error in source.unjudged]
    for error in unjudged[:5]:
        say(f"not judged, left out: {error}", file=sys.stderr)
    damaged = tell_left_out("export", *(source.left_out for source in sources))
    return 1 if unjudged or damaged else 0


NOTES = "NOT_COMPARABLE.txt"
"""The note next to CSV files whose numbers are no leaderboard scores."""


def _refuse_same_names(sources: Sequence[_Source], names: Mapping[str, str]) -> None:
    """Raise `UsageError` if two sources have the same category of one model: a file has one row for both.

    A folder of scores only adds categories that were not judged again, as in the reference.
    """
    from pytest_bfcl.extensions.boards.standings import Standings

    for alike in (
        [source for source in sources if not source.is_scores],
        [source for source in sources if source.is_scores],
    ):
        standings = Standings()
        for source in alike if len(alike) > 1 else ():
            source.add_to(standings, names)
        if standings.replaced:
            model, category = standings.replaced[0]
            raise UsageError(
                f"two of these have {category} of {model}: a table has one row a model\nexport them one by one"
            )


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
    from pytest_bfcl import entry_points

    return ", ".join(sorted(entry_points.offered("exporters"))) or "none is installed"


def _write_format(args: argparse.Namespace) -> int:
    """Runs in another tool's format, by the exporter of that name."""
    from pytest_bfcl import entry_points
    from pytest_bfcl.suggestions import instead_of

    point = entry_points.find("exporters", args.format)
    if point is None:
        names = sorted(entry_points.offered("exporters"))
        meant = _OTHER_FORMATS.get(args.format.casefold()) or instead_of(args.format, names)
        raise UsageError(f"no format {args.format!r}; {meant}")
    if args.out is None or args.table is not None:
        raise UsageError("--format writes a folder: -o DIR, and no --table")
    exporter = entry_points.load(point, "exporter")
    for run_folder in args.runs:
        if not _is_run(run_folder):
            raise UsageError(f"{run_folder} is no run directory: --format needs one (run.json, summary.json)")
        folder = args.out if len(args.runs) == 1 else args.out / run_folder.name
        with staged(folder) as beside:
            beside.mkdir()
            written = [folder / path.relative_to(beside) for path in exporter(run_folder, beside)]
        for path in written:
            say(f"written: {path}")
    return 0


def _write_table(args: argparse.Namespace) -> int:
    """One flat table of all runs; 1 if lines were left out."""
    from pytest_bfcl.cli import tell_left_out
    from pytest_bfcl.extensions.boards.flat_table import Source, write_table

    sources = [_Source(path, args.data, args.spelling, args.decoder) for path in args.runs]
    scores = next((source.path for source in sources if source.is_scores), None)
    if scores is not None:
        raise UsageError(f"{scores} has scores only, and a table needs replies: name the result/ folder")
    rows = write_table(
        args.table,
        (
            Source(
                str(each.path),
                each.lines(),
                _opened(each.path).fingerprint if _is_run(each.path) else None,
            )
            for each in sources
        ),
    )
    say(f"{rows:,} rows written to {args.table}")
    unjudged = [error for source in sources for error in source.unjudged]
    for error in unjudged[:5]:
        say(f"not judged, left out: {error}", file=sys.stderr)
    return 1 if tell_left_out("export", *(source.left_out for source in sources)) or unjudged else 0


class _Source:
    """One source to export."""

    def __init__(self, path: Path, data: str | None, names: Names = "auto", decoder: str | None = None) -> None:
        from pytest_bfcl.scoring.measurements import is_score_folder

        if not path.exists():
            raise UsageError(f"{path} does not exist")
        self.path = path
        self.is_scores = is_score_folder(path)
        self.unjudged: list[str] = []
        self.left_out = LeftOut()
        self._data = data
        self._names = names
        self._decoder = decoder
        self._dataset: DataSet | None = None
        self._opened = False

    @property
    def models(self) -> list[str]:
        """Models in order of appearance."""
        if self.is_scores:
            from pytest_bfcl.scoring.measurements import read_scores

            return list(read_scores(self.path))
        return list(dict.fromkeys(str(line.get("model") or "model") for line in self._read()))

    def _read(self) -> Iterator[Line]:
        from pytest_bfcl.dataset.transforms import is_transformed
        from pytest_bfcl.runs.replay_lines import read_replay_lines

        found = read_replay_lines(
            self.path, self.left_out, self._decoder, names=self._names, dataset=self._official_entries()
        )
        conditions = _opened(self.path).fingerprint.conditions if _is_run(self.path) else {}
        transforms = conditions.get("transforms") or ()
        return (line for line in found if not transforms or not is_transformed(str(line.get("id")), transforms))

    def _official_entries(self) -> DataSet | None:
        """The data that shows the spelling of names, for folders in the official layout only."""
        if _is_run(self.path) or not self.path.is_dir():
            return None
        try:
            return self._judging_data()
        except UsageError:
            return None

    def lines(self) -> Iterator[Line]:
        """Result lines, those without a verdict judged."""
        return judged_lines(self._read(), self._judging_data, self.unjudged)

    def _judging_data(self) -> DataSet:
        from pytest_bfcl.session.evaluation import open_data

        return self.dataset or open_data(self._data or "official")

    @property
    def dataset(self) -> DataSet | None:
        """The data with these answers' entries; ``None`` if it is not found."""
        if not self._opened:
            self._opened = True
            self._dataset = self._open()
        return self._dataset

    def _open(self) -> DataSet | None:
        from pytest_bfcl.session.evaluation import open_data

        if self._data is not None:
            return open_data(self._data)
        if not _is_run(self.path):
            return _official()
        fingerprint = _opened(self.path).fingerprint
        if fingerprint.dataset in ("official", "bundled"):
            found = _official() if fingerprint.dataset == "official" else open_data("bundled")
            if found is not None and found.sha256 == fingerprint.dataset_sha256:
                return found
        told = f"the {fingerprint.dataset} data of {self.path} is not at hand"
        say(f"note: {told}: score/ is written without questions (--data PATH names it)", file=sys.stderr)
        return None

    def export(self, out: Path, names: Mapping[str, str]) -> list[Path]:
        """``result/`` and ``score/``."""
        from pytest_bfcl.extensions.boards.official_files import export_official

        return export_official(
            self.path, out, dataset=self.dataset, names=names, lines=self.lines(), on_damaged=self.left_out
        )

    def add_to(self, standings: Any, names: Mapping[str, str]) -> None:
        """Count for the CSV files."""
        from pytest_bfcl.scoring.measurements import read_scores

        if self.is_scores:
            standings.add_scores({names.get(name, name): files for name, files in read_scores(self.path).items()})
            return
        self.unjudged.clear()  # the lines are read a second time
        standings.add(_renamed(self.lines(), names), state=self._state())

    def _state(self) -> str:
        """How the run ended; other sources have no end."""
        return _opened(self.path).fingerprint.state if _is_run(self.path) else "finished"

    def part(self) -> str:
        """Why a run's CSV files are no leaderboard scores, in words; else empty."""
        if not _is_run(self.path):
            return ""
        found = published_comparability(_opened(self.path).fingerprint)
        if not found.refused:
            return ""
        told = "percentages are of what was asked, categories without any entry count as zero"
        return f"{self.path}: no leaderboard scores, {found.sentence}; {told}"

    def infos(self) -> dict[str, ModelInfo]:
        """The run's own information about its models."""
        from pytest_bfcl.scoring.model_info import parse_model_info

        summary = _opened(self.path).summary() if _is_run(self.path) else None
        told = summary.get("model_info") if summary else None
        return parse_model_info({"models": told}, str(self.path)) if told else {}


def _official() -> DataSet | None:
    from pytest_bfcl.session.evaluation import open_data

    try:
        return open_data("official")
    except UsageError:
        return None


def _renamed(lines: Iterable[Line], names: Mapping[str, str]) -> Iterator[Line]:
    for line in lines:
        model = str(line.get("model") or "model")
        yield {**line, "model": names.get(model, model)}


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


def _infos(args: argparse.Namespace, sources: list[_Source], names: Mapping[str, str]) -> dict[str, ModelInfo]:
    """Model information by the name in the CSV files: the file's, else the run's."""
    from pytest_bfcl.scoring.model_info import find_info, read_model_info

    infos: dict[str, ModelInfo] = {}
    for source in sources:
        infos |= source.infos()
    if args.model_info:
        infos |= read_model_info(args.model_info)
    for model, name in names.items():
        if name not in infos and (info := find_info(infos, model)) is not None:
            infos[name] = info
    for name in list(infos):  # folders of the reference hold a registered name with / written as _
        infos.setdefault(name.replace("/", "_"), infos[name])
    return infos


def judged_lines(lines: Iterable[Line], dataset: Any, unjudged: list[str]) -> Iterator[Line]:
    """Lines with an outcome unchanged, all others with the verdict of the official rules.

    ``dataset`` is called when the first line needs it. Lines that cannot be judged are left out and listed in
    ``unjudged``; write stages are never judged.
    """
    from pytest_bfcl.dataset.categories import CATEGORIES
    from pytest_bfcl.rescoring import score_lines

    waiting: deque[Line] = deque()
    verdicts: Iterator[Parsed] | None = None
    for line in lines:
        row = CATEGORIES.get(str(line.get("category")))
        if "outcome" in line or (row is not None and row.checker == "none"):
            yield line
            continue
        waiting.append(line)
        if verdicts is None:
            verdicts = score_lines(iter(waiting.popleft, None), dataset())
        verdict = next(verdicts)
        if "error" in verdict:
            unjudged.append(f"{line.get('id')}: {verdict['error']}")
        else:
            yield _with_verdict(line, verdict)


def _with_verdict(line: Line, verdict: Fields) -> Line:
    tag = verdict["tag"]
    outcome = "passed" if verdict["valid"] else "failed" if tag is None or FailureTag(tag).counts else "error"
    return {**line, "outcome": outcome, **{name: verdict[name] for name in ("tag", "reason", "detail")}}
