"""Facts about a failed reply, for any broken rule: the offered functions, the calls sent, and their faults.

Stored on the line (docs/contracts.md), so that causes rest on evidence, not on a reason's name. From the ground truth
facts need only the number of expected calls. Their values, calls and answers are shown in Python's notation, in one
line that is cut to a width.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from pytest_bfcl.dataset.expansion import typed_as_sent
from pytest_bfcl.decoding.ground_truth import turn_ground_truth_calls
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.tools.schemas import JSON_TYPES
from pytest_bfcl.transcript import Call, wire_name

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.failures import Verdict
    from pytest_bfcl.transcript import Step, Transcript


MOST_TOLD = 5
MOST_CHARACTERS = 80

Said = Literal["calls", "words", "question", "thoughts", "nothing"]
"""The replies of the turn that decided; ``question``: words that ask back."""


class Facts(TypedDict, total=False):
    """Facts of one failed line; facts that do not apply are missing. Lists hold at most `MOST_TOLD` texts."""

    said: Said
    offered: int
    """Functions offered."""
    due: int
    """Expected calls in the turn that decided, if the entry gives them."""
    made: int
    """Calls in that turn."""
    unknown: list[str]
    """Names of calls that were not offered, as sent."""
    broken: list[str]
    """Beginnings of raw arguments that are no JSON object."""
    extra: list[str]
    """Names of arguments that the function does not have."""
    missing: list[str]
    """Required arguments that are missing."""
    types: dict[str, int]
    """Arguments of another type than the schema's: ``string for integer`` → how many."""
    outside_enum: list[str]
    ending: str
    """The ending, if it is not normal."""
    prompt_tokens: list[int]
    """Of each request of a conversation, up to 40: a server that loses earlier turns does not count them."""


def facts_of(entry: Entry, transcript: Transcript, verdict: Verdict) -> Facts:
    """The facts of a failed conversation; never raises for any output of a model."""
    turn = verdict.detail.get("turn")
    decided = turn if isinstance(turn, int) and 0 <= turn < len(transcript.turns) else None
    steps = transcript.turns[decided].steps if decided is not None else transcript.steps
    offered = transcript.functions if entry.mcp is not None else entry.all_functions
    facts: Facts = {"said": _said(steps), "offered": len(offered)}
    due = _due(entry, decided)
    if due is not None:
        facts["due"] = due
    facts["made"] = sum(max(len(step.reply.tool_calls), len(step.calls or ())) for step in steps)
    if offered:
        _add_calls(facts, typed_as_sent(offered, entry.language), transcript, steps)
    last = transcript.steps[-1].reply if transcript.steps else None
    if last is not None and last.problem:
        facts["ending"] = last.problem
    tokens = [step.reply.input_tokens for step in transcript.steps if step.reply.input_tokens is not None]
    if len(tokens) > 1:
        facts["prompt_tokens"] = tokens[:40]
    return facts


def _said(steps: list[Step]) -> Said:
    if any(step.reply.tool_calls or step.calls for step in steps):
        return "calls"
    text = " ".join(step.reply.text or "" for step in steps).strip()
    if text:
        return "question" if text.rstrip(" \n*)\"'").endswith("?") or text.count("?") > 1 else "words"
    return "thoughts" if any((step.reply.reasoning or "").strip() for step in steps) else "nothing"


def _due(entry: Entry, turn: int | None) -> int | None:
    checker = entry.row.checker
    if checker == "state":
        return len(turn_ground_truth_calls(entry, turn or 0))
    if checker == "ast":
        return len(entry.possible_answer or ())
    return {"irrelevance": 0, "relevance": 1}.get(checker)


def _calls(steps: list[Step]) -> Iterator[tuple[str, object, str]]:
    """Name, arguments (``None`` where they are no JSON object) and raw text of every call."""
    for step in steps:
        if step.reply.tool_calls:
            for call in step.reply.tool_calls:
                try:
                    yield call.name, parse_json(call.arguments), call.arguments
                except DecodeError:
                    yield call.name, None, call.arguments
        else:
            for made in step.decoded_calls:
                yield str(made.name), made.arguments, ""
            for text in step.call_texts:
                yield text.partition("(")[0], {}, ""


