"""A run without pytest: models, their conversations, and lines for the `Run`; called through `evaluation`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pytest_bfcl.conversation.lookahead import RunStopped
from pytest_bfcl.dataset.entry import EntryRef
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.models import create_model, parse_spec
from pytest_bfcl.selection.selection import Selection, categories_to_run, is_broken
from pytest_bfcl.selection.sharding import ShardItem, shard_of
from pytest_bfcl.session.closing import DryRun, RunResult
from pytest_bfcl.session.contender import Contender, check_contenders, variant_label, wanted_mode
from pytest_bfcl.session.earlier import EarlierParts, plan_trials
from pytest_bfcl.session.estimate import skips_ahead
from pytest_bfcl.session.feeders import find_feeder
from pytest_bfcl.session.outside import Store
from pytest_bfcl.session.run import Run
from pytest_bfcl.session.runner import Runner
from pytest_bfcl.session.serving import Fleet, fleet_of
from pytest_bfcl.session.trial import Trial
from pytest_bfcl.settings import Settings
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.models import Model
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.scoring.gating import Gates
    from pytest_bfcl.session.feeders import Place, RemoteRunner
    from pytest_bfcl.transcript import Mode

INTERRUPTED = "interrupted"
STOPPED = 2
"""The exit code of a run that ended early."""
NOTHING_SELECTED = 5
"""The exit code if nothing was selected: pytest's own for a session without tests."""


