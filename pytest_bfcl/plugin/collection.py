"""Entries as pytest items: which files are collected, under which node ids, with which marks, in which order.

Files of the chosen data have virtual ids, ``bfcl/<category>.jsonl::<entry id>``, whatever the working directory; a
``.jsonl`` named on the command line keeps its own path. Collection reads ids only; bodies are parsed in setup.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS, groups_of
from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.plugin import selection

if TYPE_CHECKING:
    from pytest_bfcl.dataset import DataSet, EntryRef
    from pytest_bfcl.models import ModelSpec
    from pytest_bfcl.plugin.session import BfclSession

LANGUAGES = ("java", "javascript")


def marker_lines() -> Iterator[str]:
    """Every category, group, language and mode as a registered marker."""
    for name, row in CATEGORIES.items():
        yield f"{name}: function-calling entries of the category {name} ({row.group})"
    for name in GROUPS:
        if name not in CATEGORIES:
            yield f"{name}: function-calling entries of the group {name}"
    for name in LANGUAGES:
        yield f"{name}: function-calling entries whose calls are {name}"
    yield "fc: function-calling entries asked with native tool calls"
    yield "prompt: function-calling entries whose calls are written as text"


def check_entry(model: Any, bfcl_loop: Any) -> None:
    """Stands for the test function: its arguments are the fixtures every entry needs.

    Entry and transcript are filled in by `EntryItem.setup`: two fixtures an item would cost more than the judging.
    """


def check_through_fixtures(bfcl_entry: Any, transcript: Any) -> None:
    """The same for files where a project overrides one of these fixtures."""


class DataRoot(pytest.Directory):
    """The invocation directory (and those above, up to rootdir) as parent of virtual files.

    Hanging the data there makes the conftest files of the user's project apply to it.
    """

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Nothing: virtual files are added by the session's report."""
        return ()


class BrokenLine(pytest.Collector):
    """A line of a data file that is no entry: one collection error that says where and what."""

    message = ""

    def collect(self) -> Iterable[pytest.Item]:
        """Raise the error."""
        raise self.CollectError(self.message)


class EntryFile(pytest.Module):
    """The entries of one category, or of all wanted categories that share a file named on the command line.

    ``only`` restricts it to the names asked for. Marks sit here when they hold for every item, else on the items.
    """

    obj = None
    shown_path: str | None = None
    bfcl: BfclSession
    dataset: DataSet
    categories: list[str]
    virtual: bool
    only: set[str] | None

    @classmethod
    def make(
        cls, parent: pytest.Collector, bfcl: BfclSession, dataset: DataSet, categories: list[str], *, virtual: bool,
        only: set[str] | None = None,
    ) -> EntryFile:  # fmt: skip
        """The node of one category, or of a file's categories."""
        first = categories[0]
        ids = {"nodeid": f"bfcl/{first}.jsonl", "name": f"{first}.jsonl"} if virtual else {}
        node: EntryFile = cls.from_parent(parent, path=dataset.path_of(first), **ids)  # type: ignore[arg-type]
        node.bfcl, node.dataset, node.categories, node.virtual, node.only = bfcl, dataset, categories, virtual, only
        if len(categories) == 1:
            node.mark(node, first)
        if len({bfcl.mode_of(spec) for spec in bfcl.specs}) == 1:
            node.add_marker(bfcl.mode_of(bfcl.specs[0]))
        return node

    def mark(self, node: pytest.Item | pytest.Collector, category: str) -> None:
        """Category, groups, language, and why it is skipped if it is."""
        names = [category, *groups_of(category)]
        if (language := CATEGORIES[category].language) in LANGUAGES:
            names.append(language)
        for name in dict.fromkeys(names):
            node.add_marker(name)
        if reason := self.bfcl.skip_reason(self.dataset, category):
            node.add_marker(pytest.mark.skip(reason=reason))

    @property
    def ihook(self) -> Any:
        """Hooks of the user's conftest files, also when the data lies outside the project."""
        if self.virtual:
            return self.session.gethookproxy(self.config.invocation_params.dir)
        return super().ihook

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """One item per entry, model and repeat; a broken line becomes a collector that fails."""
        for problem in (problem for name in self.categories for problem in self.dataset.problems(name)):
            if str(problem) not in self.bfcl.broken_lines:  # several categories may share a file
                self.bfcl.broken_lines.add(str(problem))
                broken = BrokenLine.from_parent(self, name=f"line {problem.line}")
                broken.message = str(problem)
                yield broken
        first: EntryItem | None = None
        for ref in (ref for name in self.categories for ref in self.dataset.index(name)):
            for spec, repeat, label in self.bfcl.variants:
                if self.only is None or ref.id in self.only or f"{ref.id}[{label}]" in self.only:
                    first = EntryItem.make(self, ref, spec, repeat, label, first)
                    yield first


