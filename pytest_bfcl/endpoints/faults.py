"""The meaning of an HTTP answer that is no reply: an infrastructure error, the model's failure, or a retry.

Our own adapter and the litellm adapter, which reads the same texts from exceptions, share these rules. Status, code and
type decide, the text only without them. A text alone never means that money or a limit of the account is used up.
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pytest_bfcl.bodies import is_error
from pytest_bfcl.endings import Ending, UnknownEnding, ending_of, first_choice
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.redaction import redact
from pytest_bfcl.spread_json import NOT_JSON, json_or
from pytest_bfcl.transcript import Reply
from pytest_bfcl.troubles import AdapterTrouble


class EndpointUnreachable(AdapterError):
    """No connection could be made at all: unknown host, no route, no server.

    ``refused``: no server listens on this machine, or the name has no host, so waiting does not help.
    """

    def __init__(self, message: str, *, advice: str = "", refused: bool = False) -> None:
        super().__init__(AdapterTrouble.CONNECTION, message, advice=advice, retryable=True)
        self.refused = refused


class ToolsRefused(AdapterError):
    """The endpoint refuses ``tools``: with ``--bfcl-mode auto`` the run switches to prompting, once."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(
            AdapterTrouble.BAD_REQUEST,
            message,
            advice="use --bfcl-mode prompt, add @prompt to the model, or start the server with a tool-call parser",
            status=status,
        )


_OVERFLOW = re.compile(
    r"context[_ ]length|context[_ ]window|maximum context|context limit|context size"
    r"|max(?:imum)? (?:input|prompt|sequence|model) (?:tokens|length)"
    r"|prompt (?:is )?too long|input (?:is )?too long|too many (?:input )?tokens|exceeds? (?:the )?(?:model'?s )?"
    r"(?:maximum|available) context|input token count .{0,40}exceeds|exceed_context_size|reduce the length of the"
    r"|longer than the (?:maximum )?model'?s? (?:context|length)"
    r"|(?:prompt|input)[^.]{0,60}exceeds[^.]{0,40}(?:tokens|length)"
    r"|tokens\W{0,3} ?\+ ?\W?max_new_tokens\W? must be|max_seq_len|should not exceed max_num_tokens"
    r"|exceeded model token limit|prompt token count of \d+ exceeds|request_too_large|string_above_max_length",
    re.IGNORECASE,
)
"""Texts by which servers report that the conversation is too long; the model's failure (contract §6)."""
_OVERFLOW_CODES = re.compile(
    r"context_?length|context_?window|exceed_context|request_too_large|string_above_max_length|(?:prompt|input)_?too_?long",
    re.IGNORECASE,
)

_FILTER = re.compile(
    r"content[_ ](?:filter|policy|management)|responsible ?ai|safety system|moderation|usage polic", re.IGNORECASE
)
_FILTER_CODES = re.compile(
    r"content_?filter|content_?policy|responsibleai|moderation|data_inspection|safety", re.IGNORECASE
)
_ABOUT_THE_ACCOUNT = re.compile(
    r"account|suspend|disabled|deactivat|terminat|organi[sz]ation|\bkey\b|access|region|country|subscri", re.IGNORECASE
)

TOOLS_REFUSED = re.compile(
    r"does(?: not|n't) support (?:tools?|function[ _-]?call|tool[ _-]?(?:use|call)|native tool)"
    r"|(?:tools?|tool[ _]?(?:use|call\w*|choice)|function[ _]?call\w*)['\"`]? (?:is|are) (?:not|un)[ _]?"
    r"(?:supported|available)"
    r"|not support(?:ed)? .{0,30}(?:tools?\b|function[ _-]?call)"
    r"|enable-auto-tool-choice|tool-call-parser|--jinja|support tool use|unsupported[^.]{0,30}['\"`]tools['\"`]"
    r"|(?:unrecognized|unknown|unexpected|extra)[^.]{0,40}['\"`]?\b(?:tools|tool_choice|functions)\b(?!['\"`]?(?:,|\[|\.\d))",
    re.IGNORECASE,
)

