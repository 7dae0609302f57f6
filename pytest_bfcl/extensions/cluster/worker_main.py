"""The body of an actor: a `Runner` for its trials. Does not import Ray; any event loop may drive it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.conversation.lookahead import RunStopped
from pytest_bfcl.extensions.cluster.messages import (
    Ended,
    Hello,
    Job,
    Lined,
    Memory,
    Noted,
    SentModel,
    Switched,
    Troubled,
    WorkerConfig,
)
from pytest_bfcl.extensions.cluster.store import DriverBudget, Outbox, StreamedStore
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.runs.fingerprint import plugin_version
from pytest_bfcl.runs.results import written
from pytest_bfcl.session.contender import Contender
from pytest_bfcl.session.runner import Runner
from pytest_bfcl.session.trial import Trial
from pytest_bfcl.settings import Settings
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.result_line import ResultLine


class WorkerMain:
    """One process of a run: `begin` once, then `work` and `take` on the driver's requests, `stop` at the end."""

    def __init__(self) -> None:
        self._outbox = Outbox()
        self._tasks: set[asyncio.Task[None]] = set()
        self._troubles: set[str] = set()
        self._halted: str | None = None

    async def begin(self, config: WorkerConfig) -> Hello:
        """Prepare. An error (another release, a model that cannot be made) is in ``Hello.problem``."""
        host, version = socket.gethostname(), plugin_version()
        if version != config.version:
            return Hello(host, version, False, f"it has pytest-bfcl {version}, the driver {config.version}")
        os.environ.update(config.environment)
        try:
            self._make_ready(config)
        except (UsageError, HarnessError) as error:
            return Hello(host, version, False, str(error))
        return Hello(host, version, self._has_data)

    def _make_ready(self, config: WorkerConfig) -> None:
        settings = Settings.from_dict(dict(config.settings))
        found = local_data(config)
        self._has_data = found is not None
        self._data = found or config.data
        if found is None and config.has_site:
            raise UsageError(f"the data {config.data.name} ({config.data_sha256[:8]}) is missing: fetch or copy it")
        self._contenders = {each.label: self._contender(each, settings) for each in config.models}
        self._store = StreamedStore(self._outbox, config.process, config.twice, config.archives)
        self._runner = Runner(
            self._data,
            list(self._contenders.values()),
            settings,
            self._store,
            halted=lambda: self._halted,
            note=lambda text: self._outbox.put(Noted(text)),
            on_switch=lambda contender: self._outbox.put(Switched(contender.label)),
            served=config.served,
        )

    def _contender(self, sent: SentModel, settings: Settings) -> Contender:
        if sent.spec is None:
            contender = Contender.of_adapter(sent.adapter, settings)
        else:
            spec = parse_spec(sent.spec)
            contender = Contender.of_spec(spec, settings, data=self._data, settled=sent.settled, price=sent.price)
            _ = contender.model  # what is wrong with it is said now, not with every entry
        contender.label = sent.label
        contender.price = sent.price
        contender.budget = DriverBudget(self._outbox, sent.label, sent.price)
        return contender

    # -- at work -------------------------------------------------------------------------------------------------

    async def work(self, jobs: Sequence[Job], memories: Sequence[Memory]) -> None:
        """Hold these trials too; ``memories`` are for their questions."""
        for memory in memories:
            self._store.snapshots(memory.model, memory.repeat).learn(memory)
        trials = []
        for job in jobs:
            self._store.journal.learn(job.replies)
            trials.append((job.number, self._trial(job)))
        skipped = self._runner.skip_reason
        await self._runner.plan(t for _, t in trials if not skipped(t.category, t.data, t.contender))
        for number, trial in trials:
            task = asyncio.get_running_loop().create_task(self._hold(number, trial))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _trial(self, job: Job) -> Trial:
        contender = self._contenders[job.label]
        if job.entry is not None:
            return Trial.of(job.entry, contender, self._data, job.repeat)
        ref = self._data.find(job.entry_id)
        return Trial.of(ref or self._data.entry(job.entry_id), contender, self._data, job.repeat)

    async def _hold(self, number: int, trial: Trial) -> None:
        """One trial, from its first request to its line."""
        try:
            record = await self._runner.record(trial)
        except RunStopped as stop:
            self._trouble(stop.reason)
            return
        except Exception as error:  # a defect of ours must not leave the driver waiting for a line
            text = f"{trial.entry_id}: {type(error).__name__}: {error}"
            record = self._runner.errored(trial, HarnessError(HarnessTrouble.CONVERSATION, text))
        self._tell(number, trial, record)

    def _tell(self, number: int, trial: Trial, record: ResultLine) -> None:
        self._store.send_recordings()
        self._outbox.put(Lined(number, written(record), record["outcome"], record["mode"]))
        self._store.journal.forget(trial.entry_id, trial.repeat, record["model"])
        if record["outcome"] == "error" and (reason := self._runner.stop_reason()):
            self._trouble(reason)

    def _trouble(self, reason: str) -> None:
        if reason not in self._troubles and self._halted is None:
            self._troubles.add(reason)
            self._outbox.put(Troubled(reason))

    async def take(self) -> bytes:
        """The next piece of the messages (`messages.pieces`), as soon as there is any."""
        return await self._outbox.take()

    async def stop(self, reason: str, drain_s: float) -> None:
        """Start nothing more; ``drain_s``: see `Runner.end_conversations`. The last message is `Ended`."""
        self._halted = reason
        if hasattr(self, "_runner"):
            await self._runner.end_conversations(drain_s)
            for task in list(self._tasks):
                task.cancel()
            await self._runner.aclose()
        self._outbox.put(Ended())


def local_data(config: WorkerConfig) -> DataSet | None:
    """The run's data set on this host; ``None`` if it is missing."""
    name = config.data.name
    try:
        if name in ("official", "verified", "bundled"):
            data = open_data(name)
            if data.sha256 == config.data_sha256:
                data.rewordings = config.data.rewordings
                return data
        return config.data if config.data.sha256_here() == config.data_sha256 else None
    except (UsageError, HarnessError, OSError):
        return None