class EntryItem(pytest.Function):
    """One entry with one model: the conversation is held in setup, the check happens in the call."""

    ref: EntryRef
    spec: ModelSpec
    repeat: int

    @classmethod
    def make(
        cls, parent: EntryFile, ref: EntryRef, spec: ModelSpec, repeat: int, label: str | None, first: EntryItem | None
    ) -> EntryItem:
        """The item; items of a file share the first one's fixture information."""
        name = f"{ref.id}[{label}]" if label else ref.id
        shared = {"fixtureinfo": first._fixtureinfo} if first is not None else {}
        check = first.obj if first is not None else _check_for(parent)
        item: EntryItem = cls.from_parent(parent, name=name, originalname=ref.id, callobj=check, **shared)
        if label and hasattr(parent, "id"):  # pytest 9.1: ids are structured, and --lf compares the structure
            item._id = parent.id.child(ref.id).with_params(label)
            item.__dict__.pop("nodeid", None)
        item.ref, item.spec, item.repeat = ref, spec, repeat
        if len(parent.categories) > 1:
            parent.mark(item, ref.category)
        if len({parent.bfcl.mode_of(each) for each in parent.bfcl.specs}) > 1:
            item.add_marker(parent.bfcl.mode_of(spec))
            if reason := parent.bfcl.skip_reason(parent.dataset, ref.category, spec):
                item.add_marker(pytest.mark.skip(reason=reason))
        return item

    @property
    def is_write_stage(self) -> bool:
        """Whether this conversation only fills a memory."""
        return CATEGORIES[self.ref.category].checker == "none"

    @property
    def ihook(self) -> Any:
        """As the file's."""
        return self.file.ihook

    @property
    def file(self) -> EntryFile:
        """The file node this item belongs to."""
        assert isinstance(self.parent, EntryFile)
        return self.parent

    def setup(self) -> None:
        """Fill the fixtures: parse the entry, hold the conversation. Trouble becomes a short text, no traceback."""
        bfcl = self.file.bfcl
        bfcl.current = self
        with bfcl.outcomes.setup_of(self):
            super().setup()
            if "transcript" not in self.funcargs:
                loop: Any = self.funcargs["bfcl_loop"]
                self.funcargs["bfcl_entry"] = bfcl.conversations.entry_of(self)
                self.funcargs["transcript"] = bfcl.conversations.transcript(self, self.funcargs["model"], loop)

    def teardown(self) -> None:
        """Let go of the entry, its conversation and its record: items live as long as the session."""
        self.file.bfcl.conversations.forget(self)
        self.file.bfcl.outcomes.forget(self)
        super().teardown()

    def runtest(self) -> None:
        """Judge the transcript; raises `pytest_bfcl.Failure` for the model's mistake."""
        self.file.bfcl.outcomes.check(self)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The ready text of a failure; anything else as pytest shows it."""
        return self.file.bfcl.outcomes.failure_repr(self, excinfo) or super().repr_failure(excinfo)

    @cached_property
    def nodeid(self) -> str:
        """As pytest's, but put together once."""
        return super().nodeid

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """As pytest's, but the path is worked out once a file."""
        if self.file.shown_path is None:
            self.file.shown_path = super().location[0]
        return self.file.shown_path, 0, self.name

    def reportinfo(self) -> tuple[Any, int, str]:
        """The (virtual) file and the name: what ``-v`` and junit show; one line for all, so that skips are folded."""
        path = self.config.rootpath / self.file.nodeid if self.file.virtual else self.path
        return path, 0, self.name


