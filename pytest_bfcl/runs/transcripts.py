"""Whole conversations, rebuilt from the journal.

A line of the journal has its request's difference from the line before it (`RequestDelta`). Lines of one conversation
share ``started_at``; a resumed one begins where the earlier one ended, or where it differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.index import LineFiles
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import counted
from pytest_bfcl.runs.journal import key_of, read_journal_line
from pytest_bfcl.runs.lines import LONGEST_LINE, DamagedLine, open_regular, parse_object, whole_lines
from pytest_bfcl.runs.result_line import EntryKey
from pytest_bfcl.troubles import HarnessTrouble

_HEAD = re.compile(
    rb'\{"model":"([^"\\]*)","mode":"([^"\\]*)","id":"([^"\\]*)","repeat":(\d{1,9}),"turn":\d+,"step":\d+,'
    rb'"request_sha256":"\w+"(?:,"started_at":"[^"\\]*","kept":\d+)?(?:,"new":\[([\w",]*)\])?'
)
_END = b"}}\n"
Place = tuple[int, int, int]
"""Number of a file, offset and length of a line in it."""


class Transcripts:
    """The conversations of a run's folder, complete or not. The folder is read once, and again by `catch_up`."""

    def __init__(self, run: Path) -> None:
        self._files: list[Path] = []
        self._journal = run / "journal"
        self._read = LineFiles()
        self._was_read = False
        self._bad_lines: list[DamagedLine] = []
        self._torn: dict[Path, DamagedLine] = {}
        """Last lines that have no end, or none yet."""
        self._unreadable: dict[EntryKey, str] = {}
        self._ends: dict[Path, tuple[int, int]] = {}
        """The lines and bytes of each file that were read."""
        self._entries: dict[EntryKey, list[Place]] = {}
        self._parts: dict[str, Place] = {}

    def load(self, key: EntryKey, started_at: str | None = None) -> Parsed | None:
        """The conversation of a trial: ``messages`` as sent, with the last reply; ``functions`` offered next to them.

        ``started_at`` is that of the trial's result line; later conversations are ignored. ``None`` if nothing was
        stored. Raises `HarnessError` (kind ``storage``) for unreadable lines.
        """
        try:
            if not self._was_read:
                self.catch_up()
            lines = [self._line(*place) for place in self._entries.get(key, ())]
            return self._conversation(_chained(lines, started_at))
        except (OSError, ValueError, LookupError, TypeError) as error:
            self._unreadable[key] = str(error)
            raise HarnessError(
                HarnessTrouble.STORAGE, f"cannot read the transcript of {key.entry_id} from {self._journal}: {error}"
            ) from error

    def damaged(self) -> Iterator[DamagedLine]:
        """Damaged lines and conversations (``line`` 0), as far as they were requested."""
        if not self._was_read:
            self.catch_up()
        yield from self._bad_lines
        yield from self._torn.values()
        if found := self._unreadable:
            key, why = next(iter(found.items()))
            yield DamagedLine(
                self._journal,
                0,
                f"{counted(len(found), 'transcript')} cannot be read, the first of {key.entry_id}: {why}",
            )

    def catch_up(self) -> None:
        """Find what was stored since the last time: the positions of each trial's lines, and of each part by digest."""
        self._was_read = True
        for path in sorted(self._journal.glob("*.jsonl")):
            if path not in self._ends:
                self._ends[path] = 0, 0
                self._files.append(path)
            try:
                self._read_on(path)
            except OSError as error:
                self._torn[path] = DamagedLine(path, 1, error.strerror or str(error))

    def _read_on(self, path: Path) -> None:
        read, offset = self._ends[path]
        number = self._files.index(path)
        self._torn.pop(path, None)
        with open_regular(path) as file:
            file.seek(offset)
            for line, raw in enumerate(whole_lines(file), read + 1):
                place = number, offset, len(raw)
                try:
                    if raw.strip():
                        key, new = _read_head(raw)
                        self._entries.setdefault(key, []).append(place)
                        self._parts.update(dict.fromkeys(new, place))
                except (ValueError, KeyError, TypeError) as error:
                    found = DamagedLine(path, line, str(error))
                    if not raw.endswith(b"\n"):
                        self._torn[path] = found
                        return
                    self._bad_lines.append(found)
                offset += len(raw)
                self._ends[path] = line, offset

    def _line(self, number: int, offset: int, length: int) -> Parsed:
        return parse_object(self._read.read(self._files[number], offset, length))

    def _conversation(self, lines: Sequence[Fields]) -> Parsed | None:
        """The last request of a chain with its reply; ``None`` if no line has the request."""
        messages: list[Fields] = []
        replies: list[Fields] = []
        digests: dict[str, None] = {}
        last = 0
        for line in lines:
            key, reply = read_journal_line(line)
            replies.append(reply.as_message(key.turn, key.step))
            if "messages" in line:
                if not 0 <= line["kept"] <= len(messages):
                    raise ValueError("lines of the conversation are missing")
                messages[line["kept"] :] = _objects(line["messages"])
                last = len(replies)
                if digest := line.get("functions_sha256"):
                    digests[digest] = None
        if not last:
            return None
        functions: list[Fields] = []
        for digest in digests:  # what was offered at the start, then what was added
            known = {document["name"] for document in functions}
            functions += [document for document in _objects(self._part(digest)) if document["name"] not in known]
        return {"messages": [*self._resolved(messages, replies), replies[last - 1]], "functions": functions}

    def _resolved(self, messages: Sequence[Fields], replies: Sequence[Fields]) -> Iterator[Fields]:
        """The messages with replies and parts in place of their references; each reply at most once."""
        free = size = 0
        for message in messages:
            if message.keys() == {"reply"}:
                if not free <= message["reply"] < len(replies):
                    raise ValueError(f"there is no reply {message['reply']} of the conversation")
                free = message["reply"] + 1
                message = replies[free - 1]
            elif message.keys() == {"sha256"}:
                (message,) = _objects([self._part(message["sha256"])])
                size += len(str(message.get("content")))
                if size > LONGEST_LINE:
                    raise ValueError("longer than any conversation")
            yield message

    def _part(self, digest: str) -> Any:
        if (place := self._parts.get(digest)) is None:
            raise ValueError("a part of the conversation is missing")
        line = self._line(*place)
        return line["parts"][line["new"].index(digest)]


