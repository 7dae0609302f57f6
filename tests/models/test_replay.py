"""Stored replies as a model."""

from __future__ import annotations

import gzip
import json

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import create_model
from pytest_bfcl.models.base import Request
from pytest_bfcl.settings import Settings
from tests.models.loopback import CLOCK, run


def entry(entry_id="simple_python_0", category="simple_python", turns=1):
    return Entry(
        id=entry_id, category=category, question=[[{"role": "user", "content": "?"}]] * turns, function=[CLOCK]
    )


def replay(tmp_path, *lines, name="out.jsonl", suffix=""):
    path = tmp_path / name
    data = "\n".join(json.dumps(line) for line in lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return create_model(f"replay:{path}{suffix}", Settings())


BARE = {"id": "simple_python_0", "category": "simple_python", "output": "x"}
LINE = {**BARE, "mode": "prompt"}
FC = {**LINE, "mode": "fc", "output": "y"}
FAILED = {**LINE, "outcome": "error", "output": None}


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_minimal_line(tmp_path, name):
    model = replay(tmp_path, BARE, name=name, suffix="@prompt")
    assert (model.spec, model.mode, model.underscore_names, len(model)) == ("replay:out@prompt", "prompt", False, 1)
    transcript = model.transcript_for(entry())
    assert (transcript.first_reply.text, transcript.model, transcript.mode) == ("x", model.spec, "prompt")
    assert transcript.turns[0].messages == [{"role": "user", "content": "?"}]
    assert run(model.generate(Request(entry(), []))).text == "x"
    for turn, step in ((0, 1), (1, 0)):
        with pytest.raises(AdapterError, match=f"turn {turn}, step {step}"):
            run(model.generate(Request(entry(), [], turn=turn, step=step)))


@pytest.mark.parametrize(
    ("lines", "warning", "kept"),
    [([{**LINE, "output": text} for text in "acb"], "2 repeated", "b"),
     ([LINE, '{"id": "simple_py'], "1 damaged", "x")],
)  # fmt: skip
def test_lines_that_do_not_count_are_told(tmp_path, lines, warning, kept):
    path = tmp_path / "out.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    with pytest.warns(UserWarning, match=warning):
        model = create_model(f"replay:{path}", Settings())
    assert (len(model), model.transcript_for(entry()).first_reply.text) == (1, kept)


def test_categories_without_a_line_are_not_run(tmp_path):
    model = replay(tmp_path, LINE)
    assert (model.lacks("simple_python"), model.lacks("memory_kv_prereq")) == (None, None)
    assert "holds no answer of its category" in model.lacks("web_search_base")
    stage = Entry(id="memory_kv_prereq_0-student-0", category="memory_kv_prereq", question=[[]])
    assert model.transcript_for(stage).turns == []
    line = {"id": stage.id, "mode": "prompt", "trajectory": [["noted"]]}
    assert len(replay(tmp_path, line).transcript_for(stage).turns) == 1


@pytest.mark.parametrize(
    ("lines", "suffix", "spec", "text"),
    [
        ([LINE], "", "replay:out@prompt", "x"),
        ([{**LINE, "model": None}, {**LINE, "id": "a"}], "", "replay:out@prompt", "x"),
        ([BARE], "@fc", "replay:out@fc", "x"),
        ([LINE, FC], "@fc", "replay:out@fc", "y"), ([LINE, FC], "@prompt", "replay:out@prompt", "x"),
        ([{**LINE, "model": "a:b@prompt"}, {**LINE, "id": "simple_python_1"}], "", "a:b@prompt", "x"),
        ([{**LINE, "model": "a:b@fc"}], "", "a:b@prompt", "x"), ([{**LINE, "model": "a:b"}], "#a:b", "a:b@prompt", "x"),
        ([{**LINE, "model": "a:b@prompt"}, {**FC, "model": "c"}], "#a:b", "a:b@prompt", "x"),
        ([{**LINE, "model": "a:b@prompt"}], "#a:b", "a:b@prompt", "x"),
        ([{**LINE, "model": "a:b@prompt"}, {**FC, "model": "a:b@fc"}], "@prompt", "a:b@prompt", "x"),
    ],
)  # fmt: skip
def test_names_and_modes_of_stored_models(tmp_path, lines, suffix, spec, text):
    model = replay(tmp_path, *lines, suffix=suffix)
    assert (model.spec, model.transcript_for(entry()).first_reply.text) == (spec, text)
    assert model.notes == []


@pytest.mark.parametrize(
    ("lines", "suffix", "said"),
    [
        ([], "", "no replay line"), ([{"category": "x", "output": ""}], "", "id is missing"),
        ([{**BARE, "mode": "morse"}], "", 'mode is "morse"'), ([BARE], "", "mode of its texts is not known"),
        ([LINE, FC], "", "both modes"), ([{"id": "simple_python_0"}], "", "none has output or trajectory"),
        ([LINE], "@fc", "holds no replies in mode fc"),
        ([LINE], "#other", "has no model 'other'; it has: none named"),
        ([{**LINE, "model": "b"}, {**LINE, "model": "a"}], "", "several models.*#MODEL: a, b"),
    ],
)  # fmt: skip
def test_lines_that_cannot_be_replayed(tmp_path, lines, suffix, said):
    with pytest.raises(UsageError, match=said):
        replay(tmp_path, *lines, suffix=suffix)


def test_json_over_several_lines_is_no_file_of_lines(tmp_path):
    (tmp_path / "out.jsonl").write_text(json.dumps([LINE, FC], indent=1))
    with pytest.raises(UsageError, match=r"out\.jsonl: "):
        create_model(f"replay:{tmp_path}/out.jsonl", Settings())


def test_calls_prove_the_mode_of_a_line_without_one(tmp_path):
    called = {**BARE, "output": [{"name": "clock", "arguments": "{}"}]}
    assert replay(tmp_path, called, {**called, "id": "simple_python_1"}).spec == "replay:out@fc"


@pytest.mark.parametrize(
    ("path", "said"), [("/no/such/file.jsonl", "does not exist"), ("/no/such#m", "does not exist"), ("", "replay:PATH")]
)
def test_paths(path, said):
    with pytest.raises(UsageError, match=said):
        create_model(f"replay:{path}", Settings())


@pytest.mark.parametrize(
    ("line", "asked", "kind", "said"),
    [
        (LINE, "simple_python_9", "not_recorded", "no reply for simple_python_9$"),
        ({**FAILED, "reason": "adapter:timeout", "detail": {"error": "too slow"}}, "simple_python_0", "timeout",
         "too slow"),
        ({**FAILED, "output": "x", "reason": "adapter:server", "incomplete": True, "detail": {}}, "simple_python_0",
         "server", "."),  # half a conversation
        (FAILED, "simple_python_0", "not_recorded", "."),
        ({**FAILED, "reason": "harness:storage"}, "simple_python_0", "not_recorded", "."),
    ],
)  # fmt: skip
def test_what_failed_or_was_not_recorded_is_an_error(tmp_path, line, asked, kind, said):
    with pytest.raises(AdapterError, match=said) as caught:
        replay(tmp_path, line).transcript_for(entry(asked))
    assert caught.value.kind == kind
