"""The driver's storage of actors' messages: written to the run directory, and sent to replacement actors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.cluster.messages import Answered, Memory, Recorded
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs.journal import read_journal_line
from pytest_bfcl.runs.lines import DamagedLine, LineAppender, parse_object, read_json_lines
from pytest_bfcl.runs.paths import below
from pytest_bfcl.runs.snapshots import NAMES, snapshots_of
from pytest_bfcl.session.earlier import DoneKey, done_key
from pytest_bfcl.session.sinks import answered_event
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.session.sinks import Answered as AnsweredEvent
    from pytest_bfcl.session.trial import Trial

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
