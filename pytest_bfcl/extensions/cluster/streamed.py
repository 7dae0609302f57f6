"""An actor's store: it keeps nothing and sends replies, memories and recordings to the driver."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.extensions.cluster.messages import Answered, Event, Memory, Recorded, Spent, pieces
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.models.prices import Budget, reply_cost
from pytest_bfcl.runs.journal import journal_line, read_journal_line
from pytest_bfcl.runs.lines import parse_object
from pytest_bfcl.session.earlier import base_of, done_key
from pytest_bfcl.session.outside import Store
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Snapshots
    from pytest_bfcl.runs.journal import ReplyKey, RequestDelta
    from pytest_bfcl.settings import Price
    from pytest_bfcl.transcript import Reply


class Outbox:
    """Events for the driver, who fetches all waiting ones at once."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._pieces: deque[bytes] = deque()
        self._filled = asyncio.Event()

    def put(self, event: Event) -> None:
        """Send an event."""
        self._events.append(event)
        self._filled.set()

    async def take(self) -> bytes:
        """The next piece, as soon as there is one."""
        if not self._pieces:
            await self._filled.wait()
            self._filled.clear()
            events, self._events = self._events, []
            self._pieces.extend(pieces(events))
        return self._pieces.popleft()


class StreamedJournal:
    """A journal whose lines the driver writes; earlier replies of a trial are sent with it."""

    def __init__(self, outbox: Outbox, twice: frozenset[str]) -> None:
        self._outbox = outbox
        self._twice = twice
        self._known: dict[ReplyKey, Reply] = {}
        self._of_entry: dict[tuple[str, int], list[ReplyKey]] = {}
        self._parts: set[str] = set()
        self.ended: str | None = None

    def learn(self, lines: Iterable[bytes]) -> None:
        """Add lines of the journal."""
        for line in lines:
            key, reply = read_journal_line(parse_object(line))
            self._known[key] = reply
            self._of_entry.setdefault((key.entry_id, key.repeat), []).append(key)

    def forget(self, entry_id: str, repeat: int, model: str) -> None:
        """The trial has its line, so its replies are not needed any more."""
        keys = self._of_entry.pop((entry_id, repeat), [])
        other = [key for key in keys if base_of(key.model) != base_of(model)]
        for key in keys:
            if key not in other:
                self._known.pop(key, None)
        if other:
            self._of_entry[entry_id, repeat] = other

    def find(self, key: ReplyKey) -> Reply | None:
        """The recorded reply to exactly this request, if there is one."""
        reply = self._known.get(key)
        if reply is None and self.ended is not None:
            raise HarnessError(HarnessTrouble.STOPPED, self.ended)
        return reply

    def record(self, key: ReplyKey, reply: Reply, delta: RequestDelta | None = None) -> None:
        """Send a reply with its request."""
        known_as = done_key(key.entry_id, key.model, key.repeat, self._twice)
        self._outbox.put(Answered(known_as, journal_line(key, reply, delta, self._parts)))
        if delta is not None:
            self._parts.update(delta.parts)


class StreamedSnapshots(HeldSnapshots):
    """Memories in this process, which are also sent to the driver for later actors."""

    def __init__(self, outbox: Outbox, model: str, repeat: int) -> None:
        super().__init__()
        self._outbox = outbox
        self._model = model
        self._repeat = repeat

    def learn(self, memory: Memory) -> None:
        """Add a memory from another actor or an earlier part of the run."""
        super().save(memory.backend, memory.scenario, memory.entry_id, memory.content)

    def save(self, backend: str, scenario: str, entry_id: str, content: object) -> None:
        """See `Snapshots.save`."""
        super().save(backend, scenario, entry_id, content)
        self._outbox.put(Memory(self._model, self._repeat, backend, scenario, entry_id, content))


class StreamedStore(Store):
    """One actor's store. Recordings have their own folder, whose new lines are sent."""

    def __init__(self, outbox: Outbox, process: str, twice: frozenset[str], archives: Mapping[str, bytes]) -> None:
        super().__init__(None, process)
        self._outbox = outbox
        self._streamed = StreamedJournal(outbox, twice)
        self._memories: dict[tuple[str, int], StreamedSnapshots] = {}
        self._given = archives
        self._folder: Path | None = None
        self._sent: dict[str, int] = {}

    @property
    def journals(self) -> bool:
        """The driver stores replies."""
        return True

    @property
    def journal(self) -> StreamedJournal:
        """The replies of the trials given so far."""
        return self._streamed

    def snapshots(self, model: str, repeat: int) -> StreamedSnapshots:
        """The memories of one model and repeat."""
        key = (model, repeat)
        if key not in self._memories:
            self._memories[key] = StreamedSnapshots(self._outbox, model, repeat)
        return self._memories[key]

    def _opened_snapshots(self, model: str, repeat: int) -> Snapshots:
        return self.snapshots(model, repeat)

    def archive(self, kind: str) -> Path | None:
        """A folder with the run's recordings so far."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="pytest-bfcl-"))
            for name, content in self._given.items():
                target = self._folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                self._sent[name] = len(content)
        return self._folder / kind

    def send_recordings(self) -> None:
        """Send the complete lines recorded since the last time."""
        if self._folder is None:
            return
        for path in self._folder.glob("*/*.jsonl"):
            name = path.relative_to(self._folder).as_posix()
            sent = self._sent.get(name, 0)
            if path.stat().st_size <= sent:
                continue
            with path.open("rb") as file:
                file.seek(sent)
                whole, newline, _ = file.read().rpartition(b"\n")
            if newline:
                self._outbox.put(Recorded(name, whole + newline))
                self._sent[name] = sent + len(whole) + 1

    def close(self) -> None:
        """Remove the folder; its lines were sent."""
        self.send_recordings()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


class DriverBudget(Budget):
    """The budget of one contender on an actor: the driver receives the cost of replies and stops the run."""

    def __init__(self, outbox: Outbox, label: str, price: Price | None) -> None:
        super().__init__(None, price)
        self._outbox, self._label = outbox, label

    def charge(self, reply: Reply) -> None:
        """Report the cost of a live reply to the driver."""
        if self.price is not None and (cost := reply_cost(reply, self.price)):
            self._outbox.put(Spent(self._label, cost))
