"""Runs without pytest, and judging of recorded lines."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, FailureTag, UsageError, Verdict
from pytest_bfcl.runs.results import StoredResults
from pytest_bfcl.selection.sharding import ShardItem, shard_of
from pytest_bfcl.session import closing, earlier, evaluation
from pytest_bfcl.session.evaluation import (
    RunInterrupted,
    arun,
    dry_run,
    judged_record,
    open_data,
    run,
    score_lines,
)
from pytest_bfcl.session.whole_run import WholeRun
from pytest_bfcl.settings import Price, Settings
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn
from tests.plugin.conftest import call, question, write_lines

from .conftest import Answering

SETTINGS = Settings(concurrency=4)
ENTRIES = [Entry.model_validate({**question(f"simple_python_{n}"), "category": "simple_python"}) for n in range(6)]


def test_a_run_directory_is_continued(tmp_path: Path) -> None:
    first, second, third = Answering(wrong={1}, broken={2}), Answering(), Answering()
    before = run(ENTRIES, first, out=tmp_path / "run", settings=SETTINGS)
    after = run(ENTRIES, second, out=tmp_path / "run", settings=SETTINGS)
    assert second.asked == ["simple_python_2"]  # only the error is asked again
    assert (before.counts, after.counts) == ({"simple_python": (4, 5)}, {"simple_python": (5, 6)})
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "finished"
    (tmp_path / "run" / "results.jsonl").unlink()  # the journal has what was paid for
    assert run(ENTRIES, third, out=tmp_path / "run", settings=SETTINGS).counts == after.counts
    assert third.asked == []

    def check_key() -> None:
        raise AdapterError("auth", "there is no key")

    third.check_key = check_key  # type: ignore[attr-defined]
    assert run(ENTRIES, third, out=tmp_path / "run", settings=SETTINGS).counts == after.counts, "nothing is asked"
    with pytest.raises(UsageError, match="there is no key"):
        run(ENTRIES, third, settings=SETTINGS)


def test_entries_of_this_part_are_planned_and_those_of_earlier_ones(tmp_path: Path) -> None:
    def planned(data: Any, **selection: Any) -> int:
        summary = run(data, "oracle:@fc", settings=SETTINGS, **selection).summary
        return summary["models"]["oracle:@fc"]["categories"]["simple_python"]["planned"]

    for part in (1, 2):
        assert planned(ENTRIES, shard=(part, 3)) == 2
        for models in (["oracle:@fc"], ["oracle:@fc", "oracle:@prompt"]):
            labels = models if len(models) > 1 else [""]
            dealt = shard_of([ShardItem(entry.id, label) for label in labels for entry in ENTRIES], part, 3)
            found = run(ENTRIES, models, shard=f"{part}/3").records
            assert {(line["id"], line["model"] if len(models) > 1 else "") for line in found} == dealt
    for count, name in enumerate(("simple_python_0", "simple_python_1"), 1):
        assert planned("bundled", out=tmp_path / "run", ids=[name]) == count


SPLIT = {"name": "half", "sha256": "e" * 64, "part": "test", "ids": ["simple_python_1"]}
SPLIT["data"] = {"name": "bundled", "version": "", "sha256": open_data("bundled").sha256}


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"categories": ["live"]}, ""),
        ({"categories": ["python"]}, "012345"),
        ({"ids": ["simple_python_1", "simple_python_4"]}, "14"),
        ({"settings": Settings(split=SPLIT)}, "1"),
    ],
)
def test_of_given_entries_those_that_are_selected_run(options: dict[str, Any], chosen: str) -> None:
    told: list[Any] = []
    found = run(ENTRIES, Answering(), progress=told.append, **options)
    assert sorted(line["id"] for line in found.records) == [f"simple_python_{n}" for n in chosen]
    assert sorted(line["id"] for line in told) == sorted(line["id"] for line in found.records)


@pytest.mark.parametrize("official", [True, False])
def test_official_entries_need_the_texts_of_the_official_data(official: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(evaluation, "open_data", lambda name: (opened.append(name), open_data("bundled"))[1])
    dry_run([ENTRIES[0], ENTRIES[1].model_copy(update={"official": official})], "oracle:")
    assert opened == ["official" if official else "bundled"]


def test_a_sample_of_given_entries_is_drawn_by_the_seed() -> None:
    drawn = [
        [
            line["id"]
            for line in asyncio.run(
                arun(ENTRIES, "oracle:@fc", sample=2, settings=Settings(seed=seed, price=Price(1, 2)))
            ).records
        ]
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(len(ids) == 2 and {*ids} < {entry.id for entry in ENTRIES} for ids in drawn)


ORPHAN = ENTRIES[0].model_copy(update={"id": "memory_kv_0-a-0", "category": "memory_kv", "depends_on": ["nosuch_0"]})
OTHERS = {**SPLIT, "name": "s", "data": {"name": "x", "version": "1", "sha256": "0"}}


@pytest.mark.parametrize(
    ("model", "options", "why"),
    [
        (7, {}, r"^int was given as a model: give a text such as 'openai:NAME', a function \(request\)"),
        ("oracle:", {"entries": [ORPHAN]}, "memory_kv_0-a-0 needs nosuch_0, which the bundled data"),
        ("gpt-4o", {}, "names no provider"),
        ("oracle:", {"categories": ["poetry"]}, "poetry"),
        ("anthropic:m", {}, r"ANTHROPIC_API_KEY is not set\nwhat to do: export ANTHROPIC_API_KEY"),
        ("oracle:", {"settings": Settings(split=OTHERS)}, "the split s was made of x 1"),
        ("oracle:", {"settings": Settings(trained_on=OTHERS)}, "the split s was made of x 1"),
    ],
)
def test_a_wrong_argument_leaves_no_run_and_shows_the_callers_line_alone(
    model: Any, options: Any, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(UsageError, match=why) as caught:
        run(**{"entries": "bundled", "model": model, "out": tmp_path / "run", **options})
    assert len(caught.traceback) == 2  # this test and the public function
    assert not (tmp_path / "run").exists()


def test_run_inside_a_loop_says_what_to_do() -> None:
    async def inside() -> None:
        run(ENTRIES, Answering(), settings=SETTINGS)

    with pytest.raises(UsageError, match=r"await pytest_bfcl\.arun"):
        asyncio.run(inside())


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_oracle_passes_our_own_entries(mode: str, tmp_path: Path) -> None:
    names = ["single_turn", "memory_kv", "memory_rec_sum", "web_search"]
    result = run("bundled", f"oracle@{mode}", categories=names, settings=Settings(), out=tmp_path / "run")
    assert [record["id"] for record in result.records if record["outcome"] != "passed"] == []
    found = {record["category"] for record in result.records}
    assert found > {"simple_java", "memory_kv_prereq", "memory_rec_sum", "web_search_base", "web_search_no_snippet"}
    assert len(result.records) > 90


def test_judged_record_names_the_model_if_the_transcript_does_not() -> None:
    entry, turns = ENTRIES[0], [Turn(steps=[Step(Reply.from_output(call()))])]
    transcript = Transcript(entry.id, entry.category, mode="fc", underscore_names=True, turns=turns)
    record = judged_record(entry, transcript, model=Answering(), worker="gw1")
    assert (record["model"], record["worker"], record["outcome"]) == ("own:first@fc", "gw1", "passed")


@pytest.mark.parametrize(("rules", "made"), [("official", 1), ("corrected", 2)])
def test_facts_are_of_the_turn_in_which_the_leading_verdict_failed(
    rules: str, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [Verdict(False, FailureTag.WRONG_ANSWER, "x", {"turn": turn}) for turn in (0, 1)]
    judgement = SimpleNamespace(official=wrong[0], corrected=wrong[1], corrected_rules=(), extra={})
    monkeypatch.setattr(earlier, "judge_both", lambda *about, **how: judgement)
    turns = [Turn(steps=[Step(Reply.from_output(call()))] * count) for count in (1, 2)]
    record = judged_record(ENTRIES[0], Transcript("a", "simple_python", turns=turns), model=Answering(), rules=rules)
    assert record["facts"]["made"] == made


@pytest.mark.parametrize(("limit", "kind"), [(6, list), (5, StoredResults)])
def test_records_are_held_as_long_as_the_run_is_small(
    limit: int, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that grows, and one whose lines are all there, give the same lines either way."""
    held = run(ENTRIES, Answering(), settings=SETTINGS, out=tmp_path / "held")
    monkeypatch.setattr("pytest_bfcl.session.run.HELD_RECORDS", limit)
    monkeypatch.setattr(closing, "HELD_RECORDS", limit)
    for out in ("grown", "held"):
        found = run(ENTRIES, Answering(), settings=SETTINGS, out=tmp_path / out)
        assert isinstance(found.records, kind)
        assert [each["id"] for each in found.records] == [each["id"] for each in held.records]
    assert len(run(ENTRIES, Answering(), settings=SETTINGS).records) == 6, "without a directory they are held"


