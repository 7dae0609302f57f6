"""Every reason an entry can fail or err for: name, tag, rule, headline, remedy, details and advice in one place.

Those of categories that an extension judges are its own (`reason_named` knows them, too).

Names are the reference's error types where it has one, ours otherwise (docs/contracts.md, "Tags and reasons"). A
reason added here is complete: `pytest_bfcl.explaining` puts it into words by its family of details, and docs/reasons.md
is written from this table. Headlines name what a case tells in braces, with the number of characters there is room for;
the names of a family stand in `pytest_bfcl.explaining.headlines`.
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

ONE_NOTATION = "Look at the reply: the model has to answer with calls only, in the notation its prompt asks for."

UNREADABLE = _unread(
    "ast_decoder:decoder_failed",
    rule="the reply must be a call and nothing else",
    headline="{unread}",
    remedy=f"{ONE_NOTATION} If it calls in a format of its own, ask it natively (`@fc`).",
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
    rule="a call is due, whichever it is",
    headline="It called nothing, although one of the offered functions fits the request.",
    remedy="Read the reply: a question back or a refusal does not count here. A call in another notation: see above.",
    advice=advice.unread_reply,
)

# -- replies the provider cut or refused: the failure of what arrived is put down to it --

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
    remedy="Look at the reasoning: often the tokens were used up by it, or a parser took the answer for a thought.",
)

# -- the number of calls --

COUNTED = "It made {made}, where {due}."
COUNT_REMEDY = "Read the calls side by side: split into several, made twice, or one of several left out."

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
    remedy=f"{COUNT_REMEDY} Some servers pass on the first call only: look for a switch for parallel calls.",
)
NO_MATCH = Reason(
    "parallel_function_checker_no_order:cannot_find_match",
    tag=WRONG,
    rule="every expected call needs a call of its own that fits",
    headline="{unmatched}",
    remedy="The closest call is shown beside the expected one; its marks say what differs.",
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
    remedy="The value stands in the request, or follows from it.",
    advice=advice.unnamed_argument,
)
UNEXPECTED_PARAM = _call(
    "simple_function_checker:unexpected_param",
    rule="an argument that is not expected must not be given",
    headline="The call gives the argument “{param:60}”, which {why_unexpected}.",
    remedy="Optional arguments the request does not speak of are to be left out.",
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
    remedy="The schema was offered as its author wrote it; guided decoding by it cures this.",
)

# -- one value --

_OF_TYPE = "The argument “{param:60}” is {called:90}, which is not of type {type:60}."
_AS_TEXT = "The argument “{param:60}” is {called:90}; it has to be sent as source text, in quotes."

TYPE = _value(
    "type_error:simple",
    rule="the argument must be of the documented type",
    headline=_OF_TYPE,
    remedy="Usually a number or list sent as a text; guided decoding by the tool's schema cures it.",
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
    remedy="The documents of these functions say so: the value is Java source text.",
    advice=advice.value_instead_of_text,
)
JAVASCRIPT_TEXT = _value(
    "type_error:js",
    rule="values of JavaScript functions are sent as text",
    headline=_AS_TEXT,
    remedy="The documents of these functions say so: the value is JavaScript source text.",
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
    remedy="The error names the key that is missing or too much.",
)
OBJECT_VALUE = _value(
    "value_error:dict_value",
    rule="the value under a key must be an allowed one",
    headline="{broken_value}",
    remedy="The key and what it may be are named.",
)
OBJECT_COUNT = _value(
    "value_error:list_dict_count",
    rule="the list must have as many objects as an allowed one",
    headline="{broken_value}",
    remedy="An object was left out, split, or made up.",
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
    remedy="The argument has to be left out.",
    mark="no object is allowed",
)

# -- calls where none is due --

UNDUE_CALL = _undue(
    "irrelevance_error:decoder_success",
    rule="no call is due: none of the functions fits the request",
    headline="It called {calls:150} although none of the offered functions fits the request.",
    remedy="The model should say what is missing. A server that forces calls (`tool_choice`) fails all of these.",
)
UNDUE_ATTEMPT = _undue(
    "irrelevance_error:malformed_call",
    rule="no call is due, and a broken one is attempted",
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
    remedy="What differs is listed, and earlier calls that may be the cause.",
    details=StateDetails,
)
RESULTS = Reason(
    "multi_turn:execution_response_mismatch",
    tag=WRONG,
    rule="the results of all expected calls must have been obtained by now",
    headline="By the end of {turn} it had not obtained the result of {missing_calls:110}.",
    remedy="A step was skipped, or taken with other arguments: the missing results are listed with their calls.",
    details=ObtainedDetails,
)
FORCED_END = Reason(
    "multi_turn:force_terminated",
    tag=WRONG,
    rule="every turn must be reached; more than 20 steps in one turn end the conversation",
    headline="It did not come to an end: the step limit stopped it ({called_turns:60}).",
    remedy="The model repeats itself: look at the last turn. It has to end a turn with words.",
    details=EndDetails,
)
QUIET_TURN = Reason(
    "multi_turn:irrelevance_error:decoder_success",
    tag=WRONG,
    rule="no call is due in this turn",
    headline="It called {calls:150} in {turn} where no call was due.",
    remedy="Something is missing that only the next turn brings; the model should ask for it (corrected rule C17).",
    details=QuietTurnDetails,
)

# -- final messages --

NO_MESSAGE = Reason(
    "agentic:no_last_message",
    tag=MALFORMED,
    rule="the conversation must end with a message, not with a call",
    headline="It never came to a final message: its last step still called something.",
    remedy="The model did not stop calling within the step limit.",
    details=AnswerDetails,
)
NO_ANSWER = Reason(
    "agentic:answer_not_found",
    tag=WRONG,
    rule="the final message must contain an accepted answer as a word of its own",
    headline="Its final message does not contain {accepted:90}{quoted}",
    remedy="Follow its searches or its memory: the answer was found and not said, or never found.",
    details=AnswerDetails,
)
SERVER_STATE = Reason(
    "mcp:state_mismatch",
    tag=WRONG,
    rule="the server must tell of its state what the entry expects",
    headline="The server's state differs: {asked:80} tells {told:90}, expected {wanted:90}",
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
    rule="what the checker that the entry names says, of whatever package offers it",
    headline="The entry's own checker does not accept it: {error}",
    remedy="Ask the checker's author: it is not one of this package's.",
    details=TroubleDetails,
)

# -- trouble that is not the model's: no verdict, an error, in no accuracy --


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
"""Name → reason, the model's first."""


