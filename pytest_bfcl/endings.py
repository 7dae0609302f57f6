"""How a reply may end: one closed table of words per API, and the result for each class of ending.

Streamed and unstreamed replies, clients, objects of SDKs and stored lines are read by the same table. Words compare
without case, ``-`` as ``_``. A missing or unknown word makes the reply an error. The words are those of the providers'
public references and of servers' sources (November 2026).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache

from pytest_bfcl.bodies import NO_TROUBLE, Trouble
from pytest_bfcl.failures import AdapterError, Verdict
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Reply
from pytest_bfcl.troubles import AdapterTrouble

WORD_LIMIT = 200
"""Characters of an ending's word that are kept."""

UNTOLD = object()
"""Replaces the word of a message that a library keeps without its ending: its content decides."""

NOTHING_SAID = "nothing_said"
MALFORMED_CALL = "malformed_call"
UNFINISHED = "unfinished"
TROUBLE = "ending"
"""Problems of a reply (`Reply.problem`) that are no reasons by the name ``reply:…`` alone, see `problem_of`."""


PASSED_BY_REFERENCE = "takes it for right: it does not look at how a reply ended"
"""In the ``reference`` of a verdict's detail, if only an ending fails it."""


class Ending(StrEnum):
    """The classes of the table: what follows from a word."""

    NORMAL = "normal"
    CALLS = "calls"
    """Normal, and announces calls; without a call it is an error."""
    CUT = "length"
    FILTERED = "content_filter"
    OVERFLOW = "context_overflow"
    MALFORMED = MALFORMED_CALL
    """The model wrote a call that its API could not read."""
    REFUSED = "refused"
    """The model's own refusal: judged as text, and as filtered if there is no content."""
    UNFINISHED = UNFINISHED
    """The provider needs a further request."""
    TROUBLE = TROUBLE


def _words(ending: Ending, words: str) -> dict[str, Ending]:
    return dict.fromkeys(words.split(), ending)


_EOS = _words(Ending.NORMAL, "stop eos eos_token stop_sequence")
_TEXT_ENDS = _EOS | _words(Ending.CUT, "length max_tokens model_length") | _words(Ending.FILTERED, "content_filter")
_GEMINI = (
    _words(Ending.NORMAL, "stop")
    | _words(Ending.CUT, "max_tokens")
    | _words(
        Ending.FILTERED,
        "safety recitation blocklist prohibited_content spii language image_safety image_prohibited_content "
        "image_recitation model_armor",
    )
    | _words(Ending.MALFORMED, "malformed_function_call malformed_response unexpected_tool_call too_many_tool_calls")
)
_ANTHROPIC = (
    _words(Ending.NORMAL, "end_turn stop_sequence")
    | _words(Ending.CALLS, "tool_use")
    | _words(Ending.CUT, "max_tokens")
    | _words(Ending.REFUSED, "refusal")
    | _words(Ending.OVERFLOW, "model_context_window_exceeded")
    | _words(Ending.UNFINISHED, "pause_turn")
)
_BEDROCK = (
    _words(Ending.NORMAL, "end_turn stop_sequence")
    | _words(Ending.CALLS, "tool_use")
    | _words(Ending.CUT, "max_tokens")
    | _words(Ending.FILTERED, "guardrail_intervened content_filtered")
    | _words(Ending.OVERFLOW, "model_context_window_exceeded")
    | _words(Ending.MALFORMED, "malformed_model_output malformed_tool_use")
)
_COHERE = (
    _words(Ending.NORMAL, "complete stop_sequence")
    | _words(Ending.CALLS, "tool_call")
    | _words(Ending.CUT, "max_tokens")
    | _words(Ending.FILTERED, "error_toxic")
)
_ZHIPU = _words(Ending.FILTERED, "sensitive")
_CHAT = _TEXT_ENDS | _words(Ending.CALLS, "tool_calls function_call")
_GATEWAYS = _GEMINI | _ANTHROPIC | _BEDROCK | _COHERE | _ZHIPU | _CHAT
_RESPONSES = (
    _words(Ending.NORMAL, "completed")
    | _words(Ending.CUT, "max_output_tokens max_tokens")
    | _words(Ending.FILTERED, "content_filter")
)

