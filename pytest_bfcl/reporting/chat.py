"""A conversation for readers: turns, messages, the model's texts and calls, results.

Built from the result line, which every run has. Messages as sent (system prompt, functions) come from the stored
transcript, else from the entry. `Documentation` shows the offered functions.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from pytest_bfcl.checkers.entries import is_error
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.explaining.facts import call_text
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import rendering
from pytest_bfcl.spread_json import json_or

if TYPE_CHECKING:
    from markupsafe import Markup

    from pytest_bfcl.dataset.entry import Entry


MAX_TEXT = 16_000
"""Shown characters of one message; the rest is in the run's transcripts."""
LONG = 1_200
"""Length above which a message is folded."""
MAX_CALLS = 100
MAX_DESCRIPTION = 3_000
MAX_SCHEMA = 1_500
MAX_KEPT = 20_000
"""Size in bytes of JSON up to which a function's documentation is cached for the next pages."""

as_json = json.JSONEncoder(ensure_ascii=False, default=str).encode


class Text(NamedTuple):
    """A message's shown text: at most `MAX_TEXT` characters, ``left_out`` the rest, folded if ``long``."""

    text: str
    left_out: int
    long: bool


class Said(NamedTuple):
    """A message to the model: its role and text."""

    role: str
    text: Text


class Called(NamedTuple):
    """One call of a reply: its text, its result if it was executed, whether that reports an error."""

    text: str
    result: Text | None
    failed: bool = False


class StepView(NamedTuple):
    """One reply: its text, reasoning, calls and figures. ``unread``: its calls could not be read."""

    number: int
    text: Text | None
    reasoning: Text | None
    calls: tuple[Called, ...]
    facts: str
    unread: bool


class TurnView(NamedTuple):
    """One turn: the user's messages and the model's replies; ``broken`` marks the turn that decided a failure."""

    number: int
    messages: tuple[Said, ...]
    steps: tuple[StepView, ...]
    broken: bool


def chat(record: Fields, entry: Entry | None, messages: Sequence[Fields] = ()) -> list[TurnView]:
    """The turns of one conversation; ``messages`` as stored, if any."""
    fields = StepFields(record)
    outputs = turns_of(record.get("output"), fields.nested)
    openings = _openings(messages, [len(turn) for turn in outputs]) or _question_turns(entry, len(outputs))
    count = max(len(openings), len(outputs))
    detail = record.get("detail") or {}
    broken = detail.get("turn", detail.get("last_turn"))
    return [
        TurnView(
            number + 1,
            tuple(openings[number]) if number < len(openings) else (),
            tuple(_steps(fields, number, outputs[number] if number < len(outputs) else ())),
            broken == number,
        )
        for number in range(count)
    ]


class StepFields:
    """The fields of a result line, step by step; those of single-turn entries are plain."""

    def __init__(self, record: Fields) -> None:
        row = CATEGORIES.get(str(record.get("category")))
        self.nested = row is not None and row.multi_step
        self._record = record

    def at(self, name: str, turn: int, step: int) -> Any:
        """One step's value of a field, or ``None``."""
        value = self._record.get(name)
        if not self.nested:
            return value if turn == step == 0 else None
        try:
            return value[turn][step]  # type: ignore[index]
        except (IndexError, TypeError, KeyError):
            return value if turn == step == 0 and not isinstance(value, list | Mapping) else None


def clipped(text: str) -> Text:
    """A text in its shown form."""
    return Text(text[:MAX_TEXT], max(len(text) - MAX_TEXT, 0), len(text) > LONG)


def turns_of(output: object, nested: bool) -> list[list[Any]]:
    """The replies, turn by turn; single-turn entries have one turn of one step."""
    if output is None:
        return []
    if nested and isinstance(output, list) and all(isinstance(turn, list) for turn in output):
        return output
    return [[output]]


def _openings(messages: Sequence[Fields], steps: Sequence[int]) -> list[list[Said]]:
    """The messages before each turn's first reply, as sent; empty if they do not fit the recorded replies."""
    segments: list[list[Said]] = [[]]
    for message in messages:
        if message.get("role") == "assistant":
            segments.append([])
        elif message.get("role") in ("system", "user", "developer"):
            segments[-1].append(Said(str(message["role"]), clipped(_content(message))))
    if not messages or len(segments) - 1 != sum(steps):
        return []
    starts = [sum(steps[:number]) for number in range(len(steps))]
    return [segments[start] for start in starts]


def _question_turns(entry: Entry | None, turns: int) -> list[list[Said]]:
    """The question of the entry: the user's message in each turn."""
    if entry is None:
        return [[] for _ in range(turns)]
    return [[Said(str(message.get("role")), clipped(_content(message))) for message in turn] for turn in entry.question]


def _content(message: Fields) -> str:
    content = message.get("content")
    if isinstance(content, list):  # parts of a message
        return "\n".join(str(part.get("text", part)) if isinstance(part, Mapping) else str(part) for part in content)
    return "" if content is None else str(content)


def _steps(fields: StepFields, turn: int, outputs: Sequence[Any]) -> list[StepView]:
    return [_step(fields, output, turn, number) for number, output in enumerate(outputs)]


def _step(fields: StepFields, output: object, turn: int, step: int) -> StepView:
    decoded = fields.at("calls", turn, step)
    results = fields.at("tool_results", turn, step) or []
    reasoning = fields.at("reasoning", turn, step)
    calls = _calls(output, decoded, results)
    text = output if isinstance(output, str) else None
    return StepView(
        step + 1,
        clipped(text) if text is not None else None,
        clipped(str(reasoning)) if reasoning else None,
        tuple(calls),
        _facts(fields, turn, step),
        bool(decoded is None and not isinstance(output, str) and output),
    )


