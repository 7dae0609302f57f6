"""Causes: faults planted in a server, each found in a run over HTTP and in stored lines; noise stays unexplained."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl import cli
from pytest_bfcl.extensions.causes.cause import KINDS, NEXT
from pytest_bfcl.extensions.causes.of_runs import of_path
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.extensions.causes.faults import FAULTS, IN_PROMPTS, Fault, numbers, only, raw, texts
from tests.extensions.causes.faulty_server import FaultyServer, serving
from tests.extensions.causes.further_faults import FURTHER
from tests.extensions.causes.learned_faults import LEARNED, MIXED
from tests.extensions.causes.stored_faults import IN_FILES, noise

IN_THE_FAST_TIER = {"last argument lost", "json cut", "noise", MIXED[1]}
ALL = [
    pytest.param(fault, marks=() if name in IN_THE_FAST_TIER else pytest.mark.slow, id=name)
    for name, fault in {**FAULTS, **FURTHER, **LEARNED}.items()
]
GROUPS = ["non_live", "live", "multi_turn"]

Ask = Callable[..., Path]


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyServer]:
    with serving() as found:
        yield found


@pytest.fixture
def ask(server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A run against the server with a fault in it: its directory."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")

    def asked(fault: Fault, categories: list[str] = GROUPS, mode: str = "fc") -> Path:
        server.bend = fault.bend
        settings = Settings(base_url=server.url, retries=0)
        run("bundled", f"openai:faulty@{mode}", settings=settings, categories=categories, out=tmp_path / "run")
        return tmp_path / "run"

    return asked


def rows_of(path: Path) -> list[dict[str, Any]]:
    (found,) = of_path(str(path), "bundled")
    return list(found.to_json()["causes"])


def check(fault: Fault, rows: list[dict[str, Any]]) -> None:
    if not fault.names:  # noise: nothing is named
        assert [row["cause"] for row in rows] == ["unexplained"]
        return
    first = rows[0]
    assert first["cause"] in fault.names, rows
    assert fault.says in first["title"]
    assert fault.where in first["title"]
    assert {row["cause"].rpartition("-")[0] or row["cause"] for row in rows[1:]} <= {*fault.names, "unexplained"}, (
        "a false name"
    )
    named = sum(row["failed"] for row in rows if row["cause"] != "unexplained")
    assert named >= 0.9 * sum(row["failed"] for row in rows)


@pytest.mark.parametrize("fault", ALL)
def test_a_planted_fault_is_named_and_proved(fault: Fault, ask: Ask) -> None:
    check(fault, rows_of(ask(fault)))


@pytest.mark.parametrize("name", [MIXED[1], *(pytest.param(n, marks=pytest.mark.slow) for n in MIXED if n != MIXED[1])])
def test_each_fault_of_a_mixture_is_named(name: str, ask: Ask) -> None:
    assert {*LEARNED[name].names} <= {row["cause"] for row in rows_of(ask(LEARNED[name]))}


@pytest.fixture(scope="module")
def right_lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Stored replies that are all right."""
    path = tmp_path_factory.mktemp("right") / "run"
    run("bundled", "oracle:@fc", categories=GROUPS, out=path)
    kept = ("id", "category", "model", "mode", "output", "underscore_names")
    lines = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
    return [{name: line[name] for name in kept} for line in lines]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (number % 3 > 0)) for number, name in enumerate(IN_FILES)]
)
def test_what_happened_to_a_file_is_named(name: str, right_lines: list[dict[str, Any]], tmp_path: Path) -> None:
    change, causes = IN_FILES[name]
    stored = tmp_path / "stored.jsonl"
    stored.write_text("".join(json.dumps(line) + "\n" for line in change(right_lines)))
    check(Fault(lambda said: None, causes), rows_of(stored))


