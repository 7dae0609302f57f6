"""`pytest-bfcl verify`: stored runs, a model asked for it, the table, the gate, and what it refuses."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.session.evaluation import open_data, run
from tests.extensions.boards.test_stability import RECORDED
from tests.plugin.conftest import question, write_lines
from tests.runs.samples import SPEC
from tests.scoring.samples import entry_id, line, saved

CALL = [{"name": "now", "arguments": "{}"}]


def _lines(count: int, broken: int = 0, **fields: Any) -> list[dict[str, Any]]:
    return [
        line(
            entry_id("multiple", number),
            "multiple",
            output=CALL,
            duration_s=count + broken / 7,  # no two runs are the same
            call_form={"calls": 1, **({"broken": 1} if number < broken else {})},
            latency_s=1.5,
            **fields,
        )
        for number in range(count)
    ]


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str, str]:
    """The reference, an equal run (one call more is broken), and a server that breaks every fifth call."""
    counts = {"reference": 0, "equal": 1, "broken": 200}
    reference, equal, broken = (saved(tmp_path / name, _lines(1000, count)) for name, count in counts.items())
    return reference, equal, broken


def test_the_verdict_is_the_exit_code(
    runs: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    reference, equal, broken = runs
    assert main(["verify", equal, "--reference", reference]) == 0
    assert capsys.readouterr().out.endswith("serves the model the same within 3 points (hard faults within 0.5)\n")
    files = ["--html", str(tmp_path / "v.html"), "--json", str(tmp_path / "v.json")]
    assert main(["verify", broken, "--reference", reference, "--reference", equal, *files]) == 1
    printed = capsys.readouterr().out
    table = printed.split("\n\n")[1].splitlines()
    assert len(table) > 5
    assert max(map(len, table)) <= 80
    assert "noise floor measured between 2 runs of the reference" in printed
    assert "80.00 % of 1,000 calls valid (0 unknown, 200 broken, 0 invalid); median 1.50 s" in printed
    found = json.loads((tmp_path / "v.json").read_text())
    assert found["verdict"] == "other"
    assert [name for name, row in found["measures"].items() if row["other"]] == ["broken"]
    assert "have no JSON object as arguments" in (tmp_path / "v.html").read_text()
    assert main(["verify", saved(tmp_path / "few", _lines(30)), "--reference", reference]) == 3
    assert "too few requests to tell: about " in capsys.readouterr().out
    assert main(["verify", equal, "--reference", reference, "--margin", "0.2"]) == 3


def test_what_must_be_known_before_believing_it(
    tmp_path: Path, runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Verdict lines do not tell the form of their calls; other models may differ by themselves."""
    old = [{**each, "model": "openai:other@prompt"} for each in _lines(1000)]
    for each in old:
        del each["call_form"]
    assert main(["verify", saved(tmp_path / "old", old), "--reference", runs[0]]) == 0
    told = capsys.readouterr().out
    assert "calls of lines that do not tell their form, and whose data is not here, are not looked at" in told
    assert f"names its model {SPEC}" in told
    assert "was asked in mode fc" in told


def test_a_model_is_asked_what_the_reference_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = tmp_path / "reference"
    run("bundled", ["oracle:@fc"], categories=["simple_python", "irrelevance"], out=reference)
    words = ["--reference", str(reference), "--report", "none", "-o"]
    assert main(["verify", "--model", "oracle:@fc", *words, str(tmp_path / "same")]) == 3  # the bundled data is small
    told = capsys.readouterr().out
    assert "too few requests to tell" in told
    ids = [json.loads(each)["id"] for each in (tmp_path / "same" / "results.jsonl").read_text().splitlines()]
    data = open_data("bundled")
    assert sorted(ids) == sorted(ref.id for name in ("simple_python", "irrelevance") for ref in data.index(name))
    (summary,) = json.loads((tmp_path / "same" / "summary.json").read_text())["models"].values()
    assert summary["conduct"]["valid_share"] > 0.9
    assert summary["conduct"]["called"] == len(data.index("simple_python"))


def test_the_gate_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Met by an equal server, missed by another one, refused where an equal server could not meet it."""
    write_lines(tmp_path / "own" / "simple_python.jsonl", [question(f"simple_python_{n}") for n in range(470)])
    words = ["run", "--data", str(tmp_path / "own"), "--report", "none", "--model"]
    reference = str(tmp_path / "reference")
    main([*words, "oracle:@fc", "-o", reference])
    gate = ["--verify", reference, "-o"]
    assert main([*words, "oracle:@fc", *gate, str(tmp_path / "same")]) == 0
    assert "gate met: serves the model the same" in capsys.readouterr().out
    assert main([*words, "adversary:idle@fc", *gate, str(tmp_path / "other")]) == 1
    assert "gate MISSED: differs from the reference: " in capsys.readouterr().out
    assert main([*words, "oracle:@fc", "--sample", "400", *gate, str(tmp_path / "few")]) == 2
    assert "400 entries cannot show that two servers are alike, even when they are: 465 can" in capsys.readouterr().err
    assert main([*words, "oracle:@fc", *gate, reference]) == 2
    assert "is the same run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["RUN"], "name the run to compare with: --reference RUN"),
        (["--reference", "RUN"], "name a stored run, or a model with --model SPEC"),
        (["RUN", "OTHER", "--reference", "RUN"], "one run has one verdict; --table ranks several"),
        (["RUN", "--model", "oracle:", "--reference", "RUN"], "name either stored runs or --model, not both"),
        (["--model", "oracle:", "--model", "lexical:", "--reference", "RUN"], "one --model at a time"),
        (["RUN", "--reference", "RUN"], "is the same run"),
        (["RUN", "--reference", "nowhere"], "nowhere does not exist"),
        (["RUN", "--reference", "OTHER", "--margin", "0"], "--margin: percentage points above 0"),
    ],
)
def test_mistakes(words: list[str], told: str, runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    places = {"RUN": runs[0], "OTHER": runs[1]}
    assert main(["verify", *(places.get(word, word) for word in words)]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") <= 5


@pytest.mark.golden
@pytest.mark.slow
def test_recorded_runs_of_one_model_under_three_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two set-ups that are equal are not told apart; the server whose parser was mended later is."""
    for name in ("server-0.11", "server-fixed-1", "server-fixed-2"):
        path = RECORDED / f"{name}.tar.gz"
        if not path.is_file():
            pytest.skip("needs the recorded runs (shared/golden/v4_runs)")
        with tarfile.open(path) as packed:
            packed.extractall(tmp_path / "packed" / name, filter="data")
        words = ["run", "--model", f"replay:{tmp_path / 'packed' / name}", "--data", "official", "--report", "none"]
        if main([*words, "-o", str(tmp_path / name)]) == 2:
            pytest.skip(f"needs the official data: {capsys.readouterr().err}")
    old, fixed, same = (str(tmp_path / name) for name in ("server-0.11", "server-fixed-1", "server-fixed-2"))
    assert main(["verify", same, "--reference", fixed]) == 0
    assert main(["verify", fixed, "--reference", same]) == 0
    capsys.readouterr()
    assert main(["verify", old, "--reference", fixed, "--reference", same]) == 1
    told = capsys.readouterr().out.splitlines()[-1]
    assert "call a name that was not offered" in told
    assert "are answered right" in told
