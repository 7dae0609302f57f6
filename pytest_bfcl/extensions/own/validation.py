"""Checking a whole data set before anything is paid for."""

from __future__ import annotations

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.index import DataProblem
from pytest_bfcl.dataset.loading import DataSet


def validate(dataset: DataSet, categories: list[str] | None = None) -> list[DataProblem]:
    """Every problem of a set (or of some categories), in file order; empty means all entries are usable.

    ``categories`` defaults to `validated_categories`.
    """
    names = categories or validated_categories(dataset)
    names = [*names, *(f"{name}_prereq" for name in names if CATEGORIES[name].group == "memory")]
    problems: list[DataProblem] = []
    for name in names:
        problems += dataset.problems(name)
        if name != "format_sensitivity":  # its entries are those of other categories
            for ref in dataset.index(name):
                problems += dataset.entry_problems(ref)
    if not categories and not problems and not any(dataset.index(name) for name in names):
        problems.append(DataProblem(dataset.root, 0, "no entries found"))
    return problems


def validated_categories(dataset: DataSet) -> list[str]:
    """All of a set's categories; of the official set without the retired ones, whose flaws stay as they are."""
    return [name for name in dataset.categories() if not (dataset.official and CATEGORIES[name].group == "retired")]
