"""The body of a text completion → `Reply`."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.answers.figures import check_size, count, reasoning_count, served_by
from pytest_bfcl.bodies import chat_trouble
from pytest_bfcl.endings import ended, first_choice, is_marked
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.transcript import Reply
from pytest_bfcl.troubles import AdapterTrouble


def read_text(body: Any) -> Reply:
    """A completion as a `Reply`: the raw text."""
    choice = first_choice(body) or {}
    text = choice.get("text")
    if not isinstance(text, str):
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, "the answer has no choices[0].text", retryable=True)
    check_size(text, [])
    usage = body.get("usage")
    reply = Reply(
        text=text,
        input_tokens=count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=count(usage, "completion_tokens", "output_tokens"),
        reasoning_tokens=reasoning_count(usage) or None,
        served=served_by(body),
    )
    word, trouble = choice.get("finish_reason"), chat_trouble(body, choice, None)
    return ended(reply, word, "completions", filtered=is_marked(choice, body), trouble=trouble)
