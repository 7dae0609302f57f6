"""Whether a recorded reply may be taken for what is right: it came to a normal end, and nothing broke it off.

The rules are the house's (`pytest_bfcl.bodies`, `pytest_bfcl.endings`, `pytest_bfcl.formats.said`): here are the places
where logs keep endings and their exporters a status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_bfcl.bodies import record_trouble
from pytest_bfcl.checkers.ends import is_answered
from pytest_bfcl.endings import Ending, ending_of, problem_of
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies import Said, UnknownShape, read_reply
from pytest_bfcl.transcript import Reply

_ENVELOPES = ("choices", "candidates", "output", "stop_reason")
"""What a whole body of an API has, which then says how it ended."""
_ERROR_CODES = frozenset(("2", "error", "status_code_error", "failed", "failure"))


def response_trouble(request: Fields, response: object) -> str | None:
    """Why a response of an API is no truth, with its field; ``None`` for a normal one and for bare messages."""
    if not isinstance(response, Mapping):
        return None
    for name in ("choices", "candidates"):
        listed = response.get(name)
        if isinstance(listed, list) and len(listed) > 1:
            return f"response.{name}: {len(listed)} replies to one request, and nobody says which counts"
    typed = response.get("type") == "message"
    if not typed and not any(name in response for name in _ENVELOPES):
        trouble = record_trouble(response)
        return None if trouble is None else f"response: {trouble}"
    try:
        reply = read_reply(response)
    except UnknownShape as error:
        raise UnknownShape(f"response: {error}") from None
    if reply.finish_reason is None and reply.problem is None:
        return "response: it does not say how the reply ended (finish_reason, stop_reason, finishReason or status)"
    if is_refusal(response) or ending_of(reply.finish_reason) is Ending.REFUSED:
        return REFUSAL
    if (problem := problem_of(reply)) is not None:
        return f"response: the reply ended with {reply.finish_reason!r} ({problem})"
    if not reply.tool_calls and may_not_call(request):
        return "tool_choice: none: a model that may not call says nothing about calls"
    return None


REFUSAL = "response: the model refused to answer, which says nothing about calls"


def is_refusal(said: object, depth: int = 5) -> bool:
    """Whether a message or response holds the text of a refusal: a field ``refusal``, or a part of that type."""
    if isinstance(said, Mapping):
        text = said.get("refusal")
        return (isinstance(text, str) and bool(text)) or (depth > 0 and is_refusal(list(said.values()), depth - 1))
    return isinstance(said, list) and any(is_refusal(each, depth) for each in said)


def may_not_call(request: Fields) -> bool:
    """Whether a request forbids calls."""
    choice = request.get("tool_choice")
    kind = choice.get("type", choice.get("mode")) if isinstance(choice, Mapping) else choice
    if isinstance(kind, str) and kind.lower() == "none":
        return True
    config = request.get("toolConfig") or request.get("tool_config")
    calling = next((config[name] for name in ("functionCallingConfig", "function_calling_config") if name in config),
                   None) if isinstance(config, Mapping) else None  # fmt: skip
    return isinstance(calling, Mapping) and str(calling.get("mode")).upper().endswith("NONE")


def word_trouble(words: object, said: Sequence[Said], field: str) -> str | None:
    """The same for an ending that stands apart from its reply, as tracers keep it; ``None`` where they kept none."""
    listed = [words] if isinstance(words, str) else words
    if not isinstance(listed, list) or not listed:
        return None
    if len(listed) > 1:
        return f"{field}: {len(listed)} replies to one request, and nobody says which counts"
    last = said[-1] if said and said[-1].who == "model" else Said("model")
    problem = problem_of(Reply(last.text, last.calls, finish_reason=str(listed[0])))
    return None if problem is None else f"{field}: the reply ended with {listed[0]!r} ({problem})"


def span_trouble(span: Fields, attributes: Fields) -> str | None:
    """What a span's own status says against it."""
    status = span.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else span.get("status_code")
    if code is not None and str(code).lower() in _ERROR_CODES:
        return f"status: {code}"
    if attributes.get("error.type"):
        return f"error.type: {str(attributes['error.type'])[:80]}"
    if any(event.get("name") == "exception" for event in span.get("events") or () if isinstance(event, Mapping)):
        return "events: an exception"
    return None


def said_trouble(said: Said, functions: Sequence[Fields]) -> str | None:
    """Why a reply without a call is no answer without a call: a call was left in it, or it holds thoughts only."""
    if said.calls:
        return None
    if lost_calls(said.text, functions) is not None:
        return "a call was left in the text of the reply"
    return None if is_answered(Reply(said.text)) else "the reply holds thoughts and nothing else"
