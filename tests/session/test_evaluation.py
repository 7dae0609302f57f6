"""Runs without pytest, and judging of recorded lines."""

import asyncio
import gzip
import io
import json
import subprocess
import sys

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.session import closing
from pytest_bfcl.session.evaluation import RunInterrupted, judged_record, open_data, run, score_lines
from pytest_bfcl.session.whole_run import WholeRun
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, Step, ToolCall, Transcript, Turn

SETTINGS = Settings(concurrency=4)


def document(name="add.numbers"):
    return {
        "name": name,
        "description": "Adds.",
        "parameters": {
            "type": "dict",
            "properties": {
                "a": {"type": "integer", "description": "One."},
                "b": {"type": "integer", "description": "Two."},
            },
            "required": ["a", "b"],
        },
    }


def entries(count=6):
    return [
        Entry(
            id=f"simple_python_{n}",
            category="simple_python",
            question=[[{"role": "user", "content": f"Add {n} and 1."}]],
            function=[document()],
            possible_answer=[{"add.numbers": {"a": [n], "b": [1]}}],
        )
        for n in range(count)
    ]


def number_of(messages):
    return int(messages[-1]["content"].split()[1])


async def good(messages, tools):
    return Reply(
        tool_calls=(ToolCall(tools[0]["function"]["name"], json.dumps({"a": number_of(messages), "b": 1})),),
        input_tokens=100,
        output_tokens=10,
    )


class Counted:
    """A model that counts its requests; fails or errs on chosen entries."""

    spec = "own:counted@fc"
    mode = "fc"
    underscore_names = True

    def __init__(self, wrong=(), broken=()):
        self.wrong, self.broken = set(wrong), set(broken)
        self.asked = []

    async def generate(self, request):
        number = number_of(request.messages)
        self.asked.append(number)
        if number in self.broken:
            raise AdapterError("server", "status 503", status=503)
        a = 99 if number in self.wrong else number
        arguments = json.dumps({"a": a, "b": 1})
        return Reply(tool_calls=(ToolCall("add_numbers", arguments),), input_tokens=100, output_tokens=10)

    async def aclose(self):
        self.closed = True


def test_a_run_directory_is_continued(tmp_path):
    first = Counted(wrong={1}, broken={2})
    before = run(entries(), first, out=tmp_path / "run", settings=SETTINGS)
    assert (tmp_path / "run" / "summary.json").is_file()
    second = Counted()
    after = run(entries(), second, out=tmp_path / "run", settings=SETTINGS)
    assert second.asked == [2]  # only the error is asked again
    assert after.counts == {"simple_python": (5, 6)}
    assert before.counts == {"simple_python": (4, 5)}
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "finished"


def test_a_lost_results_file_costs_no_request(tmp_path):
    run(entries(), Counted(), out=tmp_path / "run", settings=SETTINGS)
    (tmp_path / "run" / "results.jsonl").unlink()
    again = Counted()
    assert run(entries(), again, out=tmp_path / "run", settings=SETTINGS).counts == {"simple_python": (6, 6)}
    assert again.asked == []


def test_entries_of_this_part_are_planned_and_those_of_earlier_ones(tmp_path):
    def planned(data, **selection):
        summary = run(data, "oracle:@fc", settings=SETTINGS, **selection).summary
        return summary["models"]["oracle:@fc"]["categories"]["simple_python"]["planned"]

    for shard in ("1/3", "2/3"):
        assert planned(entries(), shard=shard) == 2
    for count, name in enumerate(("simple_python_0", "simple_python_1"), 1):
        assert planned("bundled", out=tmp_path / "run", ids=[name]) == count


def test_progress_and_categories():
    told = []
    result = run(entries(), good, settings=SETTINGS, categories=["live"], progress=told.append)
    assert result.records == told == []
    run(entries(2), good, settings=SETTINGS, categories=["python"], progress=told.append)
    assert len(told) == 2


def test_run_inside_a_loop_says_what_to_do():
    async def main():
        run(entries(2), good, settings=SETTINGS)

    with pytest.raises(UsageError, match=r"await pytest_bfcl\.arun"):
        asyncio.run(main())


def test_unusable_models_and_categories_are_usage_errors():
    with pytest.raises(UsageError):
        run(entries(), 7, settings=SETTINGS)
    with pytest.raises(UsageError, match="poetry"):
        run(entries(), good, categories=["poetry"])


