"""`pytest-bfcl compare`: run directories, result files, score folders, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.runs.lines import json_line
from tests.runs.samples import SPEC
from tests.scoring.samples import line, lines, saved


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str, str]:
    """A baseline, a checkpoint that is clearly worse in one category, and one that differs by one entry."""
    base = list(lines({"parallel": (45, 50), "multiple": (40, 50)}))
    worse = list(lines({"parallel": (25, 50), "multiple": (41, 50)}))
    same = list(lines({"parallel": (44, 50), "multiple": (40, 50)}))
    return saved(tmp_path / "base", base), saved(tmp_path / "worse", worse), saved(tmp_path / "same", same)


def test_fail_gives_the_exit_code(runs: tuple[str, str, str]) -> None:
    base, worse, same = runs
    assert main(["compare", base, same, "--fail"]) == 0
    assert main(["compare", base, worse, "--fail"]) == 1
    assert main(["compare", base, same, worse, "--fail"]) == 1
    assert main(["compare", worse, base, "--fail"]) == 0
    assert main(["compare", base, worse, "--fail", "--margin", "50"]) == 0
    assert main(["compare", base, worse, "--margin", "200"]) == 2
    assert main(["compare", base, worse, "--rules", "verified"]) == 2  # no line has such a verdict


def test_other_data_is_refused_or_compared_on_what_is_shared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = saved(tmp_path / "a", list(lines({"parallel": (3, 4)})), dataset="mine")
    after = saved(tmp_path / "b", list(lines({"parallel": (3, 6)})), dataset="mine", dataset_sha256="0" * 64)
    assert main(["compare", before, after]) == 2
    assert "they differ in\n  data SHA-256" in (said := capsys.readouterr().err)
    assert "--shared" in said
    assert main(["compare", before, after, "--shared"]) == 0
    printed = capsys.readouterr().out
    assert "NOT the same test" in printed
    assert "2 entries have a verdict only in" in printed
    bundled = saved(tmp_path / "c", list(lines({"parallel": (3, 4)})), dataset="bundled")
    assert main(["compare", before, bundled, "--shared"]) == 2
    assert "these sets share ids, not questions" in capsys.readouterr().err


def test_models_of_one_run_are_compared_within_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    native = list(lines({"parallel": (3, 4)}))
    prompting = [record | {"model": "openai:tiny@prompt", "mode": "prompt"} for record in native]
    run = saved(tmp_path / "run", [*native, *prompting])
    assert main(["compare", run]) == 0
    assert "openai:tiny@fc → openai:tiny@prompt" in capsys.readouterr().out
    assert main(["compare", f"{run}#openai:tiny@prompt", f"{run}#{SPEC}"]) == 0
    assert "openai:tiny@prompt → openai:tiny@fc" in capsys.readouterr().out
    assert main(["compare", f"{run}#openai:big"]) == 2
    assert "has no model 'openai:big'" in capsys.readouterr().err
    assert main(["compare", saved(tmp_path / "one", native)]) == 2


def test_files_of_results_and_of_verdicts_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = list(lines({"parallel": (3, 4)}))
    (tmp_path / "results.jsonl").write_bytes(b"".join(map(json_line, records)))
    verdict = {"tag": "MALFORMED_OUTPUT", "reason": "ast_decoder:decoder_failed", "corrected_valid": True}
    verdicts = [{"id": record["id"], "valid": False} | verdict for record in records]
    verdicts += [{"id": "parallel_77", "error": "line 5: unknown"}]
    (tmp_path / "verdicts.jsonl").write_bytes(b"".join(map(json_line, verdicts)))
    sides = [str(tmp_path / "results.jsonl"), str(tmp_path / "verdicts.jsonl")]
    assert main(["compare", *sides]) == 0
    printed = capsys.readouterr().out
    assert f"{SPEC} → {sides[1]}" in printed.splitlines()[0]
    assert "the comparison assumes that they are the same" in printed
    assert "0 improved, 3 regressed, 1 unchanged" in printed
    assert ["WRONG_ANSWER", "MALFORMED_OUTPUT", "1"] in [row.split() for row in printed.splitlines()]
    assert main(["compare", *sides, "--rules", "corrected"]) == 0
    assert "1 improved, 0 regressed, 3 unchanged" in capsys.readouterr().out
    assert main(["compare", *sides[::-1]]) == 0
    assert capsys.readouterr().out.startswith(f"{sides[1]} → {SPEC}\n")
    (tmp_path / "answers.jsonl").write_bytes(json_line({"id": "parallel_1", "output": "x"}))
    assert main(["compare", sides[0], str(tmp_path / "answers.jsonl")]) == 2
    assert "has no verdict: `pytest-bfcl score" in capsys.readouterr().err


def test_score_folders_are_compared_with_the_data_at_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_bfcl.dataset.opening import open_dataset

    ids = [ref.id for ref in open_dataset("bundled").index("parallel")]
    records = [line(entry_id, "parallel", "failed" if n < 2 else "passed") for n, entry_id in enumerate(ids)]
    run = saved(tmp_path / "run", [record | {"detail": {}, "output": "", "calls": None} for record in records])
    out = tmp_path / "official"
    assert main(["export", run, "-o", str(out), "--data", "bundled"]) == 0
    capsys.readouterr()
    assert main(["compare", str(out / "score"), run, "--data", "bundled"]) == 0
    assert f"0 improved, 0 regressed, {len(ids)} unchanged" in capsys.readouterr().out
    file = out / "score" / "openai_tiny@fc" / "non_live" / "BFCL_v4_parallel_score.json"
    kept = file.read_text()
    file.write_text("".join(kept.splitlines(keepends=True)[:-1]))  # a failed entry is gone, and would have passed
    assert main(["compare", str(out / "score"), run, "--data", "bundled"]) == 2
    assert "it is not known which of them passed" in capsys.readouterr().err