class WholeRun:
    """One run: some models over some entries. Raises `UsageError` for models that cannot run together. ``chosen`` are
    the entries before a shard is taken; ``model_info`` is the content of such a file.
    """

    runner: Runner | RemoteRunner

    def __init__(
        self,
        data: DataSet,
        chosen: Sequence[EntryRef | Entry],
        models: Sequence[object],
        settings: Settings,
        *,
        selection: Selection,
        gates: Gates,
        out: Path | None = None,
        model_info: Fields | None = None,
    ) -> None:
        from pytest_bfcl.scoring.model_info import parse_model_info

        self.data = data
        self.chosen = chosen
        self.settings = settings
        self.selection = selection
        self.notes: list[str] = []
        self.earlier = EarlierParts.read(out, self.notes.append)
        self._infos = parse_model_info(model_info or {}, "--bfcl-model-info")
        self.contenders = self._contenders(models)
        specs = [each.spec for each in self.contenders if each.spec is not None]
        self._fleet = None if settings.serve is None else fleet_of(specs, settings.base_url)
        self._categories = {each.id: each.category for each in chosen}
        self.run = Run(
            self, self.contenders, settings, self.earlier,
            gates=gates, path=out, infos=self._infos, model_info=model_info, hands_over=True,
        )  # fmt: skip
        self.run.refuse_other()
        self.run.check_gates([each.label for each in self.contenders])
        self.selected = self._of_shard(
            [
                Trial.of(entry, contender, data, repeat)
                for repeat in range(1, settings.repeat + 1)
                for entry in chosen
                for contender in self.contenders
            ]
        )
        """The trials of this run's part, by repeat, entry and model; also those with a verdict."""
        self._broken: set[str] = set()
        self.result: RunResult | None = None
        """The result of the ended run, also after cancelling."""

    # -- its data, as the run asks for it --------------------------------------------------------------------------

    @property
    def dataset(self) -> DataSet:
        """The data set."""
        return self.data

    @property
    def measured(self) -> DataSet:
        """The same as `data`: the fingerprint hashes all of it."""
        return self.data

    def category_of(self, entry_id: str) -> str | None:
        """The category of an entry: a selected one, else one of the data set."""
        ref = self._categories.get(entry_id) or self.data.find(entry_id)
        return ref if ref is None or isinstance(ref, str) else ref.category

    def selection_facts(self) -> Fields:
        """The selection, as in the fingerprint."""
        return self.selection.facts()

    # -- models ----------------------------------------------------------------------------------------------------

    def _contenders(self, models: Sequence[object]) -> list[Contender]:
        """The models of the run. Raises `UsageError` if there are none, or if two could not be distinguished."""
        contenders = list(map(self._contender, models))
        check_contenders(contenders, self.settings)
        if not contenders:
            raise UsageError("no model is named")
        return contenders

    def _contender(self, model: object) -> Contender:
        from pytest_bfcl.scoring.model_info import own_price

        if not isinstance(model, str):
            return Contender.of_adapter(model, self.settings)
        spec = parse_spec(model)
        settled = self.earlier.modes.get(spec.base)
        mode = wanted_mode(spec, self.settings) or settled or "fc"

        def make(mode: Mode | None) -> Model:  # when it is asked first: by then engines have their addresses
            return create_model(spec, self.settings, dataset=self.data, mode=mode)

        price = own_price(self._infos, self.settings, spec.text, spec.with_mode(mode).text, spec.base)
        return Contender.of_spec(spec, self.settings, make=make, settled=settled, price=price)

    def open_runner(self, search: object = None, place: Place | str | None = None) -> None:
        """Make the holder of the conversations: in this process, or at a place or the address of a Ray cluster. Raises
        `UsageError`.
        """
        note, on_switch = self.notes.append, self.run.switched
        if place is None:
            store = Store(self.run.path, note=note)
            self.runner = Runner(
                self.data, self.contenders, self.settings, store, search=search, note=note, on_switch=on_switch,
                halted=self._fleet.trouble if self._fleet else None, served=self.earlier.served,
            )  # fmt: skip
            return
        if self._fleet:
            raise UsageError(
                "--bfcl-serve starts engines on this machine only, which a cluster may not reach: "
                "start them yourself and give --bfcl-base-url"
            )
        if search is not None:
            raise UsageError("a search provider of your own does not travel to a cluster: name one in the settings")
        if isinstance(place, str):
            place = find_feeder("ray").place_at(place)
        self.runner = place.runner(
            self.data, self.contenders, self.settings, self.earlier, self.run.path, note=note, on_switch=on_switch
        )

    # -- what is asked -------------------------------------------------------------------------------------------

    def _of_shard(self, every: list[Trial]) -> list[Trial]:
        """This run's part of all trials."""
        if self.selection.shard is None:
            return every
        # What cannot be judged asks nothing and is told in every part, as files with such lines are.
        broken = {each.id for each in self.chosen if isinstance(each, tuple) and is_broken(self.data, each)}
        several = len(self.contenders) > 1 or self.settings.repeat > 1
        dealt = [
            ShardItem(each.entry_id, variant_label(each.contender, each.repeat, several=several) or "")
            for each in every
        ]
        mine = shard_of((each for each in dealt if each.entry_id not in broken), *self.selection.shard)
        return [each for each, item in zip(every, dealt, strict=True) if each.entry_id in broken or item in mine]

    def planned(self) -> list[Trial]:
        """The trials without a verdict, with the write stages that they need."""
        return plan_trials(self.selected, self.earlier, self._stage)

    def _stage(self, question: Trial, stage_id: str) -> Trial:
        """The trial of a write stage outside the selection."""
        if (ref := self.data.find(stage_id)) is None:
            raise UsageError(f"{question.entry_id} needs {stage_id}, which the {self.data.name} data do not have")
        return Trial.of(ref, question.contender, self.data, question.repeat)

    def _skip_reason(self, category: str) -> str | None:
        """Why nothing of a category can be measured, as far as this process knows."""
        return self.runner.skip_reason(category, self.data) if isinstance(self.runner, Runner) else None

    def _ahead(self, trials: Iterable[Trial]) -> Iterator[str]:
        return skips_ahead(map(attrgetter("category"), trials), self._skip_reason, self.data, part=self.run.is_part)

    def dry_run(self, precision: float | None = None) -> DryRun:
        """Expected requests and cost; nothing is sent or written. ``precision``: in percentage points."""
        from pytest_bfcl.scoring.gating import UNJUDGED
        from pytest_bfcl.session.estimate import estimate_lines, estimates

        planned = self.planned()
        refs = {trial.entry_id: trial.ref for trial in planned if trial.ref is not None} if self.data.own else {}
        broken = {name: errors[0] for name, ref in refs.items() if (errors := self.data.entry_errors(ref))}
        self._broken.update(map(str, broken.values()))
        trials = [trial for trial in planned if trial.entry_id not in broken]
        self.runner = Runner(self.data, self.contenders, self.settings)
        lines = [*self._ahead(trials), *estimate_lines(trials, precision)]
        if self.run.checked_gates.options.wants_verdict:
            lines.append(UNJUDGED)
        return DryRun(tuple(estimates(trials)), tuple(lines), self._problems(), len(self.earlier.settled))

    # -- running it ----------------------------------------------------------------------------------------------

    async def carry_out(
        self, progress: Callable[[ResultLine], None] | None = None, said: Callable[[str], None] | None = None
    ) -> RunResult:
        """Run all remaining trials, then write summary and gates. ``said`` receives messages before the first request:
        the estimated cost, the start of engines.
        """
        from pytest_bfcl.session.estimate import cost_lines

        said = said or (lambda text: None)
        trials = self.planned()
        run = self.run
        run.plan([(each.entry_id, each.category) for each in self.selected], len(trials))
        run.refuse_unreachable({each.entry_id: each.category for each in trials}, self._skip_reason)
        if not trials and not self.earlier.settled:
            await self.runner.aclose()
            run.end(None)
            return self._result(None)
        if not self._fleet:
            self._check_keys(trials)
        self.runner.on_answer = run.on_answer
        await self.runner.ready(min(self.settings.concurrency, len(trials)) or 1)
        with ExitStack() as stack:
            stack.callback(run.release)
            run.open()
            for line in (*self._ahead(trials), *cost_lines(trials)):
                said(line)
            if progress is not None:
                run.listeners.append(lambda line, text: progress(line))
            stopped: str | None = INTERRUPTED
            interruption: BaseException | None = None
            try:
                if self._fleet and trials:
                    await self._start(self._fleet, stack, said)
                    self._check_keys(trials)
                stopped = await self._keep_all(trials) or run.unanswered()
            except (asyncio.CancelledError, KeyboardInterrupt) as error:  # the latter where SIGINT was ignored before
                interruption = error
            except BaseException:
                await self._end(stopped, interrupted=False)
                raise
            interrupted = await self._end(stopped, interrupted=interruption is not None)
            self.result = self._result(stopped)
            if interrupted:
                raise interruption or asyncio.CancelledError
            return self.result

    async def _end(self, stopped: str | None, *, interrupted: bool) -> bool:
        """End the conversations and record how the run ended; returns whether the run was cancelled."""
        try:
            try:
                await self.runner.aclose(interrupted=interrupted)
            except asyncio.CancelledError:  # Ctrl-C, or another one: no more waiting
                interrupted = True
                await self.runner.aclose()
        finally:
            self.run.end(stopped)
        return interrupted

    def _check_keys(self, trials: Sequence[Trial]) -> None:
        """Raise `UsageError` if an endpoint's key is missing and this process will send requests."""
        if isinstance(self.runner, Runner) and trials:
            for contender in self.contenders:
                contender.check_key()

    async def _start(self, fleet: Fleet, stack: ExitStack, said: Callable[[str], None]) -> None:
        """Start the engines until ``stack`` ends; if they do not start, only their logs remain."""
        stack.callback(fleet.stop)
        logs = self.run.path or Path(stack.enter_context(TemporaryDirectory(prefix="pytest-bfcl-")))
        try:
            await fleet.launch(logs, arguments=self.settings.serve or "", said=said)
        except UsageError:
            self.run.withdraw()
            raise
        served = {**self.settings.served, **fleet.addresses}
        self.settings = replace(self.settings, served=served)

    async def _keep_all(self, trials: Sequence[Trial]) -> str | None:
        """Store every new line; returns why the run stopped early, if it did."""
        own = self.data.own
        try:
            async for line in self.runner.records(trials):
                self.run.take(line)
                if own and line["reason"] == "harness:data":
                    self._broken.add(str(line["detail"].get("error")))
        except RunStopped as stop:
            return stop.reason
        except HarnessError as error:
            if error.kind != HarnessTrouble.STORAGE:
                raise
            return error.message  # the disk is full: what cannot be kept is not paid for
        return None

    # -- what it came to -----------------------------------------------------------------------------------------

    def _result(self, stopped: str | None) -> RunResult:
        run, problems = self.run, self._problems()
        run.close(in_order=self.runner.in_order)
        stopped = stopped or run.unkept
        nothing = not run.counts and not self.earlier.settled
        otherwise = NOTHING_SELECTED if nothing else run.stored_code
        code = STOPPED if stopped else run.exit_code(otherwise, trouble_of(problems))
        return run.result(stopped, code, notes=self.notes, problems=problems)

    def _problems(self) -> tuple[str, ...]:
        """Unusable lines of the data, and own entries in the run that cannot be judged."""
        names: Iterable[str] = dict.fromkeys([each.category for each in self.chosen])
        if self.selection.ids is None and set(map(type, self.chosen)) <= {EntryRef}:
            names = categories_to_run(self.data, self.selection.categories or ())
        lines = (str(problem) for name in names for problem in self.data.problems(name))
        return tuple(dict.fromkeys([*lines, *sorted(self._broken)]))


def trouble_of(problems: Sequence[str]) -> list[str]:
    """Unusable places of the data, which fail a run even if its gates are met."""
    return [f"{len(problems)} places of the data cannot be used"] if problems else []