@cache
def all_reasons() -> Mapping[str, Reason]:
    """Those of installed groups of categories as well (`pytest_bfcl.checkers.plugged.CategoryGroup`)."""
    found = dict(REASONS)
    for point in entry_points.offered("categories").values():
        with suppress(UsageError):  # told where an entry of theirs is to be judged
            for each in entry_points.load(point, "group of categories").every_reason():
                found.setdefault(each.name, each)
    return found


def reason_named(name: str | None) -> Reason | None:
    """The reason of this name; ``None`` where nobody here knows it."""
    return REASONS.get(name or "") or all_reasons().get(name or "")


def reply_reason(problem: str) -> Reason:
    """The reason for a reply with this problem (`Reply.problem`), also for one that no adapter of ours tells."""
    name = f"reply:{problem}"
    known = reason_named(name)
    if known is not None:
        return known
    return Reason(name, MALFORMED, name, "The reply did not arrive in full.", "", ReplyDetails)


def rule_of(name: str | None, detail: Mapping[str, object]) -> str:
    """The rule a reason stands for, in words; of a reason nobody knows, what the line says."""
    known = reason_named(name)
    if known is not None:
        return known.rule
    told = detail.get("rule")
    return told if isinstance(told, str) else ""


def remedy_of(name: str) -> str:
    """What to do about a reason, in words; empty for one nobody knows."""
    known = reason_named(name)
    return "" if known is None else known.remedy


def details_of(reason: str | None, detail: Mapping[str, object]) -> Details:
    """The details of a failure from its result line, by the family of its reason; never raises.

    A failure put down to a cut reply has the details of its ``underlying`` reason. Reasons nobody knows (a line of
    another version) have those of a call, or of trouble where the name says so.
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
