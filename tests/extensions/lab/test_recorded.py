"""The proof over recorded data: a planted wrong verdict is found, and the committed page is what it says."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.loading import DataSet
from tests.extensions.lab import recorded as proof
from tests.extensions.lab.recorded import PARTS, REPOSITORY, Recorded, read, text_of, verdicts, written

ROW = re.compile(r"\| [^|]+ \| [^|]*\| \**[\d,]+")


FAST = (proof.replies, proof.simulators)
"""Parts that run with every `make test` where the recorded data are."""


@pytest.mark.golden
@pytest.mark.parametrize(
    "part", [pytest.param(each, id=each.__name__, marks=[pytest.mark.official] * (each not in FAST)) for each in PARTS]
)
def test_everything_recorded_is_judged_as_the_page_says(
    golden_dir: Path, part: Any, request: pytest.FixtureRequest
) -> None:
    page = (REPOSITORY / "docs" / "fidelity.md").read_text(encoding="utf-8")
    for found in part(Recorded(golden_dir, request.getfixturevalue("official"))):
        assert found.unexplained == []
        assert f"| {found.name} | {found.compared} | {found.lines:,} | {found.equal:,} |" in page


@pytest.mark.golden
def test_a_planted_verdict_is_found_among_recorded_ones(golden_dir: Path, official: DataSet) -> None:
    lines = list(itertools.islice(read(golden_dir / "ast_fuzz.jsonl.gz"), 0, 6000, 60))
    recorded = Recorded(golden_dir, official)
    assert verdicts("sample", "verdict", lines, recorded).differences == []
    for number in (3, 57):
        line = dict(lines[number])
        line["valid"], line["error_type"] = not line["valid"], "planted" if line["valid"] else None
        planted: list[dict[str, Any]] = [*lines[:number], line, *lines[number + 1 :]]
        part = verdicts("sample", "verdict", planted, recorded)
        assert [(each.where, each.cause.name) for each in part.differences] == [(line["id"], "unknown")]
        assert (part.lines, part.equal) == (100, 99)
        assert "#### unknown (not explained)" in text_of([part])


def test_the_committed_page_adds_up_and_explains_everything() -> None:
    text = written((REPOSITORY / "docs" / "fidelity.md").read_text(encoding="utf-8"))[1]
    cells = [line.strip("|").split("|") for line in text.splitlines() if ROW.match(line)]
    rows = [[int(cell.replace(",", "").strip("* ")) for cell in row[2:4]] for row in cells]
    assert len(rows) > 10
    *parts, total = rows
    assert [sum(column) for column in zip(*parts, strict=True)] == total
    assert total[0] > 60_000
    assert "(not explained)" not in text
    listed = sum(line.startswith("- ") for line in text.partition("### Notes")[0].splitlines())
    assert listed == total[0] - total[1]
    assert not re.search(r"/(tmp|work|home|root)\b", text)
