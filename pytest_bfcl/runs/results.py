"""Lines of ``results.jsonl`` (docs/contracts.md): built, read back, and compared with what remains to run."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, cast, overload

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import Verdict
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.fields import problem_of, shape_problem
from pytest_bfcl.runs.lines import (
    DamagedLine,
    OnDamaged,
    json_line,
    json_line_of_parsed,
    open_regular,
    parse_object,
    unheard,
    whole_lines,
)
from pytest_bfcl.runs.result_line import Conversation, EntryKey, ReplayLine, ResultLine, VerdictFields
from pytest_bfcl.transcript import Arguments, Call, Mode, Step, Transcript


def result_record(
    entry: Entry | None,
    transcript: Transcript,
    official: Verdict,
    corrected: Verdict,
    *,
    corrected_rules: Sequence[str] = (),
    extra: Fields | None = None,
    rules: str = "official",
    cost_usd: float | None = None,
    worker: str | None = None,
) -> ResultLine:
    """One line of ``results.jsonl`` for a conversation; ``entry`` is ``None`` if it was not judged.

    ``corrected_rules`` are the names (``C1`` …) that changed the verdict; they are in ``corrected_reason`` in
    parentheses. ``rules`` selects the verdict of the headline ``outcome``.
    """
    headline = corrected if rules == "corrected" else official
    row = CATEGORIES.get(transcript.category)
    verdicts: VerdictFields = {
        "tag": headline.tag.value if headline.tag else None,
        "reason": headline.reason,
        "corrected_outcome": corrected.outcome,
        "corrected_reason": corrected.reason,
        "corrected_rules": list(corrected_rules),
        "rules": rules,
    }
    if corrected_rules:
        names = f"({', '.join(corrected_rules)})"
        verdicts["corrected_reason"] = f"{corrected.reason} {names}" if corrected.reason else names
    if rules != "official":
        verdicts["official_outcome"], verdicts["official_reason"] = official.outcome, official.reason
    verdicts["detail"] = dict(headline.detail)
    about: Parsed = {}  # facts of the entry for breakdowns
    if entry is not None and entry.row.checker == "state":
        about["classes"] = list(entry.involved_classes)
    elif entry is not None and entry.row.group == "web_search" and (hops := entry.num_hops) is not None:
        about["hops"] = hops
    return {
        "id": transcript.entry_id,
        "category": transcript.category,
        "model": transcript.model,
        "mode": transcript.mode,
        "repeat": transcript.repeat,
        "outcome": headline.outcome,
        **verdicts,
        **conversation_fields(transcript, nested=row is not None and row.multi_step),
        "cost_usd": cost_usd,
        "extra": {**about, **transcript.extra, **(extra or {})},
        "started_at": transcript.started_at,
        "duration_s": transcript.duration_s,
        "worker": worker,
    }


def error_record(
    entry_id: str, category: str, model: str, mode: Mode, verdict: Verdict, *, repeat: int = 1,
    rules: str = "official", transcript: Transcript | None = None, cost_usd: float | None = None,
    worker: str | None = None,
) -> ResultLine:  # fmt: skip
    """The line of an entry that ended in an error before a verdict; ``transcript`` is unfinished."""
    held = replace(transcript or Transcript(entry_id, category), model=model, mode=mode, repeat=repeat)
    return result_record(None, held, verdict, verdict, rules=rules, cost_usd=cost_usd, worker=worker)


def skipped_record(
    entry_id: str, category: str, model: str, mode: Mode, why: str, *, repeat: int = 1, rules: str = "official"
) -> ResultLine:
    """The line of an entry that was not run; ``detail.error`` has the reason for users."""
    record = error_record(entry_id, category, model, mode, Verdict(True), repeat=repeat, rules=rules)
    return {**record, "outcome": "skipped", "corrected_outcome": "skipped", "detail": {"error": why}}


def conversation_fields(transcript: Transcript, *, nested: bool) -> Conversation:
    """The conversation in the result line's shapes: plain for single turn, turns → steps → value if ``nested``."""
    told = _of_turns(transcript) if nested else _of_one_reply(transcript)
    if "served" in told:
        told["served"] = _listed_served(told["served"])
    fields = cast(Conversation, told)
    if transcript.decoder is not None:
        fields["decoder"] = transcript.decoder
    if transcript.forced_quit:
        fields["forced_quit"] = True
    if transcript.inference_error is not None:
        fields["inference_error"] = transcript.inference_error
        fields["output"] = transcript.inference_error
    if transcript.decoded:
        fields["decoded"] = True
    if transcript.incomplete:
        fields["incomplete"] = True
    if transcript.other_reading is not None:
        fields["other_reading"] = transcript.other_reading.fields()
    return fields