_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^<>]{0,500}>", re.DOTALL)
_SCAN_LIMIT = 20_000  # characters of an error body that are looked at
_QUOTA_CODES = re.compile(
    r"insufficient_?(?:quota|balance|credits?|funds)|billing|quota_?exhausted|credits?_exhausted|payment_required|arrearage",
    re.IGNORECASE,
)
_RATE = (
    r"rate[ _-]?limit|too[ _]?many[ _]?requests|throttl|tokens_exceeded|resource_?exhausted|request_?limit_?exceeded"
)
_STATUS_OF = (
    (re.compile(_RATE, re.IGNORECASE), 429),
    (re.compile(r"auth|invalid_api_key|unauthenticated", re.IGNORECASE), 401),
    (re.compile(r"permission|forbidden", re.IGNORECASE), 403),
    (re.compile(r"not_?found", re.IGNORECASE), 404),
    (re.compile(r"overloaded|unavailable|not_?ready", re.IGNORECASE), 503),
    (re.compile(r"timeout", re.IGNORECASE), 504),
    (re.compile(r"server_?error|server_?exception|internal_?error|api_error", re.IGNORECASE), 500),
    (re.compile(r"invalid|bad_?request|context_length|content_?filter|unsupported", re.IGNORECASE), 400),
)

_PASSING = frozenset((408, 409, 425, 429, 498))
"""Status of temporary errors, like all from 500 on: retried."""
_PASSING_WORDS = re.compile(
    rf"{_RATE}|\bper (?:sec|min|hour|day)|please wait|wait before|try(?:ing)? again (?:later|in |soon)|temporar"
    r"|unavailable|overloaded",
    re.IGNORECASE,
)
_NAMES = ("code", "type", "__type", "status", "reason")
_NAMED = re.compile(
    rf"['\"](?:{'|'.join(_NAMES)})['\"]\s*:\s*['\"]?([\w.:-]{{1,80}})"
    r"|\b(\w{0,40}(?:Throttling|TooMany|Unavailable|Timeout|NotReady|InternalServer|Validation)\w{0,40}Exception)\b"
)
"""The code or type in a text that is not completely JSON: after a client's own words, or cut."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A parsed error body: its message, code, type and status."""

    message: str
    words: str = ""
    html: bool = False

    @property
    def status(self) -> int:
        """The HTTP status that code and type mean; 0 without either."""
        number = next((int(word) for word in self.words.split() if word.isdecimal() and 400 <= int(word) < 600), 0)
        if number and number != 400:  # which says no more than that something is wrong
            return number
        return next((found for pattern, found in _STATUS_OF if pattern.search(self.words)), number)


