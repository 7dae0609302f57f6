"""Replay lines: recorded outputs that replace a model, for scoring and for ``replay:PATH``.

The minimal line and its variants are fixed in docs/contracts.md ("A line of results.jsonl"). A line of
``results.jsonl`` is a replay line; so is, after conversion, a line of an official result file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl.dataset.categories import CATEGORIES, Category, category_of
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.table import find_decoder
from pytest_bfcl.json_types import Fields, Parsed, first_problem
from pytest_bfcl.replies import UnknownShape, read_reply
from pytest_bfcl.runs.fields import is_number, problem_of, shortened_json
from pytest_bfcl.runs.lines import DamagedLine, OnDamaged, read_json_lines
from pytest_bfcl.runs.official_layout import INFERENCE_ERROR, import_official, result_files
from pytest_bfcl.runs.paths import refuse_links_out
from pytest_bfcl.runs.result_line import ReplayLine
from pytest_bfcl.runs.results import OF_REPLIES, read_results
from pytest_bfcl.runs.unpacked import is_packed, unpacked
from pytest_bfcl.runs.wire_names import Names
from pytest_bfcl.spread_json import spread_json
from pytest_bfcl.transcript import Mode, OtherReading, Reply, Served, Step, Transcript, Turn

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet


def read_replay_lines(
    path: Path,
    on_damaged: OnDamaged | None = None,
    decoder: str | None = None,
    names: Names = "auto",
    dataset: DataSet | None = None,
) -> Iterator[ReplayLine]:
    """Every replay line of a ``.jsonl``, a ``.jsonl.gz``, a run directory, or official result files, one or a
    folder of them, packed or not (`unpacked`), of any release.

    Streams; input order (a run directory: the last line of each key). Damaged lines go to ``on_damaged``; without it
    they raise `UsageError` with file and line. Also raises `UsageError` if there is nothing to read. ``names`` is the
    spelling of native names in official result files; ``auto`` takes the one that the calls prove if ``dataset`` has
    their entries, else that of the reference's table.
    """
    report = _refuse if on_damaged is None else on_damaged
    try:
        if is_packed(path):
            with unpacked(path) as folder:
                yield from _read_folder(folder, report, decoder, names, dataset)
        elif path.is_dir() or result_files(path):
            yield from _read_folder(path, report, decoder, names, dataset)
        else:
            for line in read_json_lines(path, report):
                problem = problem_of(line.value, ("id",))
                if problem is None:
                    yield cast(ReplayLine, line.value)
                else:
                    report(DamagedLine(path, line.number, problem))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


def _read_folder(
    path: Path, report: OnDamaged, decoder: str | None, names: Names, dataset: DataSet | None
) -> Iterator[ReplayLine]:
    from pytest_bfcl.runs.directory import RESULTS_FILE

    results = path / RESULTS_FILE
    if results.is_file():
        refuse_links_out(path)
        yield from (cast(ReplayLine, record) for record in read_results(results, report))
    else:
        yield from import_official(
            path,
            underscore_names=None if names == "auto" else names == "underscores",
            decoder=decoder,
            on_damaged=report,
            offered=None if dataset is None else lambda entry_id: offered_names(dataset, entry_id),
        )


def offered_names(dataset: DataSet, entry_id: str) -> list[str]:
    """Documented names of an entry's functions; none for an entry outside the data."""
    ref = dataset.find(entry_id)
    if ref is None or CATEGORIES[ref.category].checker == "state":  # no tool of a simulated system has a dot
        return []
    return [str(document.get("name", "")) for document in dataset.load(ref).function]


def _refuse(damaged: DamagedLine) -> None:
    path = damaged.path
    if path.suffix != ".gz" and path.is_file() and (whole := spread_json(path)):
        raise UsageError(f"{path}: {whole}")
    raise UsageError(f"damaged line {damaged}")


def line_category(line: Fields) -> Category:
    """The category row of a line, from its ``category`` or its id. Raises `UsageError` for unknown ones."""
    name = line.get("category") or category_of(line_id(line))
    row = CATEGORIES.get(name) if isinstance(name, str) else None
    if row is None:
        raise UsageError(f"{line_id(line)}: unknown category {name!r}")
    return row


def line_id(line: Fields) -> str:
    """The entry id of a line. Raises `UsageError` if it has none."""
    entry_id = line.get("id")
    if not isinstance(entry_id, str) or not entry_id:
        raise UsageError("a replay line without id")
    return entry_id


