"""The collection hooks: which files are collected, which items are kept, in which order they run."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.transforms import split_id
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.nodes import DataRoot, EntryFile, EntryItem, NodeContext
from pytest_bfcl.selection.sharding import shard_of, stratified_sample
from pytest_bfcl.session.earlier import needed_stages

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import EntryRef
    from pytest_bfcl.plugin.contenders import Variant
    from pytest_bfcl.plugin.conversations import Conversations
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.earlier import EarlierParts
    from pytest_bfcl.session.run import Run


class CheckFile(pytest.File):
    """The file node of a set of checks; no such file exists."""


class CheckSet(Protocol):
    """The result of an entry point's ``(session, contenders, run, only)``. ``only``: the checks named on the command
    line, with or without a label; ``None``: all.
    """

    @property
    def plugins(self) -> Mapping[str, object]:
        """Name → hooks, for the duration of the session."""

    def file(self, parent: pytest.Collector) -> CheckFile:
        """The node that collects the set's items."""


def check_set(
    name: str, session: Session, contenders: Sequence[Contender], run: Run, only: frozenset[str] | None
) -> CheckSet:
    """The set of that name. Raises `UsageError` if it is not available or does not fit these models."""
    make = entry_points.load(entry_points.offered("checks")[name], "checks")
    found: CheckSet = make(session, contenders, run, only)
    return found


class Collection:
    """The collection hooks of an active session."""

    def __init__(
        self,
        session: Session,
        context: NodeContext,
        earlier: EarlierParts,
        conversations: Conversations,
        checks: Sequence[CheckSet],
    ) -> None:
        self._checks = checks
        self._data = session.data
        self._plan = session.plan
        self._context = context
        self._earlier = earlier
        self._conversations = conversations
        self._stage_files: dict[tuple[EntryFile, str], EntryFile] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> EntryFile | None:
        """A ``.jsonl`` named on the command line."""
        if file_path.suffix != ".jsonl" or not parent.session.isinitpath(file_path):
            return None
        try:
            dataset = self._data.dataset_at(file_path)
            here = dataset.categories_in(file_path)
            wanted = [name for name in self._data.categories_of(dataset, default=here) if name in here]
        except UsageError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        only = self._data.wanted_ids
        return EntryFile.make(parent, self._context, dataset, wanted, path=file_path, only=only) if wanted else None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the virtual files to the collected ones."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            files = self._data.virtual_files()
            if files or self._checks:
                parent = self._data_root(collector, report.result)
                nodes: list[pytest.Collector] = [
                    EntryFile.make(parent, self._context, self._data.dataset, [category], only=only)
                    for category, only in files
                ]
                nodes += (each.file(parent) for each in self._checks)
                report.result = [*report.result, *nodes]
        return report

    def _data_root(self, session: pytest.Session, collected: Iterable[Any]) -> pytest.Collector:
        """The node of the invocation directory: the collected one, else a new chain of nodes from rootdir."""
        root, target = session.config.rootpath, session.config.invocation_params.dir
        known = {
            node.path: node for leaf in collected for node in leaf.iter_parents() if isinstance(node, pytest.Directory)
        }
        parent: pytest.Collector = session
        if target != root and root not in target.parents:
            return session  # invoked from outside the project: only its rootdir conftest applies
        for path in (*reversed([p for p in (target, *target.parents) if p == root or root in p.parents]),):
            node = known.get(path)
            if node is None:
                node = DataRoot.from_parent(parent, path=path)
                session.config.hook.pytest_make_collect_report(collector=node)  # its conftest's fixtures are read here
            parent = node
        return parent

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, Any, Any]:
        """After every other selection (-k, -m, --lf): sample, shard, finished entries, write stages."""
        result = yield
        entries = [item for item in items if isinstance(item, EntryItem)]
        if not entries:
            return result
        stages = [item for item in entries if item.is_write_stage]
        kept = [item for item in entries if not item.is_write_stage]
        plan = self._plan
        if plan.sample is not None:
            chosen = stratified_sample(
                (item.ref.id for item in kept if not item.ref.transform), plan.sample, plan.settings["seed"]
            )
            kept = [item for item in kept if split_id(item.ref.id)[0] in chosen]
        if plan.shard is not None:
            mine = shard_of((item.shard_item for item in (*stages, *kept)), *plan.shard)
            stages, kept = ([item for item in each if item.shard_item in mine] for each in (stages, kept))
        kept = [item for item in self._with_write_stages(kept, stages) if not self._earlier.is_settled(item.trial)]
        chosen_items = set(kept)
        if deselected := [item for item in entries if item not in chosen_items]:
            config.hook.pytest_deselected(items=deselected)
        # Questions stay where they were (--ff put them there), write stages right before the first that needs them.
        waiting = iter(kept)
        ordered: list[pytest.Item] = []
        for item in items:
            if item in chosen_items and not (isinstance(item, EntryItem) and item.is_write_stage):
                for each in waiting:
                    ordered.append(each)
                    if each is item:
                        break
            elif not isinstance(item, EntryItem):
                ordered.append(item)
        items[:] = [*ordered, *waiting]
        return result

    def _with_write_stages(self, kept: list[EntryItem], named: list[EntryItem]) -> list[EntryItem]:
        """Add the write stages of every memory question before the first question of its file."""
        needed: dict[tuple[EntryFile, str, Variant], set[str]] = {}
        for item in kept:
            if CATEGORIES[item.ref.category].backend:
                ids = needed.setdefault((item.file, item.ref.category, item.variant), set())
                ids.update(needed_stages(item.trial, self._earlier))
        present = {(item.ref.id, item.variant) for item in named}
        stages: dict[EntryFile, list[EntryItem]] = {}
        for (file, category, variant), ids in needed.items():
            refs = file.dataset.index(f"{category}_prereq")
            wanted = [ref for ref in refs if ref.id in ids and (ref.id, variant) not in present]
            stages.setdefault(file, []).extend(self._stage(file, ref, variant) for ref in wanted)
        ordered = list(named)
        for item in kept:
            ordered.extend(stages.pop(item.file, ()))
            ordered.append(item)
        return ordered

    def _stage(self, file: EntryFile, ref: EntryRef, variant: Variant) -> EntryItem:
        """An item for a write stage, in its own file node."""
        node = self._stage_files.get((file, ref.category))
        if node is None:
            assert file.parent is not None
            path = None if file.virtual else ref.path
            node = EntryFile.make(file.parent, self._context, file.dataset, [ref.category], path=path)
            self._stage_files[file, ref.category] = node
        return EntryItem.make(node, ref, variant)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Broken data and unknown categories are users' mistakes: one message, no traceback."""
        with pytest_internals.users_mistakes():
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Report a broken line without stopping the other entries."""
        broken = self._context.broken_lines
        if broken and session.testsfailed <= len(broken):
            pytest_internals.continue_on_collection_errors(session)
        if not self._plan.dry_run:
            items = [item for item in session.items if isinstance(item, EntryItem)]
            self._conversations.items = items
            for file in {item.file for item in items}:
                file.hooks = file.ihook


class LastFailedGuard:
    """Keeps ``--lf`` from skipping all data files after an ordinary test failed: ids decide, not file paths."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Collect entry files before the cache plugin can skip them."""
        if not isinstance(collector, EntryFile | CheckFile):
            return None
        return pytest_internals.collect_report(collector)
