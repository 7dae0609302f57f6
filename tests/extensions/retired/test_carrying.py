"""Calls are carried out once, where they may be; what lacks a recording or a service is skipped before asking."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.retired import carrying
from pytest_bfcl.extensions.retired.carrying import Carrier, _get, expected_calls
from pytest_bfcl.extensions.sql import Outcome
from pytest_bfcl.failures import AdapterError, EntrySkipped, HarnessError
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.models.callable import as_model
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Call, Reply, Step, Transcript, Turn


def document(name: str, *parameters: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    return {"name": name, "description": "", "parameters": {"type": "dict", "properties": properties, "required": []}}


def entry(category: str, answers: list[Any], name: str, *parameters: str, **extra: Any) -> Entry:
    question = [[{"role": "user", "content": "?"}]]
    functions = [document(name, *parameters)]
    return Entry(
        id=f"{category}_0", category=category, question=question, function=functions, possible_answer=answers, **extra
    )


def transcript(known: Entry, text: str, **fields: Any) -> Transcript:
    return Transcript(known.id, known.category, turns=[Turn(steps=[Step(Reply(text=text))])], **fields)


MEAN = entry("exec_simple", ["calculate_mean([1, 2, 6])"], "calculate_mean", "numbers")
STOCK = entry("exec_simple", ["get_company_name_by_stock_name(stock_name='X')"], "get_company_name_by_stock_name")
REST = entry(
    "rest", ['[{"a": 1}]'], "requests.get", ground_truth_call="requests.get(url='http://api.example.org/list')"
)


def test_a_broken_ground_truth_is_ours() -> None:
    with Carrier() as services, pytest.raises(HarnessError):
        broken = entry("exec_simple", ["calculate_mean(numbers=[])"], "calculate_mean")
        services.execute(broken, transcript(broken, "calculate_mean(numbers=[1])"))
    with pytest.raises(HarnessError):
        expected_calls(entry("exec_simple", ["what?"], "f"))


def record(folder: Path, name: str, arguments: dict[str, Any], result: Any) -> str:
    line = {"call": ["call", name, arguments], "result": result}
    (folder / "a.jsonl").write_text(json.dumps(line) + "\n")
    return f"replay:{folder}"


def test_network_functions_need_a_recording(tmp_path: Path) -> None:
    with Carrier() as services, pytest.raises(EntrySkipped, match="needs a recorded provider"):
        services.require(STOCK)
    choice = record(tmp_path, "get_company_name_by_stock_name", {"stock_name": "X"}, "X Inc.")
    with Carrier(choice) as services:
        services.require(STOCK)
        right = services.execute(STOCK, transcript(STOCK, "get_company_name_by_stock_name(stock_name='X')"))
        assert right.steps[0].results == ['{"result": "X Inc."}']
        with pytest.raises(EntrySkipped, match="not in the recording"):
            services.execute(STOCK, transcript(STOCK, "get_company_name_by_stock_name(stock_name='Y')"))


def test_a_network_call_where_none_can_be_right_is_wrong_not_skipped() -> None:
    with Carrier() as services:
        made = services.execute(MEAN, transcript(MEAN, "get_stock_history(stock_name='X', interval='1d')"))
    assert json.loads(made.steps[0].results[0])["kind"] == "not_recorded"


class Answering:
    """A provider that gives one answer, and keeps what it was asked."""

    def __init__(self, answer: Any, *, live: bool = False) -> None:
        self.answer, self.live, self.asked = answer, live, list[Any]()

    def get(self, *asked: Any) -> Any:
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        ({"status": 200, "body": [{"a": 9}]}, True),
        ({"status": 404, "body": None}, False),
        ({"status": 200, "body": [{"a": 9}, {"a": 8}]}, False),
        ({"error": "no route"}, False),
    ],
)
def test_live_services_are_tried_before_a_model_is_asked(answer: dict[str, Any], held: bool) -> None:
    provider = Answering(answer, live=True)
    asked: list[Any] = []

    def reply(request: Any) -> str:
        asked.append(request)
        return "requests.get(url='http://api.example.org/list')"

    async def conversation(services: Carrier) -> Transcript:
        model = as_model(reply, "fixture:model", mode="prompt")
        return await converse(REST, model, settings=Settings(), texts=Texts.own(), services=services)

    with Carrier("live") as services:
        services._rest = provider
        if held:
            made = asyncio.run(conversation(services))
            assert json.loads(made.steps[0].results[0])["result"]["status"] == 200
        else:
            with pytest.raises(EntrySkipped, match="down or has changed"):
                asyncio.run(conversation(services))
    assert len(asked) == held


def got(call: Call, answer: Any = None) -> tuple[Outcome, list[Any]]:
    provider = Answering({"status": 200, "body": {"a": 1}} if answer is None else answer)
    with Carrier("local") as services:
        services._rest = provider
        return _get(call, services), provider.asked


URL = {"url": "http://h"}


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (Call("requests.post", URL), "unknown_function", "no function 'requests.post' is known here"),
        (Call("requests.get", {}), "arguments", "url must be a text"),
        (Call("requests.get", {"url": 3}), "arguments", "url must"),
        (Call("requests.get", {**URL, "params": [1]}), "arguments", "params and headers objects"),
        (Call("requests.get", {**URL, "headers": "x"}), "arguments", "params and headers objects"),
        (Call("requests.get", {**URL, "params": {None: 1}}), "arguments", "need names"),
        (Call("requests.get", {**URL, "headers": {None: 1}}), "arguments", "need names"),
    ],
)  # fmt: skip
def test_requests_that_are_not_made(call: Call, kind: str, said: str) -> None:
    outcome, asked = got(call)
    assert (outcome.kind, asked) == (kind, [])
    assert said in str(outcome.error)


def test_what_comes_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    assert got(Call("requests.get", URL), {"error": "down"})[0] == Outcome(error="down", kind="raised")
    monkeypatch.setattr(carrying, "MOST_BODY", 8)
    for body, kept in (
        ({"a": 1}, {"a": 1}),
        ({"a": 12}, {"a": None}),
        ([{"a": 1}, 2], [{"a": None}, None]),
        ("x" * 9, None),
    ):
        assert got(Call("requests.get", URL), {"status": 1, "body": body})[0].value == {"status": 1, "body": kept}
    with pytest.raises(EntrySkipped, match="gone") as caught:
        got(Call("requests.get", URL), AdapterError("not_recorded", "gone"))
    assert caught.value.kind == "recording"
    with pytest.raises(AdapterError, match="slow"):
        got(Call("requests.get", URL), AdapterError("timeout", "slow"))


def test_a_service_is_checked_once_and_only_live_ones() -> None:
    known = REST.model_copy(update={"ground_truth_call": None})
    for item, live, times in ((REST, True, 1), (REST, False, 0), (known, True, 0)):
        provider = Answering({"status": 200, "body": [{"a": 1}]}, live=live)
        with Carrier("live") as services:
            services._rest = provider
            services.require(item)
            services.require(item)
            assert len(provider.asked) == times