def _of_turns(transcript: Transcript) -> Parsed:
    turns = [turn.steps for turn in transcript.turns]
    told: Parsed = {
        "output": [[step.reply.output for step in steps] for steps in turns],
        "calls": [[_stored_calls(step) for step in steps] for steps in turns],
        "underscore_names": transcript.underscore_names,
        "tool_results": [[list(step.results) for step in steps] for steps in turns],
    }
    for field, name, always in OF_REPLIES:
        values = [[getattr(step.reply, name) for step in steps] for steps in turns]
        if any(each is not None for each in chain.from_iterable(values)):
            told[field] = values
        elif always:
            told[field] = None
    return told


def _of_one_reply(transcript: Transcript) -> Parsed:
    steps = transcript.turns[0].steps if transcript.turns else ()
    first = steps[0] if steps else None
    told: Parsed = {
        "output": first and first.reply.output,
        "calls": first and _stored_calls(first),
        "underscore_names": transcript.underscore_names,
        "tool_results": None,
    }
    if first is not None and first.results:  # where calls were carried out
        told["tool_results"] = [[list(step.results) for step in turn.steps] for turn in transcript.turns]
    for field, name, always in OF_REPLIES:
        value = getattr(first.reply, name) if first is not None else None
        if value is not None or always:
            told[field] = value
    return told


OF_REPLIES = (
    ("reasoning", "reasoning", True),
    ("input_tokens", "input_tokens", True),
    ("output_tokens", "output_tokens", True),
    ("latency_s", "latency_s", True),
    ("finish_reasons", "finish_reason", True),
    ("attempts", "attempts", True),
    ("problems", "problem", False),
    ("reasoning_tokens", "reasoning_tokens", False),
    ("first_token_s", "first_token_s", False),
    ("served", "served", False),
)
"""Field of the line, attribute of a reply, and whether it is always written. Others appear only if they apply. So lines
stay short, and rescoring has all that the checker had."""


def _listed_served(value: Any) -> Any:
    if isinstance(value, list):
        return [_listed_served(each) for each in value]
    return None if value is None else value.to_dict()


def _stored_calls(step: Step) -> list[str | dict[str, Arguments]] | None:
    if step.calls is None:
        return None
    return [{call.name: call.arguments} if isinstance(call, Call) else call for call in step.calls]


def written(record: ResultLine) -> bytes:
    """A record as its line of the file.

    Native calls were parsed from JSON, so a quicker writer serves; Python texts hold other values, too.
    """
    parsed = record["mode"] == "fc" and record.get("decoder") is None and record.get("reason") is None
    return json_line_of_parsed(record) if parsed else json_line(record)


def record_key(record: ResultLine | ReplayLine) -> EntryKey:
    """The key of a result line."""
    return EntryKey(record.get("model") or "", record.get("mode") or "prompt", record["id"], record.get("repeat") or 1)


_HEAD = re.compile(
    rb'\{"id":"([^"\\]*)","category":"[^"\\]*","model":"([^"\\]*)","mode":"([^"\\]*)","repeat":(\d+),.*\}\n\Z',
    re.DOTALL,
)


def read_results(path: Path, on_damaged: OnDamaged = unheard) -> Iterator[ResultLine]:
    """The records of a ``results.jsonl`` in order of first appearance; the last line of each key counts.

    Reads twice and keeps only positions in memory. Damaged lines go to ``on_damaged``; an entry whose only line is
    damaged is missing. Raises `OSError` when the file cannot be read.
    """
    return (record for _, _, record in _read(path, on_damaged))


