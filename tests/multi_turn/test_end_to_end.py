"""The 800 official entries: the oracle, and the mock server with the counts the reference gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.multi_turn.servers import mock_server

pytestmark = pytest.mark.golden

CATEGORIES = ["multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context"]
COUNTS = dict(zip(CATEGORIES, (200, 200, 198, 183), strict=True))
"""What the reference passes of the mock server's replies, in either mode."""
REFUSED = {"multi_turn_miss_param_180", "multi_turn_miss_param_195"}
"""Entries whose mock replies the reference refuses in both modes."""
SUBSET = [f"{category}_{number}" for category in CATEGORIES[:3] for number in (0, 49, 60, 110, 167, 180, 195)]
"""The answer of ``multi_turn_miss_func_49`` calls a tool before it is offered."""


@pytest.fixture(scope="module")
def server(official_dir: Path) -> Iterator[str]:
    with mock_server(official_dir) as url:
        yield f"{url}/v1"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def outcomes(data: DataSet, model: str, ids: list[str] | None = None, **settings: Any) -> tuple[dict[str, int], set]:
    """Category → entries passed, and the ids of those that failed; errors are not allowed at all."""
    found = run(data, model, categories=None if ids else CATEGORIES, ids=ids, settings=Settings(**settings)).records
    assert {record["outcome"] for record in found} <= {"passed", "failed"}
    passed = dict.fromkeys(CATEGORIES, 0)
    for record in found:
        passed[record["category"]] += record["outcome"] == "passed"
    return passed, {record["id"] for record in found if record["outcome"] == "failed"}


@pytest.mark.parametrize("mode", ["fc", pytest.param("prompt", marks=pytest.mark.slow)])
def test_the_oracle_passes_a_few_entries(official: DataSet, mode: str) -> None:
    assert outcomes(official, f"oracle:@{mode}", SUBSET)[1] == set()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_a_real_endpoint_reaches_the_reference_counts(official: DataSet, server: str, mode: str) -> None:
    passed, failed = outcomes(official, f"openai:mock@{mode}", base_url=server, concurrency=64)
    assert passed == COUNTS
    assert {name for name in failed if "miss_param" in name} == REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_long_context_answers_pass_long_context(official: DataSet, official_dir: Path, mode: str) -> None:
    ids = [ref.id for ref in official.index("multi_turn_long_context")]
    with mock_server(official_dir, "--prefer", "multi_turn_long_context") as url:
        assert outcomes(official, f"openai:mock@{mode}", ids, base_url=f"{url}/v1")[1] == set()


@pytest.mark.slow
def test_call_texts_with_positional_arguments_lose_them_in_prompting_mode(
    official: DataSet, official_dir: Path
) -> None:
    with mock_server(official_dir, "--raw-gt") as url:
        passed, _ = outcomes(official, "openai:mock@prompt", base_url=f"{url}/v1", concurrency=64)
    assert (passed["multi_turn_base"], passed["multi_turn_miss_func"]) == (176, 176)
