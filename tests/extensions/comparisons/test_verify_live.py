"""`verify` and its gate against servers that answer: the same model over other APIs, and one fault a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from tests.extensions.wire.reference import Heard, Message, Reference
from tests.extensions.wire.serving import served
from tests.plugin.conftest import question, write_lines

pytestmark = pytest.mark.slow  # hundreds of requests a server

ENTRIES = 400


def weather(heard: Heard) -> Message:
    """The right call for two of three questions, a text for the third."""
    city = heard.turns[-1].text.removeprefix("What is the weather in ").rstrip("?")
    if _number(heard) % 3 == 2:
        return Message(before=f"Who would want to know that of {city}?")
    return Message(calls=[("get_weather", json.dumps({"city": city}))])


def _number(heard: Heard) -> int:
    return int(heard.turns[-1].text.split()[-1].strip("town?"))


def harmed(harm: Callable[[Message], Message]) -> Reference:
    """A server that does something to the answer of every twelfth question, which has a call."""
    return Reference(think=lambda heard: harm(weather(heard)) if _number(heard) % 12 == 0 else weather(heard))


def _empty_at_first(**stages: Any) -> Reference:
    """Gives every ninth question an answer without choices before it gives the right one."""
    seen: set[int] = set()

    def whole(body: dict[str, Any], heard: Heard) -> dict[str, Any]:
        number = _number(heard)
        if number % 9 or number in seen:
            return body
        seen.add(number)
        return {**body, "choices": []}

    return Reference(think=weather, whole=whole, **stages)


def _calls(said: Message, name: str = "get_weather", arguments: str | None = None) -> Message:
    return replace(said, calls=[(name, said.calls[0][1] if arguments is None else arguments)])


FAULTS: dict[str, tuple[Reference, set[str]]] = {
    "calls are lost": (harmed(lambda said: Message(before="…")), {"called", "finish:calls", "finish:normal", "passed"}),
    "calls stay text": (
        harmed(lambda said: Message(before=f'<tool_call>\n{{"name": "get_weather", "arguments": {said.calls[0][1]}}}\n'
                                        "</tool_call>")),
        {"called", "finish:calls", "finish:normal", "lost", "passed"},
    ),
    "broken JSON": (harmed(lambda said: _calls(said, arguments='{"city": "O')), {"broken", "passed"}),
    "renamed tools": (harmed(lambda said: _calls(said, name="functions_get_weather")), {"unknown", "passed"}),
    "other types": (harmed(lambda said: _calls(said, arguments='{"city": 7}')), {"invalid", "passed"}),
    "empty answers": (harmed(lambda said: Message()), {"called", "empty", "finish:calls", "finish:normal", "passed"}),
    "reasoning alone": (
        harmed(lambda said: Message(reasoning="I should call get_weather.")),
        {"called", "finish:calls", "finish:normal", "passed", "reasoning_only"},
    ),
    "no choices at first": (_empty_at_first(), {"retried"}),
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data and a run of the reference, made over chat completions."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    write_lines(Path("simple_python.jsonl"), [question(f"q_{n}", f"town{n}") for n in range(ENTRIES)])
    with served(Reference(think=weather)) as url:
        assert main(["run", *_words(url), "-o", "reference"]) == 1  # every third question is not answered with a call
    return tmp_path


def _words(url: str, *more: str) -> list[str]:
    return ["--model", "openai:m@fc", "--base-url", url, "--data", "simple_python.jsonl", "--report", "none",
            "--bfcl-retries", "1", *more]  # fmt: skip


def _verdict(url: str, *more: str) -> tuple[int, set[str]]:
    path = Path("verdict.json")
    code = main(["verify", *_words(url, *more), "--reference", "reference", "--json", str(path)])
    measures = json.loads(path.read_text())["measures"]
    return code, {name for name, row in measures.items() if row["other"]}


def test_the_same_model_over_every_api_is_the_same(project: Path) -> None:
    with served(Reference(think=weather, size=2)) as url:
        for number, more in enumerate(([], ["--stream"], ["--api", "responses"], ["--concurrency", "3"])):
            assert _verdict(url, *more, "-o", f"same{number}") == (0, set()), more


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_server_is_found_by_what_it_does(fault: str, project: Path) -> None:
    server, measures = FAULTS[fault]
    with served(server) as url:
        assert _verdict(url, "-o", "other") == (1, measures)


def test_the_gate_in_pytest_with_workers(project: Path, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\n")

    def gate(server: Reference, out: str, *more: str) -> tuple[int, str]:
        with served(server) as url:
            done = pytester.runpytest_subprocess(
                "-q", "--tb=no", "-n", "2", "--model", "openai:m@fc", "--bfcl-base-url", url, "--bfcl-report", "none",
                "--bfcl-verify", str(project / "reference"), "--bfcl-out", str(project / out),
                str(project / "simple_python.jsonl"), *more,
            )  # fmt: skip
        return int(done.ret), done.stdout.str()

    assert gate(Reference(think=weather), "same")[0] == 0
    code, told = gate(FAULTS["renamed tools"][0], "other", "--bfcl-stream")
    assert code == 1
    assert "8.5 % of entries call a name that was not offered, 0.0 % there" in told
    code, told = gate(Reference(think=weather), "few", "--bfcl-sample", "20")
    assert (code, "too few requests to tell" in told) == (1, True)
