"""Official folders judged again: equal ones, every kind of planted wrong verdict, and causes that can be told."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.lab.official_folder import prove_folder
from pytest_bfcl.extensions.lab.proof import Part, proof_markdown
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.lines import LeftOut
from pytest_bfcl.session.evaluation import open_data, run

CATEGORIES = ["simple_python", "multiple", "parallel", "irrelevance", "multi_turn_base", "memory_kv"]

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def data() -> DataSet:
    return open_data("bundled")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, data: DataSet) -> Path:
    """A run of the lexical baseline, which is often wrong, in the official layout."""
    folder = tmp_path_factory.mktemp("proving")
    run(data, "lexical:@fc", categories=CATEGORIES, out=folder / "run")
    assert main(["export", str(folder / "run"), "-o", str(folder / "bfcl"), "--data", "bundled"]) == 0
    return folder / "bfcl"


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    """A copy to plant something in."""
    return Path(shutil.copytree(exported, tmp_path / "bfcl"))


def found(folder: Path, data: DataSet, **options: Any) -> list[tuple[str, str, str, str, str]]:
    return [
        (part.name.split(", ")[1], each.where, each.recorded, each.here, each.cause.name)
        for part in prove_folder(folder, data, **options)
        for each in part.differences
    ]


def score_file(folder: Path, category: str) -> Path:
    (path,) = folder.glob(f"score/**/BFCL_v4_{category}_score.json")
    return path


def change(path: Path, act: Callable[[Lines], None], *, keep_counts: bool = False) -> None:
    """Rewrite the lines of a score file; its first line follows unless ``keep_counts``."""
    header, *lines = (json.loads(text) for text in path.read_text().splitlines())
    act(lines)
    if not keep_counts:
        header["correct_count"] = header["total_count"] - len(lines)
        header["accuracy"] = header["correct_count"] / header["total_count"]
    path.write_text("".join(json.dumps(each) + "\n" for each in (header, *lines)))


@pytest.mark.slow
def test_what_was_exported_is_equal_in_every_line(exported: Path, data: DataSet) -> None:
    parts = prove_folder(exported, data)
    assert {part.name.split(", ")[1] for part in parts} == set(CATEGORIES)
    assert [part.differences for part in parts] == [[]] * len(CATEGORIES)
    assert sum(part.lines for part in parts) == sum(len(data.index(name)) for name in CATEGORIES)
    failed = [len(score_file(exported, name).read_text().splitlines()) - 1 for name in CATEGORIES]
    assert sum(failed) > 20
    assert prove_folder(exported / "result", data)[0].lines == prove_folder(exported / "score", data)[0].lines


@pytest.mark.parametrize("category", ["parallel", "irrelevance", "multi_turn_base"])
def test_a_wrong_verdict_of_every_kind_is_found(folder: Path, data: DataSet, category: str) -> None:
    path = score_file(folder, category)
    ids = [ref.id for ref in data.index(category)]
    failed = [json.loads(text) for text in path.read_text().splitlines()[1:]]
    passed = [entry_id for entry_id in ids if entry_id not in {line["id"] for line in failed}]
    planted = 0
    original = path.read_text()

    def plant(act: Callable[[Lines], None], wanted: tuple[str, str, str]) -> None:
        nonlocal planted
        change(path, act)
        assert [each[1:4] for each in found(folder, data)] == [wanted]
        path.write_text(original)
        planted += 1

    if failed:
        first = failed[0]
        nested = isinstance(first["error"], dict)
        reason = first["error"]["error_type"] if nested else first["error_type"]
        plant(lambda lines: lines.pop(0), (first["id"], "passed", reason))

        def other_reason(lines: Lines) -> None:
            (lines[0]["error"] if nested else lines[0])["error_type"] = "planted:other"

        plant(other_reason, (first["id"], "planted:other", reason))
    if passed:
        line = {"id": passed[0], "error_type": "planted:failed"}
        plant(lambda lines: lines.append(line), (passed[0], "planted:failed", "passed"))
    assert planted


def test_counts_that_are_not_those_of_the_lines_and_missing_results(folder: Path, data: DataSet) -> None:
    path = score_file(folder, "parallel")
    change(path, lambda lines: lines.pop(), keep_counts=True)
    causes = Counter(each[4] for each in found(folder, data))
    assert causes == {"unknown": 1, "header": 1}
    (results,) = folder.glob("result/**/BFCL_v4_multiple_result.json")
    results.write_text("".join(results.read_text().splitlines(keepends=True)[1:]))
    parts = {part.name.split(", ")[1]: part for part in prove_folder(folder, data)}
    assert "partly scored" in [each.cause.name for each in parts["multiple"].differences]
    assert parts["multiple"].lines == parts["multiple"].equal
    (results,) = folder.glob("result/**/BFCL_v4_irrelevance_result.json")
    results.unlink()
    assert ("irrelevance", "the whole file", "scores", "no results", "no result") in found(folder, data)
    score_file(folder, "memory_kv").unlink()
    notes = [note for part in prove_folder(folder, data) for note in part.notes]
    assert any(note.endswith("memory_kv have no score file") for note in notes)


def test_causes_that_can_be_told(folder: Path, data: DataSet) -> None:
    # The other spelling of names explains what it changes.
    by_names = found(folder, data, names="dots")
    assert {each[4] for each in by_names} == {"names"}
    # A failed request is an error here, an answer there.
    (results,) = folder.glob("result/**/BFCL_v4_irrelevance_result.json")
    lines = [json.loads(text) for text in results.read_text().splitlines()]
    kept = {json.loads(text)["id"] for text in score_file(folder, "irrelevance").read_text().splitlines()[1:]}
    asked = next(line for line in lines if line["id"] not in kept)
    asked["result"] = "Error during inference: no answer"
    results.write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert found(folder, data) == [
        ("irrelevance", asked["id"], "passed", "adapter:inference_error", "failed request")
    ]  # fmt: skip
    # A line that was scored against another answer says so itself.
    failed: list[str] = []

    def other_answer(lines: Lines) -> None:
        failed.append(lines[0]["id"])
        lines[0] |= {"error_type": "value_error:string", "possible_answer": [{"another.function": {}}]}

    change(score_file(folder, "parallel"), other_answer)
    assert (failed[0], "other data") in [(each[1], each[4]) for each in found(folder, data)]


def test_the_verb_tells_and_fails_on_what_is_not_explained(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, told = tmp_path / "out" / "proof.md", tmp_path / "proof.json"
    arguments = ["score", "prove", str(folder), "--data", "bundled", "-o", str(out), "--json", str(told)]
    assert main(arguments) == 0
    assert "0 differences are not explained" in capsys.readouterr().out
    assert str(tmp_path) not in out.read_text()
    change(score_file(folder, "parallel"), lambda lines: lines.pop())
    assert main(arguments) == 1
    assert "1 differences are not explained" in capsys.readouterr().out
    assert "### unknown (not explained)" in out.read_text()
    parts = json.loads(told.read_text())
    assert [each["cause"] for part in parts for each in part["differences"]] == ["unknown"]


def test_an_archive_is_proved_as_the_folder_is(folder: Path, tmp_path: Path) -> None:
    packed, out = shutil.make_archive(str(tmp_path / "packed"), "gztar", folder), tmp_path / "proof.md"
    assert main(["score", "prove", packed, "--data", "bundled", "-o", str(out)]) == 0
    assert r", multi\_turn\_base |" in out.read_text()


def test_scores_of_earlier_releases_are_found_under_the_names_of_now(folder: Path, data: DataSet) -> None:
    """Their score lines are numbered, and name the entry under ``prompt``."""
    (result,) = folder.glob("result/**/BFCL_v4_simple_python_result.json")
    score = score_file(folder, "simple_python")
    header, *failed = map(json.loads, score.read_text().splitlines())
    wrong, reason = failed[0]["id"], failed[0]["error_type"]
    failed[0]["error_type"] = "planted:other"
    for number, line in enumerate(failed):
        line |= {"id": number, "prompt": {"id": line["id"].replace("simple_python_", "simple_")}}
    score.with_name("BFCL_v2_simple_score.json").write_text(
        "".join(json.dumps(each) + "\n" for each in (header, *failed))
    )
    earlier = result.read_text().replace('"simple_python_', '"simple_')
    result.with_name("BFCL_v2_simple_result.json").write_text(earlier)
    result.unlink()
    score.unlink()
    assert [each[1:] for each in found(folder, data)] == [(wrong, "planted:other", reason, "older benchmark")]


def test_what_cannot_be_proved_is_refused(folder: Path, data: DataSet, tmp_path: Path) -> None:
    shutil.rmtree(folder / "result")
    with pytest.raises(UsageError, match="no result files"):
        prove_folder(folder, data)
    with pytest.raises(UsageError, match="holds no score files"):
        prove_folder(tmp_path / "absent", data)
    assert main(["score", "prove", str(tmp_path / "absent")]) == 2


def test_markdown_counts_and_lists_bounded() -> None:
    from pytest_bfcl.extensions.lab.proof import UNKNOWN, Difference

    part = Part("a|b", "verdict", 100, [Difference(f"x_{n}", "passed", "<b>", UNKNOWN) for n in range(50)])
    text = proof_markdown([part], "Title")
    assert "| a\\|b | verdict | 100 | 50 | 50 unknown |" in text
    assert text.count("x\\_") == 40
    assert "10 more" in text
    assert "<b>" not in text


@pytest.mark.slow
@pytest.mark.golden
@pytest.mark.usefixtures("official_dir")
def test_a_recorded_run_and_its_planted_wrong_verdict(golden_dir: Path, tmp_path: Path, official: DataSet) -> None:
    path = golden_dir / "v4_runs" / "server-0.11.tar.gz"
    if not path.is_file():
        pytest.skip("no recorded runs here")
    with tarfile.open(path) as packed:
        packed.extractall(tmp_path, filter="data")
    parts = prove_folder(tmp_path, official)
    assert sum(part.lines for part in parts) == 4241
    exceptions = [(each.where, each.cause.name) for part in parts for each in part.differences]
    assert sorted(exceptions) == [("live_irrelevance_292-72-1", "failed request"), ("simple_java_47", "failed request")]
    for name in ("result", "score"):  # the rest need not be judged twice
        for file in (tmp_path / name).rglob(f"BFCL_v4_*_{name}.json"):
            if "multi_turn_base" not in file.name:
                file.unlink()
    change(score_file(tmp_path, "multi_turn_base"), lambda lines: lines.pop(7))
    (difference,) = found(tmp_path, official)
    assert difference[4] == "unknown"


def test_a_note_stands_under_the_model_it_is_about(folder: Path, data: DataSet) -> None:
    first, second = "a_model", "b_model"
    for side in ("result", "score"):
        (there,) = (each for each in (folder / side).iterdir() if each.is_dir())
        shutil.copytree(there, folder / side / second)
        there.rename(folder / side / first)
    (unscored,) = (folder / "score" / second).rglob("BFCL_v4_multiple_score.json")
    unscored.unlink()
    (damaged,) = (folder / "result" / second).rglob("BFCL_v4_parallel_result.json")
    damaged.write_text(damaged.read_text() + "{broken\n")
    notes = {part.name: part.notes for part in prove_folder(folder, data, left_out=LeftOut()) if part.notes}
    about = [note for name, found in notes.items() for note in found if name.startswith(second)]
    assert any("have no score file" in note for note in about)
    assert any("left out" in note for note in about)
    assert any("not on the leaderboard; the evidence says native calls" in note for note in about)
    assert not [note for name, found in notes.items() for note in found if name.startswith(first) and second in note]
