"""Conversations of one process: held ahead, journaled and judged, with the reasons to start no more of them.

The plugin, `pytest_bfcl.run` and all other drivers use this class. It holds no global state and starts no event loop:
all coroutines belong to the loop its caller runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.lookahead import LookAhead, RunStopped
from pytest_bfcl.conversation.services import CARRIED_OUT
from pytest_bfcl.failures import AdapterError, BenchmarkError, EntrySkipped, HarnessError
from pytest_bfcl.models.adversaries import AT_RISK
from pytest_bfcl.runs.journal import ReplyKey
from pytest_bfcl.runs.results import skipped_record
from pytest_bfcl.selection.splits import is_in
from pytest_bfcl.session.contender import Contender, is_stored
from pytest_bfcl.session.earlier import base_of, errored_record, judged_record
from pytest_bfcl.session.outside import Outside, Store, room_for
from pytest_bfcl.session.proof import PlayedAlone, Proofs, is_at_risk
from pytest_bfcl.session.sinks import answered_event
from pytest_bfcl.session.trial import Trial, TrialKey
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.models.base import Model, Request
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.session.sinks import Answered
    from pytest_bfcl.settings import Settings
    from pytest_bfcl.transcript import Reply, Transcript

DRAIN_S = 60.0
"""How long paid replies may take to arrive after the budget stopped the run."""
STOPPING = "the run is stopping"
_ANYWHERE = nullcontext()


class Runner:
    """Holds the trials of some contenders over some data.

    Args:
        data: The run's data; ``None`` if each trial has its own.
        contenders: The models of the run.
        settings: How it is run.
        store: Storage of this process; ``None`` keeps the run in memory.
        search: A search provider of the caller's, instead of the one that settings and data select.
        halted: Returns why no further conversation may start, else ``None``.
        note: Receives notes for the user, shown at the end of the run.
        on_switch: Called when mode ``auto`` selects prompting for a contender.
        served: Facts of MCP servers from earlier parts of the run (`EarlierParts.served`).

    ``on_answer`` may be set to a receiver of every reply as it arrives.
    """

    def __init__(
        self,
        data: DataSet | None,
        contenders: Sequence[Contender],
        settings: Settings,
        store: Store | None = None,
        *,
        search: object = None,
        halted: Callable[[], str | None] | None = None,
        note: Callable[[str], None] | None = None,
        on_switch: Callable[[Contender], None] | None = None,
        served: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.data = data
        self.contenders = list(contenders)
        self.settings = settings
        self.store = store or Store()
        self.outside = Outside(settings, self.store, search)
        self._halted = halted
        self._note = note or (lambda text: None)
        self._proofs = Proofs(settings, self._note, served)
        self._alone = PlayedAlone(self._note, settings.simulators)
        self._on_switch = on_switch
        self.on_answer: Callable[[Answered], None] | None = None
        self._entries: dict[TrialKey, Entry] = {}
        self._skips = _Skips(self.outside)
        self._unkept: str | None = None
        self._hurried = False
        self._left: set[str] = set()
        self._places: dict[str, asyncio.Semaphore] = {}
        self._trained_on = frozenset(settings.trained_on["ids"] if settings.trained_on is not None else ())
        for contender in self.contenders:
            contender.on_switch = self._switched

    # -- before --------------------------------------------------------------------------------------------------

    def skip_reason(self, category: str, data: DataSet, contender: Contender | None = None) -> str | None:
        """Why a category cannot run here with a contender, or with any of them; else ``None``."""
        if contender is not None:
            return self.outside.skip_reason(category, data, contender)
        reasons = [self.outside.skip_reason(category, data, each) for each in self.contenders]
        return reasons[0] if all(reasons) else None

    async def plan(self, trials: Iterable[Trial]) -> None:
        """Hold these trials ahead from now on, in this order; planned ones are ignored."""
        self._ahead.plan(trials)

    @cached_property
    def _ahead(self) -> LookAhead[Trial]:
        wanted = self.settings.concurrency * (len(self.contenders) if self.settings.paced else 1)
        room, said = room_for(wanted)
        if said:
            self._note(said)
        return LookAhead(self.hold, concurrency=room, stop_reason=self.stop_reason)

    # -- conversations -------------------------------------------------------------------------------------------

    async def transcript(self, trial: Trial) -> Transcript:
        """The trial's conversation: one held ahead, else held now.

        Raises `AdapterError`, `HarnessError` and `EntrySkipped` as `converse` does, `RunStopped` if it did not start
        because the run is stopping.
        """
        return await self._ahead.transcript(trial)

    def ask(self, trial: Trial) -> asyncio.Future[Transcript]:
        """The task that holds the conversation, for callers that run the loop themselves and then `take` it.

        Do not cancel it. Await `plan` in the loop first.
        """
        return self._ahead.ask(trial)

    def take(self, trial: Trial) -> Transcript | None:
        """The conversation of a requested trial that has ended, else ``None``; raises its error."""
        return self._ahead.take(trial.key)

    def discard(self, trial: Trial) -> None:
        """Release the entry and conversation of a trial that is done or not needed."""
        self._entries.pop(trial.key, None)
        self._ahead.discard(trial.key)

    def entry(self, trial: Trial) -> Entry:
        """The trial's entry, parsed once and kept until `discard`. Raises `HarnessError` if it cannot be used."""
        entry = self._entries.get(trial.key)
        if entry is None:
            entry = self._entries[trial.key] = trial.load()
        return entry

    async def hold(self, trial: Trial) -> Transcript:
        """The conversation: the look-ahead's, or a separate one for a model that lives for one trial only."""
        contender = trial.contender
        if len(self.contenders) > 1 and (why := contender.broken()):
            raise AdapterError(AdapterTrouble.CIRCUIT_OPEN, f"not sent: {why}")
        entry = self._entries.get(trial.key) or self.entry(trial)
        try:
            if entry.row.checker in AT_RISK and is_at_risk(entry) and contender.is_measured:
                await self._proofs.require(entry, trial.data.texts, self.outside.search(entry, trial.data))
            async with self._place(contender) if self.settings.paced else _ANYWHERE:
                transcript = await contender.converse(partial(self._with_model, trial, entry))
            if not contender.users_trouble.calm:
                contender.users_trouble.answered()
        except AdapterError as error:
            contender.users_trouble.failed(error)
            self._leave(contender)
            raise
        except HarnessError as error:
            if error.kind == HarnessTrouble.STORAGE:  # replies cannot be kept: paying for more would be a waste
                self._unkept = error.message
            if error.kind == HarnessTrouble.STOPPED and error.transcript is None:  # it waited, and was not asked
                raise RunStopped(error.message) from None
            raise
        if contender.has_news:
            self._note_all(contender.take_notes())
        return transcript

    def _note_all(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._note(text)

    async def _with_model(self, trial: Trial, entry: Entry, model: Model) -> Transcript:
        """The conversation with one adapter of the contender, journaled and charged."""
        contender, executed = trial.contender, bool(entry.involved_classes)
        told = contender.price is not None or self.on_answer is not None or contender.switches
        held = partial(
            converse,
            entry,
            settings=self.settings,
            texts=trial.data.texts,
            repeat=trial.repeat,
            snapshots=self.store.snapshots(model.spec, trial.repeat) if executed else None,
            search=self.outside.search(entry, trial.data) if executed and not is_stored(model) else None,
            services=self.outside.services(trial.data) if entry.row.checker in CARRIED_OUT else None,
            on_reply=partial(self._heard, contender, model) if told else None,
        )
        transcript = await held(model, journal=self.store.journal)
        if hasattr(model, "fresh"):
            await self._alone.check(entry, transcript, model, held)
        return transcript

    def _heard(self, contender: Contender, model: Model, request: Request, reply: Reply) -> None:
        contender.heard(request, reply)
        if self.on_answer is not None:
            key = ReplyKey(model.spec, model.mode, request.entry.id, request.repeat, request.turn, request.step, "")
            self.on_answer(answered_event(key, reply))

    def _leave(self, contender: Contender) -> None:
        """Report once that a broken model gets no more requests while others continue."""
        if contender.label in self._left or len(self.contenders) == 1 or not (why := contender.broken()):
            return
        self._left.add(contender.label)
        self._note(f"{contender.label} is asked no more, other models go on: {why}")

    def _place(self, contender: Contender) -> AbstractAsyncContextManager[object]:
        """Room for one more conversation: a model without its own limit does not get all of it at once."""
        if contender.gate is not None:
            return _ANYWHERE
        return self._places.setdefault(contender.label, asyncio.Semaphore(self.settings.first_concurrency))

    # -- lines ---------------------------------------------------------------------------------------------------

    async def records(self, trials: Iterable[Trial]) -> AsyncIterator[ResultLine]:
        """The lines of all these trials, in their order, each as soon as it exists. Raises `RunStopped` if the run must
        stop; replies are journaled by then.
        """
        listed = list(trials)
        await self.plan([each for each in listed if self._skips[each.category, each.data, each.contender] is None])
        for trial in listed:
            record = await self.record(trial)
            yield record
            if record["outcome"] == "error" and (reason := self.stop_reason()):
                raise RunStopped(reason)

    async def ready(self, concurrency: int) -> None:
        """Raise `UsageError` for anything that would stop the run before its first entry; nothing is written yet."""

    def in_order(self, records: list[ResultLine]) -> list[ResultLine]:
        """The lines that `records` returned, in the order of the trials."""
        return records

    async def record(self, trial: Trial) -> ResultLine:
        """The trial's line, with any outcome. Raises `RunStopped` if the run is stopping."""
        if why := self._skips[trial.category, trial.data, trial.contender]:
            return self.skipped(trial, why)
        try:
            return self.judged(trial, await self._ahead.transcript(trial))
        except EntrySkipped as skipped:
            return self.skipped(trial, skipped.message)
        except BenchmarkError as error:
            return self.errored(trial, error)
        finally:  # the look-ahead has let go of what it handed out
            self._entries.pop(trial.key, None)

    def judged(self, trial: Trial, transcript: Transcript) -> ResultLine:
        """The line of a conversation that has ended."""
        line = judged_record(
            self._entries.get(trial.key) or self.entry(trial),
            transcript,
            rules=self.settings.rules,
            price=trial.contender.price,
            worker=self.store.process,
            simulators=self.settings.simulators,
        )
        if line["reason"] == "harness:data" and trial.place is not None:
            line["detail"].setdefault("advice", f"fix {trial.place}")
        if self._trained_on and is_in(self._trained_on, trial.entry_id):
            line["trained_on"] = True
        return line

    def errored(self, trial: Trial, error: BenchmarkError) -> ResultLine:
        """The line of a trial that ended in an error."""
        return errored_record(trial, error, rules=self.settings.rules, worker=self.store.process)

    def skipped(self, trial: Trial, why: str) -> ResultLine:
        """The line of a trial that cannot run here."""
        identity, rules = trial.contender.identity, self.settings.rules
        return skipped_record(trial.entry_id, trial.category, *identity, why, repeat=trial.repeat, rules=rules)

    # -- the end -------------------------------------------------------------------------------------------------

    def stop_reason(self) -> str | None:
        """Why no further conversation should start: no model left, budget spent, disk full."""
        for contender in self.contenders:
            if contender.budget.limit_usd is not None and (spent := contender.spent()):
                return spent
        broken: str | None = None
        for contender in self.contenders:
            if (broken := contender.broken()) is None:
                break
        return broken or self._unkept or (self._halted() if self._halted is not None else None)

    def trouble(self) -> str | None:
        """The current problem of an endpoint while requests wait or are retried; else ``None``."""
        return next((found for found in (each.trouble() for each in self.contenders) if found), None)

    def hurry(self) -> None:
        """Stop waiting for replies, because the run is ending. For signal handlers."""
        self._hurried = True
        self._ahead.hurry()

    async def end_conversations(self, drain_s: float | None = None) -> None:
        """Start no more conversations and end the current ones.

        ``drain_s``: seconds for paid replies to arrive; by default only after a spent budget.
        """
        if "_ahead" not in vars(self):
            return
        if drain_s is None:
            spent = any(contender.budget.stop_reason() for contender in self.contenders)
            drain_s = DRAIN_S if spent else 0.0
        draining = drain_s and self.store.journals and not self._hurried
        if draining and (journal := self.store.journal) is not None:
            journal.ended = STOPPING
        for contender in self.contenders:
            contender.ended = STOPPING if draining else None
        await self._ahead.aclose(min(drain_s, self.settings.timeout_s) if draining else 0.0)
        vars(self).pop("_ahead", None)  # two may end them at once

    async def aclose(self, *, interrupted: bool = False) -> None:
        """End all conversations; close adapters, files and providers. ``interrupted``: pending replies get
        `Settings.grace_s` to arrive.
        """
        await self.end_conversations(self.settings.grace_s if interrupted else None)
        for contender in self.contenders:
            self._note_all([*contender.take_notes(), *self._pace_notes(contender)])
            await contender.aclose()
        self.store.close()
        self.outside.close()

    def _pace_notes(self, contender: Contender) -> Iterator[str]:
        """How many requests were in flight, if the run found the number itself."""
        gate = contender.gate if self.settings.paced and contender.has_adapter else None
        if gate is not None and gate.highest:
            where = f" in process {self.store.process}" if self.store.process != "main" else ""
            refused = f", {gate.pace.refused} refused" if gate.pace.refused else ""
            yield (
                f"{contender.label}: --bfcl-concurrency auto came to {gate.pace.limit} requests in flight{where} "
                f"(at most {gate.highest}, bound {gate.pace.most}{refused})"
            )

    def _switched(self, contender: Contender, error: AdapterError) -> None:
        self._skips.clear()
        self._note(f"{base_of(contender.label)} refuses tools ({error}): the whole run is asked in prompting mode")
        if self._on_switch is not None:
            self._on_switch(contender)


class _Skips(dict[tuple[str, "DataSet", Contender], str | None]):
    """Why a category, data set and contender cannot run here; computed once."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    def __missing__(self, kind: tuple[str, DataSet, Contender]) -> str | None:
        why = self[kind] = self._outside.skip_reason(*kind)
        return why
