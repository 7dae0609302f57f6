"""One run, in the process that stores its results: ``plan() → open() → take(line) → close() → RunResult``.

Lines come from a pytest session and its workers, the verb, a program or a cluster. From them it makes the run
directory, counts, summary, gates and exit code.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pytest_bfcl.dataset.transforms import is_transformed
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.session.closing import (
    HELD_RECORDS,
    Board,
    RunResult,
    got_an_answer,
    measurement_of,
    named_board,
    run_board,
    settled_models,
    sizes_by_category,
    tallies_of,
    with_facts,
)
from pytest_bfcl.session.earlier import server_facts
from pytest_bfcl.transcript import SERVED_BY

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.scoring.gating import Gates
    from pytest_bfcl.scoring.model_info import ModelInfo
    from pytest_bfcl.scoring.summary import Tallies
    from pytest_bfcl.selection.selection import JointData
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.earlier import EarlierParts
    from pytest_bfcl.session.sinks import Answered, Sinks
    from pytest_bfcl.settings import Settings


class RunData(Protocol):
    """The data of a run, opened on first use."""

    @property
    def dataset(self) -> DataSet:
        """Where entries are searched first."""
        ...

    @property
    def measured(self) -> DataSet | JointData:
        """Everything that a run's fingerprint hashes."""
        ...

    def category_of(self, entry_id: str) -> str | None:
        """The category of an entry that a line or an earlier part names."""
        ...

    def selection_facts(self) -> Fields:
        """The selection, as in the fingerprint."""
        ...


Listener = Callable[["ResultLine", "str | None"], None]
"""Called with every line, and with its text if it exists already."""


