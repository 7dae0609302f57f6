"""Users' own models: functions and objects of many shapes."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from types import SimpleNamespace

import pytest

from pytest_bfcl.endings import TROUBLE, UnknownEnding
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import as_model
from pytest_bfcl.transcript import Reply
from tests.models.loopback import CLOCK, WEATHER, request, run


def ask(obj, *functions, **options):
    return run(as_model(obj, **options).generate(request(*(functions or (WEATHER, CLOCK)))))


async def async_request(request):
    return f"{request.entry.id} {len(request.messages)}"


class Later:
    """An object that is called and awaited."""

    async def __call__(self, messages, tools):
        return "called"


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (async_request, "simple_python_0 1"), (lambda req: req.entry.id, "simple_python_0"),
        (lambda messages, tools: f"{messages[-1]['role']} {tools[0]['function']['name']}", "user weather_lookup"),
        (lambda history, offered: f"{history[-1]['role']} {offered[0]['function']['name']}", "user weather_lookup"),
        (lambda functions, entry, *, parameters: f"{functions[0]['name']} {entry.id} {parameters}",
         "weather.lookup simple_python_0 {}"),
        (lambda messages, temperature=0.0: f"{len(messages)} {temperature}", "1 0.0"), (lambda request: None, None),
        (Later(), "called"), (SimpleNamespace(generate=lambda request: "hi"), "hi"),
        # what has a default, and any number of arguments, may be of any name
        *((each, "x") for each in (
            lambda request, other=1: "x", lambda request, *, other=1: "x", lambda messages, *, tools: "x",
            lambda *, request: "x", lambda *args: "x", lambda a, b=2: "x")),
        (lambda request=None: request.entry.id, "simple_python_0"),
        (lambda messages, tools=(): f"{len(messages)} {len(tools)}", "1 2"),
    ],
)  # fmt: skip
def test_signatures(obj, text):
    assert ask(obj).text == text


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        *((obj, "model fixture returned") for obj in (None, 3, "openai:gpt-4o", {}, dict)),
        *((function, r"argument (odd|list|banana) unknown; known: request") for function in (
            lambda a, b, c: "x", lambda entry, odd: "x", lambda messages, banana, tools: "x")),
    ],
)  # fmt: skip
def test_what_cannot_answer(obj, said):
    with pytest.raises(UsageError, match=said):
        as_model(obj)


def test_a_reply_with_a_problem_and_no_ending_is_no_answer():
    model = as_model(lambda request: Reply(text="half an ans", problem=TROUBLE))
    with pytest.raises(UnknownEnding):
        run(model.generate(request()))


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        (ValueError("boom"), "fixture", "ValueError: boom"), (TimeoutError("late"), "fixture", "TimeoutError: late"),
        (AdapterError("quota", "empty"), "quota", "empty"),  # their own word for it stays
        *((odd, "fixture", "not a reply") for odd in (3, ..., [1], [{"a": 1, "b": 2}], {"choices": []})),
    ],
    ids=repr,
)  # fmt: skip
def test_exceptions_and_odd_results_are_the_fixtures(given, kind, said):
    def asked(request):
        if isinstance(given, Exception):
            raise given
        return given

    with pytest.raises(AdapterError, match=said) as caught:
        ask(asked)
    assert caught.value.kind == kind


def test_sync_functions_run_one_at_a_time_off_the_loop():
    active, most, threads = [], [], set()

    def slow(request):
        active.append(1)
        most.append(len(active))
        threads.add(threading.current_thread().name)
        time.sleep(0.02)
        active.pop()
        return "ok"

    async def many(model):
        await asyncio.gather(*(model.generate(request(CLOCK)) for _ in range(6)))
        await model.aclose()

    run(many(as_model(slow)))
    assert max(most) == 1
    assert "MainThread" not in threads
    slow.max_concurrency = 3
    run(many(as_model(slow)))
    assert 1 < max(most) <= 3


def test_a_langchain_chat_model_is_asked_with_tools_and_not_through_its_generate():
    class Chat:
        """What `BaseChatModel` offers of interest here."""

        def generate(self, batches):
            raise AssertionError("takes batches, knows no tools")

        def bind_tools(self, tools):
            self.bound = [tool["function"]["name"] for tool in tools]
            return self

        async def ainvoke(self, messages):
            assert all(isinstance(message, dict) for message in messages)
            return {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "1"}]}

    chat = Chat()
    assert [(call.name, call.arguments) for call in ask(chat).tool_calls] == [("f", '{"a": 1}')]
    assert chat.bound == ["weather_lookup", "clock"]
    for half in ("bind_tools", "ainvoke"):  # a part of its methods makes no chat model
        other = SimpleNamespace(generate=lambda request: "said", **{half: lambda *given: 1 / 0})
        assert ask(other).text == "said"
    chat.bound = None
    assert run(as_model(chat).generate(request())).tool_calls
    assert chat.bound is None


def test_modes_there_are_not():
    with pytest.raises(UsageError, match="the model's mode is 'odd'"):
        as_model(SimpleNamespace(generate=lambda request: "x", mode="odd"))
    complete = as_model(lambda request: "x")
    assert as_model(complete) is complete
    half = SimpleNamespace(spec="a:b", mode="fc", underscore_names=True, generate=lambda request: "x", aclose=len)
    assert as_model(half) is not half  # its generate is not awaited


def test_the_number_of_its_threads_is_the_objects_own():
    def workers(**own):
        model = as_model(SimpleNamespace(generate=lambda request: "hi", **own))
        return model._pool()._max_workers

    found = [workers(**own) for own in ({}, {"max_concurrency": 3}, {"max_concurrency": None}, {"max_concurrency": -1})]
    assert found == [1, 3, 1, 1]


def test_a_function_that_gives_something_to_await_is_awaited():
    async def later():
        return "later"

    assert ask(lambda request: later()).text == "later"

    class Callable:
        async def __call__(self, request):
            return threading.current_thread().name

    assert ask(Callable()).text == "MainThread"
    for function in (async_request, functools.partial(async_request)):
        asked = as_model(function)
        assert run(asked.generate(request(CLOCK))).text == "simple_python_0 1"
        assert asked._threads is None
    assert ask(functools.partial(Callable().__call__)).text == "MainThread"


def test_what_was_brought_is_closed_with_its_thread():
    closed = []

    class Brought:
        max_concurrency = 0

        def generate(self, request):
            return "x"

        async def aclose(self):
            closed.append(1)

    async def main():
        model = as_model(Brought())
        assert (await model.generate(request(CLOCK))).text == "x"
        assert model._threads._max_workers == 1
        await model.aclose()
        assert model._threads is None
        await as_model(SimpleNamespace(generate=lambda request: "x", aclose=lambda: closed.append("sync"))).aclose()

    run(main())
    assert closed == [1]