def transcript_from_line(line: Fields, mode: Mode | None = None) -> Transcript:
    """The recorded conversation of a replay line, ready to be judged.

    Multi-turn ``trajectory`` lines give ``decoded`` transcripts: their call texts are used unchanged, and a step of
    plain text did not decode. ``mode`` is for lines without a mode or native call. Raises `UsageError` for shapes
    outside the contract, and for a text without a mode.
    """
    row = line_category(line)
    get = line.get
    transcript = Transcript(
        line_id(line),
        row.name,
        model=str(get("model") or ""),
        mode="fc" if get("mode") == "fc" else "prompt",
        other_reading=_other_reading(line),
        repeat=_repeat(line),
        underscore_names=bool(get("underscore_names", False)),
        decoder=_decoder(line),
        forced_quit=bool(get("forced_quit", False)),
        incomplete=bool(get("incomplete", False)),
        started_at=get("started_at"),
        duration_s=get("duration_s"),
        extra=dict(get("extra") or {}),
    )
    if "trajectory" in line and line.get("output") is None:
        transcript.decoded = True
        transcript.turns = _decoded_turns(line)
    elif "output" in line:
        _add_output(transcript, line, row)
    else:
        raise UsageError(f"{transcript.entry_id}: a replay line needs output or trajectory")
    if get("mode") is None:
        transcript.mode = _mode(transcript, mode)
    return transcript


def _mode(transcript: Transcript, told: Mode | None) -> Mode:
    """The mode of a line without one (contract §4)."""
    replies = [step.reply for step in transcript.steps]
    if any(reply.tool_calls for reply in replies):
        return "fc"
    if told is not None:
        return told
    spec = transcript.model.rpartition("@")[2]
    if spec in ("fc", "prompt"):
        return cast(Mode, spec)
    # Calls of a trajectory are decoded; a decoder says how the text is read; these entries are asked by prompt only.
    read = transcript.decoded or transcript.decoder is not None or transcript.category == "format_sensitivity"
    if not read and transcript.inference_error is None and any(reply.text for reply in replies):
        raise UsageError(
            f"{transcript.entry_id}: the mode of this text is not known: "
            'give the line "mode": "fc" or "prompt", or say it for all lines (score --mode, replay:PATH@prompt)'
        )
    return "prompt"


def is_unanswered(line: Fields) -> bool:
    """Whether a line of a run has no answer to judge: its request failed, or was not sent."""
    answered = line.get("output") or line.get("trajectory") is not None
    return line.get("outcome") in ("error", "skipped") and (not answered or bool(line.get("incomplete")))


def _other_reading(line: Fields) -> OtherReading | None:
    """The line's second reading, if it has one."""
    found = line.get("other_reading")
    if not isinstance(found, Mapping):
        return None
    by, mode, decoder = (found.get(name) for name in ("by", "mode", "decoder"))
    if by not in ("leaderboard", "evidence") or mode not in ("fc", "prompt"):
        raise UsageError(f"{line_id(line)}: other_reading is {shortened_json(found)}, not a reading with by and mode")
    name = None if decoder is None else find_decoder(str(decoder)).name
    return OtherReading(by, mode, bool(found.get("underscore_names")), name)


def _decoder(line: Fields) -> str | None:
    """The format of the line's texts. Raises `UsageError` for an unknown one."""
    name = line.get("decoder")
    return None if name is None else find_decoder(str(name)).name


def _repeat(line: Fields) -> int:
    found = line.get("repeat") or 1
    if not isinstance(found, int) or found < 1:
        raise UsageError(f"{line_id(line)}: repeat is {shortened_json(found)}, not a whole number from 1")
    return found


def _add_output(transcript: Transcript, line: Fields, row: Category) -> None:
    output = line["output"]
    error = line.get("inference_error")
    if isinstance(error, str):
        transcript.inference_error = error
    elif isinstance(output, str) and output.startswith(INFERENCE_ERROR):
        transcript.inference_error = output
    if not row.multi_step:
        if output is not None or line.get("outcome") not in ("error", "skipped"):
            transcript.turns = [Turn(steps=[_step(line, output, 0, 0)])]
    elif isinstance(output, list) and all(isinstance(turn, list) for turn in output):
        transcript.turns = [
            Turn(steps=[_step(line, step, t, s) for s, step in enumerate(turn)]) for t, turn in enumerate(output)
        ]
    elif row.checker == "answer" and transcript.inference_error is None:
        # The short form of an agentic entry: only its final message.
        transcript.turns = [Turn(steps=[_step(line, output, 0, 0)])]
    elif transcript.inference_error is None:
        # As the reference: a result that is not a list of turns is a failed inference (multi_turn spec §2.1).
        transcript.inference_error = str(output)


