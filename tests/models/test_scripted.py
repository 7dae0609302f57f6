"""Scripts of replies and faults."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import ToolsRefused, create_model, stop_reason
from pytest_bfcl.models.base import Request
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, ToolCall
from tests.models.loopback import run


def scripted(tmp_path, scripts, name="s.json", **settings):
    path = tmp_path / name
    text = "\n".join(map(json.dumps, scripts)) if name.endswith("l") else json.dumps(scripts)
    path.write_text(text)
    return create_model(f"scripted:{path}", Settings(**settings))


def ask(model, entry_id="simple_python_0", turn=0, step=0, repeat=1):
    entry = Entry(id=entry_id, category="simple_python", question=[[{"role": "user", "content": "?"}]])
    return run(model.generate(Request(entry, [], turn=turn, step=step, repeat=repeat)))


SCRIPT = {
    "a_1": "text", "a_2": [{"f": {"x": 1}}], "a_3": [{"name": "f", "arguments": "{broken"}],
    "a_4": {"text": "cut", "problem": "length", "input_tokens": 5},
    "a_5": {"tool_calls": [{"f": "{}"}], "reasoning": "why"},
    "o_1": {"text": "x"}, "o_2": [{"text": "one"}, {"error": "server"}], "o_3": [{"finish_reason": "stop"}],
    "a_6": [], "a_7#2": "second", "*": "anyone", "a_8": None, "a_9": {"text": "x", "finish_reason": "length"},
    "m_0": [[[{"ls": {}}], "there you are"], "one step", [[{"f": {}}, {"g": {}}]]],
}  # fmt: skip
DONE = Reply("Done.", finish_reason="stop")


def calling(*calls, **more):
    return Reply(tool_calls=tuple(ToolCall(*call) for call in calls), **{"finish_reason": "tool_calls"} | more)


@pytest.mark.parametrize(
    ("entry_id", "place", "said"),
    [
        ("a_1", {}, Reply("text", finish_reason="stop")), ("a_2", {}, calling(("f", '{"x": 1}'))),
        ("a_3", {}, calling(("f", "{broken"))), ("a_4", {}, Reply("cut", problem="length", input_tokens=5)),
        ("a_5", {}, calling(("f", "{}"), finish_reason=None, reasoning="why")),
        ("a_6", {}, Reply("", finish_reason="stop")), ("a_7", {}, Reply("anyone", finish_reason="stop")),
        ("a_7", {"repeat": 2}, Reply("second", finish_reason="stop")), ("a_8", {}, Reply(finish_reason="stop")),
        ("o_1", {}, Reply("x")), ("o_2", {}, Reply("one")), ("o_3", {}, Reply(finish_reason="stop")),
        ("a_9", {}, Reply("x", finish_reason="length")), ("a_1", {"step": 1}, DONE), ("a_1", {"turn": 1}, DONE),
        ("m_0", {}, calling(("ls", "{}"))), ("m_0", {"step": 1}, Reply("there you are", finish_reason="stop")),
        ("m_0", {"step": 2}, DONE), ("m_0", {"turn": 1}, Reply("one step", finish_reason="stop")),
        ("m_0", {"turn": 2}, calling(("f", "{}"), ("g", "{}"))), ("m_0", {"turn": 3}, DONE),
    ],
)  # fmt: skip
def test_replies_of_every_shape_and_place(tmp_path, entry_id, place, said):
    reply = ask(scripted(tmp_path, SCRIPT), entry_id, **place)
    assert replace(reply, latency_s=None) == said


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


def test_lines(tmp_path):
    model = scripted(tmp_path, [{"id": "a_1", "reply": "x"}, {"id": "a_2", "output": "y"}], "s.jsonl")
    assert (ask(model, "a_1").text, ask(model, "a_2").text) == ("x", "y")
    with pytest.raises(AdapterError) as caught:
        ask(model, "a_3")
    assert caught.value.kind == "not_recorded"


@pytest.mark.parametrize(
    ("item", "place"), [(5, r"'a_1'"), ({"text": "x", "delay_s": "soon"}, r"'a_1'"), ([["x"], 7], r"'a_1'\[1\]"),
                        ([["x", {"tool_calls": 5}]], r"'a_1'\[0\]\[1\]")],
)  # fmt: skip
def test_an_item_that_is_no_reply_is_named(tmp_path, item, place):
    model = scripted(tmp_path, {"a_1": item})
    at = {"turn": 1} if place.endswith(r"'\[1\]") else {"step": 1} if "0" in place else {}
    with pytest.raises(AdapterError, match=f"s.json, {place}: ") as caught:
        ask(model, "a_1", **at)
    assert (caught.value.kind, caught.value.advice) == ("not_recorded", "correct this item of the script")


@pytest.mark.parametrize(("line", "lacks"), [({"reply": "x"}, "'id'"), ({"id": "a_1"}, "'output'")])
def test_a_line_without_what_it_needs_is_refused(tmp_path, line, lacks):
    with pytest.raises(UsageError, match=f"a line without {lacks}"):
        scripted(tmp_path, [line], "s.jsonl")


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
