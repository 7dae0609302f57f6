"""What an HTTP answer that is not a reply means: our error, the model's failure, or a wish to try again.

The rules are shared by the OpenAI-compatible adapter and the litellm adapter, which sees the same texts through
exceptions.
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Iterable, Mapping

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models.base import ToolsRefused
from pytest_bfcl.models.redaction import redact
from pytest_bfcl.transcript import Reply

CONTEXT_OVERFLOW = re.compile(
    r"context[_ ]length|context[_ ]window|maximum context|context limit"
    r"|max(?:imum)? (?:input|prompt|sequence) (?:tokens|length)"
    r"|prompt (?:is )?too long|input (?:is )?too long|too many (?:input )?tokens|exceeds? (?:the )?(?:model'?s )?"
    r"(?:maximum|available) context|input token count .{0,40}exceeds|exceed_context_size|reduce the length of the"
    r"|longer than the model'?s context|(?:prompt|input)[^.]{0,60}exceeds[^.]{0,40}(?:tokens|length)",
    re.IGNORECASE,
)
"""Texts by which servers say that the conversation no longer fits; the model's failure (contract §6)."""

CONTENT_FILTER = re.compile(
    r"content[_ ](?:filter|policy|management)|responsible ?ai|safety system|moderation|usage polic", re.IGNORECASE
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

_SCAN_LIMIT = 20_000  # characters of an error body that are looked at
_QUOTA = re.compile(r"insufficient[_ ](?:quota|balance|credit|funds)|exceeded your current quota|billing|out of credits"
                    r"|credit balance", re.IGNORECASE)  # fmt: skip


def http_fault(
    status: int,
    text: str,
    headers: Mapping[str, str] | None = None,
    *,
    endpoint: str = "the endpoint",
    model: str = "",
    secrets: Iterable[str] = (),
    tools_sent: bool = False,
) -> AdapterError | Reply:
    """The meaning of an HTTP status and error text.

    Returns a `Reply` with ``problem`` for context overflow and content filter (the model's), else the `AdapterError` to
    raise; a `ToolsRefused` only if tools were sent.
    """
    headers, text = headers or {}, text[:_SCAN_LIMIT]
    shown = redact(text, secrets) or "no message"
    message = f"{endpoint} answered HTTP {status}: {shown}"
    if status in (400, 413, 422, 500) and CONTEXT_OVERFLOW.search(text):
        return Reply(problem="context_overflow", finish_reason="context_overflow")
    if status in (400, 403, 422) and CONTENT_FILTER.search(text):
        return Reply(problem="content_filter", finish_reason="content_filter")
    if tools_sent and status in (400, 404, 405, 422, 500, 501) and TOOLS_REFUSED.search(text):
        return ToolsRefused(message, status=status)
    if status in (401, 403):
        advice = "check the key in the environment and what it may use (pytest-bfcl models lists the variables)"
        return AdapterError("auth", message, advice=advice, status=status)
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(text)):
        return AdapterError("quota", message, advice="top up the account or raise its limit", status=status)
    if status == 404:
        named = f" and the model name {model!r}" if model else ""
        advice = f"check the base URL (it usually ends in /v1){named}"
        return AdapterError("bad_request", message, advice=advice, status=status)
    if status == 429:
        return AdapterError(
            "rate_limit", message, advice="lower --bfcl-concurrency", status=status, retryable=True,
            retry_after_s=retry_after(headers),
        )  # fmt: skip
    if status in (408, 409, 425) or status >= 500:
        kind = "timeout" if status in (408, 504) else "server"
        return AdapterError(kind, message, status=status, retryable=True, retry_after_s=retry_after(headers))
    return AdapterError("bad_request", message, status=status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks us to wait (``Retry-After`` as seconds or date, ``retry-after-ms``), if it does."""
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
