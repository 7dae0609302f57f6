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


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_minimal_line(tmp_path, name):
    line = {"id": "simple_python_0", "category": "simple_python", "output": "[f()]"}
    with pytest.raises(UsageError, match="mode of its texts is not known"):
        replay(tmp_path, line, name=name)
    assert replay(tmp_path, line, name=name, suffix="@fc").mode == "fc"
    model = replay(tmp_path, line, name=name, suffix="@prompt")
    assert (model.spec, model.mode, model.underscore_names, len(model)) == ("replay:out@prompt", "prompt", False, 1)
    transcript = model.transcript_for(entry())
    assert transcript.first_reply.text == "[f()]"
    assert (transcript.model, transcript.mode) == (model.spec, "prompt")
    assert transcript.turns[0].messages == [{"role": "user", "content": "?"}]
    assert run(model.generate(Request(entry(), []))).text == "[f()]"


def test_mixed_modes_need_a_suffix(tmp_path):
    lines = [
        {"id": "simple_python_0", "category": "simple_python", "mode": "fc", "output": "a"},
        {"id": "simple_python_0", "category": "simple_python", "mode": "prompt", "output": "b"},
    ]
    with pytest.raises(UsageError, match="both modes"):
        replay(tmp_path, *lines)
    for mode, text in (("fc", "a"), ("prompt", "b")):
        assert replay(tmp_path, *lines, suffix=f"@{mode}").transcript_for(entry()).first_reply.text == text


def test_the_last_of_a_repeated_id_counts_with_a_warning(tmp_path):
    lines = [{"id": "simple_python_0", "category": "simple_python", "mode": "prompt", "output": text} for text in "acb"]
    with pytest.warns(UserWarning, match="2 repeated"):
        model = replay(tmp_path, *lines)
    assert model.transcript_for(entry()).first_reply.text == "b"


def test_what_was_not_recorded(tmp_path):
    model = replay(tmp_path, {"id": "simple_python_0", "category": "simple_python", "output": ""})
    with pytest.raises(AdapterError) as caught:
        model.transcript_for(entry("simple_python_9"))
    assert caught.value.kind == "not_recorded"
    assert "simple_python_9" in str(caught.value)
    with pytest.raises(AdapterError, match="turn 0, step 1"):
        run(model.generate(Request(entry(), [], step=1)))
    stage = Entry(id="memory_kv_prereq_0-student-0", category="memory_kv_prereq", question=[[]])
    assert model.transcript_for(stage).turns == []
    line = {"id": stage.id, "mode": "prompt", "trajectory": [["noted"]]}
    assert len(replay(tmp_path, line).transcript_for(stage).turns) == 1


def test_recorded_errors_stay_errors(tmp_path):
    line = {"id": "simple_python_0", "category": "simple_python", "outcome": "error", "reason": "adapter:timeout",
            "output": None, "detail": {"error": "too slow"}}  # fmt: skip
    with pytest.raises(AdapterError, match="too slow") as caught:
        replay(tmp_path, line).transcript_for(entry())
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "no replay line"), (b'{"category": "x", "output": ""}\n', "id is missing"),
     (b'{"id": "a_1", "mode": "morse", "output": ""}\n', 'mode is "morse"')],
)  # fmt: skip
def test_unusable_files(tmp_path, content, message):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        create_model(f"replay:{path}", Settings())


def test_paths():
    with pytest.raises(UsageError, match="does not exist"):
        create_model("replay:/no/such/file.jsonl", Settings())
    with pytest.raises(UsageError, match="replay:PATH"):
        create_model("replay:", Settings())


def test_damaged_lines_are_told(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"id": "simple_python_0", "category": "simple_python", "mode": "fc", "output": "ok"}\n{"id": "simple_py'
    )
    with pytest.warns(UserWarning, match="1 damaged"):
        model = create_model(f"replay:{path}", Settings())
    assert len(model) == 1


def test_categories_without_a_line_are_not_run(tmp_path):
    model = replay(tmp_path, {"id": "simple_python_0", "category": "simple_python", "mode": "prompt", "output": "f()"})
    assert model.lacks("simple_python") is None
    assert model.lacks("memory_kv_prereq") is None
    assert "holds no answer of its category" in model.lacks("web_search_base")


LINE = {"id": "simple_python_0", "category": "simple_python", "mode": "prompt", "output": "x"}


@pytest.mark.parametrize(
    ("lines", "suffix", "spec"),
    [
        ([LINE], "", "replay:out@prompt"),
        ([{**LINE, "model": "a:b@prompt"}, {**LINE, "id": "simple_python_1"}], "", "a:b@prompt"),
        ([{**LINE, "model": "a:b@fc"}], "", "a:b@prompt"), ([{**LINE, "model": "a:b"}], "#a:b", "a:b@prompt"),
        ([{**LINE, "model": "a:b@prompt"}, {**LINE, "model": "c", "mode": "fc"}], "#a:b", None),
        ([{**LINE, "model": "a:b@prompt"}], "#a:b", "a:b@prompt"),
        ([{**LINE, "model": "a:b@prompt"}, {**LINE, "model": "a:b@fc", "mode": "fc"}], "@prompt", "a:b@prompt"),
    ],
)  # fmt: skip
def test_names_of_stored_models(tmp_path, lines, suffix, spec):
    if spec is None:
        model = replay(tmp_path, *lines, suffix=suffix)
        assert (model.spec, len(model)) == ("a:b@prompt", 1)
    else:
        assert replay(tmp_path, *lines, suffix=suffix).spec == spec


@pytest.mark.parametrize(
    ("lines", "suffix", "said"),
    [
        ([{"id": "simple_python_0"}], "", "none has output or trajectory"),
        ([LINE], "@fc", "holds no replies in mode fc"),
        ([LINE], "#other", "has no model 'other'; it has: none named"),
        ([{**LINE, "model": "b"}, {**LINE, "model": "a"}], "", "#MODEL: a, b"),
    ],
)  # fmt: skip
def test_lines_that_cannot_be_replayed(tmp_path, lines, suffix, said):
    with pytest.raises(UsageError, match=said):
        replay(tmp_path, *lines, suffix=suffix)


def test_an_error_with_half_a_conversation_is_an_error(tmp_path):
    line = {**LINE, "outcome": "error", "reason": "adapter:server", "incomplete": True, "detail": {}}
    with pytest.raises(AdapterError) as caught:
        replay(tmp_path, line).transcript_for(entry())
    assert caught.value.kind == "server"
    with pytest.raises(AdapterError) as caught:
        replay(tmp_path, {**LINE, "outcome": "error", "output": None}).transcript_for(entry())
    assert caught.value.kind == "not_recorded"
    with pytest.raises(AdapterError) as caught:
        replay(tmp_path, {**LINE, "outcome": "error", "output": None, "reason": "harness:storage"}).transcript_for(
            entry()
        )
    assert caught.value.kind == "not_recorded"
    whole = replay(tmp_path, {**LINE, "outcome": "error"})
    assert whole.transcript_for(entry()).first_reply.text == "x"
    skipped = replay(tmp_path, {**LINE, "outcome": "skipped", "output": None})
    assert skipped.transcript_for(entry()).turns == []