class Collection:
    """The collection hooks of an active session."""

    def __init__(self, bfcl: BfclSession) -> None:
        self.bfcl = bfcl

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> EntryFile | None:
        """A ``.jsonl`` named on the command line."""
        if file_path.suffix != ".jsonl" or not parent.session.isinitpath(file_path):
            return None
        try:
            dataset = self.bfcl.dataset_at(file_path)
            here = [name for name in dataset.categories() if dataset.path_of(name) == file_path]
            wanted = [name for name in self.bfcl.categories_of(dataset, default=here) if name in here]
        except UsageError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        only = None if self.bfcl.plan.ids is None else set(self.bfcl.plan.ids)
        return EntryFile.make(parent, self.bfcl, dataset, wanted, virtual=False, only=only) if wanted else None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the virtual files to what the session collected."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            files = self.bfcl.virtual_files()
            if files:
                parent = self._data_root(collector, report.result)
                nodes = [
                    EntryFile.make(parent, self.bfcl, self.bfcl.dataset, [category], virtual=True, only=only)
                    for category, only in files
                ]
                report.result = [*report.result, *nodes]
        return report

    def _data_root(self, session: pytest.Session, collected: Iterable[Any]) -> pytest.Collector:
        """The node of the invocation directory: the collected one, else a chain of our own down from rootdir."""
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
        plan = self.bfcl.plan
        if plan.sample is not None:
            chosen = selection.stratified_sample((item.ref.id for item in kept), plan.sample, plan.settings["seed"])
            kept = [item for item in kept if item.ref.id in chosen]
        if plan.shard is not None:
            index, count = plan.shard
            units = selection.stripes([item.nodeid for item in kept], count)[index - 1]
            positions = {position for unit in units for position in unit}
            kept = [item for position, item in enumerate(kept) if position in positions]
        kept = [item for item in self._with_write_stages(kept, stages) if not self.bfcl.continuation.is_done(item)]
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
        """Every memory question brings the write stages of its scenario, before the first question of its file."""
        needed: dict[tuple[EntryFile, str, str], tuple[EntryItem, set[str]]] = {}
        for item in kept:
            if CATEGORIES[item.ref.category].backend:
                _, ids = needed.setdefault((item.file, item.ref.category, _label(item)), (item, set()))
                with suppress(BenchmarkError):  # a broken entry says so when it is run
                    depends = item.file.dataset.depends_on(item.ref)
                    ids.update(each for each in depends if self.bfcl.continuation.needs_stage(item, each))
        present = {(item.ref.id, _label(item)) for item in named}
        stages: dict[EntryFile, list[EntryItem]] = {}
        for (file, category, label), (question, ids) in needed.items():
            refs = file.dataset.index(f"{category}_prereq")
            wanted = [ref for ref in refs if ref.id in ids and (ref.id, label) not in present]
            stages.setdefault(file, []).extend(self._stage(question, ref) for ref in wanted)
        ordered = list(named)
        for item in kept:
            ordered.extend(stages.pop(item.file, ()))
            ordered.append(item)
        return ordered

    def _stage(self, question: EntryItem, ref: EntryRef) -> EntryItem:
        """An item for a write stage, in a file node of its own."""
        file = question.file
        node = self.bfcl.stage_files.get((file, ref.category))
        if node is None:
            assert file.parent is not None
            node = EntryFile.make(file.parent, self.bfcl, file.dataset, [ref.category], virtual=file.virtual)
            self.bfcl.stage_files[file, ref.category] = node
        label = _label(question).removesuffix("]") or None
        return EntryItem.make(node, ref, question.spec, question.repeat, label, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Broken data and unknown categories are the user's to mend: one message, no traceback."""
        try:
            return (yield)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """A broken line must not keep the other entries from running."""
        if self.bfcl.broken_lines and session.testsfailed <= len(self.bfcl.broken_lines):
            session.config.option.continue_on_collection_errors = True
        if not self.bfcl.plan.dry_run:
            self.bfcl.items = [item for item in session.items if isinstance(item, EntryItem)]


class LastFailedGuard:
    """Keeps ``--lf`` from skipping all data files when an ordinary test failed too: ids decide, not file paths."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Collect entry files before the cache plugin can answer for them."""
        if not isinstance(collector, EntryFile):
            return None
        from _pytest.runner import pytest_make_collect_report

        return pytest_make_collect_report(collector)


def _check_for(parent: EntryFile) -> Any:
    """What stands for the test function in a file: the quick form unless a project's own fixtures take part."""
    from pytest_bfcl.plugin.conversations import is_own

    for name in ("bfcl_entry", "transcript"):
        definitions = parent.session._fixturemanager.getfixturedefs(name, parent) or ()
        if not all(map(is_own, definitions)):
            return check_through_fixtures
    return check_entry


def _label(item: EntryItem) -> str:
    return item.name.partition("[")[2]
