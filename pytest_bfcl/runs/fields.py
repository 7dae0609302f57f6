"""The type, values and range of each field of a stored line, checked in one place for every reader.

Files may be damaged or edited by hand. A line that passes needs no further checks. Unknown fields stay unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Le, Len, Predicate
from typing_extensions import TypedDict

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import FailureTag
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.lines import shallow
from pytest_bfcl.runs.result_line import OUTCOMES
from pytest_bfcl.runs.summary_types import Count

if TYPE_CHECKING:
    from pydantic import TypeAdapter

LARGEST = 1e15
"""Largest figure of a run; beyond it sums lose precision."""
MAX_NESTING = 60
"""Deepest nesting that is shown and compared; runs write less."""

KEY = ("id", "category", "model", "mode", "repeat")
RESULT = (*KEY, "outcome")
"""Required fields of a result line."""

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
    if (found := misfit(line, "line")) is not None:
        return found
    for name in ("detail", "extra") if "outcome" in line else ():
        inner = get(name)
        if inner and isinstance(inner, dict):
            if found := misfit(inner, name):
                return f"{name}.{found}"
            if not shallow(inner, MAX_NESTING):
                return f"{name} is nested deeper than {MAX_NESTING} levels"
    return None


def shape_problem(line: Fields) -> str | None:
    """A further error of a result line: its detail is no object, its output neither a reply nor turns of steps."""
    if isinstance(output := line.get("output"), dict):
        return f"output is {shortened_json(output)}, not text or a list"
    return misfit({"detail": line.get("detail") or {}, "output": output}, "shape")


def shortened_json(value: object) -> str:
    """A value for an error message."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else text[:59] + "…"


def is_whole(text: str) -> bool:
    """Whether a text can be written: one with an unpaired surrogate cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def is_number(value: Any) -> bool:
    """Whether a value is a valid figure; NaN, infinities, truth values and negative numbers are not."""
    return type(value) in (int, float) and 0 <= value <= LARGEST


def misfit(values: Fields, kind: str) -> str | None:
    """The error of the first wrong field; ``kind``: ``line``, ``detail``, ``extra``, ``shape`` or ``reply``."""
    from pydantic import ValidationError

    try:
        _checker(kind).validate_python(values, strict=True)
    except ValidationError as error:
        names = {each["loc"][0] for each in error.errors()}
        name = next(filter(names.__contains__, values))
        return f"{name} is {shortened_json(values[name])}, not {_WANTED[kind][name]}"
    return None


@cache
def _checker(kind: str) -> TypeAdapter[Any]:
    """Checks the fields of a part of a line; each may be null."""
    from pydantic import TypeAdapter

    types = {name: fits | None for _, fits, names in _TYPES[kind] for name in names.split()}
    return TypeAdapter(TypedDict("Checked", types, total=False))  # type: ignore[operator]


def _choice(values: Iterable[str]) -> Any:
    return Literal[tuple(values)]


_Text = Annotated[str, Predicate(is_whole)]
_Number = Annotated[int | float, Predicate(is_number)]
_Names = dict[str, str]


class _Call(TypedDict):
    name: str
    arguments: str


def _or_turns(kind: Any) -> Any:
    """A value, or turns of steps of it."""
    return kind | list[list[kind | None]]


_TYPES: Mapping[str, Sequence[tuple[str, Any, str]]] = {
    "line": (
        ("the text of an id", Annotated[_Text, Len(1, 1000)], "id"),
        ("a category", _choice(CATEGORIES), "category"),
        ("text that can be written", _Text, "model"),
        ("one of fc, prompt", Literal["fc", "prompt"], "mode"),
        ("a whole number from 1", Annotated[Count, Ge(1)], "repeat"),
        (f"one of {', '.join(OUTCOMES)}", _choice(OUTCOMES), "outcome corrected_outcome official_outcome"),
        (f"one of {', '.join(OUTCOMES)}, excluded", _choice((*OUTCOMES, "excluded")), "verified_outcome"),
        (f"one of {', '.join(sorted(FailureTag))}", _choice(sorted(each.value for each in FailureTag)), "tag"),
        ("one of official, corrected", Literal["official", "corrected"], "rules"),
        ("text",
            str,
            "reason corrected_reason official_reason started_at worker decoder"
            " proved scenario language return_format config skipped error",
        ),
        ("text, or true or false", str | bool, "inference_error"),
        ("a list of texts", list[str], "corrected_rules"),
        ("an object", dict[str, Any], "extra facts official other_reading initial_config missed_function"),
        ("an object", dict[str, Any] | str, "detail"),
        ("text, a list or a message", str | list[Any] | dict[str, Any], "output"),
        ("a list", list[Any], "calls trajectory question function involved_classes"),
        ("true or false",
            bool,
            "underscore_names forced_quit decoded incomplete unreviewed trained_on tool_call_tag valid corrected_valid",
        ),
        ("turns of steps of texts", list[list[list[str]]], "tool_results"),
        ("text, or turns of steps of texts", _or_turns(str), "reasoning finish_reasons problems"),
        ("a number from 0, or turns of steps of such numbers",
            _or_turns(_Number), "input_tokens output_tokens latency_s attempts reasoning_tokens first_token_s"
        ),
        ("counts of calls", dict[str, Count], "call_form"),
        ("what a server told, or turns of steps of it", _or_turns(_Names), "served"),
        ("a number from 0", _Number, "cost_usd duration_s"),
    ),
    "detail": (
        ("text", str, "rule error ending advice param class reference type underlying lost_call"),
        ("a whole number from 0", Count, "turn last_turn step answer"),
        ("a list", list[Any], "sub_errors missing_calls missing corrected_rules"),
    ),
    "extra": (
        ("a list of texts", list[str], "classes"),
        ("a list of 0 and 1", list[bool | Annotated[int, Ge(0), Le(1)]], "turn_credit"),
        ("a list of whole numbers from 0", list[Count], "steps calls ground_truth_calls"),
        ("a whole number from 0", Count, "quiet_turns quiet_turns_with_calls calls_in_quiet_turns hops"),
    ),
    "reply": (
        ("text", str, "text reasoning finish_reason problem"),
        ("a number from 0", _Number, "input_tokens output_tokens latency_s attempts reasoning_tokens first_token_s"),
        ("a list of calls", list[_Call], "tool_calls"),
    ),
    "shape": (
        ("an object", dict[str, Any], "detail"),
        ("a reply, nor turns of steps of replies", _or_turns(str | list[_Call]), "output"),
    ),
}  # fmt: skip
"""Part of a line → words for valid values, their type, the fields."""
_WANTED = {kind: {name: words for words, _, names in rows for name in names.split()} for kind, rows in _TYPES.items()}
