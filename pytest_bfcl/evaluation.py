"""Whole runs without pytest: a thin face of `pytest_bfcl.running`, which the plugin drives too.

A run is: converse, judge, write the line, summarise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation import RunStopped
from pytest_bfcl.dataset.categories import GROUPS
from pytest_bfcl.dataset.splits import check_data, is_in
from pytest_bfcl.dataset.transforms import is_transformed
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.rescoring import open_data, score_lines
from pytest_bfcl.running import (
    Contender,
    EarlierParts,
    Runner,
    Store,
    Trial,
    fewer_collections,
    judged_record,
    plan_trials,
)
from pytest_bfcl.settings import Settings

if TYPE_CHECKING:
    from pytest_bfcl.cluster import Place, RemoteRunner
    from pytest_bfcl.dataset import DataSet, Entry, EntryRef
    from pytest_bfcl.runs import Fingerprint, ResultLine, RunDirectory, Summary

__all__ = ["RunResult", "arun", "judged_record", "open_data", "run", "score_lines"]


HELD_RECORDS = 20_000
"""Lines of a run directory that are handed over as a list; more are read from it when they are asked for."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run: its result lines, summary and place.

    Beyond 20,000 lines ``records`` reads each from the run directory when it is asked for.
    ``stopped`` says why it ended early, if it did; ``notes`` what a person should know (a damaged line that was met, a
    switch to prompting).
    """

    records: Sequence[ResultLine]
    summary: Summary
    fingerprint: Fingerprint
    path: Path | None = None
    stopped: str | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:  # short: asyncio formats what the main task gave
        return f"<RunResult {len(self.records)} records{f' in {self.path}' if self.path else ''}>"

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Category → (passed, passed + failed); errors and skipped entries are in neither, write stages not at all."""
        found: dict[str, tuple[int, int]] = {}
        for record in self.records:
            if record["outcome"] in ("passed", "failed") and not record["category"].endswith("_prereq"):
                passed, total = found.get(record["category"], (0, 0))
                found[record["category"]] = (passed + (record["outcome"] == "passed"), total + 1)
        return found


