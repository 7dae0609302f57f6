"""Support for pytest-xdist: which worker runs which item, and what workers receive.

Items are divided into stripes, one per slot. A worker holds the conversations of its stripe ahead. A dead worker's slot
goes to its replacement. Batches are short, so that ``-x`` can stop the others.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.contenders import trials_of
from pytest_bfcl.plugin.session import HOSTS, NOTES, opened
from pytest_bfcl.run_options import OPTIONS
from pytest_bfcl.selection import selection

if TYPE_CHECKING:
    from pytest_bfcl.plugin.results import Results
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.plugin.session_end import SessionGates, Termination
    from pytest_bfcl.session.run import Run
    from pytest_bfcl.session.sinks import Answered

BATCH = 16
WORKER_EXIT_S = 0.5
WORKER_ENDING_S = 1.5
"""How long a worker may take to end, besides the time of pending replies."""
END = "end"
DEALT = ("load", "worksteal", "loadgroup")
"""Distribution modes that this scheduler replaces; ``loadfile``, ``loadscope`` and ``each`` stay unchanged."""


class Distribution:
    """The controller's side: settings for workers, scheduler, and the workers' collections."""

    def __init__(
        self,
        session: Session,
        run: Run,
        results: Results,
        gates: SessionGates,
        skip_reason: Callable[[str], str | None],
    ) -> None:
        self._skip_reason = skip_reason
        self._gates = gates
        self._session = session
        self._run = run
        self._results = results
        self._slots: dict[int, Any] = {}
        self._open: set[Any] = set()
        self._over = threading.Event()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send plan, place and slot, because environment variables and files do not travel."""
        opened(self._run)
        count = len(node.nodemanager.specs)
        slot = next((s for s in range(count) if s not in self._slots), 0)
        self._slots[slot] = node
        node.workerinput["bfcl"] = {
            "plan": dataclasses.replace(self._session.plan, ids=self._session.data.ids).to_dict(),
            "run": str(self._run.folder),
            "data_sha256": self._session.data.measured.sha256,
            "earlier": self._run.earlier.to_dict(),
            "slot": slot,
            "slots": count,
            "said": self._channel_to(node),
        }
        if not node.gateway.spec.popen:
            node.workerinput["bfcl"] |= self._remote(node)

    def _channel_to(self, node: Any) -> object:
        """A channel for immediate messages: a dead server is reported while workers still retry it."""
        channel = node.gateway.newchannel()
        self._open.add(channel)
        channel.setcallback(partial(self._on_message, channel), endmarker=None)
        return channel

    def _on_message(self, channel: Any, told: Any) -> None:
        """Handle a worker's message, reply or end."""
        if told is not None:
            on_answer = self._run.on_answer
            if isinstance(told, str):
                self._session.notices.say(told)
            elif on_answer is not None:
                on_answer(told)
            return
        self._open.discard(channel)
        if not self._open:
            self._over.set()

    def _remote(self, node: Any) -> Parsed:
        """For a worker on another host: a channel for its files, and the facts of earlier parts that it needs."""
        with pytest_internals.users_mistakes():
            hosts = entry_points.require("hosts", "files", HOSTS)
        found: Parsed = hosts.receive(node.gateway, self._run, self._session.notices.stop)
        return found

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config) -> None:
        """Join our options with their values, because xdist would copy a value that is also a path."""
        joined: list[str] = []
        names = {f"--bfcl-{option.name}" for option in OPTIONS if not option.flag} | {"--model"}
        for argument in map(str, config.invocation_params.args):
            if joined and joined[-1] in names:
                joined[-1] += f"={argument}"
            else:
                joined.append(argument)
        pytest_internals.replace_invocation(config, joined)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self, node: object, error: object | None) -> None:
        """Take the worker's notes; free the slot of one that died."""
        for text in getattr(node, "workeroutput", {}).get(NOTES, ()):
            self._session.notices.note(str(text))
        self._slots = {slot: other for slot, other in self._slots.items() if other is not node or not error}

    def pytest_keyboard_interrupt(self) -> None:
        """Ctrl-C: workers keep pending replies and end, so xdist need not wait ten seconds."""
        if not self._open:
            return
        for channel in list(self._open):
            with suppress(OSError, EOFError):  # it has just ended
                channel.send(END)
        self._over.wait(self._session.settings.grace_s + WORKER_ENDING_S)
        pytest_internals.hasten_exit(self._session.config, WORKER_EXIT_S)

    def hurry(self) -> None:
        """Stop waiting for workers."""
        self._over.set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        """Record the planned items for the summary."""
        if self._results.planned == ids:  # another worker has collected the same
            return
        data, why = self._session.data, self._skip_reason
        entries = data.entries_at(ids)
        self._results.plan(ids, entries)
        self._gates.refuse_unreachable(entries, why, others=len(entries) < len(ids))
        sets = (each for each in (data.files, data.dataset) if each is not None)
        self._results.tell_ahead(entries, why, trials_of(ids, self._results.variants, sets))

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: object) -> StripeScheduling | None:
        """Our scheduler for the modes that distribute single items."""
        return StripeScheduling(config) if config.getoption("dist") in DEALT else None


