"""Every reason of a failure or an error: name, tag, rule, headline, remedy, details and advice.

Extensions that judge categories have their own reasons (`reason_named` finds them too).

Names are the reference's error types where it has one (docs/contracts.md, "Tags and reasons"). ``reasons.toml`` is the
only place for a reason of a failure: `pytest_bfcl.explaining` formats it by its family of details, and docs/reasons.md
is generated. A headline has placeholders in braces, each with its maximum number of characters.
`pytest_bfcl.explaining.headlines` lists the placeholders of each family.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from pytest_bfcl import entry_points
from pytest_bfcl.checkers import advice, details
from pytest_bfcl.checkers.details import Attempt, CallDetails, Details, ReplyDetails, TriedDetails, TroubleDetails
from pytest_bfcl.failures import FailureTag, Reason, UsageError
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

MALFORMED = FailureTag.MALFORMED_OUTPUT
WRONG = FailureTag.WRONG_ANSWER


_ROWS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8"))
_FAILURES = {
    name: Reason(
        name,
        MALFORMED if row["details"] in ("Unread", "Reply") or row.get("malformed") else WRONG,
        row["rule"],
        row["headline"],
        row["remedy"],
        getattr(details, f"{row['details']}Details"),
        getattr(advice, row["advice"]) if "advice" in row else None,
        row.get("mark", ""),
    )
    for name, row in _ROWS.items()
}

UNREADABLE = _FAILURES["ast_decoder:decoder_failed"]
WRONG_SHAPE = _FAILURES["ast_decoder:decoder_wrong_output_format"]
NO_CALL = _FAILURES["relevance_error:decoder_failed"]
REPLY_LENGTH = _FAILURES["reply:length"]
REPLY_OVERFLOW = _FAILURES["reply:context_overflow"]
REPLY_FILTERED = _FAILURES["reply:content_filter"]
WRONG_COUNT = _FAILURES["simple_function_checker:wrong_count"]
WRONG_COUNT_MULTIPLE = _FAILURES["multiple_function_checker:wrong_count"]
WRONG_COUNT_PARALLEL = _FAILURES["parallel_function_checker_no_order:wrong_count"]
NO_MATCH = _FAILURES["parallel_function_checker_no_order:cannot_find_match"]
WRONG_NAME = _FAILURES["simple_function_checker:wrong_func_name"]
MISSING_REQUIRED = _FAILURES["simple_function_checker:missing_required"]
UNEXPECTED_PARAM = _FAILURES["simple_function_checker:unexpected_param"]
MISSING_OPTIONAL = _FAILURES["simple_function_checker:missing_optional"]
INVALID_ARGUMENTS = _FAILURES["json_schema:invalid"]
TYPE = _FAILURES["type_error:simple"]
ELEMENT_TYPE = _FAILURES["type_error:nested"]
JAVA_TEXT = _FAILURES["type_error:java"]
JAVASCRIPT_TEXT = _FAILURES["type_error:js"]
TEXT = _FAILURES["value_error:string"]
LIST = _FAILURES["value_error:list/tuple"]
OBJECT_KEY = _FAILURES["value_error:dict_key"]
OBJECT_VALUE = _FAILURES["value_error:dict_value"]
OBJECT_COUNT = _FAILURES["value_error:list_dict_count"]
VALUE = _FAILURES["value_error:others"]
NO_OBJECT = _FAILURES["dict_checker:unclear"]
UNDUE_CALL = _FAILURES["irrelevance_error:decoder_success"]
UNDUE_ATTEMPT = _FAILURES["irrelevance_error:malformed_call"]
EMPTY_TURN = _FAILURES["multi_turn:empty_turn_model_response"]
STATE = _FAILURES["multi_turn:instance_state_mismatch"]
RESULTS = _FAILURES["multi_turn:execution_response_mismatch"]
FORCED_END = _FAILURES["multi_turn:force_terminated"]
QUIET_TURN = _FAILURES["multi_turn:irrelevance_error:decoder_success"]
NO_MESSAGE = _FAILURES["agentic:no_last_message"]
NO_ANSWER = _FAILURES["agentic:answer_not_found"]
SERVER_STATE = _FAILURES["mcp:state_mismatch"]
SERVER_CALLS = _FAILURES["mcp:calls_mismatch"]
OWN_CHECKER = _FAILURES["own:checker"]

ONE_NOTATION, COUNTED, COUNT_REMEDY = WRONG_SHAPE.remedy, WRONG_COUNT.headline, WRONG_COUNT.remedy
"""Names that reasons of extensions share."""

# -- infrastructure errors: no verdict, no score --


def _trouble(name: str, tag: FailureTag, kind: AdapterTrouble | HarnessTrouble) -> Reason:
    """The reason of an error of this kind, or of an imported line with an error."""
    return Reason(name, tag, kind.rule, "No verdict, not counted: {error:240}", kind.remedy, TroubleDetails)


_adapter = partial(_trouble, tag=FailureTag.ADAPTER_ERROR)
_harness = partial(_trouble, tag=FailureTag.HARNESS_ERROR)

ADAPTER_ENDING = _adapter("adapter:ending", kind=AdapterTrouble.ENDING)
ADAPTER_INFERENCE = _adapter("adapter:inference_error", kind=AdapterTrouble.INFERENCE)
MULTI_TURN_INFERENCE = _adapter("multi_turn:inference_error", kind=AdapterTrouble.INFERENCE)
AGENTIC_INFERENCE = _adapter("agentic:inference_error", kind=AdapterTrouble.INFERENCE)
HARNESS_CHECKER = _harness("harness:checker", kind=HarnessTrouble.CHECKER)


def _errors() -> Iterator[Reason]:
    yield from (ADAPTER_ENDING, ADAPTER_INFERENCE, MULTI_TURN_INFERENCE, AGENTIC_INFERENCE, HARNESS_CHECKER)
    yield from (_adapter(f"adapter:{kind}", kind=kind) for kind in AdapterTrouble)
    yield from (_harness(f"harness:{kind}", kind=kind) for kind in HarnessTrouble)


REASONS: Mapping[str, Reason] = {**_FAILURES, **{each.name: each for each in _errors()}}
"""Name → reason, failures of the model first."""


@cache
def all_reasons() -> Mapping[str, Reason]:
    """All reasons, with those of installed groups of categories (`pytest_bfcl.checkers.plugged.CategoryGroup`)."""
    found = dict(REASONS)
    for point in entry_points.offered("categories").values():
        with suppress(UsageError):  # told where an entry of theirs is to be judged
            for each in entry_points.load(point, "group of categories").every_reason():
                found.setdefault(each.name, each)
    return found


def reason_named(name: str | None) -> Reason | None:
    """The reason of this name, or ``None``."""
    key = str(name)
    return REASONS.get(key) or all_reasons().get(key)


def reply_reason(problem: str) -> Reason:
    """The reason for a reply with this problem (`Reply.problem`); unknown problems also get a reason."""
    name = f"reply:{problem}"
    known = reason_named(name)
    if known is not None:
        return known
    return Reason(name, MALFORMED, name, "The reply did not arrive in full.", "", ReplyDetails)


def rule_of(name: str | None, detail: Mapping[str, object]) -> str:
    """The rule of a reason; for an unknown reason, the line's rule."""
    known = reason_named(name)
    if known is not None:
        return known.rule
    told = detail.get("rule")
    return told if isinstance(told, str) else ""


