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
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.transforms import is_transformed
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.rescoring import open_data, score_lines
from pytest_bfcl.running import Contender, EarlierParts, Runner, Store, Trial, judged_record, plan_trials
from pytest_bfcl.settings import Settings

if TYPE_CHECKING:
    from pytest_bfcl.dataset import DataSet, Entry, EntryRef
    from pytest_bfcl.runs import Fingerprint, ResultLine, RunDirectory, Summary

__all__ = ["RunResult", "arun", "judged_record", "open_data", "run", "score_lines"]


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run: its result lines, summary and place.

    ``stopped`` says why it ended early, if it did; ``notes`` what a person should know (a damaged line that was met, a
    switch to prompting).
    """

    records: list[ResultLine]
    summary: Summary
    fingerprint: Fingerprint
    path: Path | None = None
    stopped: str | None = None
    notes: tuple[str, ...] = ()

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
) -> RunResult:
    """Run a model over entries and judge it; see `arun`, which is the same for callers inside an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError("an event loop is running here (a notebook, an async function): await pytest_bfcl.arun(...)")
    return asyncio.run(
        arun(entries, model, out=out, settings=settings, categories=categories, search=search, progress=progress)
    )


async def arun(
    entries: object,
    model: object,
    *,
    out: Path | str | None = None,
    settings: Settings | None = None,
    categories: Iterable[str] | None = None,
    search: object = None,
    progress: Callable[[ResultLine], None] | None = None,
) -> RunResult:
    """Converse, judge, record and summarise.

    Args:
        entries: A choice of data (``auto``, ``bundled``, ``official``, a path), a `DataSet`, or `Entry` objects.
        model: A spec (``openai:gpt-4o@fc``), an adapter, or an async function ``(request) -> Reply | text``.
        out: Run directory; naming an existing run continues it: nothing answered is asked again. ``None`` keeps the
            run in memory.
        settings: How to run; defaults are those of the command line.
        categories: Category and group names; default: the data's scoring categories.
        search: Provider behind the web tools; default: chosen from the settings and the data. Without any, entries that
            need one are skipped with the reason.
        progress: Told of every record as it is made.

    Provider trouble becomes records with outcome ``error``. Raises `UsageError` for wrong arguments.
    """
    settings = settings or Settings()
    data, chosen = _chosen(entries, categories, settings)
    evaluation = _Evaluation(data, chosen, model, settings, Path(out) if out is not None else None, search)
    return await evaluation.run(categories, progress)


class _Evaluation:
    """One run going on."""

    def __init__(
        self, data: DataSet, chosen: Sequence[EntryRef | Entry], model: object, settings: Settings, out: Path | None,
        search: object,
    ) -> None:  # fmt: skip
        self.data = data
        self.chosen = chosen
        self.settings = settings
        self.out = out
        self.notes: list[str] = []
        self.earlier = EarlierParts.read(out, self.notes.append)
        self.contender = Contender.of(model, settings, data, self.earlier.modes)
        self.runner = Runner(
            data,
            [self.contender],
            settings,
            Store(out, note=self.notes.append),
            search=search,
            note=self.notes.append,
            on_switch=self._note_switch,
        )
        self.directory: RunDirectory | None = None
        self.fingerprint = self._fingerprint({"entries": len(chosen)})

    def _fingerprint(self, selection: Parsed) -> Fingerprint:
        from pytest_bfcl.runs import Fingerprint

        return Fingerprint.of(self.data, [self.contender.identity], self.settings, selection)

    async def run(self, categories: Iterable[str] | None, progress: Callable[[ResultLine], None] | None) -> RunResult:
        """Everything still to be done, continuing what is there; then the summary."""
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
                records.append(record)
                if self.directory is not None:
                    self.directory.append(record)
                if progress is not None:
                    progress(record)
        except RunStopped as stop:
            return stop.reason
        return None

    def _trials(self) -> Iterable[Trial]:
        every = (
            Trial.of(entry, self.contender, self.data, repeat)
            for repeat in range(1, self.settings.repeat + 1)
            for entry in self.chosen
        )
        return plan_trials(every, self.earlier, self._stage)

    def _stage(self, question: Trial, stage_id: str) -> Trial:
        """The trial of a write stage that is not among the chosen entries."""
        ref = self.data.find(stage_id)
        return Trial.of(ref or self.data.entry(stage_id), self.contender, self.data, question.repeat)

    def _note_switch(self, contender: Contender) -> None:
        self.fingerprint = replace(self.fingerprint, models=self._fingerprint({}).models)
        if self.directory is not None:
            self.directory.update(self.fingerprint)

    def _result(self, records: list[ResultLine], stopped: str | None) -> RunResult:
        from pytest_bfcl.dataset import known_issues
        from pytest_bfcl.scoring import full_sizes, summarise

        if self.directory is not None:
            self.fingerprint = self.directory.fingerprint
            records = list(self.directory.records())
        else:
            self.fingerprint = self.fingerprint.ended(f"stopped:{stopped}" if stopped else "finished")
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


def _chosen(
    entries: Any, categories: Iterable[str] | None, settings: Settings
) -> tuple[DataSet, Sequence[EntryRef | Entry]]:
    """The data set and the entries of it to run."""
    from pytest_bfcl.dataset import DataSet, resolve_categories

    if isinstance(entries, str | Path):
        entries = open_data(entries)
    names = None if categories is None else resolve_categories(categories)
    if isinstance(entries, DataSet):
        wanted = names if names is not None else [c for c in entries.categories() if CATEGORIES[c].scored]
        refs = (ref for name in wanted for ref in entries.index(name))
        if not settings.transforms:
            return entries, list(refs)
        entries.rewordings = settings.rewordings
        return entries, [each for ref in refs for each in entries.variants(ref, settings.transforms)]
    given: Sequence[Entry] = list(entries)
    kept = [entry for entry in given if names is None or entry.category in names]
    # Entries do not know their data set: its texts matter, so official entries need the official set.
    return open_data("official" if any(entry.official for entry in kept) else "bundled"), kept
