"""Prices without importing litellm."""

from __future__ import annotations

import datetime
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_bfcl.models.prices import Pricing, cost, listed_price, litellm_providers, price_of
from pytest_bfcl.settings import Price, Settings
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn


@pytest.mark.parametrize(
    "spec", ["openai:gpt-4o", "openai:gpt-4o@prompt", "anthropic:claude-haiku-4-5", "litellm:openai/gpt-4o"]
)
def test_known_models_have_a_price(spec):
    price = listed_price(spec)
    assert price is not None
    assert 0 < price.input < price.output < 1000


@pytest.mark.parametrize("spec", ["openai:no-such-model", "vllm:meta-llama/x", "oracle:", "replay:gpt-4o"])
def test_unknown_prices_are_none(spec):
    assert listed_price(spec) is None


def test_the_users_price_wins_per_field():
    listed = listed_price("openai:gpt-4o")
    assert price_of("openai:gpt-4o", Settings()) == listed
    assert price_of("openai:gpt-4o", Settings(price=Price(1.0, None))) == Price(1.0, listed.output)
    assert price_of("openai:gpt-4o", Settings(base_url="http://localhost:1/v1")) is None
    assert price_of("vllm:x", Settings(price=Price(0.1, 0.2))) == Price(0.1, 0.2)
    assert price_of("vllm:x", Settings()) is None


def test_cost():
    price = Price(2.0, 8.0)
    assert cost(1_000_000, 500_000, price) == pytest.approx(6.0)
    assert cost(None, 10, price) == pytest.approx(8e-5)
    assert cost(None, None, price) is None
    assert cost(1, 1, None) is None
    assert cost(1, 1, Price(1.0, None)) is None


def test_a_conversation_costs_the_sum_of_its_replies():
    steps = [Step(Reply(input_tokens=1_000_000, output_tokens=0)), Step(Reply(input_tokens=0, output_tokens=1_000_000))]
    transcript = Transcript("a", "simple_python", "openai:m@fc", turns=[Turn(steps=[s]) for s in steps])
    assert Pricing({"openai:m@fc": Price(1.0, 2.0)}).transcript(transcript) == pytest.approx(3.0)
    assert Pricing({}).transcript(transcript) is None


@pytest.fixture
def without_litellm(monkeypatch):
    from pytest_bfcl.models import prices

    monkeypatch.setattr(prices, "litellm_table", dict)


@pytest.mark.parametrize(
    "spec",
    ["openai:gpt-4o", "anthropic:claude-haiku-4-5", "litellm:mistral/mistral-large-latest", "gemini:gemini-2.5-pro"],
)
def test_both_lists_give_the_same_price(spec, monkeypatch):
    from pytest_bfcl.models import prices

    theirs = listed_price(spec)
    monkeypatch.setattr(prices, "litellm_table", dict)
    assert listed_price(spec) == theirs
    assert theirs is not None


def test_our_list_is_what_the_script_makes_of_litellms():
    from importlib.metadata import version

    from pytest_bfcl.models.prices import TABLE, our_table

    if version("litellm") not in our_table()["source"]:
        pytest.skip("another litellm than the list was made from")
    day = datetime.date.fromisoformat(our_table()["date"])
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "prices.py"))
    assert script["compact"](day) == TABLE.read_text(encoding="utf-8")


def test_without_litellm_its_providers_are_known_and_unknown_models_have_no_price(without_litellm):
    assert {"anthropic", "openai", "bedrock", "mistral"} <= litellm_providers()
    assert listed_price("openai:no-such-model") is None
    assert price_of("vllm:gpt-4o", Settings(base_url="http://localhost:1/v1")) is None


def test_the_table_is_read_without_importing_litellm():
    code = (
        "import sys; from pytest_bfcl.models.prices import *\n"
        "assert listed_price('openai:gpt-4o') and 'litellm' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
    assert {"anthropic", "openai", "bedrock"} <= litellm_providers()
