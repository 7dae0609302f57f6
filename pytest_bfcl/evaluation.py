"""Whole runs without pytest, and judging of recorded outputs: what the plugin and the command line share.

A run is: converse, judge, write the line, summarise. The plugin does the same steps item by item through
`judged_record`, so both write the same results files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_bfcl.conversation import (
    Budget,
    HeldSnapshots,
    Job,
    LookAhead,
    ModeSwitch,
    RunStopped,
    Services,
    conversation_cost,
    converse,
    fill_calls,
    plan_job,
)
from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.failures import AdapterError, BenchmarkError, EntrySkipped, UsageError
from pytest_bfcl.rescoring import open_data, score_lines
from pytest_bfcl.settings import Price, Settings
from pytest_bfcl.transcript import Mode, Transcript

if TYPE_CHECKING:
    from pytest_bfcl.conversation import Snapshots
    from pytest_bfcl.dataset import DataSet, Entry
    from pytest_bfcl.models import Model, ModelSpec
    from pytest_bfcl.runs import EntryKey, Fingerprint, ResultLine, RunDirectory, Summary

__all__ = ["RunResult", "arun", "full_sizes", "judged_record", "open_data", "run", "score_lines"]


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run: its result lines, summary and place, and in ``stopped`` why it ended early, if it did."""

    records: list[ResultLine]
    summary: Summary
    fingerprint: Fingerprint
    path: Path | None = None
    stopped: str | None = None

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Category → (passed, passed + failed); errors and skipped entries are in neither, write stages not at all."""
        found: dict[str, tuple[int, int]] = {}
        for record in self.records:
            if record["outcome"] in ("passed", "failed") and not record["category"].endswith("_prereq"):
                passed, total = found.get(record["category"], (0, 0))
                found[record["category"]] = (passed + (record["outcome"] == "passed"), total + 1)
        return found


def judged_record(
    entry: Entry,
    transcript: Transcript,
    *,
    model: Model | None = None,
    rules: str = "official",
    price: Price | None = None,
    worker: str | None = None,
    simulators: Literal["own", "reference"] = "own",
) -> ResultLine:
    """The line of ``results.jsonl`` for one conversation, judged under both rule sets.

    ``model`` names the conversation when the transcript does not; ``rules`` picks the headline outcome; ``price`` gives
    the cost.
    """
    from pytest_bfcl.checkers import judge_both
    from pytest_bfcl.runs import result_record

    if model is not None and not transcript.model:
        transcript.model = model.spec
    fill_calls(entry, transcript)
    judgement = judge_both(entry, transcript, simulators=simulators)
    return result_record(
        entry,
        transcript,
        judgement.official,
        judgement.corrected,
        corrected_rules=judgement.corrected_rules,
        extra=judgement.extra,
        rules=rules,
        cost_usd=conversation_cost(transcript, price),
        worker=worker,
    )


def full_sizes(data: DataSet) -> dict[str, int] | None:
    """Entries the data set has per scoring category: what a group lacks when only a part of it is run."""
    if data.official:
        return None  # known
    return {name: len(data.index(name)) for name in data.categories() if name in GROUPS["all_scoring"]}


def run(
    entries: Any,
    model: Any,
    *,
    out: Path | str | None = None,
    settings: Settings | None = None,
    categories: Iterable[str] | None = None,
    search: Any = None,
    progress: Callable[[ResultLine], None] | None = None,
) -> RunResult:
    """Run a model over entries and judge it; see `arun`, which is the same for callers inside an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError("an event loop is running here (a notebook, an async function): use `await arun(...)`")
    return asyncio.run(
        arun(entries, model, out=out, settings=settings, categories=categories, search=search, progress=progress)
    )


