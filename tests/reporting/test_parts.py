"""The parts of a report: headlines, formulas, score rows, page names, Markdown."""

from __future__ import annotations

import json
import shlex

import pytest

from pytest_bfcl.checkers.reasons import all_reasons
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.reporting.chat import chat
from pytest_bfcl.reporting.overview import notices
from pytest_bfcl.reporting.rendering import embedded_json, page_name, rerun_command, usd, visible
from pytest_bfcl.scoring.summary import summarise


def summary(*records: dict, **fingerprint: object) -> dict:
    return summarise(records, fingerprint={"dataset": {"name": "official"}, **fingerprint})


@pytest.mark.parametrize("reason", [*all_reasons(), "something:new", "parallel_function_checker_no_order:wrong_count"])
@pytest.mark.parametrize("detail", [{}, {"called": None, "expected": None, "turn": 0, "difference": {"…": "5 differ"}}])
def test_every_reason_has_a_sentence(reason: str, detail: dict) -> None:
    said = headline({"outcome": "failed", "reason": reason, "detail": detail})
    assert 5 < len(said) < 500
    assert "\n" not in said


def test_page_names() -> None:
    one = {"id": "simple_python_1", "model": "openai:org/a@fc", "repeat": 1}
    assert page_name(one, ["openai:org/a@fc"]) == "simple_python_1.html"
    assert page_name(one | {"repeat": 2}, ["openai:org/a@fc"]) == "simple_python_1-r2.html"
    several = ["openai:org/a@fc", "openai:org_a@fc"]
    names = {page_name(one | {"model": model}, several) for model in several}
    assert len(names) == 2
    assert page_name({"id": "a/b"}, [""]) != page_name({"id": "a_b"}, [""])
    assert len(page_name({"id": "format_sensitivity_1:" + "x=1&" * 99}, [""])) < 120


def test_the_command_is_safe_to_paste() -> None:
    odd = {"id": "simple_python_1; rm -rf ~", "category": "simple_python"}
    command = rerun_command(odd, "openai:a b@fc", data="my data", base_url="http://localhost:1/v1")
    assert shlex.split(command) == [
        "pytest", "--model", "openai:a b@fc", "--bfcl-data", "my data", "--bfcl-base-url", "http://localhost:1/v1",
        "bfcl/simple_python.jsonl::simple_python_1; rm -rf ~",
    ]  # fmt: skip


def test_embedded_json_cannot_close_its_element() -> None:
    value = ["</script><!--", "\u2028&amp;", "é"]
    text = str(embedded_json(value))
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == value


def test_visible() -> None:
    assert visible("plain\n\ttext é 日本 🙂") == "plain\n\ttext é 日本 🙂"
    assert visible("a\u202eb\x00\x07\r\n\ud800") == "a\\u202eb\\x00\\x07\n\\ud800"
    assert usd(0.00042) == "$0.00042"


def test_chat_of_a_multi_turn_line() -> None:
    line = {
        "category": "multi_turn_base",
        "detail": {"turn": 1},
        "output": [[[{"name": "ls", "arguments": "{}"}], "Done."], ["Bye."]],
        "calls": [[["ls()"], []], [None]],
        "tool_results": [[["[]"], []], [[]]],
        "latency_s": [[1.0, 0.5], [0.25]],
        "attempts": [[2, 1], [1]],
    }
    messages = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": "[]"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks."},
        {"role": "assistant", "content": "Bye."},
    ]
    first, second = chat(line, None, messages)
    assert [said.text.text for said in (*first.messages, *second.messages)] == ["List.", "Thanks."]
    assert [call.text for call in first.steps[0].calls] == ["ls()"]
    assert first.steps[0].calls[0].result is not None
    assert first.steps[0].facts == "1.00 s · 2 attempts"
    assert (first.broken, second.broken) == (False, True)
    assert chat(line, None, messages[:2])[0].messages == ()  # messages that do not fit the replies are not trusted


def test_a_report_says_how_replies_were_read() -> None:
    """Reference reading and server reading are two things, and so are names as they were proved."""
    model = {"model": "openai:m@prompt", "read_as": "hermes, as the family's server reads it"}
    fingerprint = {"dataset": {"name": "official"}, "models": [model, {"model": "oracle:@fc", "read_as": ""}]}
    told = notices({"fingerprint": fingerprint, "models": {}})
    assert told == ["openai:m@prompt: replies were read as hermes, as the family's server reads it."]
