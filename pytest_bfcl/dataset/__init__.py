"""Entries: categories, loading, expansion, checks.

Open a set with `open_dataset`; index a category, load an entry when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.late_names import late_names

if TYPE_CHECKING:
    from pytest_bfcl.dataset.categories import CATEGORIES as CATEGORIES
    from pytest_bfcl.dataset.categories import GROUPS as GROUPS
    from pytest_bfcl.dataset.categories import Category as Category
    from pytest_bfcl.dataset.categories import category_of as category_of
    from pytest_bfcl.dataset.categories import groups_of as groups_of
    from pytest_bfcl.dataset.categories import resolve_categories as resolve_categories
    from pytest_bfcl.dataset.entry import Entry as Entry
    from pytest_bfcl.dataset.entry import EntryRef as EntryRef
    from pytest_bfcl.dataset.entry import FunctionDoc as FunctionDoc
    from pytest_bfcl.dataset.hints import with_hints as with_hints
    from pytest_bfcl.dataset.index import DataProblem as DataProblem
    from pytest_bfcl.dataset.known_issues import KnownIssue as KnownIssue
    from pytest_bfcl.dataset.loading import DataSet as DataSet
    from pytest_bfcl.dataset.loading import UnknownEntry as UnknownEntry
    from pytest_bfcl.dataset.opening import open_dataset as open_dataset
    from pytest_bfcl.dataset.opening import open_files as open_files
    from pytest_bfcl.fetching.texts import Texts as Texts

_HOMES = {
    "CATEGORIES": "categories",
    "GROUPS": "categories",
    "Category": "categories",
    "category_of": "categories",
    "groups_of": "categories",
    "resolve_categories": "categories",
    "Entry": "entry",
    "EntryRef": "entry",
    "FunctionDoc": "entry",
    "with_hints": "hints",
    "DataProblem": "index",
    "KnownIssue": "known_issues",
    "DataSet": "loading",
    "UnknownEntry": "loading",
    "open_dataset": "opening",
    "open_files": "opening",
    "Texts": "pytest_bfcl.fetching.texts",
}

__all__ = [
    "CATEGORIES",
    "GROUPS",
    "Category",
    "DataProblem",
    "DataSet",
    "Entry",
    "EntryRef",
    "FunctionDoc",
    "KnownIssue",
    "Texts",
    "UnknownEntry",
    "category_of",
    "groups_of",
    "open_dataset",
    "open_files",
    "resolve_categories",
    "with_hints",
]

if not TYPE_CHECKING:  # a worker that reads a document of tools loads nothing else of this room
    __getattr__ = late_names(__name__, _HOMES)
