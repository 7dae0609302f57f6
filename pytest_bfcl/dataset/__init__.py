"""Entries: categories, loading, expansion, texts, and fetching the official data.

Open a set with `open_dataset`; index a category, load an entry when it is needed.
"""

from __future__ import annotations

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS, Category, category_of, groups_of, resolve_categories
from pytest_bfcl.dataset.entry import Entry, EntryRef, FunctionDoc
from pytest_bfcl.dataset.hints import with_hints
from pytest_bfcl.dataset.index import DataProblem
from pytest_bfcl.dataset.known_issues import KnownIssue, known_issues
from pytest_bfcl.dataset.loading import DataSet, UnknownEntry
from pytest_bfcl.dataset.opening import open_dataset, open_files
from pytest_bfcl.dataset.selection import read_ids
from pytest_bfcl.dataset.texts import Texts

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
    "known_issues",
    "open_dataset",
    "open_files",
    "read_ids",
    "resolve_categories",
    "with_hints",
]
