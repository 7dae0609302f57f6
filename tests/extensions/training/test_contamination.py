"""Entries are found in training data by what they say, whatever files, ids, columns and punctuation are."""

from __future__ import annotations

import html
import json
import random
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.decoding.ground_truth import ground_truth_calls, turn_ground_truth_calls
from pytest_bfcl.extensions.training.splits import entries_of
from pytest_bfcl.extensions.training.training_rows import sayings_of, turns_of, words
from pytest_bfcl.failures import UsageError
from pytest_bfcl.selection.splits import Split
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.transcript import Call

pytest.importorskip("datasketch", reason="needs the extra contamination")
from pytest_bfcl.extensions.training.contamination import Benchmark, Report
from pytest_bfcl.extensions.training.training_rows import Row, files_of, rows_of

OURS = open_data("bundled")


@pytest.fixture(scope="module")
def benchmark_of_ours() -> Benchmark:
    return Benchmark(OURS)


def said(entry: Entry) -> str:
    return "\n".join(turns_of(entry))


NOTHING = {"type": "dict", "properties": {}, "required": []}
LONG = [entry for entry in entries_of(OURS) if len(words(said(entry))) >= 14]


def shouted(text: str) -> str:
    return text.upper().replace(".", " !! ").replace(",", " – ")


def rows_with(value: Any, tmp_path: Path) -> list[Row]:
    file = tmp_path / "train.jsonl"
    file.write_text(json.dumps(value) + "\n")
    return list(rows_of(file))


