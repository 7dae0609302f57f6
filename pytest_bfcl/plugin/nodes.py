"""Entries as nodes of pytest's tree: files with virtual ids, items whose bodies are parsed late.

Files of the data set have virtual ids, ``bfcl/<category>.jsonl::<entry id>``, in any working directory; a ``.jsonl``
named on the command line keeps its own path. Nodes read ids only; bodies are parsed in setup.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES, groups_of
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.selection.selection import LANGUAGES
from pytest_bfcl.selection.sharding import ShardItem
from pytest_bfcl.session.trial import Trial

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bfcl.dataset.entry import EntryRef
    from pytest_bfcl.dataset.index import DataProblem
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.plugin.contenders import Variant
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.trial import Trial


OWN_MODEL = "bfcl_model"
USERS_MODEL = "model"
"""Fixtures that may provide the model: the plugin's, and the short one that a project may define."""


class DataRoot(pytest.Directory):
    """The invocation directory (and those above, up to rootdir) as parent of virtual files.

    So the conftest files of the user's project apply to the data.
    """

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Nothing: the collection report adds the virtual files."""
        return ()


class BrokenLine(pytest.Collector):
    """A line of a data file that is no usable entry: one collection error with place and problem.

    ``trials`` are the trials it prevents; none for a line without an id.
    """

    message = ""
    trials: tuple[Trial, ...] = ()

    def collect(self) -> Iterable[pytest.Item]:
        """Raise the error."""
        raise self.CollectError(self.message)


def check_with(fixtures: Sequence[str]) -> Callable[[], None]:
    """What stands for the test function: its arguments are the fixtures that an entry needs."""

    def check() -> None: ...

    names = (*fixtures, "bfcl_loop")
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    check.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return check


class EntryTest(Protocol):
    """The steps of an item."""

    def set_up(self, item: EntryItem, fill_fixtures: Callable[[], None]) -> None:
        """Set the fixtures, hold the conversation, judge it."""

    def check(self, item: EntryItem) -> None:
        """Raise `pytest_bfcl.Failure` for the model's mistake."""

    def tear_down(self, item: EntryItem) -> None:
        """Release what the item held, because items live as long as the session."""

    def failure_repr(self, item: EntryItem, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """The prepared text of a model's failure, ``None`` for other errors."""


@dataclass(frozen=True)
class NodeContext:
    """Data that the nodes of a session share.

    ``skip_reason(category, data, contender)`` says why a category cannot run (with any contender, for ``None``);
    ``broken_lines`` are those that were reported: several categories may share a file.
    """

    variants: Sequence[Variant]
    skip_reason: Callable[[str, DataSet, Contender | None], str | None]
    test: EntryTest
    transforms: tuple[str, ...] = ()
    broken_lines: set[str] = field(default_factory=set)

    @cached_property
    def contenders(self) -> list[Contender]:
        """The models, each once."""
        return list(dict.fromkeys(variant.contender for variant in self.variants))

    @cached_property
    def modes(self) -> set[str]:
        """The modes of the models."""
        return {contender.mode for contender in self.contenders}


class EntryFile(pytest.Module):
    """The entries of one category, or of all wanted categories that share a file named on the command line.

    ``only`` restricts it to these names. Marks of all items are set here, other marks on the items.
    """

    obj = sys.modules[__name__]
    """Fixtures and hooks of hosts read its name and file, as those of an item's module."""
    shown_path: str | None = None
    hooks: Any = None
    """The value of `ihook` from the end of collection on, when all conftest files are known; stored because it is used
    often."""
    context: NodeContext
    dataset: DataSet
    categories: list[str]
    virtual: bool
    only: set[str] | None
    model_definition: pytest.FixtureDef[Any]
    """The fixture that gives its items their model."""

    @classmethod
    def make(
        cls, parent: pytest.Collector, context: NodeContext, dataset: DataSet, categories: list[str], *,
        path: Path | None = None, only: set[str] | None = None,
    ) -> EntryFile:  # fmt: skip
        """The node of one category (a virtual file), or of the categories in the file at ``path``."""
        first = categories[0]
        virtual = path is None
        ids = {"nodeid": f"bfcl/{first}.jsonl", "name": f"{first}.jsonl"} if virtual else {}
        node: EntryFile = cls.from_parent(parent, path=path or dataset.path_of(first), **ids)  # type: ignore[arg-type]
        node.context, node.dataset, node.categories = context, dataset, categories
        node.virtual, node.only = virtual, only
        if len(categories) == 1:
            node.mark(node, first)
        if len(context.modes) == 1:
            node.add_marker(next(iter(context.modes)))
        return node

    def mark(self, node: pytest.Item | pytest.Collector, category: str) -> None:
        """Category, groups, language, and the reason if it is skipped."""
        names = [category, *groups_of(category)]
        if (language := CATEGORIES[category].language) in LANGUAGES:
            names.append(language)
        for name in dict.fromkeys(names):
            node.add_marker(name)
        if reason := self.context.skip_reason(category, self.dataset, None):
            node.add_marker(pytest.mark.skip(reason=reason))

    @property
    def ihook(self) -> Any:
        """Hooks of the user's conftest files, also for data outside the project."""
        if self.hooks is not None:
            return self.hooks
        if self.virtual:
            return self.session.gethookproxy(self.config.invocation_params.dir)
        return super().ihook

    @cached_property
    def fixtures_used(self) -> tuple[str, ...]:
        """Names of the fixtures that every entry of this file uses.

        A project's own ``bfcl_model`` takes precedence over its ``model``. Entry and transcript are fixtures only if a
        project has its own, because two fixtures an item would cost more than judging.
        """

        def projects(name: str) -> bool:
            seen = pytest_internals.fixture_definitions(self, name)
            return any(pytest_internals.is_of_a_project(each, self.config) for each in seen)

        model = USERS_MODEL if projects(USERS_MODEL) and not projects(OWN_MODEL) else OWN_MODEL
        if projects("bfcl_entry") or projects("bfcl_transcript"):
            return "bfcl_entry", "bfcl_transcript", model
        return (model,)

    @cached_property
    def model_fixture(self) -> str:
        """Name of the fixture that gives the model."""
        return self.fixtures_used[-1]

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """One item per entry, model and repeat; a broken line or own entry becomes a collector that fails."""
        for problem in (problem for name in self.categories for problem in self.dataset.problems(name)):
            if self.virtual or problem.path == self.path:
                yield from self._broken_lines(problem)
        first: EntryItem | None = None
        for ref in (ref for name in self.categories for ref in self.dataset.index(name)):
            if not self.virtual and ref.path != self.path:  # of another file on the command line
                continue
            variants = [each for each in self.context.variants if self._is_wanted(ref.id, each.label)]
            errors = self.dataset.entry_errors(ref) if variants and self.dataset.own else []
            for problem in errors[:1]:  # mending one may mend the others; `pytest-bfcl validate` lists them all
                for broken in self._broken_lines(problem):
                    broken.trials = tuple(
                        Trial.of(ref, variant.contender, self.dataset, variant.repeat) for variant in variants
                    )
                    yield broken
            for each in self.dataset.variants(ref, self.context.transforms) if not errors else ():
                for variant in self.context.variants:
                    if self._is_wanted(ref.id, variant.label) or self._is_wanted(each.id, variant.label):
                        first = EntryItem.make(self, each, variant, first)
                        yield first

    def _is_wanted(self, entry_id: str, label: str | None) -> bool:
        return self.only is None or entry_id in self.only or f"{entry_id}[{label}]" in self.only

    def _broken_lines(self, problem: DataProblem) -> Iterator[BrokenLine]:
        """A problem as a collector that fails with it, once: several categories may share a file."""
        if str(problem) not in self.context.broken_lines:
            self.context.broken_lines.add(str(problem))
            broken = BrokenLine.from_parent(self, name=f"line {problem.line}")
            broken.message = str(problem)
            yield broken


class EntryItem(pytest.Function):
    """One entry with one model: the conversation is held in setup, the check happens in the call."""

    ref: EntryRef
    variant: Variant

    @classmethod
    def make(cls, parent: EntryFile, ref: EntryRef, variant: Variant, first: EntryItem | None = None) -> EntryItem:
        """The item; items of a file share the first one's fixture information."""
        label = variant.label
        name = f"{ref.id}[{label}]" if label else ref.id
        check = first.obj if first is not None else check_with(parent.fixtures_used)
        shared = pytest_internals.shared_fixtures(first)
        item: EntryItem = cls.from_parent(parent, name=name, originalname=ref.id, callobj=check, **shared)
        if first is None:
            parent.model_definition = pytest_internals.definition_used(item, parent.model_fixture)
        if label:
            pytest_internals.set_label(item, parent, ref.id, label)
        item.ref, item.variant = ref, variant
        context = parent.context
        if len(parent.categories) > 1:
            parent.mark(item, ref.category)
        if len(context.modes) > 1:
            item.add_marker(variant.contender.mode)
        if len(context.contenders) > 1 and (
            reason := context.skip_reason(ref.category, parent.dataset, variant.contender)
        ):
            item.add_marker(pytest.mark.skip(reason=reason))
        return item

    def _initrequest(self) -> None:
        """Prepare the fixtures when the item runs, as pytest does for reruns, because there are many items."""
        if hasattr(self, "_request"):
            super()._initrequest()
        else:
            self._request, self.funcargs = False, {}  # type: ignore[assignment]

    @cached_property
    def contender(self) -> Contender:
        """The model of this item."""
        return self.variant.contender

    @property
    def shard_item(self) -> ShardItem:
        """The unit that shards distribute."""
        return ShardItem(self.ref.id, self.variant.label or "")

    @property
    def is_write_stage(self) -> bool:
        """Whether this conversation only fills a memory."""
        return CATEGORIES[self.ref.category].checker == "none"

    @property
    def ihook(self) -> Any:
        """As the file's."""
        return self.file.hooks or self.file.ihook

    @cached_property
    def file(self) -> EntryFile:
        """The file node this item belongs to."""
        assert isinstance(self.parent, EntryFile)
        return self.parent

    @cached_property
    def trial(self) -> Trial:
        """This item for the runner."""
        return Trial.of(self.ref, self.variant.contender, self.file.dataset, self.variant.repeat)

    def trial_of(self, contender: Contender) -> Trial:
        """The same with a user's own model object."""
        return Trial.of(self.ref, contender, self.file.dataset, self.variant.repeat)

    def setup(self) -> None:
        """Set the fixtures and hold the conversation. An error becomes a short text without traceback."""
        self.file.context.test.set_up(self, super().setup)

    def teardown(self) -> None:
        """Release entry and conversation."""
        self.file.context.test.tear_down(self)
        super().teardown()

    def runtest(self) -> None:
        """Judge the transcript. Raises `pytest_bfcl.Failure` for the model's mistake."""
        self.file.context.test.check(self)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The prepared text of a failure; other errors as pytest shows them."""
        return self.file.context.test.failure_repr(self, excinfo) or super().repr_failure(excinfo)

    def _traceback_filter(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """For an error in a fixture: the project's frames."""
        if self.config.getoption("fulltrace", False):
            return excinfo.traceback
        return pytest_internals.users_frames(excinfo)

    @cached_property
    def nodeid(self) -> str:
        """As pytest's, but computed once."""
        return super().nodeid

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """As pytest's, but with the path computed once a file."""
        if self.file.shown_path is None:
            self.file.shown_path = super().location[0]
        return self.file.shown_path, 0, self.name

    def reportinfo(self) -> tuple[Any, int, str]:
        """The (virtual) file and the name, which ``-v`` and JUnit show; one line for all, so that skips are folded."""
        path = self.config.rootpath / self.file.nodeid if self.file.virtual else self.path
        return path, 0, self.name
