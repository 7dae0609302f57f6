"""Format sensitivity end to end: 26 prompt formats over the same questions, and their spread."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import pytest

from pytest_bfcl import Reply
from pytest_bfcl.dataset.expansion import FormatConfig, format_configs
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.scoring.tally import CONFIGURATIONS
from pytest_bfcl.session.evaluation import open_data, run, score_lines

CATEGORY = "format_sensitivity"


def summary_of(result: Any) -> dict[str, Any]:
    (model,) = result.summary["models"].values()
    found: dict[str, Any] = model["format_sensitivity"]
    return found


def test_the_oracle_passes_every_format_of_our_own_selection() -> None:
    data = open_data("bundled")
    refs = data.index(CATEGORY)
    assert len(refs) == len({ref.id for ref in refs}) == 34 * 26
    result = run(data, "oracle@prompt", categories=[CATEGORY])
    assert result.counts == {CATEGORY: (884, 884)}
    found = summary_of(result)
    assert set(found["configurations"]) == set(CONFIGURATIONS)
    assert {cell["total"] for cell in found["configurations"].values()} == {34}
    assert (found["max_delta"], found["standard_deviation"]) == (0.0, 0.0)


class NoXml:
    """Right in every format but the XML ones, and unable to write tags."""

    spec, mode, underscore_names = "own:no-xml@prompt", "prompt", False

    async def generate(self, request: Any) -> Reply:
        config = FormatConfig.parse(request.entry.config)
        if "xml" in config.return_format or config.tool_call_tag:
            return Reply(text="I would rather not.")
        return answer(request.entry, "prompt")

    async def aclose(self) -> None:
        pass


def test_the_spread_over_formats() -> None:
    found = summary_of(run("bundled", NoXml(), categories=[CATEGORY]))
    accuracies = {name: cell["accuracy"] for name, cell in found["configurations"].items()}
    for config in format_configs():
        able = "xml" not in config.return_format and not config.tool_call_tag
        assert accuracies[str(config)] == float(able), config
    assert found["max_delta"] == 100.0
    assert found["standard_deviation"] == round(100 * statistics.stdev(accuracies.values()), 2)


def test_native_calls_are_skipped_with_the_reason() -> None:
    result = run("bundled", "oracle@fc", categories=[CATEGORY])
    assert {record["outcome"] for record in result.records} == {"skipped"}
    assert "@prompt" in result.records[0]["detail"]["error"]


@pytest.mark.parametrize(
    ("args", "model", "outcomes"),
    [
        pytest.param(("-m", CATEGORY), "oracle:@prompt", {"passed": 884}, marks=pytest.mark.slow),
        pytest.param(("-m", CATEGORY), "oracle:@fc", {"skipped": 884}, marks=pytest.mark.slow),
        (("--bfcl-categories", f"{CATEGORY},simple_java", "-k", "simple_python_8 or simple_java_0"), "oracle:@prompt",
         {"passed": 27}),
    ],
)  # fmt: skip
def test_items(pytester: pytest.Pytester, args: tuple[str, ...], model: str, outcomes: dict[str, int]) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    command = (
        "--model",
        model,
        "--bfcl-data",
        "bundled",
        "--bfcl-out",
        "run",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        "-q",
    )
    result = pytester.runpytest_subprocess(*command, *args)
    result.assert_outcomes(**outcomes)
    if "passed" in outcomes:
        total = outcomes["passed"] // 26
        result.stdout.fnmatch_lines(
            [
                "format sensitivity (no part of any overall score)",
                f"python       yes  python        plaintext  classic  *{total}/{total} *100.0 %",
                f"python       no   json          plaintext  experimental  *{total}/{total} *100.0 %",
                "largest difference 0.00, standard deviation 0.00 points",
            ]
        )


def test_not_run_unless_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    command = ("--model", "oracle:@prompt", "--bfcl-data", "bundled", "--collect-only", "-q")
    result = pytester.runpytest_subprocess(*command)
    assert not any(line.startswith(f"bfcl/{CATEGORY}") for line in result.outlines)
    assert any(line.startswith("bfcl/simple_python") for line in result.outlines)


def test_stored_lines_of_several_formats_are_judged_by_their_own_original() -> None:
    data = open_data("bundled")
    refs = data.index(CATEGORY)[:60]
    mixed = [*refs, *refs[::-7], *refs[::26]]
    lines = [{"id": ref.id, "mode": "prompt", "output": answer(data.load(ref), "prompt").output} for ref in mixed]
    wrong = [{**line, "output": "[no_such_function(a=1)]"} for line in lines]
    assert [verdict["valid"] for verdict in score_lines(lines, data)] == [True] * len(lines)
    assert [verdict["id"] for verdict in score_lines(lines, data)] == [ref.id for ref in mixed]
    assert not any(verdict["valid"] for verdict in score_lines(wrong, data))
    assert all(data.load(ref, original=data.original(ref)) == data.load(ref) for ref in refs)


@pytest.mark.slow
def test_official_counts_per_format(official: Any) -> None:
    refs = official.index(CATEGORY)
    assert len(refs) == len({ref.id for ref in refs}) == 5200
    assert set(Counter(ref.variant for ref in refs).values()) == {200}
    result = run(official, "oracle@prompt", categories=[CATEGORY])
    for name, cell in summary_of(result)["configurations"].items():
        # One entry holds an array of objects, which the official JSON decoding cuts short.
        expected = 199 if FormatConfig.parse(name).return_format == "json" else 200
        assert (cell["passed"], cell["total"]) == (expected, 200), name
