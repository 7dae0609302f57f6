"""Calls are carried out once, where they may be; what lacks a recording or a service is skipped before asking."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.conversation import Services, converse, execute, is_executed
from pytest_bfcl.conversation.execution import expected_calls, require
from pytest_bfcl.dataset import Entry, Texts
from pytest_bfcl.failures import EntrySkipped, HarnessError
from pytest_bfcl.models.callable import as_model
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn


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


def test_results_of_reply_and_ground_truth_are_written_down() -> None:
    with Services() as services:
        made = execute(MEAN, transcript(MEAN, "calculate_mean(numbers=[3, 3])"), services)
    assert made.steps[0].results == ['{"result": 3.0}']
    assert made.extra["expected_results"] == ['{"result": 3.0}']  # the argument stands by position there


def test_what_is_written_down_stays() -> None:
    made = transcript(MEAN, "calculate_mean(numbers=[3, 3])")
    made.steps[0].results = ["kept"]
    with Services() as services:
        assert execute(MEAN, made, services).steps[0].results == ["kept"]


def test_an_undecodable_reply_runs_nothing() -> None:
    with Services() as services:
        made = execute(MEAN, transcript(MEAN, "It is three."), services)
    assert made.steps[0].results == []
    assert made.steps[0].error


def test_names_of_the_wire_are_mapped_back() -> None:
    known = entry("sql", [{"db.query": {"table": ["t"]}}], "db.query", tables={"t": {"columns": ["a"], "rows": [[1]]}})
    assert is_executed(known)
    with Services() as services:
        made = execute(known, transcript(known, "db_query(table='t')", underscore_names=True), services)
    assert json.loads(made.steps[0].results[0])["result"]["rows"] == [[1]]


def test_sql_without_tables_is_not_carried_out() -> None:
    assert not is_executed(entry("sql", [{"sql.execute": {}}], "sql.execute"))


def test_a_broken_ground_truth_is_ours() -> None:
    with Services() as services, pytest.raises(HarnessError):
        broken = entry("exec_simple", ["calculate_mean(numbers=[])"], "calculate_mean")
        execute(broken, transcript(broken, "calculate_mean(numbers=[1])"), services)
    with pytest.raises(HarnessError):
        expected_calls(entry("exec_simple", ["what?"], "f"))


def record(folder: Path, name: str, arguments: dict[str, Any], result: Any) -> str:
    line = {"call": ["call", name, arguments], "result": result}
    (folder / "a.jsonl").write_text(json.dumps(line) + "\n")
    return f"replay:{folder}"


def test_network_functions_need_a_recording(tmp_path: Path) -> None:
    with Services() as services, pytest.raises(EntrySkipped, match="needs a recorded provider"):
        require(STOCK, services)
    choice = record(tmp_path, "get_company_name_by_stock_name", {"stock_name": "X"}, "X Inc.")
    with Services(choice) as services:
        require(STOCK, services)
        right = execute(STOCK, transcript(STOCK, "get_company_name_by_stock_name(stock_name='X')"), services)
        assert right.steps[0].results == ['{"result": "X Inc."}']
        with pytest.raises(EntrySkipped, match="not in the recording"):
            execute(STOCK, transcript(STOCK, "get_company_name_by_stock_name(stock_name='Y')"), services)


def test_a_network_call_where_none_can_be_right_is_wrong_not_skipped() -> None:
    with Services() as services:
        made = execute(MEAN, transcript(MEAN, "get_stock_history(stock_name='X', interval='1d')"), services)
    assert json.loads(made.steps[0].results[0])["kind"] == "not_recorded"


class Down:
    """A live service that answers in another way than recorded."""

    live = True

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def get(self, url: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        self.asked.append(url)
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
    provider = Down(answer)
    asked: list[Any] = []

    def reply(request: Any) -> str:
        asked.append(request)
        return "requests.get(url='http://api.example.org/list')"

    async def conversation(services: Services) -> Transcript:
        model = as_model(reply, "fixture:model", mode="prompt")
        return await converse(REST, model, settings=Settings(), texts=Texts.own(), services=services)

    with Services("live") as services:
        services._rest = provider
        if held:
            made = asyncio.run(conversation(services))
            assert json.loads(made.steps[0].results[0])["result"]["status"] == 200
        else:
            with pytest.raises(EntrySkipped, match="down or has changed"):
                asyncio.run(conversation(services))
    assert len(asked) == held


def test_large_responses_are_kept_as_their_shape() -> None:
    with Services("live") as services:
        services._rest = Down({"status": 200, "body": [{"a": "x" * 300_000}]})
        made = execute(REST, transcript(REST, "requests.get(url='http://api.example.org/list')"), services)
    assert json.loads(made.steps[0].results[0])["result"]["body"] == [{"a": None}]


def test_services_are_made_when_none_are_given() -> None:
    async def conversation() -> Transcript:
        model = as_model(lambda request: "calculate_mean(numbers=[1, 5])", "fixture:model", mode="prompt")
        return await converse(MEAN, model, settings=Settings(), texts=Texts.own())

    assert asyncio.run(conversation()).steps[0].results == ['{"result": 3.0}']
