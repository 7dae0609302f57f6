"""docs/gates.md, docs/statistics.md and docs/fidelity.md name options, rules and formulas that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_bfcl.checkers.corrected import CORRECTED_RULES
from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.run_options import OPTIONS
from pytest_bfcl.scoring.aggregate import FORMULAS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ["gates.md", "statistics.md", "fidelity.md"]


@pytest.mark.parametrize("page", PAGES)
def test_options_and_links_exist(page: str) -> None:
    text = (DOCS / page).read_text()
    known = {f"--bfcl-{option.name}" for option in OPTIONS}
    assert set(re.findall(r"--bfcl-[a-z-]+", text)) <= known
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (DOCS / target).exists(), target


def test_every_gate_of_the_table_is_one() -> None:
    (row,) = [line for line in (DOCS / "gates.md").read_text().splitlines() if "GROUP is" in line]
    named = re.findall(r"`([a-z_]+3?)`", row.split("GROUP is", 1)[1].split(")", 1)[0])
    assert len(named) > 10
    assert set(named) <= {"overall", "overall_v3", *FORMULAS, *GROUPS, *CATEGORIES}


def test_every_corrected_rule_is_explained() -> None:
    rows = re.findall(r"^\| (C\d+) ", (DOCS / "fidelity.md").read_text(), re.MULTILINE)
    assert rows == [*CORRECTED_RULES, "C19", "C20"]


def test_every_formula_is_written_down() -> None:
    text = (DOCS / "statistics.md").read_text()
    assert all(f"`{name}`" in text for name in (*FORMULAS, "overall", "overall_v3") if name != "relevance")
