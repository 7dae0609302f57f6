"""Mistakes on pytest's command line: exit code 4, at most five lines, no traceback, and the name that was meant."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.run_options import GROUPS, OPTIONS, of_run
from pytest_bfcl.run_options.refusals import missing_hint, written_here

from .conftest import Project

FOUND = ("--model", "oracle:", "--bfcl-data=bundled")

LEAN = (
    "-q",
    *("-p", "pytest_bfcl.plugin"),
    *(part for name in ("cacheprovider", "unraisableexception", "threadexception") for part in ("-p", f"no:{name}")),
)
"""A session of this plugin alone that does not collect garbage at its end: a tenth of the time."""

ROWS: list[tuple[str, str]] = [
    # command line, what is said
    ("--bfcl-data=bundled", "--bfcl-data is given, but no model"),
    ("--bfcl-fail-under overall=3", "add --model provider:name"),
    ("--bfcl-dry-run --bfcl-sample 3", "are given, but no model"),
    ("F --bfcl-concurency 3", "did you mean --bfcl-concurrency"),
    ("F --bfcl-concurency=3", "did you mean --bfcl-concurrency"),
    ("F --bfcl-datas=x", "did you mean --bfcl-data"),
    ("F --bfcl_repeat 3", "did you mean --bfcl-repeat"),
    ("F --bfcl-category live", "did you mean --bfcl-categories"),
    ("F --bfcl-max-token 3", "did you mean --bfcl-max-tokens"),
    ("F --bfcl-xyzzy", "unknown option --bfcl-xyzzy; pytest --bfcl-help lists all"),
    ("F --bfcl-mode fx", "one of auto, fc, prompt"),
    ("F --bfcl-concurrency 0", "a whole number from 1"),
    ("F --bfcl-concurrency many", "a whole number from 1"),
    ("F --bfcl-timeout 0", "a number above 0"),
    ("F --bfcl-timeout inf", "a number above 0"),
    ("F --bfcl-retries -1", "a whole number from 0"),
    ("F --bfcl-temperature hot", "a number of at least 0, or none"),
    ("F --bfcl-repeat 0", "a whole number from 1"),
    ("F --bfcl-sample x", "a whole number of at least 1"),
    ("F --bfcl-shard 3/2", "I/N with 1 <= I <= N"),
    ("F --bfcl-shard 1", "I/N with 1 <= I <= N"),
    ("F --bfcl-price cheap", "INPUT,OUTPUT in USD"),
    ("F --bfcl-max-errors 101", "a number from 0 to 100"),
    ("F --bfcl-search bing", "one of auto, local, serpapi"),
    ("F --bfcl-search replay:nope", "nope does not exist"),
    ("F --bfcl-search replay:own.jsonl", "is a file, name the run's folder"),
    ("F --bfcl-search replay:empty", "holds no recording"),
    ("F --bfcl-search rest=replay:nope", "nope does not exist"),
    ("F --bfcl-search rest=nobody", "one of auto, local, live"),
    ("F --bfcl-decoder hermess", "did you mean 'hermes', "),
    ("F --bfcl-param top_p", "NAME=VALUE"),
    ("F --bfcl-param messages=1", "messages is the run's own to set"),
    ("F --bfcl-header X", "'NAME: VALUE'"),
    ("F --bfcl-categories multiturn", "did you mean 'multi_turn', "),
    ("F --bfcl-categories simple", "since V4 it is 'simple_python'"),
    ("F -m executable_simple", "since V4 it is 'exec_simple'"),
    ("F bfcl/simple.jsonl::simple_1", "since V4 it is bfcl/simple_python.jsonl::simple_python_1"),
    ("--model openai:m@native --bfcl-data=bundled", "did you mean @fc?"),
    ("--model openai:m@text --bfcl-data=bundled", "did you mean @prompt?"),
    ("--model openai:m@fc@prompt --bfcl-data=bundled", "it names two modes"),
    ("--model oracle:,lexical: --bfcl-data=bundled", "write --model once for each model"),
    ("--model 'oracle: lexical:' --bfcl-data=bundled", "write --model once for each model"),
    ("--model agent:tools.py:f --bfcl-data=bundled", "write agent:tools:f"),
    ("--model scripted:own.jsonl --bfcl-data=bundled", "a line without 'output': each has id, and reply or output"),
    ("--model oracle: --bfcl-data=earlier/results.jsonl", "holds results of a run, not entries"),
    ("--model oracle: --bfcl-data=https://example.org/x.jsonl", "takes no web address: download the file"),
    ("--model oracle: --bfcl-data=own.txt", "a directory or a .jsonl file"),
    ("F --bfcl-system-prompt 'You are helpful'", "No such file or directory; it takes the name of a file"),
    ("F --bfcl-timeout 120,graec=3", "there is no part 'graec'; known: grace"),
    ("F --bfcl-rules corrected,step=30", "there is no part 'step'; known: steps"),
    ("F --bfcl-mode FC", "did you mean 'fc'?"),
    ("F --bfcl-simulators real", "one of own, reference"),
    ("F --bfcl-fail-under n=0", "a whole number of at least 1"),
    ("F --bfcl-report full,nothing", "'nothing' is neither a level nor a sink"),
    ("F --bfcl-concurrency auto,agents=-1", "agents: a whole number from 0 to 256"),
    ("F --bfcl-record replay=", "replay: it names nothing"),
    ("--model oracle: '--bfcl-data=deep\\own.jsonl'", "write deep/own.jsonl"),
    ("F 'deep\\own.jsonl'", "the path has backslashes: write deep/own.jsonl"),
    ("F --bfcl-categories live,nonlive", "did you mean 'non_live'"),
    ("F --bfcl-fail-under overall", "write GROUP=PCT"),
    ("F --bfcl-fail-under overal=3", "did you mean 'overall'"),
    ("F --bfcl-fail-under overall=300", "between 0 and 100"),
    ("F --bfcl-ids nosuch.txt", "cannot read the ids in nosuch.txt"),
    ("F --bfcl-ids ids.txt", "not in the bundled data: nobody_1"),
    ("F --bfcl-baseline nosuch", "nosuch does not exist"),
    ("F --bfcl-expected nosuch", "cannot read nosuch"),
    ("F --bfcl-expected ids.txt", "ids.txt is not JSON"),
    ("F --bfcl-system-prompt nosuch", "cannot read nosuch"),
    ("F --bfcl-model-info nosuch.toml", "cannot read nosuch.toml"),
    ("F --bfcl-model-info ids.txt", "is not TOML"),
    ("F --bfcl-out own.jsonl", "not a run directory"),
    ("F --bfcl-out other", "not a run directory"),
    ("F -m multiturn", "there is no mark 'multiturn'; did you mean 'multi_turn', "),
    ("F -m live_simpel", "did you mean 'live_simple'"),
    ("F -m not_live", "there is no mark 'not_live'"),
    ("F bfcl/multiturn_base.jsonl", "did you mean 'multi_turn_base', "),
    ("F bfcl/simple_python.jsonl::simple_python_9999", "not found: "),
    ("--model oracle: --bfcl-data=bundeld", "did you mean 'bundled'?"),
    ("--model oracle: --bfcl-data=oficial", "did you mean 'official'"),
    ("--model oracle: --bfcl-data=owm.jsonl", "did you mean 'own.jsonl'"),
    ("--model oracle: --bfcl-data=nosuch.jsonl", "no data at nosuch.jsonl"),
    ("--model oracle: --bfcl-data=empty", "holds neither"),
    ("--model oracle: --bfcl-data=.", "named after their category"),
    ("--model opnai:gpt-4o --bfcl-data=bundled", "did you mean 'openai'?"),
    ("--model antropic:claude --bfcl-data=bundled", "did you mean 'anthropic'?"),
    ("--model gpt-4o --bfcl-data=bundled", "for instance openai:gpt-4o"),
    ("--model claude-sonnet-4 --bfcl-data=bundled", "for instance anthropic:claude-sonnet-4"),
    ("--model meta-llama/Llama-3 --bfcl-data=bundled", "write provider:name"),
    ("--model xyzzy:x --bfcl-data=bundled", "unknown provider 'xyzzy'"),
    ("--model replay:nosuch --bfcl-data=bundled", "nosuch does not exist"),
    ("--model scripted:nosuch --bfcl-data=bundled", "cannot read the script nosuch"),
    ("--model openai:m --bfcl-base-url=nonsense --bfcl-data=bundled", "nonsense"),
    ("F -m 'simple_python or multturn'", "there is no mark 'multturn'; did you mean 'multi_turn', "),
    ("F -m 'simple_python and not live_simpel'", "there is no mark 'live_simpel'; did you mean 'live_simple', "),
    ("F -m 'simple_python or'", "Wrong expression passed to '-m'"),
    ("F --bfcl-budget nothing", "a number of at least 0"),
    ("F --bfcl-seed x", "a whole number of at least 0"),
    ("F --bfcl-max-tokens 0", "a whole number of at least 1"),
    ("F --bfcl-gpu-hour free", "a number of at least 0"),
    ("F --bfcl-api chatt", "did you mean 'chat'?"),
    ("F --bfcl-reasoning keeep", "did you mean 'keep'?"),
    ("F --bfcl-rules oficial", "did you mean 'official'?"),
    ("F --bfcl-report half", "'half' is neither a level nor a sink; known: none, index, full"),
    ("F --bfcl-template nosuch", "nosuch"),
    ("F --bfcl-serve", "none of them is named by --model oracle:"),
    ("F --bfcl-serve-args=-x", "--bfcl-serve-args does nothing without --bfcl-serve"),
    ("F --bfcl-sample precision=2", "--bfcl-sample precision=PTS does nothing without --bfcl-dry-run"),
    ("F --bfcl-sample precision=x", "a number above 0"),
    ("F --bfcl-baseline margin=2", "name the run: RUN,margin=2"),
    ("F --bfcl-noninferior 2", "--bfcl-noninferior needs --bfcl-baseline"),
    ("F --bfcl-noninferior x --bfcl-baseline nosuch", "write points above 0"),
    ("F --bfcl-record x,new=x", "name one file"),
    ("F --bfcl-record replay=nosuch.json", "there is no recording nosuch.json; --bfcl-record FILE makes one"),
    ("F --bfcl-transform shufle-tools", "did you mean 'shuffle-tools'?"),
    ("F --bfcl-transform nosuch.jsonl", "cannot read nosuch.jsonl"),
    ("F --bfcl-split nosuch", "cannot read the split nosuch"),
    ("F --bfcl-baseline own.jsonl", "this is an entry without a reply"),
    ("F --bfcl-baseline empty", "neither a run directory"),
    ("F --bfcl-write-expected empty", "empty is a folder; name the file to write"),
    ("F --bfcl-expected own.jsonl", "--bfcl-write-expected FILE writes one"),
    ("F --bfcl-categories ''", "--bfcl-categories names nothing"),
    ("F --bfcl-price 1,2,3", "INPUT,OUTPUT in USD"),
    ("F --bfcl-param =1", "'' is no name of a field"),
    ("F --bfcl-header ': x'", "'' is no name of a header"),
    ("F --bfcl-system-prompt empty", "cannot read empty"),
    ("F --bfcl-ids empty", "cannot read the ids in empty"),
    ("F --bfcl-fail-under live=50 --bfcl-categories non_live", "cannot be met, nothing was sent"),
    ("--model oracle: --bfcl-fail-under live=50", "a gate needs to know its data"),
    ("F bfcl/simple_python.jsonl::simple_python_0[nobody]", "no such model or repeat"),
    ("F bfcl/simple_pyhton.jsonl", "did you mean 'simple_python'?"),
    ("F bfcl/wire.jsonl::nosuch", "pytest-bfcl doctor wire --list names all"),
    ("--model oracle:@promt --bfcl-data=bundled", "did you mean @prompt?"),
    ("--model openai:gpt-4o@fcc --bfcl-data=bundled", "did you mean @fc?"),
    ("--model openai: --bfcl-data=bundled", "write openai:NAME"),
    ("--model '' --bfcl-data=bundled", "write provider:name"),
    ("--model agent:nosuch:factory --bfcl-data=bundled", "agent:nosuch:factory cannot be imported"),
    ("--model agent:factory --bfcl-data=bundled", "write agent:package.module:factory"),
    ("--model replay:empty --bfcl-data=bundled", "holds neither results.jsonl nor"),
    ("--model replay:own.jsonl --bfcl-data=bundled", "this is an entry without a reply"),
    ("--model replay:wide.jsonl --bfcl-data=bundled", "this is UTF-16"),
    ("--model replay:blank.jsonl --bfcl-data=bundled", "holds no replay line"),
    ("--model scripted:ids.txt --bfcl-data=bundled", "the script ids.txt is not valid"),
    ("--model openai:m --bfcl-base-url=file:///etc/passwd --bfcl-data=bundled", "is not an http(s) address"),
    ("--model oracle: nosuch.jsonl", "file or directory not found: nosuch.jsonl"),
    ("--model oracle: own.jsonl::nosuch", "own.jsonl::nosuch"),
    ("simple_python_1", "write pytest --model PROVIDER:NAME bfcl/simple_python.jsonl::simple_python_1"),
    ("BFCL_v4_live_simple.json", "write pytest --model PROVIDER:NAME bfcl/live_simple.jsonl"),
    ("F simple_python_1", "write bfcl/simple_python.jsonl::simple_python_1"),
    ("F multi_turn", "select with -m multi_turn"),
    ("F bfcl/", "leave bfcl/ out"),
    ("F BFCL_v4_simple_java.json::simple_java_1", "write bfcl/simple_java.jsonl::simple_java_1"),
    ("--model oracle: earlier", "belongs to a run and holds no entries: --bfcl-out earlier resumes it"),
    ("--model oracle: earlier/results.jsonl", "--model replay:earlier judges it again"),
    ("--model oracle: array.json", "jq -c '.[]' array.json > array.jsonl"),
    ("--model oracle: out.csv", "they are JSON lines in a file .jsonl"),
    ("F -m live,non_live", "joined by or, and, not"),
    ("-model oracle: --bfcl-data=bundled", "write --model, with two dashes"),
    ("--models oracle: --bfcl-data=bundled", "there is no option --models; here: --model SPEC"),
    ("F --data bundled", "here: --bfcl-data"),
    ("F --temperature 0", "here: --bfcl-temperature T"),
    ("F --bfcl-limit 5", "here: --bfcl-sample N"),
    ("F --bfcl-baseline conf.toml", "conf.toml is no run: name a run directory"),
    ("F --bfcl-baseline out.csv", "out.csv is no run"),
    ("F --bfcl-baseline earlier/run.json", "is a file of a run: name its directory"),
    ("F --bfcl-baseline earlier/index.html", "is a file of a run: name its directory"),
    ("F --bfcl-baseline run.zip", "is an archive: unpack it"),
    ("F --bfcl-baseline oracle:", "name the directory of a run (what --bfcl-out was)"),
    ("F --bfcl-fail-under live=50,non_live=60", "one GROUP=PCT a time"),
    ("F --bfcl-ids simple_java_1", "under pytest write bfcl/simple_java.jsonl::simple_java_1"),
    ("F --bfcl-ids simple_java_1,simple_java_2", "--bfcl-ids names a file of ids"),
    ("--model oracle: --bfcl-data=./bundled", "the set is named by its word alone, bundled"),
    ("--model oracle: --bfcl-data=Official", "the set is named by its word alone, official"),
    ("--model oracle: --bfcl-data=BFCL_v4", "the benchmark's data is called official"),
    ("--model oracle: --bfcl-data=v3", "the benchmark's data is called official"),
    ("--model oracle: --bfcl-data=gorilla-llm/Berkeley-Function-Calling-Leaderboard", "is called official"),
    ("--model oracle: --bfcl-data=simple_java", "select with --bfcl-categories simple_java"),
    ("--model oracle: --bfcl-data=BFCL_v4_simple_java.json", "select with --bfcl-categories simple_java"),
    ("--model oracle: --bfcl-data=earlier", "is a run directory, not data"),
    ("--model gpt-4o-FC --bfcl-data=bundled", "for instance openai:gpt-4o@fc"),
    ("--model openai/gpt-4o --bfcl-data=bundled", "for instance openai:gpt-4o"),
    ("--model http://localhost:8000/v1 --bfcl-data=bundled", "--bfcl-base-url http://localhost:8000/v1"),
    ("--model localhost:8000 --bfcl-data=bundled", "--bfcl-base-url http://localhost:8000"),
    (
        "--model openai:m --bfcl-base-url=http://h/v1/chat/completions --bfcl-data=bundled",
        "leave out /chat/completions",
    ),
    ("--model replay:out.csv --bfcl-data=bundled", "out.csv holds no replay line"),
    ("own.jsonl", "--model is missing: own.jsonl holds function-calling entries"),
]
PATHS = [
    # an argument that is no file, what is said
    ("live_simple_3-3-0", "write bfcl/live_simple.jsonl::live_simple_3-3-0"),
    ("simple_python", "select with -m simple_python"),
    ("simple_python.json", "write bfcl/simple_python.jsonl"),
    ("bfcl/simple_java.json::simple_java_1", "write bfcl/simple_java.jsonl::simple_java_1"),
    ("simple_java.jsonl::simple_java_1", "write bfcl/simple_java.jsonl::simple_java_1"),
    ("simple_1", "simple_1 is an id of V1 to V3: write bfcl/simple_python.jsonl::simple_python_1"),
    ("bfcl/simple_java::simple_java_1", "write bfcl/simple_java.jsonl::simple_java_1"),
]
WORDS = [
    # an option of others, what is said
    ("--out", "--bfcl-out"),
    ("--test-category", "-m CATEGORY"),
    ("--num-threads", "--bfcl-concurrency N"),
    ("--backend", "--model vllm:NAME"),
    ("--local-model-path", "--model vllm:PATH --bfcl-serve"),
    ("--enable-lora", "--bfcl-serve-args '--enable-lora"),
    ("--include-input-log", "nothing: every run keeps its requests"),
    ("--exclude-state-log", "--bfcl-report index"),
    ("--run-ids", "--bfcl-ids"),
    ("--result-dir", "--bfcl-out DIR"),
    ("--bfcl-resume", "--bfcl-out DIR of the run to resume"),
    ("--bfcl-threads", "--bfcl-concurrency N"),
    ("--bfcl-wandb", "--bfcl-report wandb"),
    ("--bfcl-api-key", "the environment variable of the provider"),
]
BROKEN_FILES: list[tuple[str, str]] = [
    ("pretty.jsonl", "this is one JSON array printed over"),
    ("wide.jsonl", "this is UTF-16, JSON lines are UTF-8"),
    ("null.jsonl", "this is no text: it holds null bytes"),
    ("blank.jsonl", "the file holds no entries"),
    ("cut.jsonl", "not JSON"),
    ("comma.jsonl", "a comma too many before '}' at column"),
    ("single.jsonl", "a single quote at column 2: JSON takes double quotes"),
    ("other.jsonl", 'the entry has no "id"'),
    ("twice.jsonl", "id occurs twice"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files that mistakes are made with."""
    place = tmp_path_factory.mktemp("mistakes")
    entry = {"id": "irrelevance_1", "question": [[{"role": "user", "content": "x"}]], "function": []}
    place.joinpath("own.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    place.joinpath("pretty.jsonl").write_text(json.dumps([entry] * 9, indent=1), encoding="utf-8")
    place.joinpath("wide.jsonl").write_text((json.dumps(entry) + "\n") * 9, encoding="utf-16")
    place.joinpath("null.jsonl").write_bytes(b"\0" * 5000)
    place.joinpath("blank.jsonl").write_text("\n \n", encoding="utf-8")
    place.joinpath("cut.jsonl").write_text(json.dumps(entry)[:-9], encoding="utf-8")
    place.joinpath("other.jsonl").write_text('{"name": "x"}\n', encoding="utf-8")
    place.joinpath("twice.jsonl").write_text((json.dumps(entry) + "\n") * 2, encoding="utf-8")
    place.joinpath("deep").mkdir()
    place.joinpath("deep", "own.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    place.joinpath("comma.jsonl").write_text(json.dumps(entry)[:-1] + ",}\n", encoding="utf-8")
    place.joinpath("single.jsonl").write_text("{'id': 'irrelevance_1'}\n", encoding="utf-8")
    place.joinpath("ids.txt").write_text("nobody_1\n", encoding="utf-8")
    place.joinpath("empty").mkdir()
    place.joinpath("other").mkdir()
    place.joinpath("other", "file.txt").write_text("hi", encoding="utf-8")
    place.joinpath("array.json").write_text(json.dumps([entry]), encoding="utf-8")
    place.joinpath("out.csv").write_text("id,output\n", encoding="utf-8")
    place.joinpath("conf.toml").write_text('model = "x"\n', encoding="utf-8")
    place.joinpath("run.zip").write_bytes(b"PK")
    place.joinpath("earlier").mkdir()
    for name in ("run.json", "results.jsonl", "index.html"):
        place.joinpath("earlier", name).write_text("{}\n", encoding="utf-8")
    return str(place)


def session(
    folder: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    """Exit code and lines of a session in the folder; pytest's own rules and counts are left out."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    code = pytest.main([*LEAN, "--rootdir=.", *words])
    caught = capsys.readouterr()
    lines = (caught.out + caught.err).splitlines()
    return code, [each for each in lines if each.strip() and "no tests ran" not in each and each[:3] not in RULES]


RULES = ("===", "___")


@pytest.mark.parametrize(("name", "said"), BROKEN_FILES)
@pytest.mark.parametrize("named", ["as_argument", "as_data"])
def test_a_file_of_entries_that_is_broken(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, said: str, named: str
) -> None:
    words = [name] if named == "as_argument" else [f"--bfcl-data={name}"]
    code, told = session(folder, ["--model", "oracle:", "--bfcl-out=run", *words, "--co"], monkeypatch, capsys)
    assert code in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.TESTS_FAILED), told
    assert sum(said in each for each in told) == 1, told  # once, not once a line
    assert len(told) <= 5, told
    assert not any("Traceback" in each or "INTERNALERROR" in each for each in told), told


@pytest.mark.parametrize(("argument", "said"), PATHS)
def test_an_argument_that_is_no_file(argument: str, said: str) -> None:
    """The rows above show that the sentence ends the session."""
    assert said in str(missing_hint(argument, active=True))


@pytest.mark.parametrize(("option", "said"), WORDS)
def test_an_option_of_others(option: str, said: str) -> None:
    assert said in str(written_here(option, ["out"]))


@pytest.mark.parametrize("argument", ["tests", "src/live", "live", "test_x.py::test_live", "multi_turn/", "a.json"])
def test_without_a_model_only_names_of_the_benchmark_are_explained(argument: str) -> None:
    assert missing_hint(argument, active=False) is None


def test_there_are_as_many_mistakes_as_were_found() -> None:
    """174 were found in one day, 116 in another; a row is one of them, or one like them."""
    from tests.cli.test_mistakes import NO_RUNS, TABLE

    tables = {line for line, _ in ROWS}, BROKEN_FILES * 2, TABLE, PATHS, WORDS
    assert sum(map(len, tables)) + NO_RUNS >= 290


@pytest.mark.parametrize(("line", "said"), ROWS)
def test_a_mistake_on_the_command_line(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    words = [part for word in shlex.split(line) for part in (FOUND if word == "F" else (word,))]
    code, told = session(folder, words, monkeypatch, capsys)
    assert code == pytest.ExitCode.USAGE_ERROR, told
    assert any(said in each for each in told), told
    assert len(told) <= 5, told
    assert not any("Traceback" in each or "INTERNALERROR" in each for each in told), told


CONTRADICTIONS: list[tuple[str, str, str, str]] = [
    # ini file, pytest's line, `run`'s line (empty: nothing like it is there), what is said
    ("", "M@fc --bfcl-mode prompt", "M@fc --mode prompt", "sets mode fc, --bfcl-mode sets prompt"),
    ("", "M@prompt --bfcl-mode fc", "M@prompt --bfcl-mode fc", "sets mode prompt, --bfcl-mode sets fc"),
    ("", "M@fc M@prompt --bfcl-mode fc", "M@fc M@prompt --mode fc", "--model oracle:@prompt sets mode prompt"),
    ("bfcl_mode = fc\nbfcl_model = oracle:@prompt", "--bfcl-data=bundled", "", "sets mode prompt"),
    ("bfcl_model = oracle:@prompt", "--bfcl-data=bundled --bfcl-mode fc", "", "sets mode prompt"),
    ("bfcl_mode = prompt", "M@fc --co", "", ""),
    ("", "M@fc --bfcl-mode fc --co", "M@fc --mode fc --dry-run", ""),
    ("", "M@fc --bfcl-mode auto --co", "M@fc --mode auto --dry-run", ""),
    ("bfcl_modle = oracle:", "", "", "pytest.ini: unknown key 'bfcl_modle'; did you mean 'bfcl_mode', 'bfcl_model'"),
    ("bfcl-data = bundled", "M", "", "unknown key 'bfcl-data'; did you mean 'bfcl_data'"),
    ("bfcl_xyzzy = 1", "M", "", "unknown key 'bfcl_xyzzy'; pytest --bfcl-help lists the options"),
    ("", "M --bfcl-fail-under live=0", "M --fail-under live=0", "every run reaches 0 %"),
    ("", "M --bfcl-fail-under entries=0.0%", "M --fail-under entries=0.0%", "every run reaches 0 %"),
    ("bfcl_fail_under = live=0", "M", "", "every run reaches 0 %"),
    ("", "M --co --bfcl-fail-under live=5", "", "so no gate can be judged: leave out --bfcl-fail-under"),
    ("", "M --co --bfcl-max-errors 5", "", "so no gate can be judged: leave out --bfcl-max-errors"),
    ("bfcl_fail_under = live=5", "M --co", "M --fail-under live=5 --dry-run", ""),  # editors collect; a dry run says it
    ("", "M --bfcl-help gatse", "M --bfcl-help gatse", "no group or option 'gatse'; did you mean 'gates'"),
]


@pytest.mark.parametrize("door", ["pytest", "run"])
@pytest.mark.parametrize(("ini", "line", "verbs", "said"), CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_at_both_doors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    door: str, ini: str, line: str, verbs: str, said: str,
) -> None:  # fmt: skip
    if door == "run" and not verbs:
        return
    tmp_path.joinpath("pytest.ini").write_text(f"[pytest]\n{ini}\n")
    words = (line if door == "pytest" else verbs).replace("M", "--model oracle:").split()
    data = [] if "--bfcl-data=bundled" in words or not words else ["--bfcl-data=bundled"]
    if door == "pytest":
        code, told = session(str(tmp_path), [*words, *data], monkeypatch, capsys)
    else:
        code = main(["run", *words, *data])
        caught = capsys.readouterr()
        told = (caught.err or caught.out).splitlines()
    if not said:
        assert code == 0, told
        return
    assert code == {"pytest": pytest.ExitCode.USAGE_ERROR, "run": 2}[door], told
    assert any(said in each for each in told), told
    assert len(told) <= 5, told


def test_the_command_lines_model_counts_before_the_ini_files_and_the_run_says_so_once(project: Project) -> None:
    project.pytester.makeini("[pytest]\nbfcl_model = oracle:\nasyncio_default_fixture_loop_scope = session\n")
    for workers in ((), ("-n1",)):
        result = project.run("-m", "multiple", *workers, out=f"run{len(workers)}")
        told = [line for line in result.outlines if "is used, not the ini file's" in line]
        assert told == ["bfcl: --model scripted:script.json is used, not the ini file's oracle:"]
        assert all(line["model"].startswith("scripted:") for line in project.records(f"run{len(workers)}"))


TWELVE = {
    "model", "data", "categories", "sample", "mode", "base-url", "concurrency", "temperature", "dry-run", "fail-under",
    "baseline", "out",
}  # fmt: skip


def test_help_shows_twelve_options_and_bfcl_help_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*words: str) -> str:
        monkeypatch.chdir(tmp_path)
        assert pytest.main(["-p", "no:cacheprovider", "-p", "no:asyncio", *words]) == 0
        return capsys.readouterr().out

    def named(text: str) -> set[str]:
        return set(re.findall(r"^ +(?:-o DIR, )?--(?:bfcl-)?([a-z-]+)", text, re.MULTILINE)) - {"bfcl-help"}

    page = told("--help")
    ours = page[page.index("function-calling benchmark") :]
    ours = ours[: ours.index("\n\n")]
    assert named(ours) == TWELVE
    assert len(ours.splitlines()) <= 24
    assert "bfcl_" not in page.replace("bfcl_help", "")  # keys of the ini file
    assert main(["run", "--help"]) == 0
    verbs = capsys.readouterr().out
    assert named(verbs[verbs.index("function-calling benchmark") : verbs.index("on a Ray cluster")]) == TWELVE
    listed = told("--bfcl-help")
    pages = {group: named(told("--bfcl-help", group)) for group in GROUPS}
    assert set().union(*pages.values()) == {option.name for option in OPTIONS}
    assert sum(map(len, pages.values())) == len(OPTIONS)
    assert all(f"{group}: " in listed for group in pages)
    assert named(told("--bfcl-help=retries")) == {"retries"}
    assert main(["run", "--bfcl-help", "all"]) == 0
    assert named(capsys.readouterr().out) == {option.name for option in of_run()}


def test_a_key_that_is_not_there_is_said_before_anything_is_asked_or_written(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    words = ["--model", "anthropic:m", "--bfcl-data=bundled", "-m", "simple_java", "--bfcl-out=unasked"]
    code, told = session(folder, words, monkeypatch, capsys)
    assert code == pytest.ExitCode.USAGE_ERROR, told
    assert any("ANTHROPIC_API_KEY is not set" in each for each in told), told
    assert len(told) <= 5, told
    assert not Path(folder, "unasked").exists()
    code, told = session(folder, [*words, "--bfcl-dry-run"], monkeypatch, capsys)
    assert code == pytest.ExitCode.OK, told


def test_a_choice_that_leaves_no_entry_is_named(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = session(folder, [*FOUND, "-k", "simpel_java", "--bfcl-out=none"], monkeypatch, capsys)
    assert code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert any("no entry fits -k 'simpel_java'; did you mean 'simple_java'" in each for each in told), told
