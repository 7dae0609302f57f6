"""What one active pytest process knows: its plan, data, models, run directory, and who does what.

One `BfclSession` per process in ``config.stash``. Under xdist the controller plans, writes results and prints; workers
collect, converse and judge.
"""

from __future__ import annotations

import socket
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES, category_of, resolve_categories
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.plugin import selection
from pytest_bfcl.plugin.options import Plan, make_plan
from pytest_bfcl.settings import Price, Settings

if TYPE_CHECKING:
    from pytest_bfcl.dataset import DataSet
    from pytest_bfcl.models import ModelSpec
    from pytest_bfcl.plugin.collection import EntryFile, EntryItem
    from pytest_bfcl.plugin.mirror import Sender
    from pytest_bfcl.runs import Fingerprint, RunDirectory
    from pytest_bfcl.transcript import Mode

SESSION = pytest.StashKey["BfclSession"]()

Variant = tuple["ModelSpec", int, str | None]
"""Model, repeat, and the label in brackets at the end of node ids (``None`` for one model asked once)."""


class BfclSession:
    """The state of an active session in one process."""

    def __init__(self, config: pytest.Config) -> None:
        from pytest_bfcl.models import parse_spec
        from pytest_bfcl.plugin.continuation import Continuation
        from pytest_bfcl.plugin.conversations import Conversations
        from pytest_bfcl.plugin.expectations import Expectations
        from pytest_bfcl.plugin.outcome import Outcomes
        from pytest_bfcl.scoring.model_info import parse_model_info

        self.config = config
        self.worker: dict[str, Any] | None = getattr(config, "workerinput", {}).get("bfcl")
        self.plan = Plan(**self.worker["plan"]) if self.worker else make_plan(config)
        self.settings = Settings.from_dict(self.plan.settings)
        self.specs = list({spec.text: spec for spec in map(parse_spec, self.plan.models)}.values())
        resolve_categories(self.plan.categories)  # unknown names are told before anything is collected
        self.model_info = parse_model_info(self.plan.model_info, "--bfcl-model-info")
        self.arguments = self._take_arguments()
        self.broken_lines: set[str] = set()
        self.stage_files: dict[tuple[EntryFile, str], EntryFile] = {}
        self.mirror: Sender | None = None
        self.items: list[EntryItem] = []
        self.current: EntryItem | None = None
        self._prices: dict[str, Price | None] = {}
        self.expectations = Expectations(self)
        self.outcomes = Outcomes(self)
        self.conversations = Conversations(self)
        self.continuation = Continuation(self)
        if self.settings.simulators == "reference":
            from pytest_bfcl.simulators.reference import require_reference

            require_reference()
        if self.settings.budget_usd is not None and not any(map(self.price_of, self.specs)):
            raise UsageError("--bfcl-budget needs a price: no list knows this model's (--bfcl-price IN,OUT)")
        self._run: RunDirectory | None = None
        self._datasets: dict[Path, DataSet] = {}

    # -- roles ---------------------------------------------------------------------------------------------------

    @property
    def is_worker(self) -> bool:
        """Whether this is an xdist worker."""
        return hasattr(self.config, "workerinput")

    @property
    def distributed(self) -> bool:
        """Whether this process is a controller that lets workers do the work."""
        option = self.config.option
        return not self.is_worker and getattr(option, "dist", "no") != "no" and bool(getattr(option, "tx", None))

    @property
    def process(self) -> str:
        """Name of this process in the journal."""
        if self.worker and "process" in self.worker:
            return str(self.worker["process"])
        return str(self.config.workerinput["workerid"]) if hasattr(self.config, "workerinput") else "main"

    # -- data ----------------------------------------------------------------------------------------------------

    @cached_property
    def chosen(self) -> DataSet:
        """What ``--bfcl-data`` says; raises `UsageError` when there is none."""
        from pytest_bfcl.evaluation import open_data

        return open_data(self.plan.data)

    @cached_property
    def dataset(self) -> DataSet:
        """The data this run is about: the chosen set, or the file on the command line when only that is named."""
        files = [Path(argument.partition("::")[0]) for argument in self.config.args]
        named = [path for path in files if path.suffix == ".jsonl"]
        if self.arguments or not named:
            return self.chosen
        return self.dataset_at((self.config.invocation_params.dir / named[0]).resolve())

    def dataset_at(self, path: Path) -> DataSet:
        """The data of a file on the command line: the chosen set if the file is part of it, else the file itself."""
        from pytest_bfcl.evaluation import open_data

        if path not in self._datasets:
            try:
                part = any(self.chosen.path_of(name) == path for name in self.chosen.categories())
            except UsageError:
                part = False
            self._datasets[path] = self.chosen if part else open_data(str(path))
        return self._datasets[path]

    def categories_of(self, dataset: DataSet, default: list[str] | None = None) -> list[str]:
        """Categories to collect: those asked for by option, else the default and those a mark expression names."""
        have = dataset.categories()
        if self.plan.categories:
            wanted = resolve_categories(self.plan.categories)
            found = [name for name in wanted if name in have or dataset.index(name)]
            if not found and default is None:
                raise UsageError(
                    f"the {dataset.name} data has none of {', '.join(self.plan.categories)}; it has: {', '.join(have)}"
                )
            return found
        if default is not None:
            return default
        if self.plan.ids is not None:
            ids = self.plan.ids
            return list(dict.fromkeys(ref.category for ref in map(dataset.find, ids) if ref is not None))
        asked = selection.mentioned(self.config.getoption("markexpr", "") or "")
        wanted = resolve_categories([selection.DEFAULT, *asked])
        own = [name for name in have if not CATEGORIES[name].scored] if not dataset.official else []
        if not any(name in wanted for name in have):
            wanted = own  # a user's file that holds nothing but such entries was named for them
        return [name for name in have if name in wanted]

    def virtual_files(self) -> list[tuple[str, set[str] | None]]:
        """Category → the ids wanted of it (``None``: all), for data that is not a file on the command line."""
        ids = set(self.plan.ids) if self.plan.ids is not None else None
        if self.arguments is None:
            return [(name, ids) for name in self.categories_of(self.dataset)]
        files: dict[str, set[str] | None] = {}
        for category, name in self.arguments:
            if name is None:
                files[category] = ids
            elif files.setdefault(category, set()) is not None:
                files[category].add(name)  # type: ignore[union-attr]
        return list(files.items())

    def _take_arguments(self) -> list[selection.VirtualArgument] | None:
        """Take virtual arguments out of pytest's; ``None`` when nothing is named and the whole data is meant."""
        config = self.config
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args[:] = []
            config.args_source = pytest.Config.ArgsSource.ARGS  # or the header would claim testpaths
            return None
        taken: list[selection.VirtualArgument] = []
        left: list[str] = []
        for argument in config.args:
            exists = (config.invocation_params.dir / argument.partition("::")[0]).exists()
            virtual = None if exists else selection.virtual_argument(argument)
            if virtual is None:
                left.append(argument)
            else:
                taken.append(virtual)
        config.args[:] = left
        return taken

    def check_arguments(self) -> None:
        """Refuse virtual arguments that name nothing; read the file of ids."""
        self._check_names()
        _ = self.continuation.finished
        labels = {label for _, _, label in self.variants}
        for category, name in self.arguments or ():
            if category not in CATEGORIES or not self.dataset.index(category):
                have = ", ".join(self.dataset.categories())
                raise UsageError(f"not found: bfcl/{category}.jsonl; the {self.dataset.name} data has: {have}")
            entry_id, _, label = (name or "").partition("[")
            if name is not None and self.dataset.find(entry_id) is None:
                raise UsageError(f"not found: bfcl/{category}.jsonl::{name} in the {self.dataset.name} data")
            if label and label.removesuffix("]") not in labels:
                raise UsageError(f"not found: bfcl/{category}.jsonl::{name}: this run has no such model or repeat")
        if self.plan.ids_file and not self.worker:
            from pytest_bfcl.dataset import read_ids

            ids = [ref.id for ref in read_ids(self.plan.ids_file, self.dataset)]
            object.__setattr__(self.plan, "ids", ids)

    def category_at(self, nodeid: str) -> str | None:
        """The category of an item known by its node id only (the controller does not collect); ``None`` for others."""
        path, _, name = nodeid.partition("::")
        if not path.endswith(".jsonl"):
            return None
        virtual = selection.virtual_argument(nodeid)
        if virtual is not None and virtual.category in CATEGORIES:
            return virtual.category
        category = category_of(name.partition("[")[0])
        return category if category in CATEGORIES else "simple_python"

    def skip_reason(self, dataset: DataSet, category: str, spec: ModelSpec | None = None) -> str | None:
        """Why a category cannot run here (with one of the models, or with any), or ``None``."""
        from pytest_bfcl.conversation.requirements import skip_reason

        specs = [spec] if spec else self.specs
        modes = [self.mode_of(each) for each in specs]
        stored = all(each.provider == "replay" for each in specs)
        return skip_reason(category, dataset, self.settings, modes, self.run_path / "web", stored=stored)

    # -- models --------------------------------------------------------------------------------------------------

    @cached_property
    def variants(self) -> list[Variant]:
        """Every (model, repeat) an entry is run with."""
        several = len(self.specs) > 1 or self.settings.repeat > 1
        return [
            (spec, repeat, (spec.text if repeat == 1 else f"{spec.text}-r{repeat}") if several else None)
            for spec in self.specs
            for repeat in range(1, self.settings.repeat + 1)
        ]

    def mode_of(self, spec: ModelSpec) -> Mode:
        """The mode a model is asked in, as far as it is known before the first request."""
        if spec.provider == "replay":
            return self.conversations.model_for(spec).mode  # the lines know it
        if spec.mode is not None:
            return spec.mode
        return self.settings.mode if self.settings.mode != "auto" else self.continuation.decided.get(spec.base, "fc")

    def canonical(self, spec: ModelSpec) -> str:
        """A model's spec as results name it: with its mode, and a replayed model by the name its lines carry."""
        if spec.provider == "replay":
            return self.conversations.model_for(spec).spec
        return spec.with_mode(self.mode_of(spec)).text

    def _check_names(self) -> None:
        """Refuse models whose results could not be told apart; raises `UsageError`."""
        named: dict[str, str] = {}
        for spec in self.specs:
            other = named.setdefault(self.canonical(spec), spec.text)
            if other != spec.text:
                raise UsageError(f"{other} and {spec.text} are one model in results: {self.canonical(spec)}")

    def price_of(self, spec: ModelSpec) -> Price | None:
        """USD per million tokens: the option's, else the model info file's, else the list price."""
        if spec.text not in self._prices:
            self._prices[spec.text] = self._price_of(spec)
        return self._prices[spec.text]

    def _price_of(self, spec: ModelSpec) -> Price | None:
        from pytest_bfcl.models.prices import price_of

        given = self.settings.price
        for name in (spec.text, spec.with_mode(self.mode_of(spec)).text, spec.base):
            info = self.model_info.get(name)
            if info is not None and given.input is None and info.input_price is not None:
                return Price(info.input_price, info.output_price)
        return price_of(spec, self.settings)

    # -- run directory -------------------------------------------------------------------------------------------

    @cached_property
    def run_path(self) -> Path:
        """Where the run is kept."""
        from pytest_bfcl.runs import default_path

        if self.mirror is not None:
            return self.mirror.path
        if self.worker:
            return Path(self.worker["run"])
        base = self.config.invocation_params.dir
        return base / self.plan.out if self.plan.out else default_path(self.plan.models, base / "reports")

    @cached_property
    def foreign_data(self) -> str | None:
        """On a worker: what is wrong when its host has other data than the controller's."""
        if not self.worker or self.dataset.sha256 == self.worker["data_sha256"]:
            return None
        ours, theirs = self.dataset.sha256[:8], self.worker["data_sha256"][:8]
        return (
            f"{socket.gethostname()} has other data than the controller ({self.dataset.name} {ours}, not {theirs}): "
            "fetch or copy it there"
        )

    @property
    def run(self) -> RunDirectory | None:
        """The open run directory: ``None`` on workers, in dry runs, and before it is needed."""
        return self._run

    def start_run(self) -> RunDirectory | None:
        """Create or continue the run directory (controller only); raises `pytest.UsageError` when that cannot be."""
        if self._run is None and not self.is_worker and not self.plan.dry_run:
            from pytest_bfcl.runs import RunDirectory

            _ = self.continuation.finished  # read before this part adds to it
            try:
                self._run = RunDirectory.start(self.run_path, self.fingerprint())
            except (UsageError, HarnessError) as error:
                raise pytest.UsageError(str(error)) from None
        return self._run

    def fingerprint(self) -> Fingerprint:
        """What this run is about to measure."""
        from pytest_bfcl.runs import Fingerprint

        models = [(self.canonical(spec), self.mode_of(spec)) for spec in self.specs]
        return Fingerprint.of(self.dataset, models, self.settings, self._selection())

    def _selection(self) -> dict[str, Any]:
        option = self.config.option
        asked = {
            "categories": list(self.plan.categories),
            "ids": self.plan.ids,
            "sample": self.plan.sample,
            "shard": "{}/{}".format(*self.plan.shard) if self.plan.shard else None,
            "marks": getattr(option, "markexpr", "") or None,
            "keywords": getattr(option, "keyword", "") or None,
            "arguments": [f"{category}::{name}" if name else category for category, name in self.arguments or ()],
        }
        return {name: value for name, value in asked.items() if value}

    def stop(self, why: str) -> None:
        """Let the run stop after the current item: exit code 2, everything so far is kept."""
        self.outcomes.stopped = self.outcomes.stopped or why
        session = self.config.pluginmanager.getplugin("session")
        distributed = self.config.pluginmanager.getplugin("dsession")
        for target in (session, distributed):
            if target is not None and not getattr(target, "shouldstop", False):
                target.shouldstop = why
