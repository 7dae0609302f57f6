"""Profiles: named options that give way to what is typed, of the package or of a user's file; the step limit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.run_options import OPTIONS
from pytest_bfcl.run_options.profiles import read_profile, read_project

NAMES = ("leaderboard", "vllm-nightly", "mlperf-edge")
REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("name", NAMES)
def test_each_has_its_source_in_the_docs(name: str) -> None:
    found = read_profile(name)
    assert found.about
    assert found.source
    assert set(found.options) <= {option.name for option in OPTIONS}
    assert f"`{name}`" in (REPOSITORY / "docs/profiles.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[options]\nsampel = 3\n", "no option 'sampel'.*did you mean.*sample"),
        ('[options]\nmodel = "x:y"\n', "no option 'model' here"),
        ('[options]\nsample = "many"\n', "sample: 'many' is not valid"),
        ('[options]\nmode = "loud"\n', "mode: 'loud' is not valid: one of auto, fc, prompt"),
        ('[options]\ncategories = "multi_turn"\n', "categories takes a list of texts"),
        ('[options]\nstream = "yes"\n', "stream is true or false"),
        ("[options]\nsample = [1]\n", "sample takes a text"),
        ("about = 1\nother = 2\n[options]\n", "nothing else"),
        ("about = 'x'\n", "nothing else"),
        ("[options", "is not TOML"),
        ("#" * 200_000, "larger than"),
    ],
)
def test_a_wrong_file_is_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_profile(str(path))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[tool.pytest-bfcl]\nsample = 3\nexpected = "x.txt"\n', {"sample": 3, "expected": "x.txt"}),
        ("[tool.pytest-bfcl]\nserve = true\n", {"serve": True}),
        ("[tool.other]\nsample = 3\n", {}),
        ("[tool", {}),  # not ours to say
        ("tool = 3\n", {}),
        ("[tool]\npytest-bfcl = 3\n", "is no table"),
        ("[tool.pytest-bfcl]\nsampel = 3\n", r"tool.pytest-bfcl\]: no option 'sampel'.*sample"),
        ("[tool.pytest-bfcl]\nout = 'x'\n", "where the run is started"),
    ],
)
def test_a_project_has_a_table(text: str, found: dict[str, object] | str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    if isinstance(found, str):
        with pytest.raises(UsageError, match=found):
            read_project(tmp_path)
    else:
        wanted = {key: str(tmp_path / value) if key == "expected" else value for key, value in found.items()}
        assert read_project(tmp_path) == wanted


def test_unknown_names_and_files() -> None:
    with pytest.raises(UsageError, match=r"did you mean.*leaderboard"):
        read_profile("leaderbord")
    with pytest.raises(UsageError, match="cannot read"):
        read_profile("/nowhere/mine.toml")


MINE = '[options]\ndata = "bundled"\ncategories = ["simple_python"]\nsample = 3\nrules = "official,steps=7"\n'


@pytest.mark.slow
def test_what_is_typed_counts_before_the_profile(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("mine.toml").write_text(MINE, encoding="utf-8")
    asked = ("--model", "oracle:", "--bfcl-profile", "mine.toml", "-q", "-p", "no:cacheprovider")
    result = pytester.runpytest_subprocess(*asked, "--bfcl-out", "a")
    result.assert_outcomes(passed=3)
    assert '"step_limit": 7' in pytester.path.joinpath("a/run.json").read_text(encoding="utf-8")
    result = pytester.runpytest_subprocess(*asked, "--bfcl-sample", "2", "--bfcl-out", "b")
    result.assert_outcomes(passed=2)
    pytester.path.joinpath("pyproject.toml").write_text("[tool.pytest-bfcl]\nsample = 1\n", encoding="utf-8")
    result = pytester.runpytest_subprocess(*asked, "--bfcl-out", "c")
    result.assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess(*asked[:3], "nothing", "-q")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no profile 'nothing'*"])


def test_the_verb_reads_it_too_and_the_run_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_bfcl.cli import main

    (tmp_path / "mine.toml").write_text(MINE, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest-bfcl]\nsample = 2\n", encoding="utf-8")
    asked = ["run", "--model", "oracle:", "--profile", str(tmp_path / "mine.toml"), "-o"]
    assert main([*asked, str(tmp_path / "a")]) == 0
    assert len((tmp_path / "a/results.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    monkeypatch.chdir(tmp_path)
    assert main([*asked, "b"]) == 0
    assert len((tmp_path / "b/results.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    told = [json.loads((tmp_path / name / "run.json").read_text(encoding="utf-8")) for name in ("a", "b")]
    profiles = [facts["profile"] for facts in told]
    assert re.fullmatch(r"mine\.toml \([0-9a-f]{8}\)", profiles[0])
    assert profiles[1] == f"{profiles[0]}, but for sample"
    assert f"profile {profiles[1]}" in capsys.readouterr().out
    assert all(f"profile {profile}" in facts["short"] for profile, facts in zip(profiles, told, strict=True))
    assert f"profile {profiles[1]}" in (tmp_path / "b/index.html").read_text(encoding="utf-8")
