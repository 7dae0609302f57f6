"""Every reason of a failure or an error: name, tag, rule, headline, remedy, details and advice.

Extensions that judge categories have their own reasons (`reason_named` finds them too).

Names are the reference's error types where it has one (docs/contracts.md, "Tags and reasons"). This table is the only
place for a reason: `pytest_bfcl.explaining` formats it by its family of details, and docs/reasons.md is generated.
A headline has placeholders in braces, each with its maximum number of characters. `pytest_bfcl.explaining.headlines`
lists the placeholders of each family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, partial

from pytest_bfcl import entry_points
from pytest_bfcl.checkers import advice
from pytest_bfcl.checkers.details import (
    AnswerDetails,
    Attempt,
    CallDetails,
    CountDetails,
    Details,
    EndDetails,
    MatchDetails,
    ObtainedDetails,
    QuietTurnDetails,
    ReplyDetails,
    ServerDetails,
    StateDetails,
    TriedDetails,
    TroubleDetails,
    TurnDetails,
    UndueDetails,
    UnreadDetails,
    ValueDetails,
)
from pytest_bfcl.failures import FailureTag, Reason, UsageError
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

MALFORMED = FailureTag.MALFORMED_OUTPUT
WRONG = FailureTag.WRONG_ANSWER

_unread = partial(Reason, tag=MALFORMED, details=UnreadDetails)
_reply = partial(Reason, tag=MALFORMED, details=ReplyDetails)
_count = partial(Reason, tag=WRONG, details=CountDetails)
_call = partial(Reason, tag=WRONG, details=CallDetails)
_value = partial(Reason, tag=WRONG, details=ValueDetails)
_undue = partial(Reason, tag=WRONG, details=UndueDetails)

# -- replies that hold no call that can be read --

ONE_NOTATION = "Look at the reply: the model must answer with calls only, in the notation of its prompt."

UNREADABLE = _unread(
    "ast_decoder:decoder_failed",
    rule="the reply must be a call and nothing else",
    headline="{unread}",
    remedy=f"{ONE_NOTATION} If it uses its own call format, use native calls (`@fc`).",
    advice=advice.unread_reply,
)
WRONG_SHAPE = _unread(
    "ast_decoder:decoder_wrong_output_format",
    rule="the reply must be a list of calls with named arguments",
    headline="Its reply is not a list of calls with named arguments: {called:110}.",
    remedy=ONE_NOTATION,
    advice=advice.unread_reply,
)
NO_CALL = _unread(
    "relevance_error:decoder_failed",
    rule="any call is expected",
    headline="It called nothing, although one of the offered functions fits the request.",
    remedy="Read the reply: a question back or a refusal does not count here. A call in another notation: see above.",
    advice=advice.unread_reply,
)

# -- replies that the provider cut or refused: this is the reason, not the failure of what arrived --

REPLY_LENGTH = _reply(
    "reply:length",
    rule="the reply must fit into the token limit",
    headline="The reply was cut off at the token limit.",
    remedy="Raise `--bfcl-max-tokens`; a model that reasons at length needs room for it.",
)
REPLY_OVERFLOW = _reply(
    "reply:context_overflow",
    rule="the conversation must fit into the model's context",
    headline="The conversation no longer fits into the model's context.",
    remedy="Serve the model with a longer context. If it has none, this is what it can do.",
)
REPLY_FILTERED = _reply(
    "reply:content_filter",
    rule="the reply must not be stopped by the provider's filter",
    headline="The provider's content filter stopped the reply.",
    remedy="See what the provider lets you set; the questions of the benchmark are harmless.",
)

REPLY_NOTHING_SAID = _reply(
    "reply:nothing_said",
    rule="the reply must have a call or words, not thoughts or white space alone",
    headline="The reply ended normally with nothing in it but thoughts or white space.",
    remedy="Look at the reasoning: often it used up the tokens, or a parser took the answer for a thought.",
)

# -- the number of calls --

COUNTED = "It made {made}, where {due}."
COUNT_REMEDY = "Compare the calls: one may be split, repeated or missing."

WRONG_COUNT = _count(
    "simple_function_checker:wrong_count",
    rule="exactly one call is expected",
    headline=COUNTED,
    remedy=COUNT_REMEDY,
    advice=advice.broken_json,
)
WRONG_COUNT_MULTIPLE = _count(
    "multiple_function_checker:wrong_count",
    rule="exactly one call is expected",
    headline=COUNTED,
    remedy=COUNT_REMEDY,
)
WRONG_COUNT_PARALLEL = _count(
    "parallel_function_checker_no_order:wrong_count",
    rule="as many calls as expected ones",
    headline=COUNTED,
    remedy=f"{COUNT_REMEDY} Some servers pass on the first call only; look for an option for parallel calls.",
)
NO_MATCH = Reason(
    "parallel_function_checker_no_order:cannot_find_match",
    tag=WRONG,
    rule="every expected call needs its own matching call",
    headline="{unmatched}",
    remedy="The closest call is shown next to the expected one; its marks show the differences.",
    details=MatchDetails,
)

# -- one call: function and arguments --

WRONG_NAME = _call(
    "simple_function_checker:wrong_func_name",
    rule="the function must be the expected one, spelled exactly",
    headline="It called {called_text:80}; this request needs {expected_text:80}.",
    remedy="Another function was chosen. If only dots became underscores, see corrected rule C5.",
    advice=advice.misspelt_name,
)
MISSING_REQUIRED = _call(
    "simple_function_checker:missing_required",
    rule="a required argument must be present",
    headline="The call leaves out the required argument “{param:60}”{must_be}.",
    remedy="The request contains the value, or it follows from the request.",
    advice=advice.unnamed_argument,
)
UNEXPECTED_PARAM = _call(
    "simple_function_checker:unexpected_param",
    rule="an argument that is not expected must not be given",
    headline="The call gives the argument “{param:60}”, which {why_unexpected}.",
    remedy="Leave out optional arguments that the request does not mention.",
)
MISSING_OPTIONAL = _call(
    "simple_function_checker:missing_optional",
    rule="this argument may not be left out here",
    headline="The call leaves out the argument “{param:60}”; it has to be {accepted:80}.",
    remedy="The argument is optional, but the request asks for another value than its default.",
)
INVALID_ARGUMENTS = _call(
    "json_schema:invalid",
    rule="the arguments must be valid by the tool's JSON Schema",
    headline="The arguments are not valid by the schema: {error:120}",
    remedy="The schema was sent unchanged; guided decoding with it fixes this.",
)

# -- one value --

_OF_TYPE = "The argument “{param:60}” is {called:90}, which is not of type {type:60}."
_AS_TEXT = "The argument “{param:60}” is {called:90}; it has to be sent as source text, in quotes."

TYPE = _value(
    "type_error:simple",
    rule="the argument must be of the documented type",
    headline=_OF_TYPE,
    remedy="Usually a number or list was sent as text; guided decoding with the tool's schema fixes it.",
    advice=advice.wrong_type,
)
ELEMENT_TYPE = _value(
    "type_error:nested",
    rule="every element must be of the documented type",
    headline=_OF_TYPE,
    remedy="As above, inside a list. Integers for floats there: corrected rule C6 accepts them.",
    advice=advice.wrong_element,
)
JAVA_TEXT = _value(
    "type_error:java",
    rule="values of Java functions are sent as text",
    headline=_AS_TEXT,
    remedy="Send the value as Java source text, as the function's document says.",
    advice=advice.value_instead_of_text,
)
JAVASCRIPT_TEXT = _value(
    "type_error:js",
    rule="values of JavaScript functions are sent as text",
    headline=_AS_TEXT,
    remedy="Send the value as JavaScript source text, as the function's document says.",
    advice=advice.value_instead_of_text,
)
TEXT = _value(
    "value_error:string",
    rule="the text must be one of the allowed ones (case, spaces and , . / - _ * ^ do not matter)",
    headline="{broken_value}",
    remedy="Compare with the allowed texts. If yours is as good, it may be a known issue of the data.",
    advice=advice.quoted_text,
    mark="not an allowed text",
)
LIST = _value(
    "value_error:list/tuple",
    rule="the list must equal an allowed one, in order",
    headline="{broken_value}",
    remedy="Compare element by element; the order counts.",
    advice=advice.wrong_order,
    mark="not an allowed list",
)
OBJECT_KEY = _value(
    "value_error:dict_key",
    rule="the object must have the allowed keys, no more and no fewer",
    headline="{broken_value}",
    remedy="The error names the missing or extra key.",
)
OBJECT_VALUE = _value(
    "value_error:dict_value",
    rule="the value under a key must be an allowed one",
    headline="{broken_value}",
    remedy="The error names the key and its allowed values.",
)
OBJECT_COUNT = _value(
    "value_error:list_dict_count",
    rule="the list must have as many objects as an allowed one",
    headline="{broken_value}",
    remedy="An object is missing, split or invented.",
    mark="wrong number of objects",
)
VALUE = _value(
    "value_error:others",
    rule="the value must equal an allowed one exactly",
    headline="{broken_value}",
    remedy="Numbers, booleans and values of undocumented types are compared exactly.",
    mark="not an allowed value",
)
NO_OBJECT = _value(
    "dict_checker:unclear",
    rule="no object is allowed here",
    headline="{broken_value}",
    remedy="Leave out the argument.",
    mark="no object is allowed",
)

# -- calls where none is expected --

UNDUE_CALL = _undue(
    "irrelevance_error:decoder_success",
    rule="no call is expected: none of the functions fits the request",
    headline="It called {calls:150} although none of the offered functions fits the request.",
    remedy="The model should say what is missing. A server that forces calls (`tool_choice`) fails all of these.",
)
UNDUE_ATTEMPT = _undue(
    "irrelevance_error:malformed_call",
    rule="no call is expected, and a broken call counts as one",
    headline="It attempted a call, and a broken one, although none of the offered functions fits the request.",
    remedy="As above; under official rules a broken call passes here (corrected rule C8).",
)

# -- multi-turn conversations --

EMPTY_TURN = Reason(
    "multi_turn:empty_turn_model_response",
    tag=WRONG,
    rule="this turn needs at least one call that decodes",
    headline="In {turn} it made no call that decodes{due_calls}.",
    remedy="See what it said instead; a call in another notation ends the turn.",
    details=TurnDetails,
    advice=advice.undecoded_turn,
)
STATE = Reason(
    "multi_turn:instance_state_mismatch",
    tag=WRONG,
    rule="after this turn the simulated system must be in the expected state",
    headline="After {turn} the {system:60} is not in the expected state{differing}.",
    remedy="The failure lists the differences and earlier calls that may be the cause.",
    details=StateDetails,
)
RESULTS = Reason(
    "multi_turn:execution_response_mismatch",
    tag=WRONG,
    rule="the results of all expected calls must have been obtained by now",
    headline="By the end of {turn} it had not obtained the result of {missing_calls:110}.",
    remedy="A step is missing or had other arguments; the failure lists the missing results with their calls.",
    details=ObtainedDetails,
)
FORCED_END = Reason(
    "multi_turn:force_terminated",
    tag=WRONG,
    rule="every turn must be reached; more than 20 steps in one turn end the conversation",
    headline="It did not stop: the step limit ended the conversation ({called_turns:60}).",
    remedy="The model repeats itself: look at the last turn. A turn ends with a message without calls.",
    details=EndDetails,
)
QUIET_TURN = Reason(
    "multi_turn:irrelevance_error:decoder_success",
    tag=WRONG,
    rule="no call is expected in this turn",
    headline="It called {calls:150} in {turn}, where no call was expected.",
    remedy="The next turn brings something that is missing here; the model should ask for it (corrected rule C17).",
    details=QuietTurnDetails,
)

# -- final messages --

NO_MESSAGE = Reason(
    "agentic:no_last_message",
    tag=MALFORMED,
    rule="the conversation must end with a message, not with a call",
    headline="It sent no final message: its last step was a call.",
    remedy="The model did not stop calling within the step limit.",
    details=AnswerDetails,
)
NO_ANSWER = Reason(
    "agentic:answer_not_found",
    tag=WRONG,
    rule="the final message must contain an accepted answer as a whole word",
    headline="Its final message does not contain {accepted:90}{quoted}",
    remedy="Follow its searches or its memory. Either it found the answer and did not say it, or it never found it.",
    details=AnswerDetails,
)
SERVER_STATE = Reason(
    "mcp:state_mismatch",
    tag=WRONG,
    rule="the server's state must be the expected one",
    headline="The server's state differs: {asked:80} returned {told:90}, expected {wanted:90}",
    remedy="Compare both sides; the calls that should have changed the state are in the conversation.",
    details=ServerDetails,
)
SERVER_CALLS = Reason(
    "mcp:calls_mismatch",
    tag=WRONG,
    rule="the calls must be those that the entry expects",
    headline="Other calls were made than expected: {told:90}, expected {wanted:90}",
    remedy="Compare them with the assertion; order, number and arguments may count.",
    details=ServerDetails,
)
OWN_CHECKER = Reason(
    "own:checker",
    tag=WRONG,
    rule="the checker that the entry names must accept the reply",
    headline="The entry's own checker does not accept it: {error}",
    remedy="Ask the author of the checker; it belongs to another package.",
    details=TroubleDetails,
)

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


def _all() -> Iterator[Reason]:
    yield from (each for each in tuple(globals().values()) if isinstance(each, Reason))
    yield from (_adapter(f"adapter:{kind}", kind=kind) for kind in AdapterTrouble)
    yield from (_harness(f"harness:{kind}", kind=kind) for kind in HarnessTrouble)


REASONS: Mapping[str, Reason] = {each.name: each for each in _all()}
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
    return REASONS.get(name or "") or all_reasons().get(name or "")


def reply_reason(problem: str) -> Reason:
    """The reason for a reply with this problem (`Reply.problem`); unknown problems get a reason too."""
    name = f"reply:{problem}"
    known = reason_named(name)
    if known is not None:
        return known
    return Reason(name, MALFORMED, name, "The reply did not arrive in full.", "", ReplyDetails)


def rule_of(name: str | None, detail: Mapping[str, object]) -> str:
    """The rule of a reason; for an unknown reason, the rule that the line has."""
    known = reason_named(name)
    if known is not None:
        return known.rule
    told = detail.get("rule")
    return told if isinstance(told, str) else ""


def remedy_of(name: str) -> str:
    """What to do about a reason, in words; empty for an unknown one."""
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
    if known is None and name.startswith(("adapter:", "harness:")):
        return TroubleDetails.of_json(detail)
    details = _details(known, detail)
    if isinstance(details, TriedDetails):
        details.attempts = tuple(_attempts(detail.get("sub_errors")))
    return details


def _details(reason: Reason | None, detail: Mapping[str, object]) -> Details:
    family = CallDetails if reason is None else reason.details
    assert issubclass(family, Details)
    return family.of_json(detail)


def _attempts(listed: object) -> Iterator[Attempt]:
    for each in listed if isinstance(listed, list) else ():
        call, reason = (each.get("call"), each.get("reason")) if isinstance(each, Mapping) else (None, None)
        if type(call) is int and call >= 0 and isinstance(reason, str):
            yield Attempt(call, reason, _details(reason_named(reason), each))