@pytest.mark.slow
def test_hardly_any_noise_gets_a_name(right_lines: list[dict[str, Any]], tmp_path: Path) -> None:
    named = []
    for seed in range(24):
        stored = tmp_path / f"{seed}.jsonl"
        stored.write_text("".join(json.dumps(line) + "\n" for line in noise(right_lines, seed)))
        named += [(seed, row["title"]) for row in rows_of(stored) if row["cause"] != "unexplained"]
    assert len(named) <= 1, named


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_PROMPTS)
def test_a_fault_in_answers_to_prompts_is_named(name: str, ask: Ask) -> None:
    python = ["simple_python", "multiple", "parallel", "parallel_multiple", "live"]
    check(IN_PROMPTS[name], rows_of(ask(IN_PROMPTS[name], python, "prompt")))


def test_thoughts_before_calls_are_named(tmp_path: Path) -> None:
    run("bundled", "oracle:@prompt", categories=["simple_python"], out=tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    said = [
        {"id": each["id"], "mode": "prompt", "output": f"<think>I call it.</think>\n{each['output']}"} for each in lines
    ]
    stored = tmp_path / "stored.jsonl"
    stored.write_text("".join(json.dumps(each) + "\n" for each in said))
    (row,) = rows_of(stored)
    assert (row["cause"], row["failed"]) == ("thoughts_before", len(lines))
    assert "--think strip" in row["next"]


@pytest.mark.parametrize("name", ["numbers as texts", pytest.param("random words", marks=pytest.mark.slow)])
def test_stored_lines_are_explained_as_runs_are(name: str, ask: Ask, tmp_path: Path) -> None:
    """Replies without a verdict, judged on the way: as `score` judges them."""
    lines = [json.loads(line) for line in (ask(FAULTS[name]) / "results.jsonl").read_text().splitlines()]
    kept = ("id", "category", "model", "mode", "output", "underscore_names", "finish_reasons", "problems", "reasoning")
    stored = tmp_path / "stored.jsonl"
    stored.write_text("".join(json.dumps({k: line[k] for k in kept if k in line}) + "\n" for line in lines))
    check(FAULTS[name], rows_of(stored))
    out = tmp_path / "verdicts.jsonl"
    assert cli.main(["score", str(stored), "--data", "bundled", "-o", str(out)]) == 0
    wrong = [line for line in map(json.loads, out.read_text().splitlines()) if not line["valid"]]
    assert all(line["facts"]["said"] for line in wrong)


def test_printed_commands_run_and_ask_the_same_entries_again(
    server: FaultyServer, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ask(FAULTS["prefix"], ["live_simple", "simple_python"])
    capsys.readouterr()
    assert cli.main(["explain", str(path)]) == 0
    told = capsys.readouterr().out
    (command,) = [line.partition(": ")[2] for line in told.splitlines() if line.startswith("next, name_prefix")]
    assert "undone, +100.0 points (95 %" in told
    asked = server.asked
    assert cli.main(["explain", str(path), "--recheck", "name_prefix"]) == 1  # as the run did: the fault is there still
    assert server.asked - asked == 38
    assert "0 of 38 entries are right now; 38 still fail by name_prefix" in capsys.readouterr().out
    assert cli.main(command.split()[1:]) == 0  # what is advised goes around it: no native names
    assert "38 of 38 entries are right now; 0 still fail by name_prefix" in capsys.readouterr().out


def test_the_next_step_of_a_file_names_its_entries(
    tmp_path: Path, right_lines: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    change, _ = IN_FILES["name of the table before"]
    stored = tmp_path / "stored.jsonl"
    stored.write_text("".join(json.dumps(line) + "\n" for line in change(right_lines)))
    assert cli.main(["explain", str(stored), "--data", "bundled"]) == 0
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next, ")]
    first, _, second = told.removeprefix("next, name_prefix: ").partition(" > ids.txt; ")
    assert second == "pytest-bfcl run --model PROVIDER:MODEL --ids ids.txt --mode prompt --data bundled"
    assert cli.main(shlex.split(first)[1:]) == 0
    assert "simple_python_0" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(("temperature", "advised"), [(0.5, "--temperature 0"), (0.0, "--mode prompt")])
def test_what_is_advised_was_not_done_already(
    temperature: float, advised: str, ask: Ask, server: FaultyServer, tmp_path: Path
) -> None:
    server.bend = FAULTS["number words"].bend
    settings = Settings(base_url=server.url, retries=0, temperature=temperature)
    run("bundled", "openai:faulty@fc", settings=settings, categories=["non_live"], out=tmp_path / "run")
    assert rows_of(tmp_path / "run")[0]["next"].endswith(f"--recheck number_words {advised}")


def test_a_fault_of_streams_is_asked_again_without_one(
    server: FaultyServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.bend = only(lambda said: said.streamed, FAULTS["prefix"].bend)
    settings = Settings(base_url=server.url, retries=0, stream=True)
    run("bundled", "openai:faulty@fc", settings=settings, categories=["simple_python"], out=tmp_path / "run")
    assert rows_of(tmp_path / "run")[0]["next"].endswith("--recheck name_prefix --no-stream")
    assert cli.main(["explain", str(tmp_path / "run"), "--recheck", "name_prefix", "--no-stream"]) == 0
    assert re.search(r"(\d+) of \1 entries are right now", capsys.readouterr().out)


STRANGE = [0, -0.0, 1e-7, 1e300, 10**400, -(10**30), "٣", "\u0000", "", "9" * 400, [], {"a": [0]}, None, True]


@pytest.mark.parametrize("bend", [numbers, texts])
def test_no_value_that_a_model_writes_stops_the_search(bend: Any, ask: Ask) -> None:
    """Zeros, tiny and huge numbers, digits that no float holds, texts in place of numbers and numbers for texts."""
    strange = Fault(bend(lambda value: STRANGE[len(str(value)) * 5 % len(STRANGE)]), ())
    assert of_path(str(ask(strange, ["non_live"])))[0].failed


@pytest.mark.parametrize(
    "said",
    [
        "{" * 10_000 + json.dumps({"a": "x" * 9_000}),
        '{"a":' * 4_000,
        json.dumps({"numbers" + ".0" * 5_000: 1}),
        json.dumps({"a": "x" * 4_000}) * 4,
        "{" + " " * 19_000,
    ],
)
def test_no_argument_text_takes_long_or_stops_the_search(said: str, ask: Ask) -> None:
    path = ask(Fault(raw(lambda text: said), ()), ["simple_python"])
    begun = time.process_time()
    assert of_path(str(path))[0].failed
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    "said",
    [
        "[" + ("f(" * 9 + "scale_recipe(a") * 3_000 + "a" * 60_000,
        "a" * 60_000 + ")",
        "[" * 20_000 + " " * 40_000 + "f(",
        "[f(x='" + " a" * 60_000 + "')]",
        "Error" * 20_000,
    ],
    ids=["calls in calls", "one word", "brackets", "a long value", "errors"],
)
def test_no_answer_to_a_prompt_takes_long(said: str, tmp_path: Path) -> None:
    stored = tmp_path / "stored.jsonl"
    lines = ({"id": f"simple_python_{number}", "mode": "prompt", "output": said} for number in range(10))
    stored.write_text("".join(json.dumps(each) + "\n" for each in lines))
    rows_of(stored)
    begun = time.process_time()
    assert rows_of(stored)
    assert time.process_time() - begun < 2


def test_a_digit_as_a_text_among_others_does_not_stop_the_search(ask: Ask) -> None:
    said = ["2", "3", "4", "5", "6", "7", "tomorrow", "unit", 99.5]

    def bend(each: Any) -> None:
        each.each_value(lambda value: each.rng.choice(said) if each.rng.random() < 0.4 else value)

    assert of_path(str(ask(Fault(bend, ()), ["non_live", "live"])))[0].failed


def test_every_cause_has_a_next_step() -> None:
    assert {kind.next for kind in KINDS.values()} <= set(NEXT)


@pytest.mark.parametrize("words", [["--recheck", "gremlins"], ["--cause", "gremlins"]])
def test_a_cause_that_the_run_does_not_have_is_refused(words: list[str], ask: Ask, capsys: Any) -> None:
    path = ask(FAULTS["prefix"], ["simple_python"])
    assert cli.main(["explain", str(path), *words]) == 2
    assert "its causes: name_prefix" in capsys.readouterr().err


def test_a_recheck_that_nobody_answers_says_so(ask: Ask, capsys: Any) -> None:
    path = ask(FAULTS["prefix"], ["simple_python"])
    lines = str(path / "results.jsonl")  # the run is beside it
    assert cli.main(["explain", lines, "--recheck", "name_prefix", "--base-url", "http://127.0.0.1:1/v1"]) == 2
    told = capsys.readouterr()
    assert "none of the 19 entries of name_prefix was answered" in told.out
    assert "no judged entry" not in told.err


def test_own_data_are_named_in_the_next_command(server: FaultyServer, tmp_path: Path, ask: Ask, capsys: Any) -> None:
    path = ask(FAULTS["prefix"], ["multiple"])
    told = json.loads((path / "run.json").read_text())
    own = tmp_path / "my tools.jsonl"
    rows = [{"id": "own_1", "question": [[{"role": "user", "content": "Hi"}]], "function": [], "possible_answer": []}]
    own.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli.main(["explain", str(path), "--data", str(own)]) == 0
    assert f"the run used the data 'bundled' ({told['dataset']['sha256'][:8]}), and" in capsys.readouterr().out
    assert cli.main(["explain", str(path), "--data", "bundled"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("--recheck name_prefix --mode prompt --data bundled")


@pytest.mark.parametrize(
    ("said", "words", "told"),
    [
        ([[{"f": "{}"}], "No."], [], "1 line of {} not judged, the first: "),
        (["No.", "No."], [], "no line of {} can be judged, the first: "),
        (["No.", "No."], ["--mode", "fc"], "judged with the bundled data; --data names others"),
        ([[{"f": "{}"}], [{"g": "{}"}]], [], "2 of 2 replies call functions that these entries do not offer"),
    ],
)
def test_what_of_a_file_was_judged(said: list[Any], words: list[str], told: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text("".join(json.dumps({"id": f"multiple_{n}", "output": each}) + "\n" for n, each in enumerate(said)))
    cli.main(["explain", str(path), "--data", "bundled", *words])
    printed = capsys.readouterr()
    assert told.format(path) in printed.err
    assert "said.jsonl: " in printed.out or "no line" in told


def test_a_recheck_repeats_as_often_as_the_run(server: FaultyServer, ask: Ask, tmp_path: Path, capsys: Any) -> None:
    server.bend = FAULTS["prefix"].bend
    settings = Settings(base_url=server.url, retries=0, repeat=2)
    run("bundled", "openai:faulty@fc", settings=settings, categories=["multiple"], out=tmp_path / "run")
    cli.main(["explain", str(tmp_path / "run"), "--recheck", "name_prefix"])
    assert "0 of 28 trials of 14 entries are right now; 28 still fail by name_prefix" in capsys.readouterr().out


def test_a_run_that_ended_early_says_so(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "run"
    run("bundled", "lexical:", settings=Settings(repeat=2), categories=["multiple"], out=folder)
    told = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**told, "state": "stopped:interrupted"}))
    first, *others = (folder / "results.jsonl").read_text().splitlines()
    (folder / "results.jsonl").write_text("\n".join([first, *others[:19]]) + "\n")
    assert cli.main(["explain", str(folder)]) == 0
    head, early, *_ = capsys.readouterr().out.splitlines()
    assert re.search(r": \d+ of 20 trials of 1\d entries failed$", head)
    assert early == "not finished: interrupted, 20 of 28 planned have a line"
