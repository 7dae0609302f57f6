"""Mistakes on pytest's command line: exit code 4, at most five lines, no traceback, and the name that was meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FOUND = ("--model", "oracle:", "--bfcl-data=bundled")

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
    ("F --bfcl-xyzzy", "unknown option --bfcl-xyzzy; pytest --help lists them"),
    ("F --bfcl-mode fx", "invalid choice: 'fx'"),
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
    ("F --bfcl-rest replay:nope", "nope does not exist"),
    ("F --bfcl-rest nobody", "one of auto, local, live"),
    ("F --bfcl-decoder hermess", "did you mean 'hermes', "),
    ("F --bfcl-param top_p", "NAME=VALUE"),
    ("F --bfcl-param messages=1", "messages is the run's own to set"),
    ("F --bfcl-header X", "'NAME: VALUE'"),
    ("F --bfcl-categories multiturn", "did you mean 'multi_turn', "),
    ("F --bfcl-categories simple", "did you mean 'simple_"),
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
    ("--model oracle: --bfcl-data=owm.jsonl", "did you mean 'own.jsonl'?"),
    ("--model oracle: --bfcl-data=nosuch.jsonl", "no data at nosuch.jsonl"),
    ("--model oracle: --bfcl-data=empty", "holds neither"),
    ("--model oracle: --bfcl-data=.", "named after its category"),
    ("--model opnai:gpt-4o --bfcl-data=bundled", "did you mean 'openai'?"),
    ("--model antropic:claude --bfcl-data=bundled", "did you mean 'anthropic'?"),
    ("--model gpt-4o --bfcl-data=bundled", "for instance openai:gpt-4o"),
    ("--model claude-sonnet-4 --bfcl-data=bundled", "for instance anthropic:claude-sonnet-4"),
    ("--model meta-llama/Llama-3 --bfcl-data=bundled", "write provider:name"),
    ("--model xyzzy:x --bfcl-data=bundled", "unknown provider 'xyzzy'"),
    ("--model replay:nosuch --bfcl-data=bundled", "nosuch does not exist"),
    ("--model scripted:nosuch --bfcl-data=bundled", "cannot read the script nosuch"),
    ("--model openai:m --bfcl-base-url=nonsense --bfcl-data=bundled", "nonsense"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files that mistakes are made with."""
    place = tmp_path_factory.mktemp("mistakes")
    entry = {"id": "irrelevance_1", "question": [[{"role": "user", "content": "x"}]], "function": []}
    place.joinpath("own.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    place.joinpath("ids.txt").write_text("nobody_1\n", encoding="utf-8")
    place.joinpath("empty").mkdir()
    place.joinpath("other").mkdir()
    place.joinpath("other", "file.txt").write_text("hi", encoding="utf-8")
    return str(place)


@pytest.mark.parametrize(("line", "said"), ROWS)
def test_a_mistake_on_the_command_line(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    words = [part for word in line.split() for part in (FOUND if word == "F" else (word,))]
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "--rootdir=.", *words])
    caught = capsys.readouterr()
    told = [each for each in (caught.out + caught.err).splitlines() if each.strip() and "no tests ran" not in each]
    assert code == pytest.ExitCode.USAGE_ERROR, told
    assert any(said in each for each in told), told
    assert len(told) <= 5, told
    assert not any("Traceback" in each or "INTERNALERROR" in each for each in told), told


def test_options_in_configuration_files_stay_inert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\naddopts = --bfcl-repeat 3\nbfcl_data = bundled\n")
    tmp_path.joinpath("test_one.py").write_text("def test_one(): pass\n")
    monkeypatch.chdir(tmp_path)
    assert pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]) == pytest.ExitCode.OK
    assert "1 passed" in capsys.readouterr().out
