"""`pytest-bfcl export`: the recorded leaderboard cases through the command line, names, replay of what was written."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.runs.lines import json_line
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.session.evaluation import run
from tests.scoring.golden import CASES, Golden
from tests.scoring.samples import lines, saved

Table = list[dict[str, str]]


@pytest.fixture(scope="module")
def golden(golden_dir: Path) -> Golden:
    return Golden(golden_dir)


class Recorded:
    """The recorded runs as files, under the names the reference knows them by."""

    def __init__(self, golden: Golden, folder: Path) -> None:
        self.golden = golden
        self.folder = folder
        self.info = folder / "info.toml"
        self.info.write_text("\n".join(self._table(name) for name in ("strong", "middle", "weak", "partial")))

    def _table(self, name: str) -> str:
        info = self.golden.info(name)
        fields = {"name": info.name, "link": info.link, "organisation": info.organisation, "licence": info.licence}
        fields |= {"input_price": info.input_price, "output_price": info.output_price}
        told = "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items() if value is not None)
        return f"[models.{json.dumps(self.golden.models[name]['registry_name'])}]\n{told}"

    def results(self, name: str, categories: tuple[str, ...] = ()) -> str:
        """A results.jsonl of a recorded run, or of some categories of it."""
        path = self.folder / f"{name}{'-part' * bool(categories)}.jsonl"
        model = self.golden.models[name]["registry_name"]
        kept = [each for each in self.golden.records(name) if not categories or each["category"] in categories]
        path.write_bytes(b"".join(json_line(each | {"model": model, "detail": {}, "output": ""}) for each in kept))
        return str(path)

    def scores(self) -> str:
        """A score/ folder of all four, written by us."""
        out = self.folder / "all"
        if not out.exists():
            runs = [self.results(name) for name in ("partial", "strong", "middle", "weak")]
            assert main(["export", *runs, "-o", str(out)]) == 0
        return str(out / "score")


@pytest.fixture(scope="module")
def recorded(golden: Golden, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(golden, tmp_path_factory.mktemp("recorded"))


def table(text: str) -> Table:
    return list(csv.DictReader(io.StringIO(text)))


def assert_equal_cells(mine: Path, theirs: Path) -> None:
    """Cell by cell; the rank of rows whose sort column is N/A follows a folder listing and carries no meaning."""
    assert sorted(path.name for path in mine.glob("*.csv")) == sorted(path.name for path in theirs.glob("*.csv"))
    for path in theirs.glob("*.csv"):
        found = {row["Model"]: row for row in table((mine / path.name).read_text())}
        expected = {row["Model"]: row for row in table(path.read_text())}
        for row in (*found.values(), *expected.values()):
            if path.name == "data_format_sensitivity.csv" and row["Format Sensitivity Max Delta"] == "N/A":
                del row["Rank"]
        assert found == expected, path.name
        # Beyond the cells: no quoting, no newline at the end, columns in order.
        assert (mine / path.name).read_bytes().split(b"\n")[0] == path.read_bytes().split(b"\n")[0]
        assert (mine / path.name).stat().st_size == path.stat().st_size


@pytest.mark.golden
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[] if case == "partial" else pytest.mark.slow)
        for case in CASES
        if case != "result_layout"
    ],
)
def test_recorded_cases_cell_by_cell(recorded: Recorded, case: str, tmp_path: Path) -> None:
    sources = {
        "rebuilt": lambda: [recorded.scores()],
        "rescored": lambda: [recorded.scores(), recorded.results("middle", ("simple_python", "multi_turn_base"))],
    }.get(case, lambda: [recorded.results(name) for name in CASES[case]])()
    arguments = ["--layout", "csv", "--official", "--model-info", str(recorded.info)]
    assert main(["export", *sources, "-o", str(tmp_path / "csv"), *arguments]) == 0
    assert_equal_cells(tmp_path / "csv", recorded.golden.folder / "csv" / case)


@pytest.mark.golden
def test_the_recorded_result_folder_is_judged_and_written_again(
    recorded: Recorded, official: DataSet, tmp_path: Path
) -> None:
    """What the reference's `evaluate` does: answers in, verdicts and CSV files out; and the answers unchanged."""
    golden = recorded.golden
    with tarfile.open(golden.folder / "result_layout.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    info = recorded.info.read_text()
    for name in ("layout_text", "layout_native"):
        info += recorded._table(name) if golden.models[name]["registry_name"] not in info else ""
    (tmp_path / "info.toml").write_text(info)
    out = tmp_path / "out"
    arguments = ["--official", "--model-info", str(tmp_path / "info.toml")]
    assert main(["export", str(tmp_path / "result"), "-o", str(out), *arguments]) == 0
    assert_equal_cells(out / "score", golden.folder / "csv" / "result_layout")
    files = sorted(path.relative_to(tmp_path / "result") for path in (tmp_path / "result").rglob("*_result.json"))
    assert len(files) > 40
    for path in files:
        ours, theirs = (out / "result" / path).read_bytes(), (tmp_path / "result" / path).read_bytes()
        if "live_multiple" not in path.name:  # its lines are out of order on purpose
            assert ours == theirs, path
        assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    for name in ("layout_text", "layout_native"):
        judged = {each["id"]: each["valid"] for each in golden.records(name)}
        folder = out / "score" / golden.models[name]["folder"]
        failed = {json.loads(row)["id"] for path in folder.rglob("*.json") for row in path.read_text().splitlines()[1:]}
        assert failed == {entry_id for entry_id, valid in judged.items() if not valid}


def test_what_was_written_is_replayed_with_the_same_verdicts(tmp_path: Path) -> None:
    """Both directions of the layout: the exported answers, replayed, are judged as the originals were."""
    categories = ["simple_python", "simple_java", "irrelevance", "live_parallel", "multi_turn_base"]
    first = run("bundled", "lexical:", out=tmp_path / "first", categories=categories)
    arguments = ["-o", str(tmp_path / "out"), "--as", "lab/lexical-FC", "--official"]
    assert main(["export", str(tmp_path / "first"), *arguments]) == 0
    again = run("bundled", f"replay:{tmp_path / 'out'}", out=tmp_path / "again", categories=categories)
    assert {each["model"] for each in again.records} == {"lab_lexical-FC@fc"}
    verdicts = [{each["id"]: (each["outcome"], each["reason"]) for each in made.records} for made in (first, again)]
    assert verdicts[0] == verdicts[1]
    assert {"passed", "failed"} <= {outcome for outcome, _ in verdicts[0].values()}
    # And exported once more, the answers are the same files.
    assert main(["export", str(tmp_path / "again"), "-o", str(tmp_path / "out2"), "--as", "lab/lexical-FC"]) == 0
    for path in (tmp_path / "out" / "result").rglob("*_result.json"):
        second = tmp_path / "out2" / path.relative_to(tmp_path / "out")
        pairs = zip(path.read_text().splitlines(), second.read_text().splitlines(), strict=True)
        for one, other in pairs:  # the log of a conversation is not part of its answers
            assert json.loads(one) | {"inference_log": 0} == json.loads(other) | {"inference_log": 0}
    assert len(list(read_replay_lines(tmp_path / "out"))) == len(first.records)


def test_questions_of_other_data_never_get_into_score_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "run", list(lines({"parallel": (3, 4)})), dataset="mine", dataset_sha256="0" * 64)
    assert main(["export", str(path), "-o", str(tmp_path / "out")]) == 0
    assert "written without questions" in capsys.readouterr().err
    failed = (tmp_path / "out/score/openai_tiny@fc/non_live/BFCL_v4_parallel_score.json").read_text().splitlines()[1]
    assert json.loads(failed)["prompt"] == {}
    assert main(["export", str(tmp_path / "absent"), "-o", str(tmp_path / "no")]) == 2
