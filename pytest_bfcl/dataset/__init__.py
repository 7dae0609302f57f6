"""Entries: categories, loading, expansion, checks.

Open a set with `open_dataset`; index a category, load an entry when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.late_names import homes_of, late_names

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

_NAMES = {
    "categories": "CATEGORIES GROUPS Category category_of groups_of resolve_categories",
    "entry": "Entry EntryRef FunctionDoc",
    "hints": "with_hints",
    "index": "DataProblem",
    "known_issues": "KnownIssue",
    "loading": "DataSet UnknownEntry",
    "opening": "open_dataset open_files",
    "pytest_bfcl.fetching.texts": "Texts",
}

if not TYPE_CHECKING:  # a worker that reads a document of tools loads nothing else of this room
    __getattr__ = late_names(__name__, homes_of(_NAMES))
