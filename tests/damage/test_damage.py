"""Randomly damaged runs × every verb: no traceback, the file is named, nothing is written elsewhere."""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.failures import BenchmarkError, UsageError
from tests.damage.damaging import PAGES, VERBS, damage, make_run, words

GO_ON = "go on"
SLOW_BATCHES, SLOW_RUNS = 40, 50
"""2,000 damaged runs in the slow tier, in batches that workers share."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("damage") / "good")


def survived(
    good: Path, folder: Path, seed: int, capsys: pytest.CaptureFixture[str], verbs: Iterable[str] = (*VERBS, GO_ON)
) -> None:
    """Damage a copy of a run in one or two ways and put verbs to it, then go on with it."""
    choice = random.Random(seed)
    run_dir, out = folder / "run", folder / "out"
    shutil.rmtree(run_dir, ignore_errors=True)
    shutil.copytree(good, run_dir)
    told = f"seed {seed}: {[damage(run_dir, choice) for _ in range(choice.randint(1, 2))]}"
    around = outside(folder)
    for verb in verbs:
        shutil.rmtree(out, ignore_errors=True)
        if verb == GO_ON:
            gone_on(run_dir, told)
            continue
        try:
            code = main(words(verb, run_dir, good, out))
        except Exception as error:  # the test's point: say which damage did it
            raise AssertionError(f"{told}: {verb}: {error!r}") from error
        said = capsys.readouterr().err
        assert code in (0, 1, 2), f"{told}: {verb}"
        assert "Traceback" not in said, f"{told}: {verb}"
        assert not code or str(run_dir) in said, f"{told}: {verb} names no file: {said}"
        assert len(said.splitlines()) <= 6, f"{told}: {verb}: {said}"
    assert outside(folder) == around, told


def gone_on(run_dir: Path, told: str) -> None:
    """Go on with a damaged run, as the library does."""
    try:
        make_run(run_dir)
    except (UsageError, BenchmarkError) as error:
        if str(run_dir) not in str(error):
            raise AssertionError(f"{told}: going on names no file: {error}") from error
    except Exception as error:
        raise AssertionError(f"{told}: going on: {error!r}") from error


def outside(folder: Path) -> set[Path]:
    """What lies in a folder beside the run and the output."""
    return {path for path in folder.iterdir() if path.name not in ("run", "out")}


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_run_is_survived(good: Path, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verbs = [*VERBS, *PAGES, GO_ON]
        survived(good, tmp_path, seed, capsys, [verbs[(3 * seed + number) % len(verbs)] for number in range(3)])


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_two_thousand_damaged_runs_are_survived(
    good: Path, tmp_path: Path, batch: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(SLOW_RUNS):
            seed = 1000 + batch * SLOW_RUNS + number
            pages = random.Random(seed).sample(list(PAGES), 2)
            survived(good, tmp_path, seed, capsys, (*VERBS, *pages, GO_ON))


def test_a_line_is_named(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = shutil.copytree(good, tmp_path / "run")
    lines = (run_dir / "results.jsonl").read_text(encoding="utf-8").splitlines()
    lines[3] = lines[3].replace('"repeat":1', '"repeat":"abc"')
    (run_dir / "results.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for verb in VERBS:
        code = main(words(verb, run_dir, good, tmp_path / f"out {verb}"))
        said = capsys.readouterr().err
        assert (code == 0) == ("--allow-missing" in verb), verb
        if code:
            assert 'repeat is "abc", not a whole number from 1' in said, verb
            assert "line 4" in said, verb
            assert "results.jsonl" in said or "score RUN" in verb or str(run_dir) in said, verb


@pytest.mark.parametrize("verb", ["report", "merge", "leaderboard", "compare", "export", "score"])
def test_links_that_lead_out_are_not_followed(
    good: Path, tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"key": "hidden"}', encoding="utf-8")
    run_dir = shutil.copytree(good, tmp_path / "run")
    for place in ("journal/main.jsonl", "snapshots/m/kv/x_final.json", "entries"):
        link = run_dir / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(secret)
        out = tmp_path / f"out{len(place)}"
        assert main(words(verb, run_dir, good, out)) == 2
        assert "leads out of" in capsys.readouterr().err
        assert not any(b"hidden" in path.read_bytes() for path in out.rglob("*") if path.is_file())
        link.unlink()
    assert secret.read_text(encoding="utf-8") == '{"key": "hidden"}'


def test_nothing_is_written_through_links_in_the_output(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    out.mkdir()
    (out / "result").symlink_to(elsewhere)
    assert main(["export", str(good), "-o", str(out)]) == 2
    assert "leads out of" in capsys.readouterr().err
    (out / "result").unlink()
    (out / "index.html").symlink_to(elsewhere / "page.html")
    assert main(["leaderboard", str(good), "-o", str(out)]) == 2
    assert "leads out of" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("category", ["../../x", "/etc", "nosuch", "simple_python/../../.."])
def test_a_category_is_never_a_path(tmp_path: Path, category: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(f'{{"id": "simple_python_0", "category": "{category}", "output": "f()"}}\n', encoding="utf-8")
    below = tmp_path / "deep" / "er" / "out"
    assert main(["export", str(lines), "-o", str(below)]) in (1, 2)
    assert "not a category" in capsys.readouterr().err
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {"lines.jsonl", *CSV}


CSV = {
    "data_overall.csv", "data_non_live.csv", "data_live.csv", "data_multi_turn.csv", "data_agentic.csv",
    "data_format_sensitivity.csv",
}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "not JSON"), (b'{"core', "not JSON"), (b"null", "holds null"), (b"\xff\xfe", "not UTF-8"),
     (None, "not a regular file")],
)  # fmt: skip
def test_a_damaged_memory_is_named(
    good: Path, tmp_path: Path, content: bytes | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = shutil.copytree(good, tmp_path / "run")
    memory = sorted((run_dir / "snapshots").rglob("*_final.json"))[0]
    memory.unlink()
    if content is None:
        memory.mkdir()
    else:
        memory.write_bytes(content)
    for verb in ("report", "export", "merge") if content == b"" else ("report",):
        assert main(words(verb, run_dir, good, tmp_path / f"out {verb}")) == 1, verb
        said = capsys.readouterr().err
        assert f"{memory}: damaged memory snapshot left out: {why}" in said, verb
        assert len(said.splitlines()) == 1, verb
        assert not list((tmp_path / f"out {verb}").rglob(memory.name)), verb


def test_damaged_transcripts_are_named(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = shutil.copytree(good, tmp_path / "run")
    journal = run_dir / "journal" / "main.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"kept":0', b'"kept":7')
    journal.write_bytes(b"".join(lines)[:-20])
    for verb in ("report", "merge"):
        assert main(words(verb, run_dir, good, tmp_path / "out")) == 1, verb
        said = capsys.readouterr().err
        assert f"1 damaged line of {journal} left out: line {len(lines)}" in said, verb
        if verb == "report":  # it reads them
            assert f"{journal.parent}: 1 transcript cannot be read, the first of " in said