EXACT: dict[str, Callable[[str], Any]] = {
    "text": lambda text: {"text": text},
    "messages": lambda text: {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    },
    "conversations": lambda text: {"conversations": [{"from": "human", "value": text}]},
    "JSON in a column": lambda text: {"row": json.dumps({"question": [[{"role": "user", "content": text}]]})},
    "a list": lambda text: ["x", [text]],
    "shouted": shouted,
    "embedded": lambda text: f"### Instruction: {text} ### Response: certainly",
    "zero width": "\u200b".join,
    "look-alikes": lambda text: text.replace("o", "\u043e").replace("e", "\u0435"),
    "HTML": lambda text: html.escape(text).replace(" ", "&nbsp;"),
    "soft hyphens": lambda text: text.replace(" ", "\u00a0\u00ad"),
    "decomposed": lambda text: unicodedata.normalize("NFD", text).upper(),
}
ALIKE: dict[str, Callable[[str], Any]] = {
    "one other word": lambda text: " ".join([*text.split()[:-1], "tomorrow"]),
    "most of it": lambda text: " ".join(text.split()[: max(12, 5 * len(text.split()) // 6)]),
}


WAYS = {"one other word": {"equal", "n-gram", "near"}, "most of it": {"equal", "near"}}


@pytest.mark.parametrize("name", [*EXACT, *ALIKE])
def test_questions_are_found_however_they_are_written(benchmark_of_ours: Benchmark, name: str, tmp_path: Path) -> None:
    ways = set()
    for entry in LONG[::18]:
        (row,) = rows_with((EXACT | ALIKE)[name](said(entry)), tmp_path)
        found = {each.entry_id: each.how for each in benchmark_of_ours.findings_in(row) if each.kind == "question"}
        ways.add(found.get(entry.id, "missed"))
    assert ways == WAYS.get(name, {"equal"})


def python(call: Call) -> str:
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


def pair(call: Call) -> dict[str, Any]:
    return {"name": call.name, "arguments": dict(call.arguments)}


def elements(call: Call, opening: str, argument: str, closing: str) -> str:
    values = {key: value if isinstance(value, str) else json.dumps(value) for key, value in call.arguments.items()}
    return opening % call.name + "".join(argument % each for each in values.items()) + closing


Calls = list[Call]
WRITTEN: dict[str, Callable[[Calls], Any]] = {
    "Hermes": lambda calls: "".join(f"<tool_call>\n{json.dumps(pair(each))}\n</tool_call>" for each in calls),
    "Mistral": lambda calls: f"<s>[INST] Go on.[/INST][TOOL_CALLS]{json.dumps([pair(each) for each in calls])}</s>",
    "Llama": lambda calls: "<|start_header_id|>assistant<|end_header_id|>\n\n" + "; ".join(
        json.dumps({"name": each.name, "parameters": each.arguments}) for each in calls) + "<|eot_id|>",
    "pythonic": lambda calls: f"[{', '.join(map(python, calls))}]",
    "ToolACE": lambda calls: {"from": "assistant", "value": f"[{', '.join(map(python, calls))}]"},
    "code": lambda calls: "Sure:\n```python\n" + "\n".join(f"r = {python(each)}" for each in calls) + "\n```",
    "fenced JSON": lambda calls: f"Sure:\n```json\n{json.dumps([pair(each) for each in calls], indent=2)}\n```\nDone.",
    "name: arguments": lambda calls: json.dumps([{each.name: each.arguments} for each in calls]),
    "Glaive": lambda calls: "USER: Go on.\n\nASSISTANT: " + " ".join(
        f'<functioncall> {{"name": "{each.name}", "arguments": \'{json.dumps(each.arguments)}\'}}' for each in calls),
    "Gemini": lambda calls: [{"functionCall": {"name": each.name, "args": each.arguments}} for each in calls],
    "Qwen's XML": lambda calls: "".join(elements(
        each, "<tool_call>\n<function=%s>\n", "<parameter=%s>\n%s\n</parameter>\n", "</function>\n</tool_call>")
        for each in calls),
    "GLM": lambda calls: "<|assistant|>" + "".join(elements(
        each, "<tool_call>%s\n", "<arg_key>%s</arg_key>\n<arg_value>%s</arg_value>\n", "</tool_call>")
        for each in calls),
    "OpenAI": lambda calls: [{"type": "function", "function": {**pair(each), "arguments": json.dumps(each.arguments)}}
                             for each in calls],
    "Anthropic": lambda calls: [{"type": "tool_use", "name": each.name, "input": each.arguments} for each in calls],
    "xLAM": lambda calls: {"query": "Go on.", "answers": json.dumps([pair(each) for each in calls])},
    "ReAct": lambda calls: "".join(
        f"Thought: x\nAction: {each.name}\nAction Input: {json.dumps(each.arguments)}\nObservation: 1\n"
        for each in calls),
    "functionary": lambda calls: "".join(f">>>{each.name}\n{json.dumps(each.arguments)}" for each in calls),
    "DeepSeek": lambda calls: "<｜tool▁calls▁begin｜>" + "".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{each.name}\n```json\n{json.dumps(each.arguments)}\n```<｜tool▁call▁end｜>"
        for each in calls) + "<｜tool▁calls▁end｜>",
}  # fmt: skip


def calls_of(entry: Entry) -> Calls:
    if entry.row.checker != "state":
        return list(ground_truth_calls(entry))
    return [call for turn in range(len(entry.question)) for call in turn_ground_truth_calls(entry, turn)]


CALLING = [entry for entry in entries_of(OURS) if entry.row.checker in ("ast", "state") and calls_of(entry)][::8]


def found_in(benchmark: Benchmark, value: Any, tmp_path: Path) -> set[str]:
    (row,) = rows_with({"column": value}, tmp_path)
    return {each.entry_id for each in benchmark.findings_in(row) if each.kind == "calls"}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_calls_are_found_in_any_format(
    benchmark_of_ours: Benchmark, written: Callable[[Calls], Any], tmp_path: Path
) -> None:
    missed = [e.id for e in CALLING if e.id not in found_in(benchmark_of_ours, written(calls_of(e)), tmp_path)]
    assert len(missed) <= len(CALLING) / 20, missed


def test_answers_of_the_benchmark_are_calls(benchmark_of_ours: Benchmark, tmp_path: Path) -> None:
    values = {entry.id: {"id": "x", "ground_truth": entry.possible_answer} for entry in CALLING}
    missed = [each for each, value in values.items() if each not in found_in(benchmark_of_ours, value, tmp_path)]
    assert len(missed) <= len(CALLING) / 20, missed


def test_any_acceptable_value_and_one_call_fewer(benchmark_of_ours: Benchmark, tmp_path: Path) -> None:
    entry = OURS.entry("simple_python_1")
    ((name, allowed),) = entry.possible_answer[0].items()  # type: ignore[index]
    last = Call(name.upper(), {key: values[-1] for key, values in allowed.items() if values[-1] != ""})
    assert "simple_python_1" in found_in(benchmark_of_ours, pair(last), tmp_path)
    wrong = Call(name, dict.fromkeys(last.arguments, "something else"))
    assert not found_in(benchmark_of_ours, pair(wrong), tmp_path)
    many = next(entry for entry in CALLING if len(calls_of(entry)) >= 6)
    fewer = [pair(each) for each in calls_of(many)[:-1]]
    assert many.id in found_in(benchmark_of_ours, fewer, tmp_path)
    assert many.id not in found_in(benchmark_of_ours, fewer[:-1], tmp_path)


def test_short_questions_are_found_inside_longer_texts(benchmark_of_ours: Benchmark, tmp_path: Path) -> None:
    short = [entry for entry in entries_of(OURS) if 5 <= len(words(said(entry))) < 8]
    assert short
    for entry in short:
        text = f"Here is what I was asked yesterday. {said(entry)} Nobody could say, so I ask again and wait."
        (row,) = rows_with({"text": text}, tmp_path)
        assert entry.id in {each.entry_id for each in benchmark_of_ours.findings_in(row)}


def test_other_texts_and_tools_alone_are_no_contamination(benchmark_of_ours: Benchmark) -> None:
    rng = random.Random(7)
    vocabulary = sorted({word for entry in LONG for word in words(said(entry))})
    report = Report(benchmark_of_ours.entries)
    for number in range(300):
        text = " ".join(rng.choices(vocabulary, k=30))
        report.take(benchmark_of_ours.findings_in(Row(f"x:{number}", [text])))
    row = Row("t:1", objects=[{"name": "get_weather", "parameters": {"properties": {"city": {}}}}])
    report.take(benchmark_of_ours.findings_in(row))
    assert not report.contaminated(), list(report.lines())


def test_every_format_of_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra tables")
    from pyarrow import ipc, parquet

    values = [{"text": f"number {number}", "n": number} for number in range(5)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, values)))
    (tmp_path / "b.json").write_text(json.dumps(values))
    (tmp_path / "c.json").write_text("\n".join(map(json.dumps, values)))  # as the official files are
    table = pyarrow.Table.from_pylist(values)
    parquet.write_table(table, tmp_path / "d.parquet")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "dataset_info.json").write_text("{}")
    with ipc.new_stream(str(tmp_path / "saved" / "data-00000.arrow"), table.schema) as sink:
        sink.write_table(table)
    files = files_of(tmp_path)
    assert len(files) == 5
    for file in files:
        assert [row.texts for row in rows_of(file)] == [[f"number {number}"] for number in range(5)], file


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", b'{"a": 1}\n{broken', r"a.jsonl:2 is no JSON"),
        ("a.json", b"[" * 100_000, "nested too deeply|is no JSON"),
        ("a.parquet", b"PAR1 nonsense", "cannot be read"),
        ("a.arrow", b"nonsense", "cannot be read"),
        ("a.csv", b"x", "training data ends in"),
    ],
)
def test_bad_files_are_said(name: str, content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=told):
        for file in files_of(tmp_path / name):
            list(rows_of(file))


