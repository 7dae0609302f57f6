"""Reasons of the retired categories: executed calls and chats (docs/reasons.md)."""

from __future__ import annotations

from functools import partial

from pytest_bfcl.checkers.details import (
    ResultCountDetails,
    ResultDetails,
    ResultMatchDetails,
    UndueDetails,
    UnreadDetails,
)
from pytest_bfcl.checkers.reasons import COUNT_REMEDY, COUNTED, MALFORMED, ONE_NOTATION, WRONG
from pytest_bfcl.failures import Reason

_unread = partial(Reason, tag=MALFORMED, details=UnreadDetails)
_result_count = partial(Reason, tag=WRONG, details=ResultCountDetails)
_result = partial(Reason, tag=WRONG, details=ResultDetails)

UNREADABLE_EXECUTED = _unread(
    "executable_decoder:decoder_failed",
    rule="the reply must be a call and nothing else",
    headline="{unread}",
    remedy=ONE_NOTATION,
)
WRONG_SHAPE_EXECUTED = _unread(
    "executable_decoder:wrong_output_format",
    rule="the reply must be a list of calls with named arguments",
    headline="Its reply is not a list of calls with named arguments: {called:110}.",
    remedy=ONE_NOTATION,
)
CHAT_CALL = Reason(
    "chat:call_made",
    tag=WRONG,
    rule="no tool is offered, so no call may be made",
    headline="It called {calls:150} although no tool was offered.",
    remedy="The model calls from habit: offer it a conversation without tools.",
    details=UndueDetails,
)
CHAT_SILENCE = Reason(
    "chat:no_text",
    tag=MALFORMED,
    rule="the reply must have text",
    headline="Its reply has no text.",
    remedy="Look at the finish reason: reasoning may have used up the tokens.",
    details=UndueDetails,
)

_UNEXECUTED_REMEDY = "The error is the function's own: usually an argument that it does not take."
_RESULT_REMEDY = "The form of the call is right but its result is not: compare its arguments with the expected call's."

RESULT_COUNT_SIMPLE = _result_count(
    "simple_exec_checker:wrong_count",
    rule="exactly one call is expected",
    headline=COUNTED,
    remedy=COUNT_REMEDY,
)
RESULT_COUNT = _result_count(
    "value_error:exec_result_count",
    rule="as many calls as expected ones",
    headline=COUNTED,
    remedy=COUNT_REMEDY,
)
RESULT_ERROR = _result(
    "executable_checker:execution_error",
    rule="the call must give a result",
    headline="The call gives no result: {error:160}",
    remedy=_UNEXECUTED_REMEDY,
)
RESULT = _result(
    "executable_checker:wrong_result",
    rule="the result must equal the expected one",
    headline="The call gives {called:90}; expected is {expected:110}.",
    remedy=_RESULT_REMEDY,
)
RESULT_REAL_TIME = _result(
    "executable_checker:wrong_result_real_time",
    rule="the number must be within 20 % of the expected one",
    headline="The call gives {called:90}, which is not within 20 % of {expected:90}.",
    remedy=_RESULT_REMEDY,
)
RESULT_TYPE = _result(
    "executable_checker:wrong_result_type",
    rule="the result must be of the expected type",
    headline="The call gives {called:90}, which is not of the type of {expected:90}.",
    remedy=_RESULT_REMEDY,
)
RESULT_LENGTH = _result(
    "executable_checker:wrong_result_type:list_length",
    rule="the list must be as long as the expected one",
    headline="The call gives a list of another length than expected: {called:110}.",
    remedy=_RESULT_REMEDY,
)
RESULT_KEY_MISSING = _result(
    "executable_checker:wrong_result_type:dict_key_not_found",
    rule="the object must have every expected key",
    headline="The call gives an object without an expected key: {called:110}.",
    remedy=_RESULT_REMEDY,
)
RESULT_KEY_EXTRA = _result(
    "executable_checker:wrong_result_type:dict_extra_key",
    rule="the object must have no other keys",
    headline="The call gives an object with a key that is not expected: {called:110}.",
    remedy=_RESULT_REMEDY,
)
RESULT_NO_MATCH = Reason(
    "executable_checker:cannot_find_match",
    tag=WRONG,
    rule="every expected result needs its own call",
    headline="None of its calls gives the expected {expected:130}.",
    remedy="The results of the calls tried for it are listed.",
    details=ResultMatchDetails,
)
REST_COUNT = _result_count(
    "executable_checker_rest:wrong_count",
    rule="exactly one request is expected",
    headline=COUNTED,
    remedy=COUNT_REMEDY,
)
REST_ERROR = _result(
    "executable_checker_rest:execution_error",
    rule="the request must get a response",
    headline="The request gets no response: {error:160}",
    remedy="The address or the arguments of the request are wrong; if a service is down, the entry is skipped.",
)
REST_STATUS = _result(
    "executable_checker_rest:wrong_status",
    rule="the service must answer with status 200",
    headline="The request is refused: {error:160}.",
    remedy="The address or the arguments of the request are wrong.",
)
REST_TYPE = _result(
    "executable_checker_rest:wrong_type",
    rule="the response must be of the recorded type",
    headline="The response is not the recorded kind: {error:160} ({called_text:60}, expected {expected_text:60}).",
    remedy="Another address of the service answers: compare it with the expected one.",
)
REST_LENGTH = _result(
    "executable_checker_rest:wrong_length",
    rule="the list must be as long as the recorded one",
    headline="The response has {called_text:40} where {expected_text:40} are expected.",
    remedy="A limit or a filter of the request differs.",
)
REST_KEY = _result(
    "executable_checker_rest:wrong_key",
    rule="every object must have the recorded keys, no more and no fewer",
    headline="In the response {error:160}: {called:110}.",
    remedy="Another address answers, or the service has changed: compare with its recording.",
)
SQL_COUNT = _result_count(
    "sql_checker:wrong_count",
    rule="exactly one call is expected",
    headline=COUNTED,
    remedy=COUNT_REMEDY,
)
SQL_NAME = _result(
    "sql_checker:wrong_func_name",
    rule="the function must be the offered one, spelled exactly",
    headline="It called {called_text:90}; offered is {expected_text:90}.",
    remedy="There is one function to call.",
)
SQL_REFUSED = _result(
    "sql_checker:refused",
    rule="the call must describe one query that only reads the given tables",
    headline="The query is not carried out: {error:160}",
    remedy="It writes, names other tables, or holds several statements.",
)
SQL_ERROR = _result(
    "sql_checker:execution_error",
    rule="the query must give rows",
    headline="The query gives no rows: {error:160}",
    remedy="The error is the database's own: usually a column that does not exist.",
)
SQL_ROWS = _result(
    "sql_checker:wrong_result",
    rule="the rows must be the expected ones",
    headline="The query gives {called:100}; expected is {expected:110}.",
    remedy="Any query that gives these rows is right; a condition or a join differs.",
)

REASONS = tuple(each for each in tuple(globals().values()) if isinstance(each, Reason))
"""All of them."""
