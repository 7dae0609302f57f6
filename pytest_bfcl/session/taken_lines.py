"""The lines a run has taken so far: counted, added up, told to whoever listens."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.session.closing import got_an_answer, sizes_by_category

if TYPE_CHECKING:
    from pytest_bfcl.runs import Fingerprint, ResultLine
    from pytest_bfcl.session.earlier import EarlierParts
    from pytest_bfcl.session.events import Answered
    from pytest_bfcl.session.run_data import RunData
    from pytest_bfcl.session.sinks import Sinks
    from pytest_bfcl.settings import Settings

Listener = Callable[["ResultLine", "str | None"], None]
"""Told of every line, with its text where that is known."""


class TakenLines:
    """What they come to, for `Run`: ``planned`` is how many there will be, 0 until that is known."""

    def __init__(
        self, data: RunData, settings: Settings, earlier: EarlierParts, path: Path | None, *, writes: bool
    ) -> None:
        self.data = data
        self.settings = settings
        self.earlier = earlier
        self.path = path
        self.listeners: list[Listener] = []
        self.counts: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()
        self.cost_usd = 0.0
        self.planned = 0
        self._writes = writes
        self._entries: set[tuple[str, str]] = set()
        self._asked: set[tuple[str, str]] = set()
        self._answered = False
        self._sinks: Sinks | None = None
        self._opening = threading.Lock()
        if writes and settings.sinks:
            from pytest_bfcl.session.sinks import check_sinks

            check_sinks(settings.sinks)

    def fingerprint(self) -> Fingerprint:
        """What is measured."""
        raise NotImplementedError

    def _count(self, line: ResultLine, text: str | None) -> None:
        self.counts[line["outcome"]] += 1
        self.cost_usd += line.get("cost_usd") or 0.0
        if line["outcome"] == "skipped":
            self.skips[str(line["detail"].get("error"))] += 1
        self._entries.add((line["id"], line["category"]))
        if line["model"]:
            self._asked.add((line["model"], line["mode"]))
        self._answered = self._answered or got_an_answer(line)
        if self._sinks is None and self._writes and self.settings.sinks:
            self._open_sinks()
        for listener in self.listeners:
            listener(line, text)

    def _open_sinks(self) -> Sinks:
        from pytest_bfcl.session.sinks import SinkRun, Sinks

        with self._opening:
            if self._sinks is None:
                name = self.path.name if self.path is not None else self.settings.label or "run"
                facts = self.fingerprint().to_dict()
                self._sinks = Sinks(self.settings.sinks, SinkRun(name, self.path, dict(facts), self.planned))
                self.listeners.append(self._sinks.take)
            return self._sinks

    @property
    def on_answer(self) -> Callable[[Answered], None] | None:
        """What is to be told of every reply, from any thread; ``None`` where no sink is."""
        return (lambda event: self._open_sinks().answered(event)) if self.settings.sinks and self._writes else None

    @property
    def spent_out(self) -> str | None:
        """Why no more may be asked: the budget is spent."""
        if (limit := self.settings.budget_usd) is None or self.cost_usd < limit:
            return None
        return f"budget of {limit:g} USD reached ({self.cost_usd:.4f} spent)"

    def _sizes(self) -> dict[str, int]:
        """Entries per category, in this part of the run and in earlier ones."""
        names = {key.entry_id for key in self.earlier.settled | self.earlier.errored}
        found = {*self._entries, *self._of_earlier(names).items()}
        return sizes_by_category(found, self.settings.transforms)

    def _of_earlier(self, names: Iterable[str]) -> dict[str, str]:
        """Id → category of entries that earlier parts name."""
        found = ((name, self.data.category_of(name)) for name in names)
        return {name: category for name, category in found if category is not None}
