"""A run on a cluster, with the interface of `pytest_bfcl.session.runner.Runner` that `pytest_bfcl.run` needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.cluster.driver import Driver, Pool
from pytest_bfcl.extensions.cluster.messages import SentModel, WorkerConfig, environment_of
from pytest_bfcl.extensions.cluster.store import RunStore, twice_of
from pytest_bfcl.runs.fingerprint import plugin_version
from pytest_bfcl.session.earlier import DoneKey, base_of, done_key

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.earlier import EarlierParts
    from pytest_bfcl.session.sinks import Answered
    from pytest_bfcl.session.trial import Trial
    from pytest_bfcl.settings import Settings


@dataclass
class RemoteRunner:
    """Lets actors hold trials. ``path`` is the run directory, ``None`` for a run in memory."""

    send_keys: bool
    connect: Callable[[int], Awaitable[Pool]]
    disconnect: Callable[[], Awaitable[None]]
    data: DataSet
    contenders: Sequence[Contender]
    settings: Settings
    earlier: EarlierParts
    path: Path | None = None
    note: Callable[[str], None] = lambda text: None
    on_switch: Callable[[Contender], None] = lambda contender: None
    on_answer: Callable[[Answered], None] | None = None
    _order: dict[DoneKey, int] = field(default_factory=dict, init=False)
    _pool: Pool | None = field(default=None, init=False)

    async def records(self, trials: Iterable[Trial]) -> AsyncIterator[ResultLine]:
        """The lines of all these trials, each as soon as it arrives; see `Driver.lines`."""
        listed = list(trials)
        if not listed:
            return
        twice = self._twice
        store = RunStore(self.path, twice, self.note, self.on_answer)
        self._order = {store.key(trial): number for number, trial in enumerate(listed)}
        await self.ready(min(self.settings.concurrency, len(listed)))
        pool = self._pool
        assert pool is not None
        shares = shares_of(self.settings.concurrency, pool.size)

        def config(slot: int) -> WorkerConfig:
            return self._worker_config(f"ray-{slot}", shares[slot], twice, store)

        driver = Driver(
            pool,
            self.contenders,
            store,
            config,
            share=max(shares),
            grace_s=self.settings.grace_s,
            rules=self.settings.rules,
            note=self.note,
            on_switch=self.on_switch,
        )
        async for line in driver.lines(listed):
            yield line

    async def ready(self, concurrency: int) -> None:
        """Connect to the cluster, for at most this number of conversations at a time. Raises `UsageError`."""
        if self._pool is None:
            self._pool = await self.connect(concurrency)

    def in_order(self, records: list[ResultLine]) -> list[ResultLine]:
        """The last line of each trial, in the order of the trials."""
        last = {self._key(line): line for line in records}
        return [last[key] for key in sorted(last, key=lambda key: self._order[key])]

    def _key(self, line: ResultLine) -> DoneKey:
        return done_key(line["id"], line["model"], line["repeat"], self._twice)

    @cached_property
    def _twice(self) -> frozenset[str]:
        """Models that the run has in both modes."""
        return self.earlier.twice | twice_of(base_of(each.identity.model) for each in self.contenders)

    async def aclose(self, *, interrupted: bool = False) -> None:
        """Close this side; pending replies had their time when `records` was cancelled."""
        for contender in self.contenders:
            await contender.aclose()
        await self.disconnect()

    def _worker_config(self, process: str, share: int, twice: frozenset[str], store: RunStore) -> WorkerConfig:
        specs = [each.spec for each in self.contenders if each.spec is not None]
        return WorkerConfig(
            process=process,
            version=plugin_version(),
            data=self.data.unread(),
            data_sha256=self.data.sha256,
            has_site=self.data.site is not None,
            models=[self._sent_model(contender) for contender in self.contenders],
            settings=replace(self.settings, concurrency=share, budget_usd=None).to_dict(),
            twice=twice,
            served=self.earlier.served,
            environment=environment_of(specs) if self.send_keys else {},
            archives=store.archives(),
        )

    def _sent_model(self, contender: Contender) -> SentModel:
        if contender.spec is None:
            return SentModel(contender.label, None, contender.given, None, contender.price)
        settled = None if contender.switches else contender.mode
        return SentModel(contender.label, contender.spec.text, None, settled, contender.price)


def shares_of(concurrency: int, size: int) -> list[int]:
    """How many conversations each actor holds at a time: the sum is the run's, at least one each."""
    whole, rest = divmod(concurrency, size)
    return [max(1, whole + (slot < rest)) for slot in range(size)]
