"""Scripts of replies and faults."""

from __future__ import annotations

import json

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import ToolsRefused, create_model, stop_reason
from pytest_bfcl.models.base import Request
from pytest_bfcl.settings import Settings
from tests.models.loopback import run


def scripted(tmp_path, scripts, name="s.json", **settings):
    path = tmp_path / name
    text = "\n".join(map(json.dumps, scripts)) if name.endswith("l") else json.dumps(scripts)
    path.write_text(text)
    return create_model(f"scripted:{path}", Settings(**settings))


def ask(model, entry_id="simple_python_0", turn=0, step=0, repeat=1):
    entry = Entry(id=entry_id, category="simple_python", question=[[{"role": "user", "content": "?"}]])
    return run(model.generate(Request(entry, [], turn=turn, step=step, repeat=repeat)))


def test_replies_of_every_shape(tmp_path):
    model = scripted(tmp_path, {
        "a_1": "text",
        "a_2": [{"f": {"x": 1}}],
        "a_3": [{"name": "f", "arguments": "{broken"}, {"name": "g", "arguments": {}}],
        "a_4": {"text": "cut", "problem": "length", "input_tokens": 5},
        "a_5": {"tool_calls": [{"f": "{}"}], "reasoning": "why"},
        "a_6": [],
        "a_7#2": "second",
        "*": "anyone",
    })  # fmt: skip
    assert ask(model, "a_1").text == "text"
    assert ask(model, "a_2").output == [{"name": "f", "arguments": '{"x": 1}'}]
    assert ask(model, "a_3").output[0]["arguments"] == "{broken"
    assert (ask(model, "a_4").problem, ask(model, "a_4").input_tokens) == ("length", 5)
    assert (ask(model, "a_5").tool_calls[0].name, ask(model, "a_5").reasoning) == ("f", "why")
    assert ask(model, "a_6").text == ""
    assert (ask(model, "a_7").text, ask(model, "a_7", repeat=2).text) == ("anyone", "second")


def test_turns_and_steps(tmp_path):
    script = [[[{"ls": {}}], "there you are"], "one step", [[{"f": {}}, {"g": {}}]]]
    model = scripted(tmp_path, {"m_0": script})
    assert ask(model, "m_0", 0, 0).tool_calls[0].name == "ls"
    assert ask(model, "m_0", 0, 1).text == "there you are"
    assert ask(model, "m_0", 0, 2).text == "Done."
    assert ask(model, "m_0", 1, 0).text == "one step"
    assert [c.name for c in ask(model, "m_0", 2, 0).tool_calls] == ["f", "g"]
    assert ask(model, "m_0", 3, 0).text == "Done."


def test_faults_pass_or_last(tmp_path):
    model = scripted(tmp_path, {
        "a_1": {"error": "server", "times": 2, "then": "after all"},
        "a_2": {"error": "timeout", "message": "slow"},
        "a_3": {"error": "bad_request", "status": 400},
        "a_4": {"error": "tools_refused"},
    }, retries=3)  # fmt: skip
    reply = ask(model, "a_1")
    assert (reply.text, reply.attempts) == ("after all", 3)
    with pytest.raises(AdapterError, match="slow") as caught:
        ask(model, "a_2")
    assert caught.value.kind == "timeout"
    with pytest.raises(AdapterError) as caught:
        ask(model, "a_3")
    assert (caught.value.kind, caught.value.status) == ("bad_request", 400)
    with pytest.raises(ToolsRefused):
        ask(model, "a_4")
    assert stop_reason(model) is None
    assert [create_model(f"{model.spec[:-3]}{mode}", Settings()).underscore_names for mode in ("@fc", "@prompt")] == [
        True, False
    ]  # fmt: skip


def test_a_scripted_key_refusal_opens_the_breaker(tmp_path):
    model = scripted(tmp_path, {"a_1": {"error": "auth", "message": "bad key"}, "*": "fine"})
    with pytest.raises(AdapterError):
        ask(model, "a_1")
    with pytest.raises(AdapterError) as caught:
        ask(model, "a_2")
    assert caught.value.kind == "circuit_open"
    assert "bad key" in stop_reason(model)


def test_lines(tmp_path):
    model = scripted(tmp_path, [{"id": "a_1", "reply": "x"}, {"id": "a_2", "output": "y"}], "s.jsonl")
    assert (ask(model, "a_1").text, ask(model, "a_2").text) == ("x", "y")
    with pytest.raises(AdapterError) as caught:
        ask(model, "a_3")
    assert caught.value.kind == "not_recorded"


@pytest.mark.parametrize("content", ["[1]", "{", '"x"'])
def test_unusable_scripts(tmp_path, content):
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(UsageError):
        create_model(f"scripted:{path}", Settings())
    with pytest.raises(UsageError, match="cannot read"):
        create_model(f"scripted:{tmp_path}/none.json", Settings())


@pytest.mark.parametrize(
    ("kind", "retried"),
    [("timeout", True), ("connection", True), ("rate_limit", True), ("server", True), ("malformed_body", True),
     ("unreachable", True), ("bad_request", False), ("quota", False)],
)  # fmt: skip
def test_which_faults_are_asked_again(tmp_path, kind, retried):
    model = scripted(tmp_path, {"a_1": {"error": kind}, "a_2": {"error": kind, "retryable": not retried}}, retries=1)
    for entry_id, times in (("a_1", 1 + retried), ("a_2", 2 if kind == "unreachable" or not retried else 1)):
        with pytest.raises(AdapterError) as caught:
            ask(model, entry_id)
        assert model.seen[entry_id, 1, 0, 0] == times
    assert str(caught.value).startswith(f"scripted fault: {kind}")
