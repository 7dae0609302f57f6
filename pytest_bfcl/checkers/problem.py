"""A broken rule, as the value and call checks report it, and the words for each reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_bfcl.transcript import Call

SIMPLE = "simple_function_checker"
PARALLEL = "parallel_function_checker_no_order"
MULTIPLE = "multiple_function_checker"

RULE_WORDS: dict[str, str] = {
    "ast_decoder:decoder_failed": "the reply must be a call and nothing else",
    "ast_decoder:decoder_wrong_output_format": "the reply must be a list of calls with named arguments",
    f"{SIMPLE}:wrong_count": "exactly one call is expected",
    f"{MULTIPLE}:wrong_count": "exactly one call is expected",
    f"{PARALLEL}:wrong_count": "as many calls as expected ones",
    f"{PARALLEL}:cannot_find_match": "every expected call needs a call of its own that fits",
    f"{SIMPLE}:wrong_func_name": "the function must be the expected one, spelled exactly",
    f"{SIMPLE}:missing_required": "a required argument must be present",
    f"{SIMPLE}:unexpected_param": "an argument that is not expected must not be given",
    f"{SIMPLE}:missing_optional": "this argument may not be left out here",
    "type_error:simple": "the argument must be of the documented type",
    "type_error:nested": "every element must be of the documented type",
    "type_error:java": "values of Java functions are sent as text",
    "type_error:js": "values of JavaScript functions are sent as text",
    "value_error:string": "the text must be one of the allowed ones (case, spaces and , . / - _ * ^ do not matter)",
    "value_error:list/tuple": "the list must equal an allowed one, in order",
    "value_error:dict_key": "the object must have the allowed keys, no more and no fewer",
    "value_error:dict_value": "the value under a key must be an allowed one",
    "value_error:list_dict_count": "the list must have as many objects as an allowed one",
    "value_error:others": "the value must equal an allowed one exactly",
    "dict_checker:unclear": "no object is allowed here",
    "irrelevance_error:decoder_success": "no call is due: none of the functions fits the request",
    "irrelevance_error:malformed_call": "no call is due, and a broken one is attempted",
    "relevance_error:decoder_failed": "a call is due, whichever it is",
    "multi_turn:empty_turn_model_response": "this turn needs at least one call that decodes",
    "multi_turn:instance_state_mismatch": "after this turn the simulated system must be in the expected state",
    "multi_turn:execution_response_mismatch": "the results of all expected calls must have been obtained by now",
    "multi_turn:force_terminated": "every turn must be reached; more than 20 steps in one turn end the conversation",
    "multi_turn:irrelevance_error:decoder_success": "no call is due in this turn",
    "agentic:no_last_message": "the conversation must end with a message, not with a call",
    "agentic:answer_not_found": "the final message must contain an accepted answer as a word of its own",
    "executable_decoder:decoder_failed": "the reply must be a call and nothing else",
    "executable_decoder:wrong_output_format": "the reply must be a list of calls with named arguments",
    "simple_exec_checker:wrong_count": "exactly one call is expected",
    "value_error:exec_result_count": "as many calls as expected ones",
    "executable_checker:execution_error": "the call must give a result",
    "executable_checker:wrong_result": "the result must equal the expected one",
    "executable_checker:wrong_result_real_time": "the number must be within 20 % of the expected one",
    "executable_checker:wrong_result_type": "the result must be of the expected type",
    "executable_checker:wrong_result_type:list_length": "the list must be as long as the expected one",
    "executable_checker:wrong_result_type:dict_key_not_found": "the object must have every expected key",
    "executable_checker:wrong_result_type:dict_extra_key": "the object must have no other keys",
    "executable_checker:cannot_find_match": "every expected result needs a call of its own that gives it",
    "executable_checker_rest:wrong_count": "exactly one request is expected",
    "executable_checker_rest:execution_error": "the request must get a response",
    "executable_checker_rest:wrong_status": "the service must answer with status 200",
    "executable_checker_rest:wrong_type": "the response must be of the recorded type",
    "executable_checker_rest:wrong_length": "the list must be as long as the recorded one",
    "executable_checker_rest:wrong_key": "every object must have the recorded keys, no more and no fewer",
    "sql_checker:wrong_count": "exactly one call is expected",
    "sql_checker:wrong_func_name": "the function must be the offered one, spelled exactly",
    "sql_checker:refused": "the call must describe one query that only reads the given tables",
    "sql_checker:execution_error": "the query must give rows",
    "sql_checker:wrong_result": "the rows must be the expected ones",
    "chat:call_made": "no tool is offered, so no call may be made",
    "chat:no_text": "the reply must have text",
    "reply:length": "the reply must fit into the token limit",
    "reply:context_overflow": "the conversation must fit into the model's context",
    "reply:content_filter": "the reply must not be stopped by the provider's filter",
}
"""Reason → the rule in words, for people."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule.

    ``detail`` holds ``param``, ``key``, ``index``, ``expected``, ``called``, ``error``, ``advice``: what applies, as
    JSON-able values. ``raises`` marks input on which the reference itself raises (it gives no verdict there); under
    official rules such an entry fails as a whole.
    """

    reason: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    raises: bool = False

    def about(self, **detail: Any) -> Problem:
        """The same problem with more detail; what is already there stays."""
        return Problem(self.reason, {**detail, **self.detail}, self.raises)


MAX_ITEMS = 60
MAX_TEXT = 2000
MAX_DEPTH = 8


def plain(value: Any, depth: int = 0) -> Any:
    """A decoded value as something JSON can hold, bounded in depth, length and text size.

    Short texts, the bulk of every value, are spared a call of their own.
    """
    cls = type(value)
    if cls is str:
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if cls is bool or value is None:
        return value
    if cls is int:
        return value if -_BIG < value < _BIG else "a number too large to show"
    if cls is float:
        return value if value - value == 0 else str(value)  # not for infinities and NaN
    if depth >= MAX_DEPTH:
        return "…"
    deeper = depth + 1
    if cls is dict:
        items = value.items() if len(value) <= MAX_ITEMS else list(value.items())[:MAX_ITEMS]
        return {
            key if type(key) is str and len(key) < 200 else _key(key): (
                item if type(item) is str and len(item) <= MAX_TEXT else plain(item, deeper)
            )
            for key, item in items
        }
    if cls is list or cls is tuple:
        kept = value if len(value) <= MAX_ITEMS else value[:MAX_ITEMS]
        return [item if type(item) is str and len(item) <= MAX_TEXT else plain(item, deeper) for item in kept]
    return _unusual(value, depth)


_BIG = 2**1024


def _key(key: Any) -> str:
    """The null key of ``**mapping`` arguments (ast_checker spec §3.2) as it is written."""
    return "**" if key is None else str(key)[:200]


def _unusual(value: Any, depth: int) -> Any:
    if isinstance(value, Call):
        return plain(value.as_object(), depth)
    if isinstance(value, Mapping):
        return plain(dict(value), depth)
    if isinstance(value, (set, frozenset)):
        return plain(sorted(map(str, value)), depth)
    if isinstance(value, (str, bytes)):
        return plain(str(value), depth)
    try:
        return str(value)[:MAX_TEXT]
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"