def test_a_key_that_is_not_there_is_a_usage_error_and_leaves_no_run(tmp_path, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(UsageError, match=r"ANTHROPIC_API_KEY is not set\nwhat to do: export ANTHROPIC_API_KEY"):
        run(entries(), "anthropic:m", out=tmp_path / "run", settings=SETTINGS)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_oracle_passes_our_own_entries(mode, tmp_path):
    names = ["single_turn", "memory_kv", "memory_rec_sum", "web_search"]
    result = run("bundled", f"oracle@{mode}", categories=names, settings=Settings(), out=tmp_path / "run")
    assert [record["id"] for record in result.records if record["outcome"] != "passed"] == []
    found = {record["category"] for record in result.records}
    assert found > {"simple_java", "memory_kv_prereq", "memory_rec_sum", "web_search_base", "web_search_no_snippet"}
    assert len(result.records) > 90


def test_judged_record_names_the_model_if_the_transcript_does_not():
    (entry,) = entries(1)
    reply = Reply(tool_calls=(ToolCall("add_numbers", '{"a": 0, "b": 1}'),))
    transcript = Transcript(
        entry.id, entry.category, mode="fc", underscore_names=True, turns=[Turn(steps=[Step(reply)])]
    )
    record = judged_record(entry, transcript, model=Counted(), worker="gw1")
    assert (record["model"], record["worker"], record["outcome"]) == ("own:counted@fc", "gw1", "passed")


# -- score -------------------------------------------------------------------------------------------------------------


def line(output="[add.numbers(a=1, b=2)]", **fields):
    return {
        "id": "simple_python_0",
        "category": "simple_python",
        "function": [document()],
        "possible_answer": [{"add.numbers": {"a": [1], "b": [2]}}],
        "mode": "prompt",
        "output": output,
    } | fields


def test_lines_with_their_own_question_need_no_data():
    out = list(score_lines([line(), line("[add.numbers(a=1, b=3)]"), json.dumps(line("no call"))]))
    assert [o["valid"] for o in out] == [True, False, False]
    assert out[0] == {
        "id": "simple_python_0", "valid": True, "tag": None, "reason": None, "detail": {}, "corrected_valid": True,
    }  # fmt: skip
    assert (out[1]["tag"], out[1]["reason"]) == ("WRONG_ANSWER", "value_error:others")
    assert (out[2]["tag"], out[2]["reason"]) == ("MALFORMED_OUTPUT", "ast_decoder:decoder_failed")


def test_both_rule_sets():
    fenced = line("```python\n[add.numbers(a=1, b=2)]\n```")
    (official,) = score_lines([fenced])
    (corrected,) = score_lines([fenced], rules="corrected")
    assert (official["valid"], official["corrected_valid"]) == (False, True)
    assert (corrected["valid"], corrected["reason"]) == (True, None)
    with pytest.raises(UsageError):
        list(score_lines([], rules="mine")) or list(score_lines([fenced], rules="mine"))


def test_lines_that_cannot_be_judged():
    data = open_data("bundled")
    broken = [
        b"{",
        "[1]",
        "[" * 100_000,
        {"id": "simple_python_999999", "output": ""},
        {"output": "x"},
        {"id": "x"},
        line(7),
    ]
    out = list(score_lines(broken, data))
    assert len(out) == len(broken)
    assert all(set(o) == {"id", "error"} for o in out)
    assert out[3]["id"] == "simple_python_999999"
    assert "simple_python_999999" in out[3]["error"]


def test_score_streams():
    consumed = []

    def lines():
        for number in range(10_000_000):
            consumed.append(number)
            yield line()

    stream = score_lines(lines())
    for _ in range(3):
        next(stream)
    assert len(consumed) == 3


def test_format_sensitivity_ids_carry_their_configuration():
    data = open_data("bundled")
    original = data.index("simple_python")[0].id
    entry = data.entry(original)
    (answer,) = entry.possible_answer
    ((name, parameters),) = answer.items()
    values = {key: next(v for v in allowed if v != "") for key, allowed in parameters.items() if "" not in allowed}
    config = "ret_fmt=json&tool_call_tag=True&func_doc_fmt=xml&prompt_fmt=plaintext&style=classic"
    text = json.dumps([{"function": name, "parameters": values}])
    good_line = {"id": f"format_sensitivity_77777:{config}:{original}", "output": f"<TOOLCALL>{text}</TOOLCALL>"}
    untagged = {**good_line, "output": text}
    broken = {"id": f"format_sensitivity_1:ret_fmt=poem:{original}", "output": ""}
    out = list(score_lines([good_line, untagged, broken], data))
    assert out[0]["valid"] is True
    assert out[1]["valid"] is False
    assert "prompt configuration" in out[2]["error"]


@pytest.fixture
def scored(tmp_path, capsys):
    def score(*arguments):
        code = main(["score", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return score


def write_lines(path, lines):
    text = "".join(json.dumps(each) + "\n" for each in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read_lines(path):
    raw = path.read_bytes()
    return [json.loads(text) for text in (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines()]


@pytest.mark.parametrize(("source", "target"), [("in.jsonl", "out.jsonl"), ("in.jsonl.gz", "deep/er/out.jsonl.gz")])
def test_score_verb(tmp_path, scored, source, target):
    path = write_lines(tmp_path / source, [line(), line("nothing")])
    code, out, err = scored(path, "-o", tmp_path / target)
    assert (code, out, err) == (0, "", "")
    assert [verdict["valid"] for verdict in read_lines(tmp_path / target)] == [True, False]


def test_score_verb_exit_codes(tmp_path, scored):
    path = write_lines(tmp_path / "in.jsonl", [line(), {"id": "simple_python_x", "output": ""}])
    code, out, _ = scored(path, "--data", "bundled")
    assert code == 1
    assert "error" in json.loads(out.splitlines()[1])
    assert scored(tmp_path / "missing.jsonl")[0] == 2
    assert scored(path, "--rules", "mine")[0] == 2
    assert scored(path, "-o", tmp_path)[0] == 2


def test_score_verb_on_a_torn_archive(tmp_path, scored):
    path = write_lines(tmp_path / "in.jsonl.gz", [line()] * 200)
    path.write_bytes(path.read_bytes()[:-20])
    code, _, err = scored(path)
    assert code == 2
    assert "in.jsonl.gz" in err


def test_score_verb_reads_standard_input(tmp_path, scored, monkeypatch):
    class Input:
        buffer = io.BytesIO(json.dumps(line()).encode() + b"\n")

    monkeypatch.setattr(sys, "stdin", Input)
    code, out, _ = scored("-")
    assert code == 0
    assert json.loads(out)["valid"] is True


def test_score_imports_neither_pytest_nor_litellm(tmp_path):
    path = write_lines(tmp_path / "in.jsonl", [line()])
    code = (
        "import sys; from pytest_bfcl.cli import main; status = main(['score', sys.argv[1]]);"
        "heavy = {'pytest', 'litellm', 'httpx', 'aiohttp', 'numpy', 'scipy'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else status)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["valid"] is True


def test_records_are_held_as_long_as_the_run_is_small(tmp_path, monkeypatch):
    held = run(entries(), good, settings=SETTINGS, out=tmp_path / "run")
    assert isinstance(held.records, list)
    monkeypatch.setattr("pytest_bfcl.session.run.HELD_RECORDS", len(held.records))
    assert isinstance(run(entries(), good, settings=SETTINGS, out=tmp_path / "full").records, list)
    monkeypatch.setattr("pytest_bfcl.session.run.HELD_RECORDS", 5)
    monkeypatch.setattr(closing, "HELD_RECORDS", 5)
    grown = run(entries(), good, settings=SETTINGS, out=tmp_path / "grown")
    assert not isinstance(grown.records, list)
    assert [each["id"] for each in grown.records] == [each["id"] for each in held.records]
    again = run(entries(), good, settings=SETTINGS, out=tmp_path / "run")  # everything is there
    assert not isinstance(again.records, list)
    assert list(again.records) == held.records


@pytest.mark.parametrize("there", [True, False])
def test_an_interrupted_run_gives_what_there_is(monkeypatch, there):
    async def carry_out(self, *more):
        self.result = "the result" if there else None
        raise KeyboardInterrupt

    monkeypatch.setattr(WholeRun, "carry_out", carry_out)
    with pytest.raises(RunInterrupted if there else KeyboardInterrupt) as caught:
        run("bundled", "oracle:")
    assert getattr(caught.value, "result", None) == ("the result" if there else None)


def test_splits_of_other_data_are_refused():
    split = {"name": "s", "sha256": "", "part": "test", "ids": [], "data": {"name": "x", "version": "1", "sha256": "0"}}
    for settings in (Settings(split=split), Settings(trained_on=split)):
        with pytest.raises(UsageError, match="the split s was made of x 1"):
            run("bundled", "oracle:", settings=settings)


def test_a_wrong_argument_shows_the_callers_line_alone() -> None:
    with pytest.raises(UsageError, match="names no provider") as caught:
        run("bundled", "gpt-4o")
    assert len(caught.traceback) == 2  # this test and the public function