ENDINGS: Mapping[str, Mapping[str, Ending]] = {
    "chat": _GATEWAYS,
    "completions": {word: kind for word, kind in _GATEWAYS.items() if kind not in (Ending.CALLS, Ending.UNFINISHED)},
    "anthropic": _ANTHROPIC | _BEDROCK,
    "responses": _RESPONSES,
    "gemini": _GEMINI,
    "any": _GATEWAYS | _RESPONSES | _words(Ending.OVERFLOW, "context_overflow"),
}
"""API → word → class. Gateways pass on the words of the servers behind them; ``any`` is for replies whose API no
ending: stored lines (with the word of an overflow that `pytest_bfcl.endpoints.faults` writes), objects of SDKs."""

_MARKS = frozenset(("content_filter_results", "content_filter_result", "prompt_filter_results", "content_filters"))
"""Where Azure reports its filter's result: in a choice, the prompt, or a Responses object."""

_PROBLEMS = frozenset((Ending.CUT, Ending.FILTERED, Ending.OVERFLOW, Ending.MALFORMED, Ending.UNFINISHED))


_WEIGHTS = {Ending.NORMAL: 0, Ending.CALLS: 0, Ending.TROUBLE: 2}
"""Which of several endings counts; all others rank between these."""


class UnknownEnding(AdapterError):
    """A reply with an unknown, abnormal ending: none of it counts, and a retry may help.

    ``ending`` is the word, ``none`` without one; ``reply`` what was read until then.
    """

    def __init__(self, word: object, why: str = "", *, status: int | None = None, reply: Reply | None = None) -> None:
        shown = _word_text(word)
        advice = "the server broke the reply off; see its log, and which endings count in docs/answers.md"
        super().__init__(AdapterTrouble.ENDING, why or _why(shown), advice=advice, status=status, retryable=True)
        self.ending = shown
        self.reply = replace(reply or Reply(), finish_reason=shown, problem=TROUBLE)

    @property
    def verdict(self) -> Verdict:
        """The text of an adapter's error, with the word."""
        return super().verdict.with_detail(ending=self.ending)


def _why(word: str) -> str:
    if word == "none":
        return "the reply says no reason why it ended: a broken-off reply is no answer"
    if ENDINGS["any"].get(normal_form(word)) is Ending.CALLS:
        return f"the reply ended with {word!r}, and there is no call in it"
    if ENDINGS["any"].get(normal_form(word)) is Ending.UNFINISHED:
        return f"the reply ended with {word!r} again and again, and never came to an end"
    return f"the reply ended with {word!r}, which is no way a reply ends normally"


def _word_text(word: object) -> str:
    return word[:WORD_LIMIT] if isinstance(word, str) and word.strip() else "none"


def normal_form(word: str) -> str:
    """A word in the table's spelling."""
    return word[:WORD_LIMIT].strip().lower().replace("-", "_")


def ending_of(word: object, api: str = "any") -> Ending:
    """The class of a word; an error for none, and for a word that the API's table does not have."""
    return _kind_of(word[:WORD_LIMIT], api) if isinstance(word, str) else Ending.TROUBLE


@lru_cache(maxsize=256)
def _kind_of(word: str, api: str) -> Ending:
    return ENDINGS[api].get(normal_form(word), Ending.TROUBLE)