def _add_calls(facts: Facts, offered: Sequence[Fields], transcript: Transcript, steps: list[Step]) -> None:
    spelled = wire_name if transcript.underscore_names else str
    documents = {spelled(str(each.get("name"))): each for each in offered}
    types: Counter[str] = Counter()
    found: dict[str, list[str]] = {"unknown": [], "broken": [], "extra": [], "missing": [], "outside_enum": []}
    for name, given, raw in _calls(steps):
        document = documents.get(name)
        if document is None:
            found["unknown"].append(name)
        if not isinstance(given, Mapping):
            found["broken"].append(raw)
        elif document is not None and (given or raw):
            _add_violations(found, types, document, given)
    for key, texts in found.items():
        if texts:
            facts[key] = [cut(each, MOST_CHARACTERS) for each in dict.fromkeys(texts)][:MOST_TOLD]  # type: ignore[literal-required]
    if types:
        facts["types"] = dict(types.most_common(MOST_TOLD))


def _add_violations(found: dict[str, list[str]], types: Counter[str], document: Fields, given: Fields) -> None:
    schema = document.get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    found["extra"] += [str(key) for key in given if key not in properties]
    required = schema.get("required")
    found["missing"] += [str(key) for key in (required if isinstance(required, list) else ()) if key not in given]
    for key, value in given.items():
        wanted = properties.get(key)
        if not isinstance(wanted, Mapping):
            continue
        told = JSON_TYPES.get(str(wanted.get("type")), "")
        if told and _word(value) not in (told, "integer" if told == "number" else told):
            types[f"{_word(value)} for {told}"] += 1
        enum = wanted.get("enum")
        if isinstance(enum, list) and value not in enum and isinstance(value, str):
            found["outside_enum"].append(f"{key}: {value}")


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = (("integer", int), ("number", float), ("string", str), ("array", list), ("object", dict))
    return next((word for word, kind in kinds if isinstance(value, kind)), "null")


LEFT_OUT = "(left out)"


def value_text(value: object, width: int = 200) -> str:
    """A value in Python notation with double quotes; never longer than ``width``."""
    return cut(_value(value, 0), width)


def _value(value: object, depth: int) -> str:
    if isinstance(value, str):
        inner = clean(value[:2000]).replace('"', '\\"') if '"' in value else clean(value[:2000])
        return f'"{inner}"'
    if depth > 6:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())[:30]
        return "{" + ", ".join(f"{_key(key)}: {_value(item, depth + 1)}" for key, item in items) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_value(item, depth + 1) for item in value[:30])
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    try:
        return clean(repr(value)[:2000])
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def _key(key: object) -> str:
    return _value(key, 0) if isinstance(key, str) else clean(str(key)[:100])


def call_text(call: Call | Mapping[Any, Any], width: int = 200) -> str:
    """A decoded call, also as stored: ``name(parameter=value, …)``."""
    if isinstance(call, Call):
        call = call.as_object()
    if not isinstance(call, Mapping) or len(call) != 1:
        return value_text(call, width)
    ((name, arguments),) = call.items()
    if not isinstance(arguments, Mapping):
        return cut(f"{clean(str(name))}({_value(arguments, 0)})", width)
    inner = ", ".join(f"{clean(str(key))}={_value(value, 1)}" for key, value in list(arguments.items())[:30])
    return cut(f"{clean(str(name))}({inner})", width)


def allowed_text(answers: object, width: int = 200, *, optional: bool = True) -> str:
    """Acceptable values: ``"a" or "b" or (left out)``."""
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        return value_text(answers, width)
    shown = [_allowed(answer) for answer in answers if answer != ""]
    if "" in answers:
        shown.append(LEFT_OUT if optional or shown else '""')
    if not shown:
        return "(nothing)"
    if len(shown) > 6:
        shown = [*shown[:5], f"… ({len(shown) - 5} more)"]
    return cut(" or ".join(dict.fromkeys(shown)), width)


def _allowed(answer: object) -> str:
    """One acceptable value; objects in answer notation show their alternatives."""
    if isinstance(answer, Mapping):
        inner = ", ".join(
            f"{_key(key)}: {allowed_text(values) if isinstance(values, list) else _value(values, 1)}"
            for key, values in answer.items()
        )
        return "{" + inner + "}"
    if isinstance(answer, list) and any(isinstance(item, Mapping) for item in answer):
        return "[" + ", ".join(_allowed(item) for item in answer) + "]"
    return _value(answer, 0)


def answer_text(answer: object, width: int = 200) -> str:
    """An expected call with its allowed values, ``name(parameter="a" or "b")``; any other value unchanged."""
    if not isinstance(answer, Mapping):
        return cut(clean(str(answer)), width)
    name, arguments = next(iter(answer.items()), ("", {}))
    if not isinstance(arguments, Mapping):
        return cut(clean(str(name)), width)
    inner = ", ".join(f"{key}={allowed_text(values, 80)}" for key, values in arguments.items())
    return cut(f"{clean(str(name))}({inner})", width)
