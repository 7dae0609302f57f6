"""Recorded outputs → verdicts, line by line: no model, no pytest, constant memory (docs/contracts.md, replay lines)."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.checkers import judge_both, judge_under
from pytest_bfcl.conversation.services import Services, is_executed
from pytest_bfcl.dataset.expansion import FormatConfig, in_format
from pytest_bfcl.failures import BenchmarkError, EntrySkipped, HarnessError, UsageError
from pytest_bfcl.formats.detection import TextReading
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.fields import problem_of
from pytest_bfcl.runs.lines import LeftOut, parse_object
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry, EntryRef
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.failures import Verdict
    from pytest_bfcl.formats.thinking import Think
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.readings import Readings
    from pytest_bfcl.runs.result_line import ReplayLine
    from pytest_bfcl.transcript import Transcript

HELD_ENTRIES = 4096
"""Parsed entries kept when an id occurs a second time: most files list each id once; those of several models repeat
all."""
MET_IDS = 1 << 16
"""Number of ids remembered."""


def score_lines(
    lines: Iterable[Fields | str | bytes],
    dataset: DataSet | str | None = None,
    rules: str = "official",
    rest: str = "auto",
    decoder: str | None = None,
    think: Think = "auto",
    *,
    first: int = 1,
    readings: Readings | None = None,
    ahead: Iterable[Fields | str | bytes] = (),
) -> Iterator[Parsed]:
    """Judge replay lines one by one, in input order; prints nothing.

    A line is an object or its JSON text. Yields ``id, valid, tag, reason, detail, corrected_valid``; ``rules`` says
    which verdict ``valid``, ``tag``, ``reason`` and ``detail`` are. A line that is no JSON, names no entry or has an
    unusable shape yields ``{"id", "error"}``. ``dataset`` is a data set or a choice of one (default ``auto``), opened
    when the first line needs it. Lines with their own entry do not need it.

    Calls of retired categories are executed unless the line has their results; ``rest`` says where requests and
    recorded calls come from (docs/retired.md). A line that needs a missing recording yields ``valid`` ``None`` and the
    reason in ``skipped``. ``decoder`` names the format of texts in lines without one (``auto``: by the model's name),
    ``think`` how thoughts are treated (`pytest_bfcl.formats`).

    Lines without a mode or spelling of names are read by ``readings``, else by the evidence in their calls. A text
    without a mode is an error. ``ahead`` are lines that are searched for such evidence before the first is judged (the
    beginning of a file). At the end ``readings`` has what was found. Where the calls contradict the reference's table
    of models, a verdict has ``other_reading`` too.

    ``first`` is the number of the first line, for a part of a file.

    Raises `NoData` at the first line whose data are missing, and `UsageError` for a path instead of lines.
    """
    if isinstance(lines, str | bytes | PathLike):
        raise UsageError("score_lines judges lines, not a path: pass an open file, or run: pytest-bfcl score PATH")
    with ExitStack() as stack:
        judge = _LineJudge(dataset, rules, rest, stack, TextReading(decoder, think), readings)
        judge.learn(ahead)
        for number, line in enumerate(lines, first):
            if isinstance(line, (str, bytes)) and not line.strip():
                continue
            yield judge(line, number)


def rejudged(lines: Iterable[ReplayLine], dataset: DataSet) -> Iterator[tuple[ReplayLine, Parsed]]:
    """Each line with its verdict from `score_lines`, one at a time."""
    held: deque[ReplayLine] = deque()

    def remembered() -> Iterator[Fields]:
        for line in lines:
            held.append(line)
            yield line

    for verdict in score_lines(remembered(), dataset):
        yield held.popleft(), verdict


def judged_results(root: Path, dataset: DataSet, ids: Container[str]) -> Iterator[Fields]:
    """Result lines of the entries named in an official folder, judged again; none if the folder has only scores.

    ``root`` holds result files, or is the ``score/`` folder next to them.
    """
    from pytest_bfcl.runs.official_layout import results_of
    from pytest_bfcl.runs.replay_lines import read_replay_lines
    from pytest_bfcl.scoring.measurements import Judged

    folder = results_of(root)
    if folder is None:
        return
    found = read_replay_lines(folder, LeftOut(), dataset=dataset)
    for line, verdict in rejudged((line for line in found if line["id"] in ids), dataset):
        if isinstance(verdict.get("valid"), bool):
            told = {**line, **verdict}
            yield {**told, "outcome": Judged.of(told).outcome}


def open_data(choice: str | Path = "auto") -> DataSet:
    """`pytest_bfcl.dataset.opening.open_dataset`, with our simulators' tool documents for data without any."""
    from pytest_bfcl.dataset.opening import open_dataset
    from pytest_bfcl.simulators import documents_of

    return open_dataset(choice, documents=documents_of)


def data_of_run(measured: Fingerprint, label: str) -> DataSet:
    """The data of a run. Raises `UsageError` if they are missing or have changed."""
    if measured.dataset in ("official", "bundled", "verified"):
        data = open_data(measured.dataset)
        if data.sha256 == measured.dataset_sha256:
            return data
    raise UsageError(
        f"{label} used the data {measured.dataset!r} ({measured.dataset_sha256[:8]}), which are not found unchanged: "
        "name them with --data PATH"
    )


class NoData(UsageError):
    """The data cannot be opened, so no line can be judged."""


class _LineJudge:
    def __init__(
        self,
        dataset: DataSet | str | None,
        rules: str,
        rest: str,
        stack: ExitStack,
        reading: TextReading,
        readings: Readings | None,
    ) -> None:
        # Here, not per line, and not where the module is imported: collecting tests needs neither.
        from pytest_bfcl.runs.readings import Readings
        from pytest_bfcl.runs.replay_lines import entry_from_line

        self._judge_both, self._judge_under = judge_both, judge_under
        self._entry_from_line = entry_from_line
        self._readings = readings or Readings(decoder=reading.decoder)
        if rules not in ("official", "corrected"):
            raise UsageError(f"rules are official or corrected, not {rules!r}")
        self._dataset = dataset
        self._rules = rules
        self._rest = rest
        self._stack = stack
        self._reading = reading
        self._services: dict[bool, Services] = {}
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._original: Entry | None = None
        """The last format-sensitivity entry's parts; the next entry often has the same."""
        self._met: set[str] = set()

    def learn(self, lines: Iterable[Fields | str | bytes]) -> None:
        """Read lines that are judged later."""
        from pytest_bfcl.runs.readings import LEARNT_FROM

        with suppress(UsageError):  # a broken file: told where the lines before are judged
            self._readings.learn(_objects(islice(lines, LEARNT_FROM)), self._documented)

    def _documented(self, line: Fields) -> list[str]:
        """Names of the functions that a line's entry offers; none if unknown."""
        from pytest_bfcl.runs.readings import documented_names

        try:
            return documented_names(self._entry_from_line(line) or self._entry(str(line.get("id"))))
        except (UsageError, BenchmarkError, KeyError):
            return []

    def __call__(self, line: Fields | str | bytes, number: int) -> Parsed:
        try:
            parsed = parsed_line(line)
        except ValueError as error:
            return {"id": None, "error": f"line {number}: {error}"}
        entry_id = parsed.get("id") if isinstance(parsed.get("id"), str) else None
        if problem := problem_of(parsed, ("id",)):
            return {"id": entry_id, "error": f"line {number}: {problem}"}
        try:
            return self._judged(parsed)
        except EntrySkipped as skipped:
            return _not_judged(str(entry_id), skipped.message)
        except NoData:  # the same for every line
            raise
        except (UsageError, BenchmarkError, KeyError) as error:
            return {"id": entry_id, "error": f"line {number}: {error}"}
        except Exception as error:  # one line must not cost the others their verdicts
            return {"id": entry_id, "error": f"line {number}: cannot be judged: {type(error).__name__}: {error}"}

    def _judged(self, line: Fields) -> Parsed:
        from pytest_bfcl.runs.readings import documented_names
        from pytest_bfcl.runs.replay_lines import is_unanswered

        entry = self._entry_from_line(line) or self._entry(str(line.get("id")))
        if line.get("category") != entry.category:
            line = {**line, "category": entry.category}
        transcript = self._reading.apply(self._readings.transcript(line, lambda: documented_names(entry)))
        if line.get("outcome") == "skipped" and is_unanswered(line):
            raise EntrySkipped("not_asked", f"not asked: {line.get('reason') or 'skipped'}")
        if transcript.incomplete or is_unanswered(line):
            raise HarnessError(
                HarnessTrouble.INCOMPLETE, f"{line.get('reason') or 'an error'} ended the conversation: send it again"
            )
        if is_executed(entry):
            self._services_for(entry).execute(entry, transcript)
        official, corrected = self._verdicts(entry, transcript)
        headline = corrected if self._rules == "corrected" else official
        found: Parsed = {
            "id": entry.id,
            "valid": headline.valid,
            "tag": headline.tag.value if headline.tag else None,
            "reason": headline.reason,
            "detail": dict(headline.detail),
            "corrected_valid": corrected.valid,
        }
        if not headline.valid and headline.outcome == "failed":
            from pytest_bfcl.explaining.facts import facts_of

            found["facts"] = facts_of(entry, transcript, headline)
        if (other := transcript.other_reading) is not None:
            (verdict,) = self._judge_under(entry, other.of(transcript), self._rules)
            found["other_reading"] = {**other.fields(), "valid": verdict.valid}
        return found

    def _verdicts(self, entry: Entry, transcript: Transcript) -> tuple[Verdict, Verdict]:
        """Both verdicts. Which corrected rules decided is only found out where it is shown or costs nothing."""
        if self._rules == "official" and entry.row.checker != "state":
            official, corrected = self._judge_under(entry, transcript, "official", "corrected")
            return official, corrected
        both = self._judge_both(entry, transcript)
        return both.official, both.corrected

    def _services_for(self, entry: Entry) -> Services:
        if entry.official not in self._services:
            services = Services(self._rest, official=entry.official)
            self._services[entry.official] = self._stack.enter_context(services)
        return self._services[entry.official]

    def _entry(self, entry_id: str) -> Entry:
        entry = self._entries.get(entry_id)
        if entry is None:
            entry = self._looked_up(entry_id)
            if entry_id in self._met:
                self._entries[entry_id] = entry
            elif len(self._met) < MET_IDS:
                self._met.add(entry_id)
            if len(self._entries) > HELD_ENTRIES:
                self._entries.popitem(last=False)
        return entry

    def _looked_up(self, entry_id: str) -> Entry:
        if self._dataset is None or isinstance(self._dataset, str):
            try:
                self._dataset = open_data(self._dataset or "auto")
            except UsageError as error:
                raise NoData(str(error)) from None
        ref = self._dataset.find(entry_id)
        if ref is not None:
            plain = ref.variant < 0 or ref.transform
            return self._dataset.load(ref) if plain else self._variant(ref, self._dataset)
        if entry_id.count(":") == 2:
            return format_variant(entry_id, self._dataset)
        return self._dataset.entry(entry_id)  # raises

    def _variant(self, ref: EntryRef, dataset: DataSet) -> Entry:
        if self._original is None or self._original.id != ref.original_id:
            self._original = dataset.original(ref)
        return dataset.load(ref, original=self._original)


def _not_judged(entry_id: str, why: str) -> Parsed:
    return {
        "id": entry_id, "valid": None, "tag": None, "reason": None, "detail": {}, "corrected_valid": None,
        "skipped": why,
    }  # fmt: skip


def format_variant(entry_id: str, dataset: DataSet) -> Entry:
    """A format-sensitivity entry made from its id, with any number (data spec §6.1)."""
    head, config, original = entry_id.split(":")
    number = head.rpartition("_")[2]
    try:
        parsed = FormatConfig.parse(config)
    except ValueError as error:
        raise UsageError(f"{entry_id}: {error}") from error
    entry = in_format(dataset.entry(original), int(number) if number.isdigit() else 0, parsed)
    return entry.model_copy(update={"id": entry_id})


def _objects(lines: Iterable[Fields | str | bytes]) -> Iterator[Fields]:
    """Those lines that are objects with an id."""
    for line in lines:
        try:
            parsed = parsed_line(line)
        except ValueError:
            continue
        if problem_of(parsed, ("id",)) is None:
            yield parsed


def parsed_line(line: Fields | str | bytes) -> Fields:
    """A line as an object. Raises `ValueError` for anything else, however deeply nested."""
    if type(line) is dict:  # told sooner than that it is a mapping
        return line
    if isinstance(line, Mapping):
        return line
    return parse_object(line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line)