def ended(
    reply: Reply,
    word: object,
    api: str,
    *,
    reasoned: bool = False,
    filtered: bool = False,
    trouble: Trouble = NO_TROUBLE,
) -> Reply:
    """A reply with its ending's word, and with the problem that follows from it.

    ``reasoned``: the provider reports thoughts that are not shown. ``filtered``: a filter's mark is next to the reply,
    and outranks the word. ``trouble``: the body's problem, if any. Raises `UnknownEnding` for an error. The word
    `UNTOLD` is neutral.
    """
    if trouble.error is not None:
        raise UnknownEnding(
            trouble.error, f"the reply holds an error beside its ending ({trouble.error[:WORD_LIMIT]})", reply=reply
        )
    kind = Ending.NORMAL if word is UNTOLD else ending_of(word, api)
    if trouble.silent is not None and not has_answer(reply) and kind is Ending.NORMAL:
        why = f"the reply is a block of type {trouble.silent[:60]!r}, and nothing is said in it"
        raise UnknownEnding(trouble.silent, why, reply=reply)
    kind = Ending.FILTERED if filtered else kind
    problem = _problem(reply, kind, reasoned=reasoned)
    if problem == TROUBLE:
        raise UnknownEnding(word, reply=reply)
    return reply.ended(word[:WORD_LIMIT] if isinstance(word, str) else None, problem)


def heavier(first: object, later: object, api: str) -> object:
    """The word that counts of two endings of one reply (``first`` may be none yet). A later one replaces only a normal
    one."""
    if not first:
        return later
    weights = [_WEIGHTS.get(ending_of(word, api), 1) for word in (first, later)]
    return first if weights[0] > weights[1] else later


def problem_of(reply: Reply) -> str | None:
    """The problem of a stored or given reply: its own, else that of its ending.

    ``length``, ``content_filter``, ``context_overflow``, ``nothing_said`` complete ``reply:``; ``malformed_call`` is a
    call that is unreadable, ``ending`` an error. ``None`` for a normal or missing ending.
    """
    if reply.problem or reply.finish_reason is None:
        return reply.problem
    kind = _kind_of(reply.finish_reason[:WORD_LIMIT], "any")
    return None if kind is Ending.CALLS and reply.tool_calls else _problem(reply, kind)


def has_answer(reply: Reply) -> bool:
    """Whether there is content: a call, or a text that is more than white space."""
    return bool(reply.tool_calls or (reply.text and not reply.text.isspace()))


def _problem(reply: Reply, kind: Ending, *, reasoned: bool = False) -> str | None:
    if kind is Ending.TROUBLE or (kind is Ending.CALLS and not reply.tool_calls):
        return TROUBLE
    if kind in _PROBLEMS:
        return kind.value
    if reply.tool_calls or has_answer(reply):
        return None
    if kind is Ending.REFUSED:
        return Ending.FILTERED.value
    # A normal end without a word and without a thought is the reference's empty answer, and judged as such.
    thought = reasoned or reply.reasoning is not None or reply.reasoning_tokens
    return NOTHING_SAID if thought or reply.text else None


def first_choice(body: object) -> Fields | None:
    """The choice with index 0, else the first one."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices:
        return None
    if len(choices) == 1:
        return choices[0] if isinstance(choices[0], Mapping) else None
    numbered = (each for each in choices if isinstance(each, Mapping) and _is_zero(each.get("index")))
    return next(numbered, choices[0] if isinstance(choices[0], Mapping) else None)


def _is_zero(index: object) -> bool:
    return (type(index) is int and index == 0) or index == "0"  # some servers number in texts


def is_marked(*places: object) -> bool:
    """Whether Azure's filter has marked prompt or completion as ``filtered`` (or ``blocked``) in one of the places."""
    for place in places:
        if not isinstance(place, Mapping) or _MARKS.isdisjoint(place):  # as nearly every reply
            continue
        if any(_is_filtered(place.get(name), 4) for name in _MARKS):
            return True
    return False


def _is_filtered(value: object, depth: int) -> bool:
    if isinstance(value, Mapping):
        if value.get("filtered") is True or value.get("blocked") is True:
            return True
        value = list(value.values())
    return depth > 0 and isinstance(value, list) and any(_is_filtered(each, depth - 1) for each in value)