_WORDS = frozenset(("reasoning", "finish_reason", "problem"))
_TOLD = {field: name for field, name, _ in OF_REPLIES if name != "served"}
"""Field of a line → field of its reply; invalid figures (text, NaN, negative) are skipped."""


def _step(line: Fields, output: object, turn: int, step: int) -> Step:
    known = {} if _TOLD.keys().isdisjoint(line) and "served" not in line else _reply_fields(line, turn, step)
    try:
        reply = Reply.from_output(output, **known)
    except TypeError:
        reply = _handed_over(line, output, known, f"turn {turn}, step {step}")
    results = line.get("tool_results")
    seen = _at(results, turn, step) if isinstance(results, list) else None
    return Step(reply, results=[str(text) for text in seen] if isinstance(seen, list) else [])


def _reply_fields(line: Fields, turn: int, step: int) -> Parsed:
    """A line's facts about one reply, besides its output."""
    known: Parsed = {}
    for stored, name in _TOLD.items():
        value = line.get(stored)
        if value is None:
            continue
        found = _at(value, turn, step)
        if isinstance(found, str) if name in _WORDS else is_number(found):
            known[name] = found
    if "served" in line and (served := Served.from_dict(_at(line["served"], turn, step))) is not None:
        known["served"] = served
    if "attempts" in known:
        known["attempts"] = known["attempts"] or 1
    return known


def _handed_over(line: Fields, output: object, known: Fields, where: str) -> Reply:
    """A library's message or completion in place of the stored form; the line's own fields count more."""
    try:
        reply = read_reply(output)
    except UnknownShape as error:
        raise UsageError(f"{line.get('id')}: unreadable output in {where}: {error}") from None
    return replace(reply, **{name: value for name, value in known.items() if value is not None})


def _at(value: object, turn: int, step: int) -> Any:
    """One step's value from a nested or single field; ``None`` if the field is shorter than the output."""
    if isinstance(value, list):
        return value[turn][step] if _has(value, turn, step) else None
    return value if (turn, step) == (0, 0) else None


def _has(value: list[Any], turn: int, step: int) -> bool:
    return turn < len(value) and isinstance(value[turn], list) and step < len(value[turn])


def _decoded_turns(line: Fields) -> list[Turn]:
    trajectory = line["trajectory"]
    if not isinstance(trajectory, list) or not all(isinstance(turn, list) for turn in trajectory):
        raise UsageError(f"{line.get('id')}: trajectory is a list of turns, each a list of steps")
    return [Turn(steps=[_decoded_step(line, step) for step in turn]) for turn in trajectory]


def _decoded_step(line: Fields, step: object) -> Step:
    if isinstance(step, str):
        return Step(Reply(text=step), calls=None, error="recorded as text that does not decode")
    if isinstance(step, list) and all(isinstance(call, str) for call in step):
        return Step(Reply(text=f"[{', '.join(step)}]"), calls=list(step))
    raise UsageError(f"{line.get('id')}: a step of a trajectory is a list of call texts, or text")


def entry_from_line(line: Fields) -> Entry | None:
    """The entry that a line contains (``function`` and ``possible_answer``); ``None`` if it must be looked up.

    Categories without possible answers need ``function`` only. Raises `UsageError` if the fields do not form an entry.
    """
    if not isinstance(line.get("function"), list) and "involved_classes" not in line:
        return None
    row = line_category(line)
    if "possible_answer" not in line and row.checker not in ("relevance", "irrelevance"):
        return None
    from pydantic import ValidationError

    fields = {name: line[name] for name in _ENTRY_FIELDS if line.get(name) is not None}
    fields.setdefault("question", [])
    fields.setdefault("language", row.language)
    fields.setdefault("return_format", row.language)
    try:
        return Entry(id=line_id(line), category=row.name, **fields)
    except ValidationError as error:
        told = first_problem(error)
        raise UsageError(f"{line.get('id')}: the line's own question is not usable: {told}") from error


_ENTRY_FIELDS = (
    "question", "function", "possible_answer", "initial_config", "involved_classes", "missed_function", "scenario",
    "language", "return_format", "tool_call_tag", "config",
)  # fmt: skip