def _calls(output: object, decoded: object, results: Sequence[Any]) -> list[Called]:
    if isinstance(output, list):
        texts = [_sent(call) for call in output[:MAX_CALLS]]
    else:
        texts = [
            call_text(call, MAX_TEXT) if isinstance(call, Mapping) else str(call)
            for call in (decoded if isinstance(decoded, list) else [])[:MAX_CALLS]
        ]
    return [
        Called(text[:MAX_TEXT], clipped(str(results[number])), is_error(str(results[number])))
        if number < len(results)
        else Called(text[:MAX_TEXT], None)
        for number, text in enumerate(texts)
    ]


def _sent(call: object) -> str:
    """A native call as sent: arguments as ``name=value`` if they are a JSON object."""
    if not isinstance(call, Mapping):
        return str(call)
    name, arguments = str(call.get("name", "")), call.get("arguments", "")
    if isinstance(arguments, str) and len(arguments) < 100_000 and isinstance(parsed := json_or(arguments), dict):
        return call_text({name: parsed}, MAX_TEXT)
    return f"{name}({arguments})"


def _facts(fields: StepFields, turn: int, step: int) -> str:
    """Latency, tokens, attempts and the ending of a reply, in one line."""
    facts = []
    latency = fields.at("latency_s", turn, step)
    if isinstance(latency, int | float):
        facts.append(f"{latency:.2f} s")
    words = (("input_tokens", "tokens in"), ("output_tokens", "out"), ("reasoning_tokens", "of them reasoning"))
    for name, word in words:
        tokens = fields.at(name, turn, step)
        if isinstance(tokens, int | float):
            facts.append(f"{tokens:,} {word}")
    attempts = fields.at("attempts", turn, step)
    if isinstance(attempts, int) and attempts > 1:
        facts.append(f"{attempts} attempts")
    for name in ("finish_reasons", "problems"):
        said = fields.at(name, turn, step)
        if isinstance(said, str) and said not in ("stop", "tool_calls"):
            facts.append(f"ended: {said}")
    return " · ".join(facts)


class TimedStep(NamedTuple):
    """One step on the time line of an entry: its start and length, in units of `WIDTH`.

    ``wrong``: a call failed; ``decided``: its turn decided a failure.
    """

    turn: int
    step: int
    start: float
    width: float
    seconds: str
    wrong: bool
    decided: bool


WIDTH = 1000


def timeline(record: Fields, turns: Sequence[TurnView]) -> list[TimedStep]:
    """The steps of a conversation in order, by their times; empty for a single reply.

    If a step has no time, all get the same length.
    """
    steps = [(turn, step) for turn in turns for step in turn.steps]
    told = record.get("latency_s")
    flat = [each for part in told if isinstance(part, list) for each in part] if isinstance(told, list) else []
    timed = len(flat) == len(steps) and all(isinstance(each, int | float) and each > 0 for each in flat)
    times = flat if timed else [1.0] * len(steps)
    whole, at, found = sum(times), 0.0, []
    for (turn, step), time in zip(steps if len(steps) > 1 else (), times, strict=False):
        width = WIDTH * time / whole
        words = rendering.seconds(time) if timed else ""
        wrong = any(call.failed for call in step.calls)
        place = round(at, 1), round(width, 1)
        found.append(TimedStep(turn.number, step.number, *place, words, wrong, turn.broken))
        at += width
    return found


class Parameter(NamedTuple):
    """One parameter of an offered function; ``more`` is the rest of its schema beyond type and description, as JSON."""

    name: str
    type: str
    description: str
    required: bool
    more: str


class Function(NamedTuple):
    """One offered function."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]


class Offered(NamedTuple):
    """Offered functions: their number, their names in one line, and their documentation as markup."""

    number: int
    names: str
    markup: Markup


class Documentation:
    """Documents functions; recent ones are cached, because entries share them. ``size``: how many."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._kept: OrderedDict[tuple[bytes, str], Markup] = OrderedDict()

    def of(self, documents: Iterable[tuple[Fields, str]]) -> Offered:
        """All functions of an entry; those added later have a note about the turn."""
        from markupsafe import Markup

        found = list(documents)
        names = ", ".join([str(document.get("name", "")) for document, _ in found])
        markup = Markup("".join([self(document, note) for document, note in found]))  # parts that are markup
        return Offered(len(found), names, markup)

    def __call__(self, document: Fields, note: str = "") -> Markup:
        """One function's documentation."""
        try:
            key = to_json(document), note
        except (PydanticSerializationError, ValueError, RecursionError):  # unpaired surrogates, say
            return _documented(document, note)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        found = _documented(document, note)
        if len(key[0]) <= MAX_KEPT:
            self._kept[key] = found
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return found


def _documented(document: Fields, note: str) -> Markup:
    return rendering.macro("functions.html.jinja", "documentation", described(document), note)


def described(document: Fields) -> Function:
    """The shown parts of a function document."""
    schema = document.get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    properties, required = schema.get("properties"), schema.get("required")
    names = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list) else []
    parameters = tuple(_parameter(str(name), each, name in needed) for name, each in names.items())
    return Function(str(document.get("name", "")), str(document.get("description") or "")[:MAX_DESCRIPTION], parameters)


def _parameter(name: str, schema: object, required: bool) -> Parameter:
    if not isinstance(schema, Mapping):
        return Parameter(name, "", str(schema)[:MAX_SCHEMA], required, "")
    more = {key: value for key, value in schema.items() if key != "type" and key != "description"}
    kind, about = str(schema.get("type", "")), str(schema.get("description") or "")[:MAX_DESCRIPTION]
    return Parameter(name, kind, about, required, as_json(more)[:MAX_SCHEMA] if more else "")