def _read(path: Path, on_damaged: OnDamaged) -> Iterator[tuple[int, int, ResultLine]]:
    """Offset, length and record of each key's last complete line."""
    places, numbers = _index(path, on_damaged)
    with open_regular(path) as file:
        for candidates in places.values():
            for offset, length in reversed(candidates):
                file.seek(offset)
                try:
                    record = checked(parse_object(file.read(length)))
                except ValueError as error:
                    on_damaged(DamagedLine(path, numbers[offset], str(error)))
                    continue
                yield offset, length, record
                break


class StoredResults(Sequence["ResultLine"]):
    """Records of a file, each read on access: 16 bytes of memory a record. Later lines are not seen; the file must
    stay. Raises `OSError` like `read_results`.
    """

    def __init__(self, path: Path, places: array[int]) -> None:
        self.path = path
        self._places = places  # offset and length of every record, in order

    @classmethod
    def of(cls, path: Path, on_damaged: OnDamaged = unheard) -> StoredResults:
        """The records of a whole file, checked."""
        places = (number for offset, length, _ in _read(path, on_damaged) for number in (offset, length))
        return cls(path, array("q", places))

    def __len__(self) -> int:
        return len(self._places) // 2

    def __iter__(self) -> Iterator[ResultLine]:
        places = iter(self._places)
        with open_regular(self.path) as file:
            for offset, length in zip(places, places, strict=True):
                file.seek(offset)
                yield cast(ResultLine, parse_object(file.read(length)))

    @overload
    def __getitem__(self, number: int) -> ResultLine: ...
    @overload
    def __getitem__(self, number: slice) -> list[ResultLine]: ...
    def __getitem__(self, number: int | slice) -> ResultLine | list[ResultLine]:
        found = range(len(self))[number]
        if isinstance(found, int):
            (record,) = StoredResults(self.path, self._places[2 * found : 2 * found + 2])
            return record
        return [self[each] for each in found]


class ResultsFile:
    """A ``results.jsonl`` that is read several times: lines are checked once, while size and time stay the same."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: tuple[int, int] | None = None
        self._right: Iterable[ResultLine] = ()
        self._damaged: list[DamagedLine] = []

    def records(self, on_damaged: OnDamaged = unheard) -> Iterator[ResultLine]:
        """See `read_results`."""
        found = self.path.stat()
        state = found.st_size, found.st_mtime_ns
        if state == self._state:
            list(map(on_damaged, self._damaged))
            yield from self._right
            return
        damaged: list[DamagedLine] = []

        def leave_out(line: DamagedLine) -> None:
            damaged.append(line)
            on_damaged(line)

        right = array("q")
        for offset, length, record in _read(self.path, leave_out):
            right.extend((offset, length))
            yield record
        self._state, self._right, self._damaged = state, StoredResults(self.path, right), damaged


def checked(record: Parsed) -> ResultLine:
    """The record. Raises `ValueError` for a missing required field or an invalid value."""
    problem = problem_of(record) or shape_problem(record)
    if problem is not None:
        raise ValueError(problem)
    return cast(ResultLine, record)


def _index(path: Path, on_damaged: OnDamaged) -> tuple[dict[EntryKey, list[tuple[int, int]]], dict[int, int]]:
    """The position of each key's lines. In our own lines the key comes first and needs no parsing here."""
    places: dict[EntryKey, list[tuple[int, int]]] = {}
    numbers: dict[int, int] = {}
    offset = 0
    with open_regular(path) as file:
        for number, raw in enumerate(whole_lines(file), 1):
            key = _quick_key(raw)
            if key is None and raw.strip():
                try:
                    key = record_key(checked(parse_object(raw)))
                except ValueError as error:
                    on_damaged(DamagedLine(path, number, str(error)))
            if key is not None:
                places.setdefault(key, []).append((offset, len(raw)))
                numbers[offset] = number
            offset += len(raw)
    return places, numbers


def _quick_key(raw: bytes) -> EntryKey | None:
    match = _HEAD.match(raw)
    if match is None:
        return None
    try:
        entry_id, model, mode = (match.group(i).decode() for i in (1, 2, 3))
    except UnicodeDecodeError:
        return None
    return EntryKey(model, mode, entry_id, int(match.group(4)))


def is_settled(record: ResultLine) -> bool:
    """Whether a resumed run skips this entry: it has a verdict (no error, not skipped)."""
    return record.get("outcome") in ("passed", "failed")
