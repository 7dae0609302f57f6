"""The type, values and range of each field of a stored line, checked in one place for every reader.

Files may be damaged or edited by hand. A line that passes needs no further checks. Unknown fields stay unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import FailureTag
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.lines import shallow
from pytest_bfcl.runs.result_line import OUTCOMES

LARGEST = 1e15
"""Largest figure of a run; beyond it sums lose precision."""
MAX_NESTING = 60
"""Deepest nesting that is shown and compared; runs write less."""

KEY = ("id", "category", "model", "mode", "repeat")
RESULT = (*KEY, "outcome")
"""Required fields of a result line."""


class Field(NamedTuple):
    """A field: ``usual`` types always fit, others are checked; ``wanted`` completes "… is X, not"."""

    name: str
    usual: frozenset[type]
    fits: Callable[[Any], bool]
    wanted: str


_HOLDS_REPLY = frozenset(("output", "trajectory", "result", "outcome", "valid"))
"""Fields of replies, results and verdicts; an entry has none of them."""


def problem_of(line: Fields, required: Iterable[str] = RESULT) -> str | None:
    """The error of a line in a few words; ``None`` if every field is valid. Optional fields may be missing or null."""
    get = line.get
    if "question" in line and not _HOLDS_REPLY & line.keys():
        return "this is an entry without a reply: `pytest FILE.jsonl --model PROVIDER:NAME` runs entries"
    for name in required:
        if get(name) is None:
            return f"{name} is missing"
    if (found := _misfit(line, _BY_NAME)) is not None:
        return found
    for name in ("detail", "extra") if "outcome" in line else ():
        inner = get(name)
        if inner and isinstance(inner, dict):
            if found := _misfit(inner, _DETAIL if name == "detail" else _EXTRA):
                return f"{name}.{found}"
            if not shallow(inner, MAX_NESTING):
                return f"{name} is nested deeper than {MAX_NESTING} levels"
    return None


def shape_problem(line: Fields) -> str | None:
    """A further error of a result line: its detail is no object, its output neither a reply nor turns of steps."""
    if not isinstance(line.get("detail") or {}, dict):
        return f"detail is {shortened_json(line['detail'])}, not an object"
    output = line.get("output")
    if isinstance(output, dict):
        return f"output is {shortened_json(output)}, not text or a list"
    if isinstance(output, list) and not _is_reply(output) and not _turns(output, _is_reply):
        return f"output is {shortened_json(output)}, not a reply, nor turns of steps of replies"
    return None


def shortened_json(value: object) -> str:
    """A value for an error message."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else text[:59] + "…"


def _misfit(values: Fields, known: Mapping[str, Field]) -> str | None:
    for name, value in values.items():  # a line has few of the fields there are
        if (
            value is not None
            and (field := known.get(name)) is not None
            and type(value) not in field.usual
            and not field.fits(value)
        ):
            return f"{name} is {shortened_json(value)}, not {field.wanted}"
    return None