class WorkerEnd:
    """A worker's side: it ends on the controller's order, and reports its end."""

    def __init__(self, channel: Any, termination: Termination) -> None:
        self._channel = channel
        channel.setcallback(lambda _: termination.ask())

    def answered(self, event: Answered) -> None:
        """Report a reply to the controller's sinks."""
        with suppress(OSError, EOFError):  # the controller is gone
            self._channel.send(dict(event))

    def pytest_unconfigure(self) -> None:
        """Report that everything is written."""
        self._channel.close()


class StripeScheduling:
    """Distributes the collection in stripes (see `pytest_bfcl.selection.selection.stripes`); implements xdist's
    protocol.

    Entries stay in their stripe even if its worker is behind: it has begun their conversations, and another worker
    would send them again. A dead worker's entries wait for the worker that replaces it (xdist always starts one, or
    gives up). Only ordinary tests of the suite go to a free worker.
    """

    def __init__(self, config: pytest.Config) -> None:
        from xdist.workermanage import parse_tx_spec_config

        self.config = config
        self.numnodes = len(parse_tx_spec_config(config))
        self.collections: dict[Any, list[str]] = {}
        self.pending: dict[Any, list[int]] = {}
        self.collection: list[str] | None = None
        self.stripes: list[list[list[int]]] = []
        self._home: dict[int, int] = {}
        self._ordinary: set[int] = set()

    @property
    def nodes(self) -> list[Any]:
        """The current workers."""
        return list(self.pending)

    @property
    def collection_is_completed(self) -> bool:
        """Whether every worker has collected."""
        return len(self.collections) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        """Whether everything is distributed and every worker runs its last item."""
        if not self.collection_is_completed or any(self.stripes):
            return False
        return all(len(items) < 2 for items in self.pending.values())

    @property
    def has_pending(self) -> bool:
        """Whether items remain to run."""
        return any(self.stripes) or any(self.pending.values())

    def add_node(self, node: object) -> None:
        """A worker has started."""
        self.pending[node] = []

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """A worker has collected; a replacement must have found the same items."""
        if self.collection is not None and list(collection) != self.collection:
            node.shutdown()
            return
        known = next(iter(self.collections.values()), None)  # the same texts again, most of the time
        self.collections[node] = known if known == collection else list(collection)

    def mark_test_complete(self, node: object, item_index: int, duration: float = 0) -> None:
        """An item has ended."""
        self.pending[node].remove(item_index)
        self._feed(node)

    def mark_test_pending(self, item: str) -> None:
        """An item must run again."""
        assert self.collection is not None
        index = self.collection.index(item)
        self.stripes[self._home[index]].insert(0, [index])
        for node in self.nodes:
            self._feed(node)

    def remove_pending_tests_from_node(self, node: object, indices: Sequence[int]) -> None:
        """Not used: items never move from one worker to another."""
        raise NotImplementedError

    def remove_node(self, node: object) -> str | None:
        """A worker has ended: its items return to its stripe; the current one is returned."""
        items = self.pending.pop(node)
        if not items or self.collection is None:
            return None
        crashed, *left = items
        if left:
            self.stripes[self._slot(node)].insert(0, left)
        return self.collection[crashed]

    def schedule(self) -> None:
        """Send the first batches, or serve a worker that started later."""
        if self.collection is None:
            if not self._same_collections():
                return
            self.collection = next(iter(self.collections.values()))
            self.stripes = selection.stripes(self.collection, self.numnodes)
            self._home = {index: slot for slot, units in enumerate(self.stripes) for unit in units for index in unit}
            self._ordinary = {index for index, nodeid in enumerate(self.collection) if ".jsonl::" not in nodeid}
        for node in self.nodes:
            self._feed(node)

    def _slot(self, node: Any) -> int:
        return int(node.workerinput["bfcl"]["slot"])

    def _feed(self, node: Any) -> None:
        """Keep between half a batch and a batch at a worker; end the worker when nothing is left."""
        if node.shutting_down or node not in self.collections:
            return
        waiting = self.pending[node]
        while len(waiting) <= BATCH // 2 and (unit := self._next_unit(self._slot(node))):
            batch = [unit]
            while sum(map(len, batch)) + len(waiting) < BATCH and (unit := self._next_unit(self._slot(node), own=True)):
                batch.append(unit)
            indices = [index for each in batch for index in each]
            waiting.extend(indices)
            node.send_runtest_some(indices)
        if len(waiting) < 2 and self._place_for(self._slot(node)) is None:
            node.shutdown()

    def _next_unit(self, slot: int, *, own: bool = False) -> list[int] | None:
        place = (slot, 0) if own and self.stripes[slot] else None if own else self._place_for(slot)
        return None if place is None else self.stripes[place[0]].pop(place[1])

    def _place_for(self, slot: int) -> tuple[int, int] | None:
        """Stripe and position of the next unit for a slot: its own, else one that it may take from another."""
        if self.stripes[slot]:
            return slot, 0
        for number, stripe in enumerate(self.stripes):
            for place in reversed(range(len(stripe))) if self._ordinary else ():
                if stripe[place][0] in self._ordinary:
                    return number, place
        return None

    def _same_collections(self) -> bool:
        from xdist.report import report_collection_diff

        (first, expected), *rest = self.collections.items()
        for node, collection in rest:
            message = report_collection_diff(expected, collection, first.gateway.id, node.gateway.id)
            if message:
                report = pytest.CollectReport(node.gateway.id, "failed", longrepr=message, result=[])
                self.config.hook.pytest_collectreport(report=report)
                return False
        return True