@pytest.mark.parametrize("there", [True, False])
def test_an_interrupted_run_gives_what_there_is(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    async def carry_out(self: Any, *more: Any) -> None:
        self.result = "the result" if there else None
        raise KeyboardInterrupt

    monkeypatch.setattr(WholeRun, "carry_out", carry_out)
    with pytest.raises(KeyboardInterrupt) as caught:
        run("bundled", "oracle:")
    assert caught.type is (RunInterrupted if there else KeyboardInterrupt)
    assert str(caught.value) == ("the run was interrupted" if there else "")
    assert getattr(caught.value, "result", None) == ("the result" if there else None)


def test_a_cancelled_run_is_written_down_and_stays_cancelled(tmp_path: Path) -> None:
    model = Answering(seconds=60)

    async def work() -> None:
        task = asyncio.ensure_future(arun(ENTRIES, model, out=tmp_path, settings=Settings(grace_s=0)))
        while not model.asked:
            await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())
    assert json.loads((tmp_path / "run.json").read_text())["state"] == "stopped:interrupted"


# -- score -------------------------------------------------------------------------------------------------------------

RIGHT = "[get_weather(city='Oslo')]"


def line(output: Any = RIGHT, **fields: Any) -> dict[str, Any]:
    return {**question("simple_python_0"), "category": "simple_python", "mode": "prompt", "output": output, **fields}


