"""Pages of single entries: the model's answer, the ground truth, and the whole conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from pytest_bfcl.checkers.corrected import CORRECTED_RULES
from pytest_bfcl.dataset.verified import known_issues
from pytest_bfcl.explaining.explanation import explain
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import clean, shortened
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.chat import Documentation, as_json, chat, clipped, timeline
from pytest_bfcl.reporting.listing import total_of
from pytest_bfcl.reporting.rendering import rerun_command
from pytest_bfcl.reporting.sources import results_again, stored_memory, transcript_of
from pytest_bfcl.runs.results import record_key
from pytest_bfcl.runs.transcripts import Transcripts

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.transcript import Transcript

TEMPLATE = "entry.html.jinja"
MAX_FUNCTIONS = 200
MAX_REQUEST = 3_000
REQUEST = 140


class Neighbours(NamedTuple):
    """Pages (`page_name`, safe in links) of the previous and next entry with the same outcome; empty at the ends."""

    previous: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class PageContext:
    """Values that all pages of a run share; ``choice`` is the data set in the form of ``--bfcl-data``, ``run`` the
    folder."""

    data: str
    choice: str
    models: tuple[ModelFingerprint, ...]
    known_issues: Mapping[tuple[str, str], str]
    documentation: Documentation = field(default_factory=Documentation)
    run: Path | None = None

    @classmethod
    def of(cls, run: RunDirectory, choice: str) -> PageContext:
        """What the pages of a run share."""
        prints = run.fingerprint
        data = f"{prints.dataset} {prints.dataset_version}".strip()
        return cls(data, choice, prints.models, issues_of(prints), run=run.path)


class About(NamedTuple):
    """The entry and its outcome by both rules."""

    id: str
    category: str
    model: str
    repeat: int
    outcome: str
    data: str
    request: str
    request_place: str
    notices: tuple[str, ...]
    official: str | None
    official_reason: str | None
    corrected: str | None
    corrected_reason: str | None
    corrected_rules: tuple[tuple[str, str], ...]


class EntryResult(NamedTuple):
    """A result with its entry and its transcript record (``messages``, ``functions``).

    ``asked`` is the relevant request of the user (`request_of`).
    """

    record: Fields
    entry: Entry | None
    stored: Fields | None
    asked: tuple[str, str]

    @classmethod
    def of(cls, record: Fields, entry: Entry | None, stored: Fields | None) -> EntryResult:
        """With the request."""
        return cls(record, entry, stored, request_of(record, entry, stored))

    @property
    def functions(self) -> Iterator[tuple[Fields, str]]:
        """The offered functions, as sent if known; held-out functions have a note with their turn."""
        sent = (self.stored or {}).get("functions") or (self.entry.function if self.entry is not None else [])
        later = self.entry.missed_function if self.entry is not None else {}
        names = {document["name"] for documents in later.values() for document in documents}
        known = (each for each in sent if isinstance(each, Mapping) and each.get("name") not in names)
        yield from ((document, "") for document in islice(known, MAX_FUNCTIONS))
        for turn, documents in later.items():
            yield from ((document, f"from turn {turn + 1} on") for document in documents)


Made = TypeVar("Made")


def made_or_problem(make: Callable[[EntryResult], Made], told: EntryResult) -> Made:
    """A result's page. A result that cannot be shown gets a page with the error, so that other pages are written."""
    try:
        return make(told)
    except Exception as error:
        detail = {"error": f"the details on this line cannot be shown: {error!r}"}
        return make(told._replace(record={**told.record, "detail": detail}))


def entry_page(told: EntryResult, context: PageContext, neighbours: Neighbours) -> bytes:
    """The HTML of one record's page."""
    title, values = entry_values(told, context, neighbours)
    return rendering.framed("entry", title, rendering.macro(TEMPLATE, "body", **values))


def packed_values(told: EntryResult, context: PageContext) -> tuple[Any, ...]:
    """The values from which ``packed_entry.js`` makes a page, without functions."""
    found = _values(told, context)
    why = found["why"]
    verdict = (why.headline, why.expected, why.called_label, why.called, why.facts, why.rule, why.advice)
    return tuple((found | {"why": verdict}).values())


def entry_values(told: EntryResult, context: PageContext, neighbours: Neighbours) -> tuple[str, Parsed]:
    """The title of a record's page, and the values for the macro ``body`` of `TEMPLATE`."""
    record, entry = told.record, told.entry
    again = results_again(record, entry)
    shown = told if again is None else told._replace(record={**record, "tool_results": again})
    memory = stored_memory(context.run, record, entry)
    failed = entry is not None and record.get("outcome") == "failed"
    found = _values(shown, context, transcript_of(record) if failed else None)
    return f"{record['id']} · {record.get('outcome')}", {
        **found,
        "nav": neighbours,
        "played_again": again is not None,
        "memory": clipped(memory) if memory is not None else None,
        "functions": context.documentation.of(told.functions),
    }


