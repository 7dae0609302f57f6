"""A line of ``results.jsonl`` and its relatives as types (docs/contracts.md): what writers fill in and readers may use.

Lines written by others hold what they hold: `pytest_bfcl.runs.fields` checks them against these types on reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, NotRequired

from typing_extensions import TypedDict

from pytest_bfcl.json_types import Parsed

Outcome = Literal["passed", "failed", "error", "skipped"]
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "error", "skipped")

Number = int | float
Figures = Number | Sequence[Sequence[Number | None]] | None
"""A number, or turns → steps → number; ``None`` where nothing was measured."""
Output = str | Sequence[Any] | None
"""A raw reply: text, a list of ``{name, arguments}``, or turns → steps → such replies."""


class EntryKey(NamedTuple):
    """What one result or conversation is about; ``repeat`` counts from 1."""

    model: str
    mode: str
    entry_id: str
    repeat: int = 1


class CallForm(TypedDict, total=False):
    """Native calls of a line, and how many of them are faulty; a fault that does not occur is not there.

    Each faulty call counts once: a name that was not offered, arguments that are no JSON object, arguments that are
    not valid under the schema sent.
    """

    calls: int
    unknown: int
    broken: int
    invalid: int


class Conversation(TypedDict, total=False):
    """What happened: plain values for single turn, turns → steps → value where calls are executed."""

    output: Output
    calls: Sequence[Any] | None
    underscore_names: bool
    tool_results: Sequence[Sequence[Sequence[str]]] | None
    reasoning: str | Sequence[Sequence[str | None]] | None
    input_tokens: Figures
    output_tokens: Figures
    latency_s: Figures
    finish_reasons: str | Sequence[Sequence[str | None]] | None
    attempts: Figures
    decoder: NotRequired[str]
    """The model's own format that texts were read in."""
    problems: NotRequired[str | Sequence[Sequence[str | None]] | None]
    reasoning_tokens: NotRequired[Figures]
    first_token_s: NotRequired[Figures]
    served: NotRequired[Mapping[str, str] | Sequence[Sequence[Mapping[str, str] | None]] | None]
    """``model``, ``fingerprint`` and ``id`` of each reply, as the server shows them."""
    forced_quit: NotRequired[bool]
    inference_error: NotRequired[str]
    decoded: NotRequired[bool]
    incomplete: NotRequired[bool]
    other_reading: NotRequired[Parsed]
    """How the replies are read by the reference's table, or by the calls in them, where the two differ: ``by``
    (``leaderboard``, ``evidence``), ``mode``, ``underscore_names``, ``decoder``; in results the ``outcome``, too."""


class VerdictFields(TypedDict, total=False):
    """What was decided, by the headline rules and by the corrected ones; ``official_…`` where those do not lead."""

    tag: str | None
    reason: str | None
    corrected_outcome: str | None
    corrected_reason: str | None
    corrected_rules: Sequence[str]
    rules: str
    official_outcome: str
    verified_outcome: NotRequired[str]
    """By the corrected answer of the verified data, where that differs; ``excluded`` for entries it leaves out."""
    unreviewed: NotRequired[bool]
    """Only where no person has read the entry (``"reviewed": false``)."""
    call_form: NotRequired[CallForm]
    """Only where there are native calls."""
    facts: NotRequired[Mapping[str, Any]]
    """Of failed lines: `pytest_bfcl.explaining.facts.Facts`."""
    trained_on: NotRequired[bool]
    """The model was trained on this entry, by the split that the run names."""
    official_reason: str | None
    detail: Parsed


class Circumstances(TypedDict, total=False):
    """What else is known of an entry's run: money, time, figures beyond the verdict."""

    cost_usd: Number | None
    extra: Parsed
    started_at: str | None
    duration_s: Number | None
    worker: str | None


class Key(TypedDict):
    """What a line is about; ``repeat`` counts from 1."""

    id: str
    category: str
    model: str
    mode: str
    repeat: int


class ResultLine(Key, Conversation, VerdictFields, Circumstances):
    """One line of ``results.jsonl``."""

    outcome: str


class ReplayLine(Conversation, VerdictFields, Circumstances, total=False):
    """A recorded output: a result line, or as little as an id and ``output`` or ``trajectory``.

    ``official`` keeps what a line of the reference's result files has beyond that. A line may bring its own question.
    """

    id: str
    category: str
    model: str
    mode: str
    repeat: int
    outcome: str
    trajectory: Sequence[Any]
    official: Parsed
    proved: str
    """What the calls of all the model's lines prove about mode and names, in words."""
    question: Sequence[Any]
    function: Sequence[Any]
    possible_answer: Any
    initial_config: Parsed
    involved_classes: Sequence[str]
    missed_function: Parsed
    scenario: str
    language: str
    return_format: str
    tool_call_tag: bool
    config: str


class VerdictLine(TypedDict, total=False):
    """A line of ``pytest-bfcl score``: a verdict, or in ``error`` why there is none."""

    id: str
    category: str
    model: str
    repeat: int
    valid: bool | None
    tag: str | None
    reason: str | None
    detail: Parsed
    corrected_valid: bool | None
    facts: Mapping[str, Any]
    other_reading: Parsed
    skipped: str
    error: str


_NARROWED: Parsed = {
    "outcome": {"enum": list(OUTCOMES)}, "mode": {"enum": ["fc", "prompt"]}, "repeat": {"type": "integer", "minimum": 1}
}  # fmt: skip


def result_line_schema() -> Parsed:
    """What a reader may rely on; fields to come are allowed."""
    return schema_of(ResultLine, "A line of results.jsonl")


def schema_of(kind: Any, title: str) -> Parsed:
    """The schema of a type; wherever it holds lines, they are lines as we write them."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(kind).json_schema()
    line = schema if kind is ResultLine else schema["$defs"]["ResultLine"]
    line["properties"] |= _NARROWED
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}
