"""The data of a session: the data set, its selected entries, and the files named on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, category_of, present_id, resolve_categories
from pytest_bfcl.failures import UsageError, did_you_mean
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.run_options import refusals
from pytest_bfcl.selection import selection
from pytest_bfcl.selection.selection import JointData, Selection, categories_to_run
from pytest_bfcl.selection.splits import check_data, is_in

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.plugin.options import Plan


class SessionData:
    """The data set, the files on the command line, and the virtual arguments removed from pytest's."""

    def __init__(self, config: pytest.Config, plan: Plan) -> None:
        self._config = config
        self._plan = plan
        self._directory = config.invocation_params.dir
        self._named_checks: dict[str, list[str | None]] = {}
        self._categories: dict[str, str | None] = {}
        """By node id."""
        self.left_out: list[str] = []
        """What pytest would have collected if the benchmark did not replace it."""
        self.arguments = self._take_arguments()

    # -- sets ----------------------------------------------------------------------------------------------------

    @cached_property
    def chosen(self) -> DataSet:
        """The data of ``--bfcl-data``. Raises `UsageError` if they are missing."""
        from pytest_bfcl.session.evaluation import open_data

        return self._with_words(open_data(self._plan.data))

    def _with_words(self, dataset: DataSet) -> DataSet:
        dataset.rewordings = self._plan.settings.get("rewordings") or {}
        return dataset

    @cached_property
    def dataset(self) -> DataSet:
        """Where entries are searched first: the data set, or the files if only files are named."""
        return self.chosen if self._uses_chosen or self.files is None else self.files

    @cached_property
    def measured(self) -> DataSet | JointData:
        """All data of this run, which its fingerprint hashes."""
        if self.files is None or not self._uses_chosen:
            return self.dataset
        joint = JointData(self.chosen, self.files)
        if clash := joint.clash():
            raise UsageError(clash)
        return joint

    @property
    def named_files(self) -> list[Path]:
        """The ``.jsonl`` files on the command line, in its order."""
        paths = [Path(argument.partition("::")[0]) for argument in self._config.args]
        return list(dict.fromkeys((self._directory / path).resolve() for path in paths if path.suffix == ".jsonl"))

    @cached_property
    def files(self) -> DataSet | None:
        """The files on the command line outside the data set; ``None`` without any."""
        from pytest_bfcl.dataset.opening import open_files
        from pytest_bfcl.simulators import documents_of

        own = [path for path in self.named_files if not self._is_chosen(path)]
        return self._with_words(open_files(own, documents_of)) if own else None

    def dataset_at(self, path: Path) -> DataSet:
        """The data of a file on the command line."""
        from pytest_bfcl.session.evaluation import open_data

        if self._is_chosen(path):
            return self.chosen
        if self.files is not None and path.resolve() in (self.files.root, *self.files.paths):
            return self.files
        return self._with_words(open_data(str(path)))

    @cached_property
    def _uses_chosen(self) -> bool:
        named = self.named_files
        return bool(self.arguments) or not named or any(map(self._is_chosen, named))

    def _is_chosen(self, path: Path) -> bool:
        try:
            return any(self.chosen.path_of(name) == path for name in self.chosen.categories())
        except UsageError:
            return False

    @property
    def is_unused(self) -> bool:
        """Whether only users' own files run, and nothing of the data set."""
        return self.files is not None and not self._uses_chosen

    @property
    def is_guessed(self) -> bool:
        """Whether ``auto`` fell back to our own entries."""
        return self._plan.data == "auto" and self.dataset.name == "bundled"

    def category_at(self, nodeid: str) -> str | None:
        """The category of an item known only by its node id; a line of a user's file may name another than its id."""
        if nodeid not in self._categories:
            category = category_at(nodeid)
            if category is not None and selection.virtual_argument(nodeid) is None:
                category = self.category_of(selection.entry_id_of(nodeid)) or category
            self._categories[nodeid] = category
        return self._categories[nodeid]

    def entries_at(self, nodeids: Iterable[str]) -> list[tuple[str, str]]:
        """Id and category of the items that are entries."""
        found = ((selection.entry_id_of(each), self.category_at(each)) for each in nodeids)
        return [(name, category) for name, category in found if category is not None]

    def category_of(self, entry_id: str) -> str | None:
        """The category of an entry of a file or of the data set."""
        found = (each.find(entry_id) for each in (self.files, self.dataset) if each is not None)
        return next((ref.category for ref in found if ref is not None), None)

    # -- what is asked for ---------------------------------------------------------------------------------------

    @cached_property
    def ids(self) -> list[str] | None:
        """The entry ids of ``--bfcl-ids``, read by the controller; ``None`` without that option."""
        if self._plan.ids is not None or self._plan.ids_file is None:
            return self._plan.ids
        from pytest_bfcl.selection.selection import read_ids

        return [ref.id for ref in read_ids(self._plan.ids_file, self.dataset)]

    @cached_property
    def wanted_ids(self) -> set[str] | None:
        """The entries of the split's part, or of both part and ``--bfcl-ids``; ``None``: all.

        Raises `UsageError` if the split was made of other data, or if its part has no entry of ``--bfcl-ids``.
        """
        split = self._plan.settings.get("split")
        ids = None if self.ids is None else set(self.ids)
        if split is None:
            return ids
        part = frozenset(split["ids"])
        asked = (
            (ref.id for name in self.dataset.categories() for ref in self.dataset.index(name)) if ids is None else ids
        )
        found = {each for each in asked if is_in(part, each)}
        if ids is not None and not found:
            raise UsageError(f"none of the entries of --bfcl-ids is in the {split['part']} part of {split['name']}")
        return found

    def _is_left_out(self, entry_id: str) -> bool:
        split = self._plan.settings.get("split")
        return split is not None and not is_in(frozenset(split["ids"]), entry_id)

    def _check_splits(self) -> None:
        for name in ("split", "trained_on"):
            if (part := self._plan.settings.get(name)) is not None:
                check_data(part, self.measured)

    def categories_of(self, dataset: DataSet, default: list[str] | None = None) -> list[str]:
        """Categories to collect: those asked for by option, else the default and those a mark expression names."""
        if self._plan.categories:
            if default is not None:
                have = dataset.categories()
                return [n for n in resolve_categories(self._plan.categories) if n in have or dataset.index(n)]
            return categories_to_run(dataset, self._plan.categories)
        if default is not None:
            return default
        if self.ids is not None:
            return list(dict.fromkeys(ref.category for ref in map(dataset.find, self.ids) if ref is not None))
        return categories_to_run(dataset, also=selection.mentioned(self._marks))

    def virtual_files(self) -> list[tuple[str, set[str] | None]]:
        """Category → the ids wanted of it (``None``: all), for data that is not a file on the command line."""
        ids = self.wanted_ids
        if self.arguments is None and self.checks and not selection.mentioned(self._marks):
            return []  # no entry has such a mark: nothing to look for in them
        if self.arguments is None:
            return [(name, ids) for name in self.categories_of(self.dataset)]
        files: dict[str, set[str] | None] = {}
        for category, name in self.arguments:
            if name is None:
                files[category] = ids
            elif files.setdefault(category, set()) is not None:
                files[category].add(name)  # type: ignore[union-attr]
        return list(files.items())

    @property
    def _marks(self) -> str:
        return str(self._config.getoption("markexpr", "") or "")

    @cached_property
    def checks(self) -> Mapping[str, frozenset[str] | None]:
        """The selected sets of checks with the names of their checks; ``None``: all, by mark or whole file."""
        asked = {
            name: frozenset(each for each in names if each is not None) if None not in names else None
            for name, names in self._named_checks.items()
        }
        if self.arguments is None:
            for name in selection.mentioned_checks(self._marks):
                asked.setdefault(name, None)
        return asked

    @cached_property
    def _is_rerun(self) -> bool:
        """Whether ``--lf`` selects failures of the last session; without failures it runs everything."""
        cache = getattr(self._config, "cache", None)
        return bool(getattr(self._config.option, "lf", False) and cache and cache.get("cache/lastfailed", {}))

    def selection_facts(self) -> Parsed:
        """The selection, as in the fingerprint."""
        option = self._config.option
        chosen = Selection(self._plan.categories, self.ids, self._plan.sample, self._plan.shard)
        asked = {
            "marks": getattr(option, "markexpr", "") or None,
            "keywords": getattr(option, "keyword", "") or None,
            "last_failed": self._is_rerun,
            "arguments": [f"{category}::{name}" if name else category for category, name in self.arguments or ()],
        }
        return chosen.facts() | {name: value for name, value in asked.items() if value}

    # -- arguments -----------------------------------------------------------------------------------------------

    def _take_arguments(self) -> list[selection.VirtualArgument] | None:
        """Remove virtual arguments from pytest's; ``None`` if nothing is named and the whole data are meant.

        Then what pytest would have collected is left out. Recordings concern only own tests and add no entries.
        """
        config = self._config
        if pytest_internals.names_no_arguments(config):
            if self._plan.own_tests:
                return []
            self.left_out = list(config.args)
            pytest_internals.replace_arguments(config, ())
            return None
        taken: list[selection.VirtualArgument] = []
        left: list[str] = []
        for argument in config.args:
            exists = (self._directory / argument.partition("::")[0]).exists()
            virtual = None if exists else selection.virtual_argument(argument)
            if virtual is None and (meant := self._argument_hint(argument, exists)):
                raise UsageError(meant)
            if virtual is None:
                left.append(argument)
            elif _are_checks(virtual.category):
                self._named_checks.setdefault(virtual.category, []).append(virtual.name)
            else:
                taken.append(virtual)
        pytest_internals.replace_arguments(config, left)
        return taken

    def _argument_hint(self, argument: str, exists: bool) -> str | None:
        """The corrected form of an argument that is no file, or is a run's file; a conftest may collect other files."""
        if exists:
            return refusals.run_hint(Path(argument.partition("::")[0]))
        return None if self._config.option.pyargs else refusals.missing_hint(argument, active=True)

    def check_arguments(self, labels: set[str | None]) -> None:
        """Refuse virtual arguments that match nothing; ``labels`` are those of the run's models and repeats."""
        for category, name in self.arguments or ():
            if category not in CATEGORIES or not self.dataset.index(category):
                have = self.dataset.categories()
                told = did_you_mean(category, have) or f"it has: {', '.join(have)}"
                if category in EARLIER:
                    entry = f"::{present_id(name, category)}" if name else ""
                    told = f"since V4 it is bfcl/{EARLIER[category]}.jsonl{entry}"
                raise UsageError(f"not found: bfcl/{category}.jsonl in the {self.dataset.name} data; {told}")
            entry_id, _, label = (name or "").partition("[")
            if name is not None and self.dataset.find(entry_id) is None:
                close = did_you_mean(entry_id, (ref.id for ref in self.dataset.index(category)))
                place = f"bfcl/{category}.jsonl::{name} in the {self.dataset.name} data"
                raise UsageError(f"not found: {place}; {close}" if close else f"not found: {place}")
            if name is not None and self._is_left_out(entry_id):
                part = self._plan.settings["split"]
                raise UsageError(
                    f"{entry_id} is not in the {part['part']} part of {part['name']}: leave one of them out"
                )
            if label and label.removesuffix("]") not in labels:
                raise UsageError(f"not found: bfcl/{category}.jsonl::{name}: this run has no such model or repeat")
        self._check_splits()
        _ = self.wanted_ids  # unknown ones are refused now


def _are_checks(name: str) -> bool:
    return name not in CATEGORIES and entry_points.find("checks", name) is not None


def category_at(nodeid: str) -> str | None:
    """The category of an item known only by its node id (the controller does not collect); else ``None``."""
    path, _, name = nodeid.partition("::")
    if not path.endswith(".jsonl"):
        return None
    virtual = selection.virtual_argument(nodeid)
    if virtual is not None and _are_checks(virtual.category):
        return None
    if virtual is not None and virtual.category in CATEGORIES:
        return virtual.category
    category = category_of(name.partition("[")[0])
    return category if category in CATEGORIES else "simple_python"
