"""Options that say how a model is asked, and the checks of their values."""

from __future__ import annotations

import json

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import create_model
from pytest_bfcl.run_options import OPTIONS
from pytest_bfcl.run_options import values as kinds
from pytest_bfcl.scoring.model_info import parse_model_info, settings_by_model
from pytest_bfcl.settings import Settings

SECRET = "team-secret-0123456789"


def asked(pytester, *arguments):
    """The settings a session comes to."""
    pytester.makeconftest(
        """
        import json, pytest
        from pytest_bfcl.plugin.options import make_plan

        @pytest.hookimpl(trylast=True)
        def pytest_configure(config):
            print("SETTINGS", json.dumps(make_plan(config).settings))
        """
    )
    named = () if "--model" in arguments else ("--model", "oracle:", "--bfcl-data", "bundled", "-m", "live_relevance")
    result = pytester.runpytest("--collect-only", "-q", "-s", *named, *arguments)
    lines = [line for line in result.outlines if line.startswith("SETTINGS ")]
    return (json.loads(lines[0].removeprefix("SETTINGS ")) if lines else None), result


def test_parameters_are_json_or_text(pytester):
    settings, _ = asked(
        pytester, "--bfcl-param", "top_p=0.95", "--bfcl-param", 'chat_template_kwargs={"enable_thinking": false}',
        "--bfcl-param", "reasoning_effort=high", "--bfcl-param", "store=null", "--bfcl-header", f"X-Team: {SECRET}",
        "--bfcl-api", "responses", "--bfcl-stream", "--bfcl-reasoning", "keep",
    )  # fmt: skip
    assert settings["parameters"] == {
        "top_p": 0.95, "chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "high", "store": None,
    }  # fmt: skip
    assert settings["headers"] == {"X-Team": SECRET}
    assert (settings["api"], settings["stream"], settings["reasoning"]) == ("responses", True, "keep")


def test_ini_twins(pytester):
    pytester.makeini(
        "[pytest]\nbfcl_api = anthropic\nbfcl_stream = true\nbfcl_reasoning = drop\n"
        "bfcl_param = top_p=0.5 top_k=3\nbfcl_header = 'X-A: b c'\n"
    )
    settings, _ = asked(pytester)
    assert (settings["api"], settings["stream"], settings["reasoning"]) == ("anthropic", True, "drop")
    assert settings["parameters"] == {"top_p": 0.5, "top_k": 3}
    assert settings["headers"] == {"X-A": "b c"}


INFO = {
    "models": {
        "openai:a": {"name": "A", "api": "chat", "stream": True, "parameters": {"top_p": 0.5}},
        "openai:b@fc": {"reasoning": "keep", "headers": {"X-Team": SECRET}},
    }
}


def test_a_models_own_settings_go_before_the_runs():
    run = Settings(parameters={"top_k": 1, "top_p": 0.9}, models=settings_by_model(INFO))
    for spec in ("openai:a", "openai:a@prompt"):
        chosen = run.for_model(spec)
        assert (chosen.api, chosen.stream, chosen.parameters) == ("chat", True, {"top_k": 1, "top_p": 0.5})
    assert run.for_model("openai:b@fc").reasoning == "keep"
    assert run.for_model("openai:b@prompt") is run
    assert create_model("openai:a", run).api.name == "chat"
    assert create_model("openai:b", run).api.name == "responses"
    assert parse_model_info(INFO)["openai:a"].name == "A"


@pytest.mark.parametrize(
    "table", [{"api": "soap"}, {"stream": "yes"}, {"reasoning": "no"}, {"parameters": {"model": "x"}},
              {"headers": {"X-A": 3}}, {"headers": {"Bad Name": SECRET}}],
)  # fmt: skip
def test_a_models_wrong_settings_are_named(table):
    with pytest.raises(UsageError, match="info: openai:m") as caught:
        settings_by_model({"models": {"openai:m": table}}, "info")
    assert SECRET not in str(caught.value)


NONSENSE = [
    "concurrency=-1", "concurrency=1e3", "concurrency=99999999", "timeout=0", "timeout=-3", "timeout=nan",
    "timeout=inf", "retries=-1", "temperature=nan", "temperature=hot", "max-tokens=0", "shard=3/2", "shard=1/",
    "shard=-1/2", "sample=0", "seed=x", "price=x", "price=1,2,3", "price=nan", "price=-1", "budget=-1", "budget=nan",
    "gpu-hour=-1", "repeat=0", "max-errors=nan", "max-errors=101", "baseline=r,margin=x", "sample=3,schema=2",
    "sample=3,precision=0", "timeout=3,grace=-1", "concurrency=4,agents=x", "rules=official,steps=0", "mode=fc,names=x",
    "search=local,rest=x", "report=full,none", "report=,", "record=replay=", "split=trained-on=", "baseline=",
]  # fmt: skip
OPTION = {option.name: option for option in OPTIONS}


@pytest.mark.parametrize("option", NONSENSE)
def test_nonsense_is_no_value(option: str) -> None:
    """What is said of it under pytest: test_mistake_table.py."""
    name, _, text = option.partition("=")
    with pytest.raises(ValueError, match=" "):
        OPTION[name].convert(text)


@pytest.mark.parametrize("text", ["1", "out=3", "1,2,3", "in=1,2", "nan,1", "-1,2"])
def test_a_price_names_input_and_output(text: str) -> None:
    with pytest.raises(ValueError, match="OUT"):
        kinds.price(text)