def remedy_of(name: str) -> str:
    """The remedy of a reason in words; empty for an unknown one."""
    known = reason_named(name)
    return "" if known is None else known.remedy


def details_of(reason: str | None, detail: Mapping[str, object]) -> Details:
    """The details of a failure from its result line, by the family of its reason; never raises.

    A failure because of a cut reply has the details of its ``underlying`` reason. Unknown reasons (lines of another
    version) get those of a call, or of an error if the name begins with ``adapter:`` or ``harness:``.
    """
    underlying = detail.get("underlying")
    name = underlying if isinstance(underlying, str) else reason or ""
    known = reason_named(name)
    if name.startswith(("adapter:", "harness:")):
        return TroubleDetails.of_json(detail)
    told = _details(known, detail)
    if isinstance(told, TriedDetails):
        told.attempts = tuple(_attempts(detail.get("sub_errors")))
    return told


def _details(reason: Reason | None, detail: Mapping[str, object]) -> Details:
    family = CallDetails if reason is None else reason.details
    assert issubclass(family, Details)
    return family.of_json(detail)


def _attempts(listed: object) -> Iterator[Attempt]:
    for each in listed if isinstance(listed, list) else ():
        call, reason = (each.get("call"), each.get("reason")) if isinstance(each, Mapping) else (None, None)
        if type(call) is int and call >= 0 and isinstance(reason, str):
            yield Attempt(call, reason, _details(reason_named(reason), each))
