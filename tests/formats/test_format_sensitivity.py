"""Format sensitivity end to end: 26 prompt formats over the same questions, and their spread."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pytest_bfcl.dataset.expansion import FormatConfig
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data, run, score_lines

CATEGORY = "format_sensitivity"


def summary_of(result: Any) -> dict[str, Any]:
    (model,) = result.summary["models"].values()
    found: dict[str, Any] = model["format_sensitivity"]
    return found


def test_native_calls_are_skipped_with_the_reason() -> None:
    result = run("bundled", "oracle@fc", categories=[CATEGORY])
    assert {record["outcome"] for record in result.records} == {"skipped"}
    assert "@prompt" in result.records[0]["detail"]["error"]


def test_items(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    result = pytester.runpytest_inprocess(
        *("--model", "oracle:@prompt", "--bfcl-data", "bundled", "--bfcl-out", "run", "-q"),
        *("-p", "no:cacheprovider", "--bfcl-categories", f"{CATEGORY},simple_java"),
        *("-k", "simple_python_8 or simple_java_0"),
    )
    result.assert_outcomes(passed=27)
    result.stdout.fnmatch_lines(
        [
            "format sensitivity (no part of any overall score)",
            "python       yes  python        plaintext  classic  *1/1 *100.0 %",
            "python       no   json          plaintext  experimental  *1/1 *100.0 %",
            "largest difference 0.00, standard deviation 0.00 points",
        ]
    )


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