def _values(told: EntryResult, context: PageContext, transcript: Transcript | None = None) -> Parsed:
    """What every page of an entry shows, in the order in which ``packed_entry.js`` reads it."""
    record, entry, stored, asked = told
    turns = chat(record, entry, (stored or {}).get("messages") or ())
    return {
        "entry": _about(record, context, *asked),
        "why": explain(record, entry, transcript),
        "turns": turns,
        "usage": _usage(record),
        "command": _command(record, context),
        "timeline": timeline(record, turns),
    }


def _command(record: Fields, context: PageContext) -> str:
    """The command that runs this entry again, with the model's name at that time (a replay's results have the recorded
    name)."""
    recorded = str(record.get("model") or "")
    asked = next((model for model in context.models if model.model == recorded), None)
    if asked is None and len(context.models) == 1:
        asked = context.models[0]
    base_url = asked.base_url if asked is not None else None
    name = asked.model if asked is not None else recorded
    return rerun_command(record, name, data=context.choice, base_url=base_url)


def beginning(request: str) -> str:
    """The request as a list of entries shows it."""
    return shortened(clean(request[: 4 * REQUEST].replace("\n", " ")), REQUEST)


def issues_of(fingerprint: Fingerprint) -> dict[tuple[str, str], str]:
    """(id, mode) → the entry's known issues in words."""
    return {
        (issue.id, mode): f"{issue.kind.replace('_', ' ')}: {issue.why}"
        for issue in known_issues(fingerprint.dataset_version)
        for mode in issue.modes
    }


def stored_of(transcripts: Transcripts, record: Fields) -> Fields | None:
    """The stored transcript of a result; a damaged one is not shown."""
    try:
        return transcripts.load(record_key(cast("ResultLine", record)), record.get("started_at"))
    except HarnessError:
        return None


def request_of(record: Fields, entry: Entry | None, stored: Fields | None = None) -> tuple[str, str]:
    """The user's last words in the turn that decided, and its number if there are several."""
    messages: Sequence[Fields] = (stored or {}).get("messages") or ()
    turns: Sequence[Any] = entry.question if entry is not None else [messages] if messages else []
    detail = record.get("detail") or {}
    number = detail.get("turn", detail.get("last_turn"))
    if not isinstance(number, int) or not 0 <= number < len(turns):
        number = next((n for n in reversed(range(len(turns))) if turns[n]), 0) if len(turns) == 1 else 0
    place = f" (turn {number + 1} of {len(turns)})" if len(turns) > 1 else ""
    words = [message.get("content") for message in turns[number] if message.get("role") == "user"] if turns else []
    if turns and not words:
        return ("(no new message: functions held back so far are handed over)", place) if place else ("", "")
    return (str(words[-1])[:MAX_REQUEST], place) if words else ("", "")


def _about(record: Fields, context: PageContext, request: str, place: str) -> About:
    rules = record.get("rules") or "official"
    official = record.get("official_outcome") if rules != "official" else record.get("outcome")
    official_reason = record.get("official_reason") if rules != "official" else record.get("reason")
    if official_reason and rules == "official" and record.get("tag"):
        official_reason = f"{record['tag']} · {official_reason}"
    known = context.known_issues.get((str(record["id"]), str(record.get("mode"))))
    return About(
        id=str(record["id"]),
        category=str(record.get("category")),
        model=str(record.get("model") or ""),
        repeat=record.get("repeat") or 1,
        outcome=str(record.get("outcome")),
        data=context.data,
        request=request,
        request_place=place,
        notices=(f"Known issue of the data: {known}",) if known else (),
        official=official,
        official_reason=official_reason,
        corrected=record.get("corrected_outcome"),
        corrected_reason=record.get("corrected_reason"),
        corrected_rules=tuple((name, CORRECTED_RULES.get(name, "")) for name in record.get("corrected_rules") or ()),
    )


_COUNTS = (
    ("input_tokens", "tokens in"),
    ("output_tokens", "tokens out"),
    ("reasoning_tokens", "of them reasoning"),
    ("attempts", "requests sent"),
)


def _usage(record: Fields) -> list[tuple[str, str]]:
    """Cost, time, tokens and other measured values, as far as known."""
    usage = []
    if record.get("cost_usd") is not None:
        usage.append(("cost", rendering.usd(record["cost_usd"])))
    for name, label in (("latency_s", "latency, all requests"), ("duration_s", "duration")):
        value = total_of(record.get(name))
        if value is not None:
            usage.append((label, rendering.seconds(value)))
    for name, label in _COUNTS:
        value = total_of(record.get(name))
        if value is not None:
            usage.append((label, f"{value:,.0f}"))
    for name, value in (record.get("extra") or {}).items():
        usage.append((str(name).replace("_", " "), as_json(value)[:300]))
    for name in ("started_at", "worker"):
        if record.get(name):
            usage.append((name.replace("_", " "), str(record[name])))
    return usage