def http_fault(
    status: int,
    text: str,
    headers: Mapping[str, str] | None = None,
    *,
    endpoint: str = "the endpoint",
    model: str = "",
    secrets: Iterable[str] = (),
    tools_sent: bool = False,
    inside: bool = False,
) -> AdapterError | Reply:
    """The meaning of an HTTP status and error text.

    Returns a `Reply` with ``problem`` for context overflow and content filter (the model's), else the `AdapterError` to
    raise; a `ToolsRefused` only if tools were sent. Only code, type or status 402 mean an exhausted quota. It stays
    retryable, because the caller retries once before it believes it. ``inside``: the error came in the body of an
    HTTP 200, and ``status`` is its own.
    """
    headers, text = headers or {}, text[:_SCAN_LIMIT]
    said = _read(text, headers)
    answered = f"HTTP 200 with {f'error {said.status}' if said.status else 'an error'}" if inside else f"HTTP {status}"
    message = f"{endpoint} answered {answered}: {redact(said.message, secrets) or 'no message'}"
    if problem := _problem(status, said, text):
        return Reply(problem=problem, finish_reason=problem)
    if status in (400, 403, 413, 422) and not _QUOTA_CODES.search(said.words):
        status = _passing_status(status, said, text)
    if tools_sent and status in (400, 404, 405, 422, 500, 501) and TOOLS_REFUSED.search(text):
        return ToolsRefused(message, status=status)
    wait = retry_after(headers)
    if status == 402 or (status in (400, 401, 403, 429) and _QUOTA_CODES.search(said.words)):
        return AdapterError(
            AdapterTrouble.QUOTA,
            message,
            advice="top up the account or raise its limit",
            status=status,
            retryable=True,
            retry_after_s=wait,
        )
    if status == 401 or (status == 403 and not said.html):
        advice = "check the key in the environment and what it may use (pytest-bfcl models lists the variables)"
        return AdapterError(AdapterTrouble.AUTH, message, advice=advice, status=status)
    if status == 403:
        advice = "a page, not the API's own answer: look at the proxy or firewall in between"
        return AdapterError(
            AdapterTrouble.AUTH, message, advice=advice, status=status, retryable=True, retry_after_s=wait
        )
    if status in (404, 405) or 300 <= status < 400:
        named = f" and the model name {model!r}" if model else ""
        advice = f"check the base URL (it usually ends in /v1){named}"
        if elsewhere := redact(headers.get("Location", "").partition("?")[0], secrets):
            advice = (
                f"it sends requests to {elsewhere}, where none goes with a key: if that is right, name that base URL"
            )
        return AdapterError(AdapterTrouble.BAD_REQUEST, message, advice=advice, status=status)
    if status in (429, 498):  # 498: no capacity left in the account's tier (Groq)
        return AdapterError(
            AdapterTrouble.RATE_LIMIT,
            message,
            advice="lower --bfcl-concurrency",
            status=status,
            retryable=True,
            retry_after_s=wait,
        )
    if _passes(status):
        kind = AdapterTrouble.TIMEOUT if status in (408, 504) else AdapterTrouble.SERVER
        return AdapterError(kind, message, status=status, retryable=True, retry_after_s=wait)
    keep = "--bfcl-reasoning keep gives reasoning back with every call" if "reasoning_content" in message else ""
    return AdapterError(AdapterTrouble.BAD_REQUEST, message, advice=keep, status=status)


class ErrorInBody(NamedTuple):
    """An error that came with HTTP 200: its real status, and its text.

    ``ending``: the ending word of its reply.
    """

    status: int
    text: str
    ending: str | None = None

    def as_ending(self, fault: AdapterError | Reply) -> AdapterError | Reply:
        """The result of `http_fault`, as the ending of a reply that had begun without a clearer code."""
        if self.ending is None or isinstance(fault, Reply | ToolsRefused):
            return fault
        if fault.kind in (AdapterTrouble.AUTH, AdapterTrouble.QUOTA, AdapterTrouble.RATE_LIMIT):
            return fault
        why = f"the reply ended with {self.ending!r}, in an error: {fault.message}"
        return UnknownEnding(self.ending, why, status=fault.status)


def error_in(body: object) -> ErrorInBody | None:
    """The error in place of a reply, next to one or inside one; ``None`` without one."""
    if not isinstance(body, Mapping):
        return None
    choice = first_choice(body) or {}
    error = next(filter(is_error, (body.get("error"), choice.get("error"))), None)
    if not error and body.get("object") == "error":
        error = {name: value for name, value in body.items() if name != "object"}
    if not error:
        return None
    words, status = "", 0
    if isinstance(error, Mapping):
        words = _telling(error.get(name) for name in ("code", "status_code", *_NAMES[1:]))
        status = _Said("", words).status
    text = json.dumps({"error": error}, default=str) if not isinstance(error, str) else error
    begun = bool(choice) or any(isinstance(body.get(name), list) for name in ("output", "content"))
    word = choice.get("finish_reason") or body.get("status") or body.get("stop_reason")
    named = word if isinstance(word, str) and ending_of(word) is Ending.TROUBLE else "error"
    return ErrorInBody(status or 500, text, named if begun else None)