def _objects(value: list[Any]) -> list[Parsed]:
    if not all(isinstance(each, dict) for each in value):
        raise ValueError("what should be a list of objects is none")
    return value


def _read_head(raw: bytes) -> tuple[EntryKey, list[str]]:
    """The trial of a line, and the digests of its parts. Raises what `parse_object` and `key_of` raise."""
    match = _HEAD.match(raw)
    if match is not None and raw.endswith(_END):
        model, mode, entry_id, repeat, new = (each.decode() for each in match.groups(b""))
        return EntryKey(model, mode, entry_id, int(repeat)), new.strip('"').split('","') if new else []
    line = parse_object(raw)
    key = key_of(line)
    return EntryKey(key.model, key.mode, key.entry_id, key.repeat), list(line.get("new", ()))


def _chained(lines: Sequence[Fields], until: str | None) -> list[Fields]:
    """The lines of the last conversation by turn and step, after those it took over from earlier ones. If a trial was
    held again, its later conversation has the lines from their first difference.
    """
    begun: dict[str, dict[tuple[int, int], Fields]] = {}
    for line in lines:
        began = str(line.get("started_at", ""))
        if until is None or began <= until:
            begun.setdefault(began, {})[line["turn"], line["step"]] = line
    chain: dict[tuple[int, int], Fields] = {}
    for _, own in sorted(begun.items()):
        chain = {place: line for place, line in chain.items() if place < min(own)} | own
    return [chain[place] for place in sorted(chain)]