def _turns(value: object, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(
        isinstance(turn, list) and all(fits(step) for step in turn) for turn in value
    )


def _is_reply(value: object) -> bool:
    if value is None or isinstance(value, str):
        return True
    return isinstance(value, list) and all(
        isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(call.get("arguments"), str)
        for call in value
    )


def is_whole(text: str) -> bool:
    """Whether a text can be written: one with an unpaired surrogate cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 1000 and is_whole(value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and is_whole(value)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def is_number(value: Any) -> bool:
    """Whether a value is a valid figure; NaN, infinities, truth values and negative numbers are not."""
    return type(value) in (int, float) and 0 <= value <= LARGEST


def _is_figure(value: object) -> bool:
    return is_number(value) or _turns(value, lambda found: found is None or is_number(found))


def _is_text_of_reply(value: object) -> bool:
    return isinstance(value, str) or _turns(value, lambda found: found is None or isinstance(found, str))


def _is_served(value: object) -> bool:
    return _names(value) or _turns(value, lambda found: found is None or _names(found))


def _names(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_form(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _counts(value: object) -> bool:
    return isinstance(value, list) and all(_is_count(item) for item in value)


_NONE: frozenset[type] = frozenset()
_TEXT: frozenset[type] = frozenset((str,))
_BOOL: frozenset[type] = frozenset((bool,))
_LIST: frozenset[type] = frozenset((list,))
_TAGS = frozenset(tag.value for tag in FailureTag)


def _never(_: object) -> bool:
    return False


def _text(name: str) -> Field:
    return Field(name, _TEXT, _never, "text")


def _flag(name: str) -> Field:
    return Field(name, _BOOL, _never, "true or false")


def _list(name: str) -> Field:
    return Field(name, _LIST, _never, "a list")


def _object(name: str) -> Field:
    return Field(name, frozenset((dict,)), _never, "an object")


def _count(name: str) -> Field:
    return Field(name, _NONE, _is_count, "a whole number from 0")


def _choice(name: str, values: Iterable[str], wanted: str = "") -> Field:
    known = frozenset(values)
    return Field(
        name, _NONE, lambda value: isinstance(value, str) and value in known, wanted or f"one of {', '.join(values)}"
    )


def _by_name(*fields: Field) -> dict[str, Field]:
    return {field.name: field for field in fields}


_BY_NAME = _by_name(
    Field("id", _NONE, _is_id, "the text of an id"),
    _choice("category", CATEGORIES, "a category"),
    Field("model", _NONE, _is_name, "text that can be written"),
    _choice("mode", ("fc", "prompt")),
    Field("repeat", _NONE, lambda value: _is_count(value) and value >= 1, "a whole number from 1"),
    _choice("outcome", OUTCOMES),
    _choice("corrected_outcome", OUTCOMES),
    _choice("official_outcome", OUTCOMES),
    _choice("verified_outcome", (*OUTCOMES, "excluded")),
    _choice("tag", sorted(_TAGS)),
    _choice("rules", ("official", "corrected")),
    *map(_text, ("reason", "corrected_reason", "official_reason", "started_at", "worker", "decoder")),
    Field("inference_error", frozenset((str, bool)), _never, "text, or true or false"),
    Field("corrected_rules", _NONE, _texts, "a list of texts"),
    Field("detail", frozenset((dict, str)), _never, "an object"),
    *map(_object, ("extra", "facts")),
    Field("output", frozenset((str, list, dict)), _never, "text, a list or a message"),
    _list("calls"),
    *map(_flag, ("underscore_names", "forced_quit", "decoded", "incomplete", "unreviewed", "trained_on")),
    Field("tool_results", _NONE, lambda value: _turns(value, _texts), "turns of steps of texts"),
    *(Field(name, _TEXT, _is_text_of_reply, "text, or turns of steps of texts") for name in
      ("reasoning", "finish_reasons", "problems")),
    *(Field(name, _NONE, _is_figure, "a number from 0, or turns of steps of such numbers") for name in
      ("input_tokens", "output_tokens", "latency_s", "attempts", "reasoning_tokens", "first_token_s")),
    Field("call_form", _NONE, _is_form, "counts of calls"),
    Field("served", _NONE, _is_served, "what a server told, or turns of steps of it"),
    *(Field(name, _NONE, is_number, "a number from 0") for name in ("cost_usd", "duration_s")),
    # Replay lines, and the question a line brings.
    *map(_list, ("trajectory", "question", "function", "involved_classes")),
    *map(_object, ("official", "other_reading", "initial_config", "missed_function")),
    *map(_text, ("proved", "scenario", "language", "return_format", "config")),
    _flag("tool_call_tag"),
    # Verdict lines of `pytest-bfcl score`.
    *map(_flag, ("valid", "corrected_valid")),
    *map(_text, ("skipped", "error")),
)  # fmt: skip

_DETAIL = _by_name(
    *map(
        _text, ("rule", "error", "ending", "advice", "param", "class", "reference", "type", "underlying", "lost_call")
    ),
    *map(_count, ("turn", "last_turn", "step", "answer")),
    *map(_list, ("sub_errors", "missing_calls", "missing", "corrected_rules")),
)

_EXTRA = _by_name(
    Field("classes", _NONE, _texts, "a list of texts"),
    Field("turn_credit", _NONE, lambda value: isinstance(value, list) and all(
        item in (0, 1) for item in value if not isinstance(item, float)) and all(
        isinstance(item, int | bool) for item in value), "a list of 0 and 1"),
    *(Field(name, _NONE, _counts, "a list of whole numbers from 0") for name in
      ("steps", "calls", "ground_truth_calls")),
    *map(_count, ("quiet_turns", "quiet_turns_with_calls", "calls_in_quiet_turns", "hops")),
)  # fmt: skip
