"""Mistakes on pytest's command line: exit code 4, at most five lines, no traceback, and the name that was meant."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.run_options import GROUPS, OPTIONS, of_run
from pytest_bfcl.run_options.reading import help_page
from pytest_bfcl.run_options.refusals import missing_hint, written_here
from tests.distributed import WORKERS

from .conftest import Project

FOUND = ("--model", "oracle:", "--bfcl-data=bundled")

LEAN = (
    "-q",
    *("-p", "pytest_bfcl.plugin"),
    *(part for name in ("cacheprovider", "unraisableexception", "threadexception") for part in ("-p", f"no:{name}")),
)
"""A session of this plugin alone that does not collect garbage at its end: a tenth of the time."""

ROWS, PATHS, WORDS, BROKEN_FILES, CONTRADICTIONS = json.loads(
    Path(__file__).with_name("mistakes.json").read_text(encoding="utf-8")
).values()
"""Command lines, arguments that are no files, options of others, broken files, contradictions, and what is said."""


ENTRY = json.dumps({"id": "irrelevance_1", "question": [[{"role": "user", "content": "x"}]], "function": []})
FILES: dict[str, str | bytes] = {
    "own.jsonl": f"{ENTRY}\n", "twice.jsonl": f"{ENTRY}\n" * 2, "deep/own.jsonl": f"{ENTRY}\n",
    "array.json": f"[{ENTRY}]", "pretty.jsonl": json.dumps([json.loads(ENTRY)] * 9, indent=1),
    "wide.jsonl": (f"{ENTRY}\n" * 9).encode("utf-16"), "null.jsonl": b"\0" * 5000, "blank.jsonl": "\n \n",
    "cut.jsonl": ENTRY[:-9], "comma.jsonl": f"{ENTRY[:-1]},}}\n", "single.jsonl": "{'id': 'irrelevance_1'}\n",
    "other.jsonl": '{"name": "x"}\n', "ids.txt": "nobody_1\n", "other/file.txt": "hi", "out.csv": "id,output\n",
    "conf.toml": 'model = "x"\n', "run.zip": b"PK",
    **{f"earlier/{name}": "{}\n" for name in ("run.json", "results.jsonl", "index.html")},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files that mistakes are made with."""
    place = tmp_path_factory.mktemp("mistakes")
    (place / "empty").mkdir()
    for name, content in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(place)


RULES = ("===", "___")


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


def assert_short(told: list[str], said: str) -> None:
    """How every mistake is told."""
    assert any(said in each for each in told), told
    assert len(told) <= 5, told
    assert not any(each in line for line in told for each in ("Traceback", "INTERNALERROR", "never-shown")), told


@pytest.mark.parametrize(("name", "said"), BROKEN_FILES)
@pytest.mark.parametrize("named", ["as_argument", "as_data"])
def test_a_file_of_entries_that_is_broken(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, said: str, named: str
) -> None:
    words = [name] if named == "as_argument" else [f"--bfcl-data={name}"]
    code, told = session(folder, ["--model", "oracle:", "--bfcl-out=run", *words, "--co"], monkeypatch, capsys)
    assert code in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.TESTS_FAILED), told
    assert_short(told, said)
    assert sum(said in each for each in told) == 1, told  # once, not once a line


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


@pytest.mark.parametrize(("line", "said"), ROWS)
def test_a_mistake_on_the_command_line(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    words = [part for word in shlex.split(line) for part in (FOUND if word == "F" else (word,))]
    code, told = session(folder, words, monkeypatch, capsys)
    assert code == pytest.ExitCode.USAGE_ERROR, told
    assert_short(told, said)


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
    assert_short(told, said)


@pytest.mark.parametrize("workers", WORKERS)
def test_the_command_lines_model_counts_before_the_ini_files_and_the_run_says_so_once(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.pytester.makeini("[pytest]\nbfcl_model = oracle:\nasyncio_default_fixture_loop_scope = session\n")
    result = project.run("-m", "multiple", *workers)
    told = [line for line in result.outlines if "is used, not the ini file's" in line]
    assert told == ["bfcl: --model scripted:script.json is used, not the ini file's oracle:"]
    assert all(line["model"].startswith("scripted:") for line in project.records())


TWELVE = {
    "model", "data", "categories", "sample", "mode", "base-url", "concurrency", "temperature", "dry-run", "fail-under",
    "baseline", "out",
}  # fmt: skip


def named(text: str) -> set[str]:
    """The options of a page of help."""
    return set(re.findall(r"^ +(?:-o(?: DIR)?, )?--(?:bfcl-)?([a-z-]+)", text, re.MULTILINE)) - {"bfcl-help"}


def test_pages_of_help_show_every_option_once() -> None:
    pages = [named(help_page(group)) for group in GROUPS]
    assert set().union(*pages) == {option.name for option in OPTIONS}
    assert sum(map(len, pages)) == len(OPTIONS)
    assert all(f"{group}: " in help_page("") for group in GROUPS)


def test_help_shows_twelve_options_and_bfcl_help_those_asked_for(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "\n".join(session(folder, ["--help"], monkeypatch, capsys)[1])
    ours = page[page.index("function-calling benchmark") : page.index("[pytest] configuration options")]
    assert named(ours) == TWELVE
    assert len(ours.splitlines()) <= 24
    assert "bfcl_" not in page.replace("bfcl_help", "")  # keys of the ini file
    assert named("\n".join(session(folder, ["--bfcl-help=retries"], monkeypatch, capsys)[1])) == {"retries"}
    assert main(["run", "--help"]) == 0
    verbs = capsys.readouterr().out
    assert named(verbs[verbs.index("function-calling benchmark") : verbs.index("on a Ray cluster")]) == TWELVE
    assert main(["run", "--bfcl-help", "all"]) == 0
    assert named(capsys.readouterr().out) == {option.name for option in of_run()}


def test_a_key_that_is_not_there_is_said_before_anything_is_asked_or_written(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    words = ["--model", "anthropic:m", "--bfcl-data=bundled", "-m", "simple_java", "--bfcl-out=unasked"]
    code, told = session(folder, words, monkeypatch, capsys)
    assert code == pytest.ExitCode.USAGE_ERROR, told
    assert_short(told, "ANTHROPIC_API_KEY is not set")
    assert not Path(folder, "unasked").exists()
    code, told = session(folder, [*words, "--bfcl-dry-run"], monkeypatch, capsys)
    assert code == pytest.ExitCode.OK, told


def test_a_choice_that_leaves_no_entry_is_named(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = session(folder, [*FOUND, "-k", "simpel_java", "--bfcl-out=none"], monkeypatch, capsys)
    assert code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert any("no entry fits -k 'simpel_java'; did you mean 'simple_java'" in each for each in told), told
