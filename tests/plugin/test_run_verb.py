"""`pytest-bfcl run` against the plugin: the same parts of a selection, the same estimate, the same gates and code."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring.gating import GateOptions
from pytest_bfcl.selection.sharding import scenario_of
from pytest_bfcl.session.evaluation import dry_run, run
from tests.extensions.cluster.comparing import scores, stored

from .conftest import call, question, write_lines
from .test_mistake_table import session

MODEL = "scripted:script.json@fc"
WRONG = {f"simple_python_{number}": call("Rome") for number in range(0, 36, 3)}
GATES: list[tuple[str, int]] = [
    # options of the verb, its exit code; 2 is a refusal, the plugin's 4
    ("--fail-under simple_python=70", 0),
    ("--fail-under simple_python=70 --fail-under all=72.8", 1),
    ("--fail-under non_live=1 --allow-missing", 0),
    ("--baseline good --baseline-margin 50", 0),
    ("--baseline good", 1),
    ("--baseline bad", 0),
    ("--baseline bad --noninferior 1.5", 0),
    ("--baseline good --baseline-margin 50 --noninferior 40%", 0),
    ("--baseline good --baseline-margin 50 --noninferior 31", 1),
    ("--baseline bad --noninferior 60% --noninferior multiple=1.5 --fail-under all=1", 1),
    ("--expected known.json", 0),
    ("--expected some.json", 1),
    ("--expected some.json --fail-under simple_python=99 --baseline good", 1),
    ("--fail-under simple_python=1 --max-errors 0", 1),
    ("--fail-under entries=72", 0),
    ("--fail-under entries:non_live=72 --fail-under entries:multiple=100 --min-entries 40", 0),
    ("--fail-under entries=1 --min-entries 1000", 2),
    ("--sample 10 --fail-under entries=100 --min-entries 10", 1),
    ("--fail-under simple_python=0.7", 2),
    ("--fail-under overall=1 --allow-missing", 2),
    ("--fail-under live=1 --allow-missing", 2),
    ("--fail-under overall=1", 2),
    ("--fail-under live=1", 2),
    ("--fail-under simple_pyhton=1", 2),
    ("--fail-under simple_python=101", 2),
    ("--noninferior 1", 2),
    ("--baseline good --noninferior x", 2),
    ("--baseline-margin 1", 2),
    ("--baseline nowhere", 2),
    ("--baseline other", 2),
    ("--expected elsewhere.json", 2),
    ("--expected corrected.json", 2),
    ("--expected script.json", 2),
    ("--expected null.json", 2),
    ("--expected nowhere.json", 2),
    ("--write-expected bench", 2),
    ("--precision 2", 2),
    ("--categories ,", 2),
    ("--categories live", 2),
    ("--budget 3", 2),
]


def failures(*ids: str, **changes: Any) -> str:
    keyed = [{"model": MODEL, "mode": "fc", "id": name} for name in ids]
    return json.dumps({"failures": keyed} | changes)


def in_subprocess(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two equal finished runs, one of the verb's and one of the plugin's, with runs and files to hold them against."""
    folder = tmp_path_factory.mktemp("verb")
    entries = [question(f"simple_python_{number}") for number in range(40)]
    write_lines(folder / "bench" / "simple_python.jsonl", entries)
    write_lines(folder / "bench" / "multiple.jsonl", [question(f"multiple_{number}") for number in range(4)])
    write_lines(folder / "others" / "simple_python.jsonl", entries[:3])
    down = {"multiple_3": {"error": "server", "message": "down", "status": 503}}
    bad = {f"simple_python_{number}": call("Rome") for number in range(36)}
    for name, script in {"script": WRONG | down, "good": {}, "bad": bad}.items():
        (folder / f"{name}.json").write_text(json.dumps({"*": call()} | script))
    (folder / "known.json").write_text(failures(*WRONG))
    (folder / "some.json").write_text(failures("simple_python_4", "simple_python_5"))
    (folder / "elsewhere.json").write_text(failures(dataset={"name": "other"}))
    (folder / "null.json").write_text("null")
    (folder / "corrected.json").write_text(failures(rules="corrected"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("good", "bad"):
            run("bench", f"scripted:{name}.json@fc", out=name)
        run("others", "scripted:good.json@fc", out="other")
    done = in_subprocess(folder, "pytest_bfcl", "run", *verb("verb"))
    assert done.returncode == 1, done.stdout + done.stderr
    done = in_subprocess(folder, "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *plugin("plugin"))
    assert done.returncode == 1, done.stdout + done.stderr
    return folder


def verb(out: str, *words: str) -> list[str]:
    shared = ["--data", "bench", "--report", "none", "--retries", "0", "--max-errors", "3"]
    return ["--model", MODEL, *shared, "-o", out, *words]


def plugin(out: str, *words: str) -> list[str]:
    shared = ["--bfcl-data=bench", "--bfcl-report=none", "--bfcl-retries=0", "--bfcl-max-errors=3"]
    return ["--model", MODEL, *shared, f"--bfcl-out={out}", *(word.replace("--", "--bfcl-", 1) for word in words)]


def gate_of(run: Path) -> Any:
    return json.loads((run / "summary.json").read_text())["gate"]


def of_gates(lines: list[str]) -> list[str]:
    """The lines about gates, each check with the entries below it."""
    return [line for line in lines if line.startswith(("gate", "    simple_python_", "    … and"))]


def told(lines: list[str], place: Path) -> list[str]:
    """A refusal without what the command puts before it; the plugin names folders from the root."""
    shown = [line.replace(f"{place}/", "") for line in lines if "deselected in" not in line]
    return [line.removeprefix("pytest-bfcl run: ").removeprefix("ERROR: ") for line in shown]


@pytest.mark.parametrize(("options", "code"), GATES)
def test_a_gate_has_its_verdict_and_exit_code(
    place: Path, options: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert main(["run", *verb("verb", *options.split())]) == code
    shown = capsys.readouterr()
    if code == 2:
        assert 1 <= len(shown.err.splitlines()) <= 5
        return
    assert of_gates(shown.out.splitlines())[-1].startswith("gates: ")
    assert gate_of(place / "verb")["verdict"] == ("failed" if code else "passed")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--fail-under simple_python=70 --fail-under all=72.8", 1),
        ("--baseline bad --noninferior 60% --noninferior multiple=1.5 --fail-under all=1", 1),
        ("--expected known.json", 0),
        ("--fail-under live=1", 2),
        ("--baseline other", 2),
    ],
)
def test_both_doors_tell_a_gate_alike(
    place: Path, options: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs, plugins = session(str(place), plugin("plugin", *options.split()), monkeypatch, capsys)
    assert main(["run", *verb("verb", *options.split())]) == code
    shown = capsys.readouterr()
    if code == 2:
        assert theirs == pytest.ExitCode.USAGE_ERROR
        assert told(shown.err.splitlines(), place) == told(plugins, place)
        return
    assert theirs == code
    assert of_gates(shown.out.splitlines()) == of_gates(plugins)
    assert gate_of(place / "verb") == gate_of(place / "plugin")


def test_github_is_told_what_the_plugin_tells_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "plugin.md")
    _, plugins = session(str(place), plugin("plugin", "--baseline", "good"), monkeypatch, capsys)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "verb.md")
    assert main(["run", *verb("verb", "--baseline", "good")]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert len(lines) > 10
    assert lines == [line for line in plugins if line.startswith("::")]
    assert "points against the baseline" in (place / "verb.md").read_text()
    assert (place / "verb.md").read_text() == (place / "plugin.md").read_text()


def test_expected_failures_are_written_and_taken(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    main(["run", *verb("verb", "--write-expected", "v/known.json")])
    assert f"{len(WRONG)} expected failures written to v/known.json" in capsys.readouterr().out
    assert main(["run", *verb("verb", "--expected", "v/known.json")]) == 0


@pytest.mark.parametrize(
    "options",
    [
        "--fail-under overall=3 --sample 7 --seed 2",  # what no run could meet is no matter here
        "--repeat 2 --model oracle:@prompt --precision 5 --categories multiple --price 1,2",
    ],
)
def test_a_dry_run_says_the_same_and_leaves_nothing(
    place: Path, options: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*options.split(), "--dry-run"]
    theirs, plugins = session(
        str(place), [each.replace("--bfcl-model", "--model") for each in plugin("dry", *words)], monkeypatch, capsys
    )
    assert (theirs, main(["run", *verb("dry", *words)])) == (0, 0)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert lines == [line for line in plugins if line.startswith("dry run: ")]
    assert not (place / "dry").exists()


def test_a_dry_run_in_python(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    found = dry_run("bench", ["oracle:@fc", "oracle:@prompt"], categories=["multiple"], precision=2)
    assert [(each.model, each.entries, each.calls, each.usd) for each in found.estimates] == [
        ("oracle:@fc", 4, 4.0, None),
        ("oracle:@prompt", 4, 4.0, None),
    ]
    assert found.estimates[0].input_tokens > 100
    assert len(found.lines) == 4
    with pytest.raises(UsageError, match="a gate needs to know its data"):
        dry_run("auto", "oracle:", gates=GateOptions(fail_under=["all=1"]))
    with pytest.raises(UsageError, match="the shard '0/2' does not fit"):
        dry_run("bench", "oracle:", shard="0/2")


PARTS = [
    # options, models
    pytest.param("--categories memory_kv,simple_java,format_sensitivity", ["oracle:@fc"], marks=pytest.mark.slow),
    pytest.param(
        "--categories memory_kv,simple_java --repeat 2", ["oracle:@fc", "oracle:@prompt"], marks=pytest.mark.slow
    ),
    ("--ids ids.txt", ["oracle:@fc"]),
    ("--categories live,simple_java --sample 20 --transform whitespace", ["oracle:@prompt"]),
]


@pytest.mark.parametrize(("options", "models"), PARTS)
def test_shards_are_the_plugins_and_make_the_whole(
    options: str,
    models: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "ids.txt").write_text("memory_kv_prereq_0-student-0\nmemory_kv_1-student-1\nmemory_kv_0-student-0\n"
                                      "simple_java_9\nsimple_java_10\nsimple_java_2\n")  # fmt: skip
    monkeypatch.chdir(tmp_path)
    named = [word for model in models for word in ("--model", model)]
    words = [*options.split(), *named, "--data", "bundled", "--report", "none", "--concurrency", "8"]
    assert main(["run", *words, "-o", "whole"]) in (0, 1)
    whole, parts = stored(tmp_path / "whole"), []
    for index in (1, 2, 3):
        shard = ["--shard", f"{index}/3"]
        assert main(["run", *words, *shard, "-o", f"parts/{index}"]) in (0, 1)
        parts.append(stored(tmp_path / f"parts/{index}"))
        theirs = [word.replace("--", "--bfcl-", 1).replace("--bfcl-model", "--model") for word in [*words, *shard]]
        capsys.readouterr()
        _, lines = session(str(tmp_path), [*theirs, "--bfcl-out=no", "--co"], monkeypatch, capsys)
        nodes = {line.rpartition("::")[2] for line in lines if "::" in line}
        assert nodes == {label(*key, several=len(models) > 1 or "--repeat" in words) for key in parts[-1]}
    assert sum(map(len, parts)) == len(whole)
    assert parts[0] | parts[1] | parts[2] == whole
    for part in parts:  # a scenario's write stages and questions have one home
        homes = {(scenario_of(name), model, repeat) for name, model, repeat in part if scenario_of(name)}
        others = {(scenario_of(n), m, r) for other in parts if other is not part for n, m, r in other}
        assert not homes & others
    assert main(["merge", "parts", "-o", "merged", "--data", "bundled"]) == 0
    assert stored(tmp_path / "merged") == whole
    assert scores(tmp_path / "merged") == scores(tmp_path / "whole")
    facts = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("merged", "whole")]
    assert facts[0]["selection"] == facts[1]["selection"]
    assert facts[0]["planned"] == facts[1]["planned"] == len(whole)


def label(name: str, model: str, repeat: int, *, several: bool) -> str:
    if not several:
        return name
    return f"{name}[{model}]" if repeat == 1 else f"{name}[{model}-r{repeat}]"


def test_shards_of_files_with_broken_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named in another order, and under pytest: the same parts. What cannot be judged is told in each, and is no gate's
    to forgive."""
    broken = question("simple_python_7") | {"possible_answer": [{"no_such_function": {"city": ["Oslo"]}}]}
    write_lines(tmp_path / "a.jsonl", [question(f"simple_python_{number}") for number in (0, 3, 11, 2)])
    write_lines(tmp_path / "b.jsonl", ["{cut", broken, question("multiple_1"), question("mine")])
    monkeypatch.chdir(tmp_path)
    words = ["--model", "oracle:@fc", "--report", "none", "--fail-under", "simple_python=1", "--allow-missing"]
    words += ["--max-errors", "60", "--shard"]
    ours: list[set[str]] = []
    for index in (1, 2):
        assert main(["run", "b.jsonl", "a.jsonl", *words, f"{index}/2", "-o", f"parts/{index}"]) == 1
        shown = capsys.readouterr().out
        assert shown.count("not usable: ") == 2
        assert "gates: met, but 2 places of the data cannot be used" in shown
        theirs = [word.replace("--", "--bfcl-", 1).replace("--bfcl-model", "--model") for word in words]
        code, _ = session(
            str(tmp_path), ["a.jsonl", "b.jsonl", *theirs, f"{index}/2", f"--bfcl-out=p/{index}"], monkeypatch, capsys
        )
        assert code == 1
        assert stored(tmp_path / f"parts/{index}") == stored(tmp_path / f"p/{index}")
        assert main(["run", "a.jsonl", "b.jsonl", *words, f"{index}/2", "--dry-run"]) == 1
        dry = capsys.readouterr().out.splitlines()
        assert sum(line.startswith("not usable: ") for line in dry) == 2
        code, lines = session(
            str(tmp_path), ["a.jsonl", "b.jsonl", *theirs, f"{index}/2", "--bfcl-dry-run"], monkeypatch, capsys
        )
        assert code == 1
        assert [line for line in dry if "dry run: " in line] == [line for line in lines if "dry run: " in line]
        ours.append({name for name, _, _ in stored(tmp_path / f"parts/{index}")})
    assert ours[0] & ours[1] == {"simple_python_7"}
    assert len(ours[0] | ours[1]) == 7


def test_nothing_selected_is_pytests_code(place: Path, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    words = ["--categories", "multiple", "--shard", "5/5"]
    code, _ = session(str(place), plugin("empty", *words), monkeypatch, capsys)
    assert (code, main(["run", *verb("empty", *words)])) == (5, 5)
    assert "nothing is selected" in capsys.readouterr().out
    assert main(["run", *verb("empty", *words, "--dry-run")]) == 5
    assert not (place / "empty").exists()
    (place / "ids.txt").write_text("simple_python_2\n")
    code, _ = session(str(place), plugin("plugin", "--ids", "ids.txt", "--dry-run"), monkeypatch, capsys)
    assert (code, main(["run", *verb("verb", "--ids", "ids.txt", "--dry-run")])) == (5, 5)
    assert "nothing is left to ask: 43 verdicts are there" in capsys.readouterr().out


def test_what_got_no_answer_is_no_verdict(place: Path, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    (place / "ids.txt").write_text("multiple_3\n")
    words = ["--ids", "ids.txt", "--fail-under", "multiple=1"]
    code, plugins = session(str(place), plugin("down/plugin", *words), monkeypatch, capsys)
    assert (code, main(["run", *verb("down/verb", *words)])) == (2, 2)
    shown = capsys.readouterr().out.splitlines()
    assert "gates: no verdict: no request got an answer" in shown
    assert of_gates(shown) == of_gates(plugins)
    states = {json.loads((place / "down" / name / "run.json").read_text())["state"] for name in ("plugin", "verb")}
    assert states == {"stopped:no request got an answer"}


def test_model_information_and_the_machines_price(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    (place / "info.toml").write_text(f'[models."{MODEL}"]\nname = "Script"\ninput_price = 1.0\noutput_price = 2.0\n')
    words = ["--categories", "multiple", "--model-info", "info.toml", "--gpu-hour", "3.5", "--budget", "9"]
    assert main(["run", *verb("informed", *words)]) == 1
    summary = json.loads((place / "informed" / "summary.json").read_text())
    assert summary["models"][MODEL]["info"]["name"] == "Script"
    assert summary["machine_cost_usd"] > 0
    assert summary["model_info"] == {MODEL: {"name": "Script", "input_price": 1.0, "output_price": 2.0}}


@pytest.mark.parametrize("cluster", [False, True])
def test_gates_and_parts_in_python(place: Path, cluster: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory, and on actors: the same verdict as in a run directory."""
    from tests.extensions.cluster.in_process import InProcess

    monkeypatch.chdir(place)

    def where() -> Any:
        return InProcess(2) if cluster else None

    gates = GateOptions(fail_under=["all=99"], baseline="good", noninferior=["2"])
    kept = run("bench", MODEL, out=tmp_path / "run", gates=gates, cluster=where())
    held = run("bench", MODEL, gates=gates, cluster=where())
    assert held.summary["gate"] == kept.summary["gate"]
    assert kept.summary["gate"]["verdict"] == "failed"
    assert (kept.exit_code, held.exit_code) == (1, 1)
    parts = [run("bench", MODEL, shard=(index, 2), cluster=where()).records for index in (1, 2)]
    assert sorted(line["id"] for part in parts for line in part) == sorted(line["id"] for line in held.records)
    with pytest.raises(UsageError, match="cannot be met, nothing was asked"):
        run("bench", MODEL, shard="1/2", gates=GateOptions(fail_under=["overall=1"]), cluster=where())


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGTERM that can be caught")
def test_a_scheduler_that_ends_the_job_loses_nothing(place: Path) -> None:
    """One that a shell started in the background, too, which ignores Ctrl-C."""
    (place / "slow.json").write_text(json.dumps({"*": {"tool_calls": call(), "delay_s": 0.2}}))
    words = [*verb("ended", "--concurrency", "2"), "--model", "scripted:slow.json@fc"][2:]
    ignored = functools.partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    with subprocess.Popen(
        [sys.executable, "-m", "pytest_bfcl", "run", *words], cwd=place, stdout=subprocess.PIPE, text=True,
        preexec_fn=ignored,
    ) as job:  # fmt: skip
        results = place / "ended" / "results.jsonl"
        deadline = time.monotonic() + 30
        while not (results.exists() and results.read_bytes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        job.terminate()
        said, _ = job.communicate(timeout=30)
    assert job.returncode == 2, said
    assert "to ask for what is missing: the same command with -o ended" in said
    assert json.loads((place / "ended" / "run.json").read_text())["state"] == "stopped:interrupted"
    assert 0 < len(stored(place / "ended")) < 40
    done = in_subprocess(place, "pytest_bfcl", "run", *words, "--fail-under", "all=100", "--concurrency", "64")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(stored(place / "ended")) == 44


@pytest.mark.slow
def test_a_job_in_its_own_process(place: Path) -> None:
    """What a CI matrix does: two parts, one of them under pytest, one merge, a gate on the whole."""
    shutil.rmtree(place / "job", ignore_errors=True)
    parts = [
        in_subprocess(place, "pytest_bfcl", "run", *verb("job/1", "--shard", "1/2")),
        in_subprocess(place, "pytest", "-q", "-p", "no:cacheprovider", *plugin("job/2", "--shard", "2/2")),
    ]
    assert [done.returncode for done in parts] == [1, 1], parts
    done = in_subprocess(place, "pytest_bfcl", "merge", "job", "-o", "joined", "--data", "bench", "--max-errors", "3")
    assert done.returncode == 0, done.stderr
    assert stored(place / "joined") == stored(place / "verb")
    done = in_subprocess(place, "pytest_bfcl", "run", *verb("joined", "--fail-under", "simple_python=71"))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "gates: FAILED by simple_python=71"