PASSED = (True, None, None)
MALFORMED = (False, "MALFORMED_OUTPUT", "ast_decoder:decoder_failed")


@pytest.mark.parametrize(
    ("output", "official", "corrected"),
    [
        (RIGHT, PASSED, PASSED),
        ("[get_weather(city='Rome')]", *[(False, "WRONG_ANSWER", "value_error:string")] * 2),
        ("no call", MALFORMED, MALFORMED),
        (f"```python\n{RIGHT}\n```", MALFORMED, PASSED),
    ],
)
def test_a_line_with_its_own_entry_is_judged_under_both_rules(output: str, official: Any, corrected: Any) -> None:
    for rules, wanted in (("official", official), ("corrected", corrected)):
        for given in (line(output), json.dumps(line(output))):
            (found,) = score_lines([given], rules=rules)
            assert [*found][:6] == ["id", "valid", "tag", "reason", "detail", "corrected_valid"]
            assert (found["valid"], found["tag"], found["reason"]) == wanted
            assert found["corrected_valid"] is corrected[0]


def test_lines_that_cannot_be_judged_are_told_one_by_one() -> None:
    broken: list[Any] = [b"{", "[1]", "[" * 100_000, {"output": "x"}, {"id": "x"}, line(7)]
    broken += [{"id": name, "output": ""} for name in ("simple_python_999999", "format_sensitivity_1:ret_fmt=poem:x_1")]
    out = list(score_lines(broken, open_data("bundled")))
    assert [set(each) for each in out] == [{"id", "error"}] * len(broken)
    assert [each["id"] for each in out[-2:]] == [each["id"] for each in broken[-2:]]
    assert ("simple_python_999999" in out[-2]["error"], "prompt configuration" in out[-1]["error"]) == (True, True)
    with pytest.raises(UsageError, match="rules are"):
        list(score_lines([], rules="mine"))


def test_score_streams() -> None:
    endless = iter(line, None)
    stream = score_lines(endless)
    assert [next(stream)["valid"] for _ in range(3)] == [True] * 3


def packed(path: Path, *lines: Any) -> Path:
    write_lines(path, [*lines])
    path.write_bytes(gzip.compress(path.read_bytes()))
    return path


@pytest.mark.parametrize(("source", "target"), [("in.jsonl", "out.jsonl"), ("in.jsonl.gz", "deep/er/out.jsonl.gz")])
def test_score_reads_and_writes_packed_files(
    tmp_path: Path, source: str, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write = packed if source.endswith("gz") else lambda path, *lines: write_lines(path, [*lines])
    assert main(["score", str(write(tmp_path / source, line(), line("nothing"))), "-o", str(tmp_path / target)]) == 0
    assert capsys.readouterr() == ("", "")
    raw = (tmp_path / target).read_bytes()
    text = gzip.decompress(raw) if target.endswith("gz") else raw
    assert [json.loads(each)["valid"] for each in text.splitlines()] == [True, False]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("-", 0, ""),
        ("in.jsonl --data bundled", 1, "1 line of in.jsonl not judged: line 2"),
        ("torn.jsonl.gz", 2, "torn.jsonl.gz"),
        ("in.jsonl -o .", 2, "Is a directory"),
    ],
)
def test_exit_codes_of_score(
    words: str,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of usage errors there are more among users' mistakes (tests/cli)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(line()).encode() + b"\n")))
    write_lines(tmp_path / "in.jsonl", [line(), {"id": "simple_python_x", "output": ""}])
    torn = packed(tmp_path / "torn.jsonl.gz", *[line()] * 200)
    torn.write_bytes(torn.read_bytes()[:-20])
    assert main(["score", *words.split()]) == code
    assert said in capsys.readouterr().err


def test_score_imports_neither_pytest_nor_litellm(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", [line()])
    code = (
        "import sys; from pytest_bfcl.cli import main; status = main(['score', sys.argv[1]]);"
        "heavy = {'pytest', 'litellm', 'httpx', 'aiohttp', 'numpy', 'scipy'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else status)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["valid"] is True
