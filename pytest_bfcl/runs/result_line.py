"""Types of a line of ``results.jsonl`` and of similar lines (docs/contracts.md).

`pytest_bfcl.runs.fields` checks foreign lines against these types on reading.
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
"""A number, or turns → steps → number; ``None`` if not measured."""
Output = str | Sequence[Any] | None
"""A raw reply: text, a list of ``{name, arguments}``, or turns → steps → such replies."""


class EntryKey(NamedTuple):
    """The key of one result or conversation; ``repeat`` counts from 1."""

    model: str
    mode: str
    entry_id: str
    repeat: int = 1


class CallForm(TypedDict, total=False):
    """Native calls of a line, and the number of faulty ones by kind; kinds without a fault are left out.

    Each faulty call counts once: a name that was not offered, arguments that are no JSON object, arguments that are
    not valid under the schema sent.
    """

    calls: int
    unknown: int
    broken: int
    invalid: int


class Conversation(TypedDict, total=False):
    """The conversation: plain values for single turn, turns → steps → value where calls are executed."""

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
    """The model's own format in which texts were read."""
    problems: NotRequired[str | Sequence[Sequence[str | None]] | None]
    reasoning_tokens: NotRequired[Figures]
    first_token_s: NotRequired[Figures]
    served: NotRequired[Mapping[str, str] | Sequence[Sequence[Mapping[str, str] | None]] | None]
    """``model``, ``fingerprint`` and ``id`` of each reply, as the server reports them."""
    forced_quit: NotRequired[bool]
    inference_error: NotRequired[str]
    decoded: NotRequired[bool]
    incomplete: NotRequired[bool]
    other_reading: NotRequired[Parsed]
    """The second reading, if the reference's table and the replies' calls disagree: ``by`` (``leaderboard``,
    ``evidence``), ``mode``, ``underscore_names``, ``decoder``; in results the ``outcome``, too."""


class VerdictFields(TypedDict, total=False):
    """The decision under the headline rules and the corrected ones; ``official_…`` if other rules are the headline."""

    tag: str | None
    reason: str | None
    corrected_outcome: str | None
    corrected_reason: str | None
    corrected_rules: Sequence[str]
    rules: str
    official_outcome: str
    verified_outcome: NotRequired[str]
    """By the corrected answer of the verified data, if it differs; ``excluded`` for entries that it leaves out."""
    unreviewed: NotRequired[bool]
    """Set if no person has read the entry (``"reviewed": false``)."""
    call_form: NotRequired[CallForm]
    """Set if there are native calls."""
    facts: NotRequired[Mapping[str, Any]]
    """Set for failed lines: `pytest_bfcl.explaining.facts.Facts`."""
    trained_on: NotRequired[bool]
    """Set if the model was trained on this entry, by the split that the run names."""
    official_reason: str | None
    detail: Parsed


class Circumstances(TypedDict, total=False):
    """Further facts of an entry's run: money, time, figures beyond the verdict."""

    cost_usd: Number | None
    extra: Parsed
    started_at: str | None
    duration_s: Number | None
    worker: str | None


class Key(TypedDict):
    """The key of a line; ``repeat`` counts from 1."""

    id: str
    category: str
    model: str
    mode: str
    repeat: int


class ResultLine(Key, Conversation, VerdictFields, Circumstances):
    """One line of ``results.jsonl``."""

    outcome: str


class ReplayLine(Conversation, VerdictFields, Circumstances, total=False):
    """A recorded output: a result line, or only an id and ``output`` or ``trajectory``.

    ``official`` keeps further fields of the reference's result lines. A line may contain its own entry.
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
    valid: bool | None
    """Of a verdict line of ``pytest-bfcl score``, as are the next."""
    corrected_valid: bool | None
    skipped: str
    error: str


_NARROWED: Parsed = {
    "outcome": {"enum": list(OUTCOMES)}, "mode": {"enum": ["fc", "prompt"]}, "repeat": {"type": "integer", "minimum": 1}
}  # fmt: skip


def result_line_schema() -> Parsed:
    """The guaranteed fields; later versions may add some."""
    return schema_of(ResultLine, "A line of results.jsonl")


def schema_of(kind: Any, title: str) -> Parsed:
    """The schema of a type; lines inside it are described as we write them."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(kind).json_schema()
    line = schema if kind is ResultLine else schema["$defs"]["ResultLine"]
    line["properties"] |= _NARROWED
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}