async def arun(
    entries: Any,
    model: Any,
    *,
    out: Path | str | None = None,
    settings: Settings | None = None,
    categories: Iterable[str] | None = None,
    search: Any = None,
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
    data, chosen = _chosen(entries, categories)
    with ExitStack() as stack:
        if isinstance(model, str) and out is not None:
            model = _continued_spec(model, Path(out), settings)
        evaluation = _Evaluation(data, chosen, model, settings, search, progress)
        if out is not None:
            evaluation.record_in(Path(out), categories, stack)
        return await evaluation.finish(stack)


class _Evaluation:
    """One run going on."""

    def __init__(
        self,
        data: DataSet,
        entries: list[Entry],
        model: Any,
        settings: Settings,
        search: Any,
        progress: Callable[[ResultLine], None] | None,
    ) -> None:
        self.data = data
        self.entries = entries
        self.settings = settings
        self.progress = progress
        self.switch = _mode_switch(model, settings, data, self._note_switch)
        self.search = search
        self.services: Services | None = None
        self._skip_reasons: dict[str, str | None] = {}
        self.price = _price_of(self.switch.model, settings)
        self.budget = Budget(settings.budget_usd, self.price or Price())
        self.directory: RunDirectory | None = None
        self.journal: Any = None
        self.done: set[EntryKey] = set()
        self.fingerprint = self._fingerprint({"entries": len(entries)})
        self._held: dict[int, Snapshots] = {}

    def _fingerprint(self, selection: dict[str, Any]) -> Fingerprint:
        from pytest_bfcl.runs import Fingerprint

        model = self.switch.model
        return Fingerprint.of(self.data, [(model.spec, model.mode)], self.settings, selection)

    def record_in(self, path: Path, categories: Iterable[str] | None, stack: ExitStack) -> None:
        """Write to a run directory, continuing what is there."""
        from pytest_bfcl.runs import RunDirectory

        self.fingerprint = self._fingerprint({"categories": list(categories or self.data.categories())})
        self.directory = stack.enter_context(RunDirectory.start(path, self.fingerprint))
        self.journal = stack.enter_context(self.directory.journal())
        self.done = self.directory.done()

    def _open_search(self, stack: ExitStack) -> None:
        """The provider behind the web tools, when an entry that will be run needs one and none was given."""
        needed = any(_searches(entry) and not self._skip_reason(entry.category) for entry in self.entries)
        if self.search is not None or not needed or self._stored:
            return
        from pytest_bfcl.providers import open_search

        data = self.data
        self.search = open_search(self.settings.search, official=data.official, site=data.site, archive=self._archive)
        stack.callback(self.search.close)

    @property
    def _archive(self) -> Path | None:
        return self.directory.path / "web" if self.directory is not None else None

    @property
    def _stored(self) -> bool:
        """Whether the model hands out recorded conversations, which call no tools."""
        return hasattr(self.switch.model, "transcript_for")

    def _skip_reason(self, category: str) -> str | None:
        """Why the entries of a category cannot be run here, ``None`` if they can."""
        if category not in self._skip_reasons:
            from pytest_bfcl.conversation.requirements import skip_reason

            provided = self._stored or (self.search is not None and CATEGORIES[category].group == "web_search")
            modes = [self.switch.model.mode]
            self._skip_reasons[category] = skip_reason(
                category, self.data, self.settings, modes, self._archive, stored=provided
            )
        return self._skip_reasons[category]

    async def finish(self, stack: ExitStack) -> RunResult:
        """Everything still to be done, then the summary."""
        self._open_search(stack)
        archive = self.directory.path / "rest" if self.directory is not None else None
        services = Services.of(self.settings, official=self.data.official, archive=archive)
        self.services = stack.enter_context(services)
        jobs, reported = self._plan()
        ahead = LookAhead(self._converse, concurrency=self.settings.concurrency, stop_reason=self._stop_reason)
        ahead.plan(jobs)
        records: list[ResultLine] = []
        stopped: str | None = "interrupted"
        try:
            for entry, repeat in reported:
                try:
                    records.append(await self._record(ahead, entry, repeat))
                except RunStopped as error:
                    stopped = error.reason
                    break
            else:
                stopped = None
        finally:
            if self.directory is not None:
                self.directory.state(f"stopped:{stopped}" if stopped else "finished")
            await ahead.aclose()
            await self.switch.model.aclose()
        return self._result(records, stopped)

    def _plan(self) -> tuple[list[Job], list[tuple[Entry, int]]]:
        """Jobs in order, write stages before the questions that need them; and what will be reported."""
        model = self.switch.model
        jobs: list[Job] = []
        reported: list[tuple[Entry, int]] = []
        planned: set[tuple[str, int]] = set()
        for repeat in range(1, self.settings.repeat + 1):
            for entry in self.entries:
                if (model.spec, model.mode, entry.id, repeat) in self.done or (entry.id, repeat) in planned:
                    continue
                for each in [*self._write_stages(entry, repeat, planned), entry]:
                    planned.add((each.id, repeat))
                    reported.append((each, repeat))
                    if self._skip_reason(each.category):
                        continue
                    before = [(entry_id, repeat) for entry_id in each.depends_on]
                    job = plan_job((each.id, repeat), each.category, payload=(each, repeat), depends_on=before,
                                   turns=len(each.question))  # fmt: skip
                    jobs.append(job)
        return jobs, reported

    def _write_stages(self, entry: Entry, repeat: int, planned: set[tuple[str, int]]) -> list[Entry]:
        """The write stages a question waits for that are neither planned nor done in an earlier part of the run."""
        model = self.switch.model
        missing = [
            entry_id
            for entry_id in entry.depends_on
            if (entry_id, repeat) not in planned and (model.spec, model.mode, entry_id, repeat) not in self.done
        ]
        given = {each.id: each for each in self.entries if each.id in missing}
        return [given.get(entry_id) or self.data.entry(entry_id) for entry_id in missing]

    async def _converse(self, job: Job) -> Transcript:
        entry, repeat = job.payload
        return await self.switch.converse(
            entry,
            lambda model: converse(
                entry,
                model,
                settings=self.settings,
                texts=self.data.texts,
                journal=self.journal,
                repeat=repeat,
                snapshots=self._snapshots(model, repeat),
                search=self.search,
                services=self.services,
                on_reply=self.budget.charge,
            ),
        )

    def _snapshots(self, model: Model, repeat: int) -> Snapshots:
        if self.directory is not None:
            return self.directory.snapshots(model.spec, repeat)
        return self._held.setdefault(repeat, HeldSnapshots())

    async def _record(self, ahead: LookAhead, entry: Entry, repeat: int) -> ResultLine:
        record = await self._judged(ahead, entry, repeat)
        if self.directory is not None:
            self.directory.append(record)
        if self.progress is not None:
            self.progress(record)
        return record

    async def _judged(self, ahead: LookAhead, entry: Entry, repeat: int) -> ResultLine:
        from pytest_bfcl.runs import error_record, skipped_record

        rules, model = self.settings.rules, self.switch.model
        if why := self._skip_reason(entry.category):
            return skipped_record(entry.id, entry.category, model.spec, model.mode, why, repeat=repeat, rules=rules)
        try:
            transcript = await ahead.transcript((entry.id, repeat))
        except EntrySkipped as skipped:
            model, why = self.switch.model, skipped.message
            return skipped_record(entry.id, entry.category, model.spec, model.mode, why, repeat=repeat, rules=rules)
        except BenchmarkError as error:
            model = self.switch.model  # it may have been switched meanwhile
            return error_record(
                entry.id, entry.category, model.spec, model.mode, error.verdict, repeat=repeat, rules=rules
            )
        if self.directory is not None:
            self.directory.save_transcript(transcript)
        return judged_record(entry, transcript, rules=rules, price=self.price, simulators=self.settings.simulators)

    def _stop_reason(self) -> str | None:
        from pytest_bfcl.models import stop_reason

        return self.budget.stop_reason() or stop_reason(self.switch.model)

    def _note_switch(self, error: AdapterError) -> None:
        self.fingerprint = replace(self.fingerprint, models=self._fingerprint({}).models)
        if self.directory is not None:
            self.directory.update(self.fingerprint)

    def _result(self, records: list[ResultLine], stopped: str | None) -> RunResult:
        from pytest_bfcl.dataset import known_issues
        from pytest_bfcl.scoring import summarise

        if self.directory is not None:
            self.fingerprint = self.directory.fingerprint
            records = list(self.directory.records())
        else:
            self.fingerprint = self.fingerprint.ended(f"stopped:{stopped}" if stopped else "finished")
        sizes: dict[str, int] = {}
        for entry in self.entries:
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
        path = self.directory.path if self.directory is not None else None
        return RunResult(records, summary, self.fingerprint, path, stopped)


def _price_of(model: Model, settings: Settings) -> Price | None:
    """USD per million tokens: the settings', else the list price of a model that a spec names."""
    from pytest_bfcl.models.prices import price_of

    try:
        return price_of(model.spec, settings)
    except UsageError:  # an adapter of the caller's, named freely
        return settings.price


def _chosen(entries: Any, categories: Iterable[str] | None) -> tuple[DataSet, list[Entry]]:
    """The data set and the entries of it to run."""
    from pytest_bfcl.dataset import CATEGORIES, DataSet, resolve_categories

    if isinstance(entries, str | Path):
        entries = open_data(entries)
    names = None if categories is None else resolve_categories(categories)
    if isinstance(entries, DataSet):
        wanted = names if names is not None else [c for c in entries.categories() if CATEGORIES[c].scored]
        return entries, [entries.load(ref) for name in wanted for ref in entries.index(name)]
    given: Sequence[Entry] = list(entries)
    kept = [entry for entry in given if names is None or entry.category in names]
    # Entries do not know their data set: its texts matter, so official entries need the official set.
    return open_data("official" if any(entry.official for entry in kept) else "bundled"), kept


def _mode_switch(
    model: Any, settings: Settings, data: DataSet, on_switch: Callable[[AdapterError], None]
) -> ModeSwitch:
    from pytest_bfcl.models import as_model, create_model, parse_spec

    if not isinstance(model, str):
        adapter = model if hasattr(model, "generate") and hasattr(model, "spec") else as_model(model)
        return ModeSwitch(adapter)
    spec: ModelSpec = parse_spec(model)
    made = create_model(spec, settings, dataset=data)

    def prompting(mode: Mode = "prompt") -> Model:
        return create_model(spec, settings, dataset=data, mode=mode)

    free = spec.mode is None and settings.mode == "auto"
    return ModeSwitch(made, prompting if free else None, on_switch=on_switch)


def _continued_spec(model: str, out: Path, settings: Settings) -> str:
    """The spec to go on with: a run that was switched to prompting stays there."""
    from pytest_bfcl.models import parse_spec
    from pytest_bfcl.runs import RunDirectory, is_run

    spec = parse_spec(model)
    if spec.mode is not None or settings.mode != "auto" or not is_run(out):
        return model
    before = {each.model for each in RunDirectory.open(out).fingerprint.models}
    prompting = spec.with_mode("prompt").text
    return prompting if prompting in before else model


def _searches(entry: Entry) -> bool:
    return "WebSearchAPI" in entry.involved_classes
