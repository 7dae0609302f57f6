"""Corrected rule C8: which replies attempt a call."""

import time

import pytest

from pytest_bfcl.decoding import attempts_call, has_call
from pytest_bfcl.transcript import Reply

OFFERED = [{"name": "get_weather"}, {"name": "math.add"}]


@pytest.mark.parametrize(
    "text",
    [
        "[get_weather(city=",
        'get_weather(city="x"',
        "Sure:\nmath.add(1, 2",
        "math_add(1",
        "[some_fn(x=1) bla",
        "<TOOLCALL>[f(x=1)]</TOOLCALL>",
        '<tool_call>{"name": "f"}</tool_call>',
        "<function=f><parameter=x>1",
        '```json\n{"name": "q", "arguments": {}}\n```',
        '{"get_weather": {"city": "x"}}',
        "Sure: [get_weather(city='x')]",
        '[{"type": "function", "function": {"name": "a", "arguments": "{}"}}]',
        "1. `get_weather(city='x')` then",
        "<functions><function name='f'/></functions>",
        r"get\_weather(city",
        "```python\nf(x=1)\n```",
    ],
)
def test_attempts(text):
    reply = Reply(text=text)
    assert not has_call(reply, "prompt")  # officially a good refusal
    assert attempts_call(reply, "prompt", OFFERED)
    assert attempts_call(reply, "fc", OFFERED)


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        "I can't do that.",
        "You could use get_weather for this.",
        "The `get_weather(city)` function is not enough.",
        "Sorry (see docs)",
        '{"answer": 5}',
        "None of [get_weather, math.add] fits.",
        "[]",
        "f(a) = 2a holds",
        "x < 5 and y > 3",
    ],
)
def test_refusals(text):
    assert not attempts_call(Reply(text=text), "prompt", OFFERED[:1])


def test_hostile_text_is_quick():
    started = time.process_time()
    for text in (" " * 900_000 + "x", "[" * 100_000, '{"a":' * 50_000, "```" * 50_000, "a(" * 50_000, "a" * 500_000):
        attempts_call(Reply(text=text), "prompt", OFFERED)
    assert time.process_time() - started < 20
