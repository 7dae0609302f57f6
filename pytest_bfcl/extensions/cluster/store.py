"""The stores of a run on a cluster: the driver's and an actor's.

An actor keeps nothing and sends replies, memories and recordings to the driver. The driver writes them to the run
directory, and sends them to replacement actors.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.cluster.messages import Answered, Event, Memory, Recorded, Spent, pieces
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.models.prices import Budget, reply_cost
from pytest_bfcl.runs.journal import journal_line, read_journal_line
from pytest_bfcl.runs.lines import DamagedLine, LineAppender, parse_object, read_json_lines
from pytest_bfcl.runs.paths import below
from pytest_bfcl.runs.snapshots import NAMES, snapshots_of
from pytest_bfcl.session.earlier import DoneKey, base_of, done_key
from pytest_bfcl.session.outside import Store
from pytest_bfcl.session.sinks import answered_event
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Snapshots
    from pytest_bfcl.runs.journal import ReplyKey, RequestDelta
    from pytest_bfcl.session.sinks import Answered as AnsweredEvent
    from pytest_bfcl.session.trial import Trial
    from pytest_bfcl.settings import Price
    from pytest_bfcl.transcript import Reply


PROCESS = "main"
"""The driver's name in the run directory, where only it writes."""
Place = tuple[Path, int, int]
"""File, offset and length of a line from an earlier part of the run."""


class RunStore:
    """Replies, memories and recordings of one run.

    Replies of trials without a line are held (of earlier parts only their positions). So an actor that takes over a
    trial gets every paid reply. Without ``path`` everything stays in memory.

    Args:
        path: The run directory, ``None`` for a run in memory.
        twice: Models that the run has in both modes. note: Receives notes for the user, for instance about a damaged
            line of an earlier part.
        on_answer: Called with every reply.
    """

    def __init__(
        self, path: Path | None, twice: Collection[str], note: Callable[[str], None],
        on_answer: Callable[[AnsweredEvent], None] | None = None,
    ) -> None:  # fmt: skip
        self.on_answer = on_answer
        self.path = path
        self._twice = frozenset(twice)
        self._note = note
        self._replies: dict[DoneKey, list[bytes | Place]] = {}
        self._memories: dict[tuple[str, int, str, str], Memory] = {}
        self._files: dict[str, LineAppender] = {}

    # -- before --------------------------------------------------------------------------------------------------

    def key(self, trial: Trial) -> DoneKey:
        """The key of a trial's replies."""
        return done_key(trial.entry_id, trial.contender.identity.model, trial.repeat, self._twice)

    def read(self, planned: Collection[DoneKey]) -> None:
        """Find the journal lines of earlier parts for the remaining trials."""
        if self.path is None:
            return
        for path in sorted((self.path / "journal").glob("*.jsonl")):
            for line in read_json_lines(below(self.path, path), self._damaged):
                try:
                    key, _ = read_journal_line(line.value)
                except ValueError as error:
                    self._damaged(DamagedLine(path, line.number, str(error)))
                    continue
                known_as = done_key(key.entry_id, key.model, key.repeat, self._twice)
                if known_as in planned:
                    self._replies.setdefault(known_as, []).append((path, line.offset, line.length))

    def _damaged(self, line: DamagedLine) -> None:
        self._note(f"damaged line: {line}; the reply on it is asked for again")

    def archives(self) -> dict[str, bytes]:
        """The run's recorded outside calls so far."""
        if self.path is None:
            return {}
        found = (path for name in NAMES for path in sorted((self.path / name).glob("*.jsonl")))
        return {path.relative_to(self.path).as_posix(): below(self.path, path).read_bytes() for path in found}

    # -- as it comes ---------------------------------------------------------------------------------------------

    def keep(self, event: Answered | Memory | Recorded) -> None:
        """Store an actor's report; it has left this process on return. Raises `HarnessError` (``storage``)."""
        if isinstance(event, Answered):
            self._append(f"journal/{PROCESS}.jsonl", event.line)
            self._replies.setdefault(event.key, []).append(event.line)
            if self.on_answer is not None:
                self.on_answer(answered_event(*read_journal_line(parse_object(event.line))))
        elif isinstance(event, Memory):
            if self.path is None:
                self._memories[event.model, event.repeat, event.backend, event.entry_id] = event
            else:
                snapshots = snapshots_of(self.path, event.model, event.repeat)
                snapshots.save(event.backend, event.scenario, event.entry_id, event.content)
        elif _is_recording(event.name):
            self._append(event.name, event.lines)

    def _append(self, name: str, lines: bytes) -> None:
        if self.path is None:
            return
        if name not in self._files:
            self._files[name] = LineAppender(self.path / name)
        self._files[name].append_bytes(lines)

    # -- back to actors ------------------------------------------------------------------------------------------

    def replies(self, trial: Trial) -> tuple[bytes, ...]:
        """The journaled lines of a trial."""
        return tuple(map(_line, self._replies.get(self.key(trial), ())))

    def settle(self, trial: Trial) -> None:
        """The trial has its line, so its replies are not needed any more."""
        self._replies.pop(self.key(trial), None)

    def memories(self, trials: Iterable[Trial]) -> list[Memory]:
        """The memories for these trials: those that their write stages have saved so far."""
        wanted = dict.fromkeys(
            (trial.contender.identity.model, trial.repeat, backend, stage)
            for trial in trials
            if (backend := CATEGORIES[trial.category].backend)
            for stage in trial.depends_on
        )
        return [memory for key in wanted if (memory := self._memory(*key)) is not None]

    def _memory(self, model: str, repeat: int, backend: str, stage: str) -> Memory | None:
        held = self._memories.get((model, repeat, backend, stage))
        if held is not None or self.path is None:
            return held
        content = snapshots_of(self.path, model, repeat).checkpoint(backend, stage)
        return Memory(model, repeat, backend, "", stage, content) if content is not None else None

    def close(self) -> None:
        """Flush to disk and close."""
        for file in self._files.values():
            file.close()
        self._files.clear()


def _line(kept: bytes | Place) -> bytes:
    if isinstance(kept, bytes):
        return kept
    path, offset, length = kept
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(length)
    except OSError as error:
        raise HarnessError(HarnessTrouble.STORAGE, f"cannot read a reply back from {path}: {error}") from error


def _is_recording(name: str) -> bool:
    """Whether a file name is one of a recording."""
    folder, _, file = name.partition("/")
    return folder in NAMES and file.endswith(".jsonl") and "/" not in file and not file.startswith(".")


def twice_of(bases: Iterable[str]) -> frozenset[str]:
    """The models, without mode, that occur twice in a list."""
    listed = list(bases)
    return frozenset(base for base in listed if listed.count(base) > 1)


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