def run(
    entries: object,
    model: object,
    *,
    out: Path | str | None = None,
    settings: Settings | None = None,
    categories: Iterable[str] | None = None,
    search: object = None,
    progress: Callable[[ResultLine], None] | None = None,
    cluster: Place | str | None = None,
    ids: Iterable[str] | None = None,
    sample: int | None = None,
) -> RunResult:
    """Run a model over entries and judge it; see `arun`, which is the same for callers inside an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError("an event loop is running here (a notebook, an async function): await pytest_bfcl.arun(...)")
    with fewer_collections():  # for the time of this call, which is all that the thread does
        return asyncio.run(
            arun(
                entries, model, out=out, settings=settings, categories=categories, search=search, progress=progress,
                cluster=cluster, ids=ids, sample=sample,
            )
        )  # fmt: skip


async def arun(
    entries: object,
    model: object,
    *,
    out: Path | str | None = None,
    settings: Settings | None = None,
    categories: Iterable[str] | None = None,
    search: object = None,
    progress: Callable[[ResultLine], None] | None = None,
    cluster: Place | str | None = None,
    ids: Iterable[str] | None = None,
    sample: int | None = None,
) -> RunResult:
    """Converse, judge, record and summarise.

    Args:
        entries: A choice of data (``auto``, ``bundled``, ``official``, a path), a `DataSet`, or `Entry` objects.
        model: A spec (``openai:gpt-4o@fc``), an adapter, or an async function ``(request) -> Reply | text``; a list of
            them is run side by side.
        out: Run directory; naming an existing run continues it: nothing answered is asked again. ``None`` keeps the
            run in memory.
        settings: How to run; defaults are those of the command line.
        categories: Category and group names; default: the data's scoring categories.
        search: Provider behind the web tools; default: chosen from the settings and the data. Without any, entries that
            need one are skipped with the reason.
        progress: Told of every record as it is made.
        cluster: Where conversations are held: `pytest_bfcl.cluster.Cluster`, or the address of a Ray cluster
            (``auto``, ``local``, ``HOST:PORT``). Default: in this process.
        ids: Only these entries. Raises `UsageError` for one that the data does not have.
        sample: So many entries in all, each category in proportion, drawn by the settings' seed.

    Provider trouble becomes records with outcome ``error``. Raises `UsageError` for wrong arguments.
    """
    settings = settings or Settings()
    data, chosen = _chosen(entries, categories, settings, None if ids is None else list(ids), sample)
    models = list(model) if isinstance(model, list | tuple) else [model]
    place = Path(out) if out is not None else None
    evaluation = _Evaluation(data, chosen, models, settings, place, search, _place(cluster))
    return await evaluation.run(categories, progress)


def _place(cluster: Place | str | None) -> Place | None:
    if not isinstance(cluster, str):
        return cluster
    from pytest_bfcl.cluster import Cluster

    return Cluster(cluster)


class _Evaluation:
    """One run going on."""

    def __init__(
        self, data: DataSet, chosen: Sequence[EntryRef | Entry], models: Sequence[object], settings: Settings,
        out: Path | None, search: object, place: Place | None,
    ) -> None:  # fmt: skip
        self.data = data
        self.chosen = chosen
        self.settings = settings
        self.out = out
        self.notes: list[str] = []
        self.earlier = EarlierParts.read(out, self.notes.append)
        self.contenders = _contenders(models, settings, data, self.earlier)
        self.runner = self._runner(search, place)
        self.directory: RunDirectory | None = None
        self.fingerprint = self._fingerprint({"entries": len(chosen)})

    def _runner(self, search: object, place: Place | None) -> Runner | RemoteRunner:
        note, on_switch = self.notes.append, self._note_switch
        if place is None:
            store = Store(self.out, note=note)
            return Runner(
                self.data, self.contenders, self.settings, store, search=search, note=note, on_switch=on_switch
            )
        if search is not None:
            raise UsageError("a search provider of your own does not travel to a cluster: name one in the settings")
        from pytest_bfcl.cluster import RemoteRunner

        return RemoteRunner(
            place, self.data, self.contenders, self.settings, self.earlier, self.out, note=note, on_switch=on_switch
        )

    def _fingerprint(self, selection: Parsed) -> Fingerprint:
        from pytest_bfcl.runs import Fingerprint

        return Fingerprint.of(self.data, [each.identity for each in self.contenders], self.settings, selection)

    async def run(self, categories: Iterable[str] | None, progress: Callable[[ResultLine], None] | None) -> RunResult:
        """Everything still to be done, continuing what is there; then the summary."""
        if isinstance(self.runner, Runner) and next(iter(self._trials()), None) is not None:
            for contender in self.contenders:
                contender.check_key()
        await self.runner.ready(min(self.settings.concurrency, len(self.chosen) * self.settings.repeat) or 1)
        with ExitStack() as stack:
            if self.out is not None:
                from pytest_bfcl.runs import RunDirectory

                self.fingerprint = self._fingerprint({"categories": list(categories or self.data.categories())})
                self.directory = stack.enter_context(RunDirectory.start(self.out, self.fingerprint))
            records: list[ResultLine] = []
            stopped: str | None = "interrupted"
            try:
                stopped = await self._keep_all(records, progress)
            finally:
                if self.directory is not None:
                    self.directory.state(f"stopped:{stopped}" if stopped else "finished")
                await self.runner.aclose()
            return self._result(records, stopped)

    async def _keep_all(self, records: list[ResultLine], progress: Callable[[ResultLine], None] | None) -> str | None:
        """Keep every line as it is made; returns why the run stopped before the last, if it did."""
        try:
            async for record in self.runner.records(self._trials()):
                if self.directory is not None:
                    self.directory.append(record)
                else:
                    records.append(record)
                if progress is not None:
                    progress(record)
        except RunStopped as stop:
            return stop.reason
        return None

    def _trials(self) -> Iterable[Trial]:
        every = (
            Trial.of(entry, contender, self.data, repeat)
            for repeat in range(1, self.settings.repeat + 1)
            for entry in self.chosen
            for contender in self.contenders
        )
        return plan_trials(every, self.earlier, self._stage)

    def _stage(self, question: Trial, stage_id: str) -> Trial:
        """The trial of a write stage that is not among the chosen entries."""
        ref = self.data.find(stage_id)
        return Trial.of(ref or self.data.entry(stage_id), question.contender, self.data, question.repeat)

    def _note_switch(self, contender: Contender) -> None:
        self.fingerprint = replace(self.fingerprint, models=self._fingerprint({}).models)
        if self.directory is not None:
            self.directory.update(self.fingerprint)

    def _result(self, held: list[ResultLine], stopped: str | None) -> RunResult:
        from pytest_bfcl.dataset import known_issues
        from pytest_bfcl.scoring import full_sizes, summarise

        if self.directory is not None:
            self.fingerprint = self.directory.fingerprint
            records: Sequence[ResultLine]
            found = self.directory.stored_records() if self.directory.results_path.exists() else ()
            records = found if len(found) > HELD_RECORDS else list(found)
        else:
            self.fingerprint = self.fingerprint.ended(f"stopped:{stopped}" if stopped else "finished")
            records = self.runner.in_order(held)
        sizes: dict[str, int] = {}
        for entry in self.chosen:
            if is_transformed(entry.id, self.settings.transforms):
                continue
            sizes[entry.category] = sizes.get(entry.category, 0) + 1
        summary = summarise(
            records,
            fingerprint=self.fingerprint.to_dict(),
            known_issues=known_issues(self.data.version),
            sizes=sizes,
            max_errors_pct=self.settings.max_errors_pct,
            full_sizes=full_sizes(self.data),
        )
        if self.directory is not None:
            self.directory.write_summary(summary)
        return RunResult(records, summary, self.fingerprint, self.out, stopped, tuple(dict.fromkeys(self.notes)))


def _contenders(models: Sequence[object], settings: Settings, data: DataSet, earlier: EarlierParts) -> list[Contender]:
    """The models of a run. Raises `UsageError` when two of them could not be told apart in results."""
    contenders = [Contender.of(model, settings, data, earlier.modes) for model in models]
    named: dict[str, str] = {}
    for contender in contenders:
        name = contender.identity.model
        if name in named:
            raise UsageError(f"{named[name]} and {contender.label} are one model in results: {name}")
        named[name] = contender.label
    if not contenders:
        raise UsageError("no model is named")
    return contenders


def _chosen(
    entries: Any, categories: Iterable[str] | None, settings: Settings, ids: list[str] | None, sample: int | None
) -> tuple[DataSet, Sequence[EntryRef | Entry]]:
    """The data set and the entries of it to run."""
    from pytest_bfcl.dataset import DataSet, resolve_categories
    from pytest_bfcl.dataset.selection import select_ids

    if isinstance(entries, str | Path):
        entries = open_data(entries)
    part = None if settings.split is None else frozenset(settings.split["ids"])
    names = None if categories is None else resolve_categories(categories)
    if isinstance(entries, DataSet):
        default = (*GROUPS["all_scoring"], *GROUPS["own"])
        wanted = names if names is not None else [name for name in entries.categories() if name in default]
        for split in (settings.split, settings.trained_on):
            if split is not None:
                check_data(split, entries)
        if ids is not None:
            named = select_ids(ids, entries, "ids")
            found = [ref for ref in named if not ref.category.endswith("_prereq")]  # the plan adds write stages
            found = [ref for ref in found if names is None or ref.category in names]
        else:
            found = [ref for name in wanted for ref in entries.index(name)]
        refs = _sampled([ref for ref in found if part is None or is_in(part, ref.id)], sample, settings.seed)
        if not settings.transforms:
            return entries, refs
        entries.rewordings = settings.rewordings
        return entries, [each for ref in refs for each in entries.variants(ref, settings.transforms)]
    given: Sequence[Entry] = list(entries)
    kept = [
        entry
        for entry in given
        if (names is None or entry.category in names)
        and (part is None or is_in(part, entry.id))
        and (ids is None or entry.id in ids)
    ]
    kept = _sampled(kept, sample, settings.seed)
    # Entries do not know their data set: its texts matter, so official entries need the official set.
    return open_data("official" if any(entry.official for entry in kept) else "bundled"), kept


def _sampled(found: list[Any], sample: int | None, seed: int) -> list[Any]:
    """So many of these entries or references, in their order."""
    if sample is None:
        return found
    from pytest_bfcl.dataset.sampling import stratified_sample

    chosen = stratified_sample((each.id for each in found), sample, seed)
    return [each for each in found if each.id in chosen]
