"""Prices without importing litellm."""

from __future__ import annotations

import datetime
import runpy
from pathlib import Path

import pytest

from pytest_bfcl.models import parse_spec, prices
from pytest_bfcl.models.prices import Budget, conversation_cost, listed_price, litellm_providers, price_of, reply_cost
from pytest_bfcl.settings import Price, Settings
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn


def test_the_users_price_wins_per_field():
    listed = listed_price("openai:gpt-4o")
    assert price_of("openai:gpt-4o", Settings()) == listed == listed_price(parse_spec("openai:gpt-4o@fc"))
    assert price_of("openai:gpt-4o", Settings(price=Price(1.0, None))) == Price(1.0, listed.output)
    assert price_of("openai:gpt-4o", Settings(base_url="http://localhost:1/v1")) is None
    assert price_of("vllm:x", Settings(price=Price(0.1, 0.2))) == Price(0.1, 0.2)
    assert price_of("vllm:x", Settings()) is None


def test_our_list_is_what_the_script_makes_of_litellms():
    from importlib.metadata import version

    from pytest_bfcl.models.prices import TABLE, litellm_table, our_table

    assert litellm_table()
    if version("litellm") not in our_table()["source"]:
        pytest.skip("another litellm than the list was made from")
    day = datetime.date.fromisoformat(our_table()["date"])
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "prices.py"))
    assert script["compact"](day) == TABLE.read_text(encoding="utf-8")


def test_where_prices_come_from(monkeypatch):
    rows = {
        "a/m": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "litellm_provider": "a"},
        "m": {"input_cost_per_token": 5e-6},
        "n": {"output_cost_per_token": 1}, "o": "x", "p": {"input_cost_per_token": "x", "litellm_provider": ""},
    }  # fmt: skip
    ours = {"prices": {"b/m": [3.0, 4.0], "n": [7.0, None]}, "providers": ["b"], "date": "2026-01-01"}
    monkeypatch.setattr(prices, "litellm_table", lambda: rows)
    monkeypatch.setattr(prices, "our_table", lambda: ours)
    found = {
        spec: listed_price(spec)
        for spec in ("a:m", "b:m", "c:m", "litellm:a/m", "litellm:x/m", "x:n", "x:o", "x:p", "scripted:m")
    }
    assert found == {
        "a:m": Price(1.0, 2.0), "b:m": Price(5.0, None), "c:m": Price(5.0, None), "litellm:a/m": Price(1.0, 2.0),
        "litellm:x/m": Price(5.0, None), "x:n": Price(7.0, None), "x:o": None, "x:p": Price(None, None),
        "scripted:m": None,
    }  # fmt: skip
    assert litellm_providers() == {"a", "b"}
    assert prices.lists() == "the installed litellm's list, then a list of 2026-01-01"
    monkeypatch.setattr(prices, "litellm_table", dict)
    monkeypatch.setattr(prices, "our_table", dict)
    assert (prices.lists(), listed_price("b:m"), litellm_providers()) == ("a list of no day", None, set())


@pytest.mark.parametrize("content", ["{", "[1]", None])
def test_a_table_that_cannot_be_read_is_empty(tmp_path, content):
    if content is not None:
        (tmp_path / "t.json").write_text(content)
    assert prices._read(tmp_path / "t.json") == {}


PRICE = Price(input=2.0, output=10.0)


@pytest.mark.parametrize(
    ("tokens", "price", "cost"),
    [
        ((1_000_000, 100_000), PRICE, 3.0), ((1_000_000, None), PRICE, 2.0), ((None, None), PRICE, None),
        ((500, 500), Price(input=1.0), None), ((500, 0), Price(input=1.0), 0.0005), ((500, 500), Price(), None),
        ((1, None), Price(output=3.0), None), ((0, 1_000_000), Price(output=3.0), 3.0), ((None, 0), Price(), 0.0),
    ],
)  # fmt: skip
def test_cost_of_a_reply(tokens, price, cost):
    reply = Reply(input_tokens=tokens[0], output_tokens=tokens[1])
    assert reply_cost(reply, price) == cost
    talk = Transcript("e", "x", turns=[Turn(steps=[Step(reply), Step(Reply())]), Turn(steps=[Step(reply)])])
    unpriced = price == Price()
    assert conversation_cost(talk, price) == (None if cost is None or unpriced else 2 * cost)
    assert conversation_cost(talk, None) is conversation_cost(Transcript("e", "x"), price) is None


@pytest.mark.parametrize(
    ("limit", "spent", "stopped"), [(None, 9e9, False), (1.0, 0.99, False), (1.0, 1.0, True), (0.0, 0.0, True)]
)
def test_when_the_budget_is_spent(limit, spent, stopped):
    budget = Budget(limit, Price(1.0, 1.0))
    assert (limit == 0.0) is (budget.stop_reason() is not None)
    budget.charge(Reply(input_tokens=round(spent * 4e5), output_tokens=round(spent * 6e5)))
    budget.charge(Reply())
    assert budget.spent_usd == pytest.approx(spent)
    assert (budget.stop_reason() is not None) is stopped
    assert not stopped or f"budget of {limit:g} USD reached" in budget.stop_reason()