class Run:
    """One run. ``path`` is its directory, ``None`` keeps it in memory; ``model_info`` is the content of such a file,
    ``infos`` its models.

    The settings' ``sinks`` receive lines from the first on. Raises `UsageError` for an unknown one.

    ``writes``: whether this process stores lines (workers and dry runs do not); then it has ``gates``. ``planned`` is
    the number of expected lines, 0 until it is known. ``directory`` is open from the first line on; ``notes`` are for
    users; ``unkept`` names what could not be written at the end.
    """

    def __init__(
        self,
        data: RunData,
        contenders: Sequence[Contender],
        settings: Settings,
        earlier: EarlierParts,
        *,
        gates: Gates | None = None,
        path: Path | None = None,
        infos: Mapping[str, ModelInfo] | None = None,
        model_info: Fields | None = None,
        writes: bool = True,
        hands_over: bool = False,
    ) -> None:
        self.data = data
        self.settings = settings
        self.earlier = earlier
        self.path = path
        self.contenders = contenders
        self.gates = gates
        self.model_info = model_info
        self._infos = infos
        self.directory: RunDirectory | None = None
        self.summary: Summary | None = None
        self.notes: list[str] = []
        self.unkept: str | None = None
        self.listeners: list[Listener] = []
        self.counts: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()
        self.cost_usd = 0.0
        self.planned = 0
        self._entries: set[tuple[str, str]] = set()
        self._asked: set[tuple[str, str]] = set()
        self._served = dict(earlier.served)
        self._answered = False
        self._sinks: Sinks | None = None
        self._opening = threading.Lock()
        self._writes = writes
        self._published: Board | None = None
        self._hands_over = hands_over
        """Whether lines are held for `result`: only while the run is small."""
        self._held: list[ResultLine] = []
        self._tallies: Tallies | None = None
        """Lines counted on arrival, so that the summary of a new run is ready after its last line."""
        self._keys: set[int] = set()
        self._whole = False
        self._ended: Fingerprint | None = None
        self._began = time.monotonic()
        if writes:
            from pytest_bfcl.session.sinks import check_sinks

            check_sinks(settings.sinks)

    @property
    def folder(self) -> Path:
        """The path of a run that has a directory."""
        assert self.path is not None
        return self.path

    # -- before the first request --------------------------------------------------------------------------------

    def fingerprint(self) -> Fingerprint:
        """The fingerprint: the directory's, else that of the run about to start."""
        if self.directory is not None:
            return self.directory.fingerprint
        return self._ended or self._as_measured()

    def _as_measured(self) -> Fingerprint:
        from pytest_bfcl.runs.fingerprint import Fingerprint

        models = [each.identity for each in self.contenders]
        read_as = {each.identity.model: each.read_as for each in self.contenders}
        return Fingerprint.of(self.data.measured, models, self.settings, self.data.selection_facts(), read_as)

    @property
    def is_part(self) -> bool:
        """Whether other parts of the run have the remaining entries: a shard, or a resumed run."""
        return bool(self.earlier.settled) or "shard" in self.data.selection_facts()

    def refuse_other(self) -> None:
        """Raise `UsageError` if the directory holds a run that measured something else."""
        if self.earlier.fingerprint is not None:
            assert self.path is not None
            self.earlier.refuse_other(self.fingerprint(), self.path)

    def check_gates(self, models: Sequence[str], here: Path = Path()) -> None:
        """Raise `UsageError` if a gate does not fit data and models; relative paths start at ``here``."""
        if self.checked_gates.options.knows_data:
            self.checked_gates.check_conditions(self.fingerprint(), self.data.dataset, models, here, self.path)

    def plan(self, entries: Iterable[tuple[str, str]], trials: int) -> None:
        """Plan the run: id and category of entries, and the number of lines."""
        self._entries |= set(entries)
        self.planned = trials + len(self.earlier.settled)
        if self.directory is not None:
            self.directory.update(replace(self.directory.fingerprint, planned=self.planned))

    def refuse_unreachable(
        self, entries: Mapping[str, str], skip_reason: Callable[[str], str | None], *, others: bool = False
    ) -> None:
        """Stop before the first request if no answers could meet a gate. Raises `UsageError`.

        ``entries``: id → category of the planned entries; ``others``: whether other tests run, too.
        """
        known = {**self._of_earlier(self.earlier.settled_ids), **entries}
        self.checked_gates.refuse_unreachable(known, self.data.dataset, skip_reason, others=others)

    def open(self) -> RunDirectory | None:
        """Create or resume the run directory. Raises `UsageError` or `HarnessError` if that fails."""
        if self._published is None and self.settings.board is not None and self._writes:
            self._published = named_board(self.settings.board, self.fingerprint())
        if self.directory is None and self.path is not None and self._writes:
            from pytest_bfcl.runs.directory import RunDirectory

            self.directory = RunDirectory.start(self.path, replace(self.fingerprint(), planned=self.planned))
            self._published = run_board(self._published, self.path, self.notes)
            if self.earlier.fingerprint is None:
                self._tallies = tallies_of(self.directory.fingerprint, self.data.dataset)
        return self.directory

    def withdraw(self) -> None:
        """Remove a new directory whose run was refused before the first request."""
        if self.directory is not None:
            self.directory.withdraw()
            self.directory = None

    # -- lines -----------------------------------------------------------------------------------------------------

    def take(self, line: ResultLine, text: str | None = None) -> None:
        """Store one line, count it, and notify listeners. Raises `HarnessError` if it cannot be stored."""
        directory = self.directory or self.open()
        if directory is not None:
            directory.append(line, text)
        if directory is None or self._hands_over:
            self._held.append(line)
            if directory is not None and len(self._held) > HELD_RECORDS:
                self._held, self._hands_over = [], False
        if self._tallies is not None:
            key = hash((line["model"], line["mode"], line["id"], line["repeat"]))
            if key in self._keys:  # a second line counts instead of the first: all are read again at the end
                self._tallies = None
            else:
                self._keys.add(key)
                self._tallies.add(line)
        self.counts[line["outcome"]] += 1
        self.cost_usd += line.get("cost_usd") or 0.0
        if line["outcome"] == "skipped":
            self.skips[str(line["detail"].get("error"))] += 1
        self._entries.add((line["id"], line["category"]))
        if line["model"]:
            self._asked.add((line["model"], line["mode"]))
        if (told := line["extra"].get(SERVED_BY)) is not None:
            self._served |= server_facts(told)
        self._answered = self._answered or got_an_answer(line)
        if self._writes and self.settings.sinks:
            self._open_sinks()
        for listener in self.listeners:
            listener(line, text)

    def _open_sinks(self) -> Sinks:
        from pytest_bfcl.session.sinks import SinkRun, Sinks

        with self._opening:
            if self._sinks is None:
                name = self.path.name if self.path is not None else "run"
                facts = self.fingerprint().to_dict()
                self._sinks = Sinks(self.settings.sinks, SinkRun(name, self.path, dict(facts), self.planned))
                self.listeners.append(self._sinks.take)
            return self._sinks

    @property
    def on_answer(self) -> Callable[[Answered], None] | None:
        """The function to call with every reply, from any thread; ``None`` without sinks."""
        return (lambda event: self._open_sinks().answered(event)) if self.settings.sinks and self._writes else None

    @property
    def spent_out(self) -> str | None:
        """Record that the budget is spent and no more requests are sent."""
        if (limit := self.settings.budget_usd) is None or self.cost_usd < limit:
            return None
        return f"budget of {limit:g} USD reached ({self.cost_usd:.4f} spent)"

    def switched(self, contender: Contender) -> None:
        """Report at once that a model changes to its other mode."""
        if self.directory is not None:
            self.directory.update(replace(self.directory.fingerprint, models=self._as_measured().models))

    # -- the end ---------------------------------------------------------------------------------------------------

    def unanswered(self) -> str | None:
        """Why the run counts as stopped if it has only errors, earlier parts included."""
        if self._answered or not (self.counts or self.earlier.errored):
            return None
        earlier = self.directory.records() if self.directory is not None else ()
        return None if any(map(got_an_answer, earlier)) else "no request got an answer"

    def end(self, stopped: str | None) -> None:
        """Record how the run ended; ``stopped`` says why it ended before its last line."""
        state = f"stopped:{stopped}" if stopped else "finished"
        self._whole = stopped is None
        if (directory := self.directory) is not None:
            self.write_or_note(lambda: self._write_measured(directory))
            self.write_or_note(lambda: directory.state(state))
        else:
            self._ended = self._as_measured().ended(state)

    def close(self, *, judge: bool = True, in_order: Callable[[list[ResultLine]], list[ResultLine]] = list) -> Summary:
        """Summarise, check the gates and write both; after `end`. ``judge``: whether the feeder allows a verdict;
        ``in_order`` puts the lines of a run in memory in order.
        """
        from pytest_bfcl.scoring.summary import sizes_of

        self._held = in_order(self._held)
        summary = self.summary = self._summarise()
        if judge and self._whole and (self.counts or self.earlier.settled) and self.checked_gates.options.wants_verdict:
            measured = measurement_of(self.directory, self._held, self.fingerprint(), self.settings.transforms)
            full = sizes_of(self.data.dataset)
            summary["gate"] = self.checked_gates.evaluate(summary, self._records(), measured, full)
        if (directory := self.directory) is not None:
            self.write_or_note(lambda: directory.write_summary(summary))
        if self._sinks is not None:
            self.notes += self._sinks.close(summary, self.fingerprint().state, self.notes)
        return summary

    def release(self) -> None:
        """Close the directory after everything is written."""
        if self.directory is not None:
            self.directory.close()

    def write_expected(self, path: str, here: Path) -> None:
        """Write the failed entries to a file whose path is relative to ``here``."""
        written = self.checked_gates.expectations.write
        self.write_or_note(lambda: self.notes.append(written(path, self._records(), self.fingerprint(), here)))

    @property
    def stored_code(self) -> int:
        """The exit code of all lines, earlier parts included, if no gate decides."""
        from pytest_bfcl.scoring.gating import wrong_entries

        assert self.summary is not None
        return int(self.counts["failed"] + self.counts["error"] + wrong_entries(self.summary) > 0)

    def exit_code(self, otherwise: int, troubles: Sequence[str] = ()) -> int:
        """The exit code of the gates; ``otherwise`` if no gate decides. ``troubles`` fail a run whose gates are met."""
        from pytest_bfcl.scoring.gating import exit_code

        assert self.summary is not None
        return exit_code(self.summary["gate"], self.checked_gates.options, otherwise, troubles)

    def result(
        self, stopped: str | None, exit_code: int, *, notes: Iterable[str] = (), problems: Sequence[str] = ()
    ) -> RunResult:
        """The result, after `close`."""
        assert self.summary is not None
        told = tuple(dict.fromkeys([*notes, *self.notes]))
        records: Sequence[ResultLine] = self._held
        if self.directory is not None and not (self._hands_over and self.earlier.fingerprint is None):
            records = list(islice(self.directory.records(), HELD_RECORDS + 1))
            if len(records) > HELD_RECORDS:
                records = self.directory.stored_records()
        facts = records, self.summary, self.fingerprint(), self.path if self.directory is not None else None
        return RunResult(*facts, stopped, told, tuple(problems), dict(self.skips), exit_code)

    @property
    def checked_gates(self) -> Gates:
        """The gates, in a process that stores lines."""
        assert self.gates is not None
        return self.gates

    def write_or_note(self, write: Callable[[], object]) -> None:
        """Write something at the end; a full disk must not hide the results."""
        try:
            write()
        except HarnessError as error:
            self.unkept = self.unkept or error.message

    def _sizes(self) -> dict[str, int]:
        """Entries per category, in this part of the run and in earlier ones."""
        names = {key.entry_id for key in self.earlier.settled | self.earlier.errored}
        found = {*self._entries, *self._of_earlier(names).items()}
        return sizes_by_category(found, self.settings.transforms)

    def _of_earlier(self, names: Iterable[str]) -> dict[str, str]:
        """Id → category of entries that earlier parts name."""
        found = ((name, self.data.category_of(name)) for name in names)
        return {name: category for name, category in found if category is not None}

    def _records(self) -> Iterable[ResultLine]:
        return self._held if self.directory is None else self.directory.records()

    def _write_measured(self, directory: RunDirectory) -> None:
        """Record what only the lines show: the mode that ``auto`` selected, and which MCP servers answered."""
        models, notes = settled_models(directory.fingerprint.models, self._asked, self.settings)
        self.notes += notes
        served = {"served": self._served} if self._served else {}
        if notes or served:
            conditions = {**directory.fingerprint.conditions, **served}
            directory.update(replace(directory.fingerprint, models=models, conditions=conditions))

    def _summarise(self) -> Summary:
        from pytest_bfcl.scoring.summary import full_sizes

        tallies = self._tallies
        if tallies is None:
            tallies = tallies_of(self.fingerprint(), self.data.dataset)
            for line in self._records():
                tallies.add(line)
        summary = tallies.summary(
            self.fingerprint().to_dict(),
            sizes=self._sizes(),
            full_sizes=full_sizes(self.data.dataset),
            max_errors_pct=self.settings.max_errors_pct,
            infos=self._infos,
        )
        if self._published is not None:
            names = self.settings.transforms
            self._published.tell(summary, (each for each in self._records() if not is_transformed(each["id"], names)))
        return with_facts(summary, self.model_info, self.settings, time.monotonic() - self._began)