def test_the_verb_counts_marks_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, mark, out = tmp_path / "train.jsonl", tmp_path / "found.split.json", tmp_path / "found.json"
    other = {"prompt": "something else that nobody asks here"}
    lines = [*({"prompt": shouted(said(entry))} for entry in LONG[:6]), other]
    train.write_text("\n".join(map(json.dumps, lines)))
    assert (
        main(["validate", "training", str(train), "--against", "bundled", "--mark", str(mark), "--json", str(out)]) == 1
    )
    told = capsys.readouterr().out
    assert "7 rows against" in told
    assert f"{train}:1" in told
    found = json.loads(out.read_text())
    assert {entry.id for entry in LONG[:6]} <= set(found["contaminated"])
    split = Split.read(mark)
    assert set(split.ids("train")) == set(found["contaminated"])
    split.check(OURS)
    train.write_text(json.dumps(other))
    assert main(["validate", "training", str(train), "--against", "bundled"]) == 0
    assert main(["validate", "training", str(tmp_path / "nothing"), "--against", "bundled"]) == 2


@pytest.mark.slow
def test_the_official_set_in_its_own_files(official: DataSet, official_dir: Path) -> None:
    """Every question that says enough is found in a copy of the official folder."""
    report, benchmark = Report(0), Benchmark(official)
    for file in files_of(official_dir):
        for row in rows_of(file):
            report.take(benchmark.findings_in(row))
    found = {entry_id for entry_id, kind in report.best if kind == "question"}
    long = {entry.id for entry in entries_of(official) if any(len(words(text)) >= 5 for text in sayings_of(entry))}
    assert long <= found


def test_a_copy_of_the_official_set_is_still_a_test_set(official_dir: Path, tmp_path: Path) -> None:
    from pytest_bfcl.extensions.training.tasks import tasks

    copy = tmp_path / "mine"
    shutil.copytree(official_dir, copy)
    with pytest.raises(UsageError, match="test set"):
        tasks(copy)
    line = {
        "id": "simple_python_my_own", "question": [[{"role": "user", "content": ""}]],
        "function": [{"name": "f", "description": "F.", "parameters": NOTHING}],
        "possible_answer": [{"f": {}}],
    }  # fmt: skip
    question = next(entries_of(open_data("official"))).question
    line["question"] = [[{"role": "user", "content": shouted(question[0][0]["content"])}]]
    own = tmp_path / "mine.jsonl"
    own.write_text(json.dumps(line) + "\n")
    with pytest.raises(UsageError, match="simple_python_my_own"):
        tasks(own)