def looks_like_a_page(text: str) -> bool:
    """Whether a body is HTML or XML: from another server, a proxy or a firewall."""
    start = text.lstrip()[:200].lower()
    return start.startswith(("<!doctype", "<html", "<head", "<?xml", "<body")) or "</" in start


def first_words(text: str, secrets: Iterable[str] = ()) -> str:
    """The first words of a body, without markup."""
    return redact(_read(text[:_SCAN_LIMIT]).message, secrets, limit=120) or "nothing"


def is_overflow(text: str) -> bool:
    """Whether a text reports that the conversation is too long, and not that a retry may help."""
    return bool(_OVERFLOW.search(text)) and not _PASSING_WORDS.search(text)


def _passes(status: int) -> bool:
    return status in _PASSING or status >= 500


def _problem(status: int, said: _Said, text: str) -> str | None:
    """``context_overflow`` or ``content_filter``, if the answer reports the model's failure."""
    if said.html or status not in (400, 403, 413, 422, 500):
        return None
    if status != 403 and _OVERFLOW_CODES.search(said.words):
        return "context_overflow"
    if _passes(said.status):
        return None
    if status in (400, 403, 422) and _FILTER_CODES.search(said.words):
        return "content_filter"
    if status == 403 or _QUOTA_CODES.search(said.words):
        return None
    if is_overflow(text):
        return "context_overflow"
    about = _PASSING_WORDS.search(text) or _ABOUT_THE_ACCOUNT.search(said.message)
    return "content_filter" if status in (400, 422) and _FILTER.search(text) and not about else None


def _passing_status(status: int, said: _Said, text: str) -> int:
    """The status of a temporary error, by its code or type, or by the text without either."""
    if _passes(said.status):
        return said.status
    if status in (400, 422) and not said.words and not said.html and _PASSING_WORDS.search(text):
        return 429 if re.search(_RATE, text, re.IGNORECASE) else 503
    return status


def _read(text: str, headers: Mapping[str, str] | None = None) -> _Said:
    """The message and the significant words of an error body: JSON of any usual shape, a page, or plain text.

    AWS shows its type in a header.
    """
    typed = {name.lower(): value for name, value in (headers or {}).items()}.get("x-amzn-errortype", "")
    if (body := json_or(text, NOT_JSON)) is NOT_JSON:
        if looks_like_a_page(text):
            return _Said(_first_line(_MARKUP.sub("\n", text[:4000])), html=True)
        named = [word for pair in _NAMED.findall(text) for word in pair if word]
        return _Said(_first_line(text), " ".join(filter(None, [typed, *named])))
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(error, list) and error:
        error = error[0]
    if not isinstance(error, Mapping):
        return _Said(str(error) if isinstance(error, str) else text, typed)
    inner = error.get("error")
    if isinstance(inner, Mapping):
        error = inner
    words = [typed, *(error.get(name) for name in _NAMES)]
    words.append(body.get("type") if isinstance(body, Mapping) and body is not error else None)
    nested = error.get("innererror")
    words.append(nested.get("code") if isinstance(nested, Mapping) else None)
    message = error.get("message") or error.get("detail") or error.get("msg")
    shown = " ".join(str(word) for word in words if isinstance(word, str) and word)
    return _Said(
        f"{message} ({shown})" if isinstance(message, str) and shown else str(message or text), _telling(words)
    )


def _telling(words: Iterable[object]) -> str:
    return " ".join(str(word) for word in words if word and type(word) in (str, int))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks us to wait (``Retry-After`` as seconds or date, ``retry-after-ms``), if it does."""
    lowered = {name.lower(): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = lowered.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
            except (TypeError, ValueError, OverflowError):
                continue
        if seconds == seconds:  # not NaN
            return max(seconds, 0.0)
    return None
