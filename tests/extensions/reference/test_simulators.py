"""The bridge to an installed bfcl_eval; without one only its error."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.simulators import ERROR_PREFIX, CallExecutor, create_simulator
from tests.plugin.conftest import Project, project  # noqa: F401 - a fixture

INSTALLED = importlib.util.find_spec("bfcl_eval") is not None
needs_reference = pytest.mark.skipif(not INSTALLED, reason="bfcl_eval is not installed")


@pytest.mark.skipif(INSTALLED, reason="bfcl_eval is installed")
def test_a_missing_reference_is_a_usage_error_with_advice() -> None:
    with pytest.raises(UsageError, match="pip install bfcl-eval"):
        create_simulator("MathAPI", kind="reference")


def test_classes_that_reach_files_or_the_network_are_not_bridged() -> None:
    from pytest_bfcl.extensions.reference import REFERENCE_MODULES

    assert not [name for name in REFERENCE_MODULES if name.startswith(("Memory", "Web"))]


@needs_reference
@pytest.mark.parametrize(
    ("class_name", "config", "calls"),
    [
        ("GorillaFileSystem", {}, ["mkdir('a')", "cd('a')", "touch('f')", "echo('x y', 'f')", "wc('f', 'w')", "pwd()"]),
        ("MathAPI", {}, ["logarithm(10, 3, 10)", "mean([1, 2])", "power(2, 10)"]),
        ("MessageAPI", {"current_user": "USR001"}, ["get_user_id('Bob')", "get_message_stats()", "list_users()"]),
        ("TwitterAPI", {"authenticated": True}, ["post_tweet('hi')", "get_tweet(0)", "get_user_stats('john')"]),
        (
            "TicketAPI",
            {"current_user": "a"},
            ["create_ticket('t')", "edit_ticket(2, {})['error'][:0]", "get_ticket(1)"],
        ),
        (
            "TradingBot",
            {"authenticated": True},
            ["get_stock_info('AAPL')", "place_order('Buy', 'AAPL', 9, 2)", "get_order_details(12446)"],
        ),
        (
            "TravelAPI",
            {"access_token": "t", "token_expires_in": 9, "credit_card_list": {"1": {"balance": 5000}}},
            ["book_flight('t', '1', '2024-11-10', 'RMS', 'LAX', 'business')", "get_all_credit_cards()"],
        ),
        ("VehicleControlAPI", {}, ["get_current_speed()", "displayCarStatus('climate')", "check_tire_pressure()"]),
    ],
)
def test_reference_and_own_simulators_answer_alike(class_name: str, config: dict[str, Any], calls: list[str]) -> None:
    own, theirs = (
        CallExecutor({class_name: create_simulator(class_name, config, kind=kind)}) for kind in ("own", "reference")
    )
    assert own.execute_all(calls) == theirs.execute_all(calls)


@needs_reference
def test_only_documented_tools_can_be_called_and_arguments_bind_first() -> None:
    simulator = create_simulator("TwitterAPI", {"authenticated": True}, kind="reference")
    executor = CallExecutor({"TwitterAPI": simulator})
    for text in ("_load_scenario({})", "__init__()", "post_tweet()", "post_tweet('a', nothing=1)"):
        assert executor.execute(text).startswith(ERROR_PREFIX)
    assert simulator.public_state()["tweets"] == {}
    assert simulator.writes("post_tweet")
    assert not simulator.writes("get_tweet")
    assert {document["name"] for document in simulator.documents()} >= {"post_tweet", "mention"}


@needs_reference
def test_work_without_end_is_refused_there_too() -> None:
    executor = CallExecutor({"MathAPI": create_simulator("MathAPI", kind="reference")})
    for text in ("power(9, 999999999)", "logarithm(10, 2, 300000000)", "square_root(2, 300000000)"):
        assert executor.execute(text).startswith(ERROR_PREFIX)


@needs_reference
def test_default_lists_do_not_leak() -> None:
    for _ in range(2):
        simulator = create_simulator("TwitterAPI", {"authenticated": True}, kind="reference")
        executor = CallExecutor({"TwitterAPI": simulator})
        executor.execute_all(["post_tweet('a')", "mention(0, ['@x'])", "post_tweet('b')"])
        assert [tweet["mentions"] for tweet in simulator.public_state()["tweets"].values()] == [["@x"], []]


@pytest.mark.skipif(INSTALLED, reason="bfcl_eval is installed")
@pytest.mark.slow
def test_reference_simulators_without_bfcl_eval_are_refused_at_once(project: Project) -> None:  # noqa: F811
    result = project.run("--bfcl-simulators", "reference", "-m", "multi_turn_base", model="oracle:@fc", subprocess=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "pip install bfcl-eval" in result.stderr.str()


REFERENCE = Path(os.environ.get("PYTEST_BFCL_REFERENCE") or "/nonexistent")
"""A folder with an importable ``bfcl_eval`` (and what it imports)."""


@pytest.mark.golden
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_reference_simulators_run_end_to_end(
    project: Project,  # noqa: F811
    official_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
) -> None:
    if not (REFERENCE / "bfcl_eval").is_dir():
        pytest.skip("no bfcl_eval (name its folder with PYTEST_BFCL_REFERENCE)")
    monkeypatch.setenv("PYTHONPATH", str(REFERENCE))
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(official_dir.parents[1]))
    ids = [f"multi_turn_{kind}_{number}" for kind in ("base", "long_context") for number in (0, 50, 100, 150, 199)]
    (project.path / "ids.txt").write_text("\n".join(ids))
    options = ["-m", "multi_turn", "--bfcl-ids", "ids.txt", "--bfcl-simulators", "reference"]
    result = project.run(*options, model=f"oracle:@{mode}", data="official", subprocess=True)
    result.assert_outcomes(passed=len(ids), deselected=None)
    mine = {record["id"]: record["tool_results"] for record in project.records()}
    project.run(*options[:-1], "own", model=f"oracle:@{mode}", data="official", subprocess=True, out="own")
    numbers = [shape(json.dumps(mine[record["id"]])) == shape(json.dumps(record["tool_results"]))
               for record in project.records("own")]  # fmt: skip
    assert numbers == [True] * len(ids), "results have other digits than our own simulators'"


def shape(text: str) -> str:
    """The digits of a text: wording is each side's own, numbers are not."""
    return "".join(filter(str.isdigit, text))
