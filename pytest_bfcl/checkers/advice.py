"""Advice for a failure whose cause is a known mistake: one sentence, or nothing.

A reason names its advice function. The function gets only the details and the reply and must be fast, because it runs
for every failure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers.details import CallDetails, CountDetails, TurnDetails, UnreadDetails, ValueDetails
from pytest_bfcl.formats.thinking import strip

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

_LOOKED_AT = 4000
"""Characters of a reply that are read."""

_THOUGHTS = "Thoughts stand in the reply's text: --bfcl-think strip (score --think strip) takes them out."
_FENCED = re.compile(r"\A\s*```[A-Za-z]+\s")
_OBJECTS = re.compile(r"\A\s*\[?\s*[{(]\s*['\"]")
_CALL = re.compile(r"\[?\s*[A-Za-z_][\w.]*+\(")
_BEHIND = re.compile(r"\)\s*\]\s*[^\s\]]")
_PYTHON_LIST = re.compile(r"=\s*\[")
_PYTHON_DICT = re.compile(r"=\s*\{")
_PYTHON_VALUE = re.compile(r"\b(?:True|False|None)\b|=\s*r?['\"]{3}|=\s*r['\"]|\(\s*\{")
_LITERALS = {
    "java": 'Values are Java here: new String[]{"a"}, new ArrayList<>(Arrays.asList("a")), "text", true, null.',
    "javascript": "Values are JavaScript here: true, null, {key: value}, every argument written name=value.",
}
_JAVA_FORMS = {
    "Array": 'A Java array is written new String[]{"a", "b"}, with its element type.',
    "ArrayList": "A Java list is written new ArrayList<>(Arrays.asList(1, 2)).",
    "HashMap": 'A Java map is written new HashMap<String, String>() {{ put("key", "value"); }}.',
}
_JAVA_SUFFIX = {"long": "L", "float": "f"}


def lost_call(decoder: str) -> str:
    """The decoder of this name finds a call in a text where native calls were expected."""
    return (
        f"The server's parser lost a call that is in the text ({decoder} reads it): start the server with the parser "
        f"of this model, or read the text with --bfcl-decoder {decoder}."
    )


def unread_reply(details: UnreadDetails, entry: Entry, transcript: Transcript) -> str | None:
    """A reply that does not decode because of a frequent mistake in its notation."""
    reply = transcript.first_reply
    text = (reply.text or "")[:_LOOKED_AT]
    if not reply.tool_calls and strip(text).answer != text:
        return _THOUGHTS
    if transcript.mode == "fc":
        if reply.tool_calls:
            return "The arguments must be one JSON object: check quotes, commas and line breaks inside texts."
        if any(each.group().strip("[( \n") in _offered(entry) for each in _CALL.finditer(text)):
            return "The call is written in the text; it has to come as a native tool call."
        return None
    if entry.tool_call_tag and "<TOOLCALL>" not in text:
        return "This format wants the calls inside <TOOLCALL>…</TOOLCALL>."
    if _FENCED.match(text):
        return "Drop the language word behind the ``` fence; a bare fence is taken off, a fence with a word is not."
    if "\\_" in text:
        return "Names must not be escaped: write _ instead of \\_."
    if entry.return_format in ("python", "java", "javascript") and _OBJECTS.match(text):
        return "Calls are written name(argument=value) here, not as objects or pairs."
    if entry.language in _LITERALS and _CALL.match(text.strip()):
        if _BEHIND.search(text):
            return "Write the list of calls and nothing else: no sentence before or after it."
        if _PYTHON_LIST.search(text) and entry.language == "java":
            return _LITERALS["java"]
        if entry.language == "java" and _PYTHON_DICT.search(text):
            return _JAVA_FORMS["HashMap"]
        if _PYTHON_VALUE.search(text):
            return _LITERALS[entry.language]
    if entry.language == "python" and "(" in text and _CALL.search(text):
        if _CALL.match(text.strip()):
            return "Write only [name(argument=value)]: literals as values, nothing behind the list."
        return "Write the list of calls and nothing else: no sentence before or after it."
    return None


def _offered(entry: Entry) -> set[str]:
    """The names of the offered functions, as documented and as sent."""
    names = [str(function.get("name")) for function in entry.function]
    return {*names, *(name.replace(".", "_") for name in names)}


def misspelt_name(details: CallDetails, entry: Entry, transcript: Transcript) -> str | None:
    """The right function in another spelling."""
    called, expected = str(details.called), str(details.expected)
    if called.replace(".", "_") == expected.replace(".", "_"):
        return f"Only the spelling differs: the name is expected as {expected}."
    if called.lower() == expected.lower():
        return f"Only upper and lower case differ: the name is {expected}."
    if expected.endswith(f".{called}"):
        return f"The full name is expected: {expected}."
    return None


def unnamed_argument(details: CallDetails, entry: Entry, transcript: Transcript) -> str | None:
    """A required argument is missing because its value has no name."""
    if details.called or transcript.mode == "fc":
        return None
    text = (transcript.first_reply.text or "")[:_LOOKED_AT]
    if re.search(r"[A-Za-z_]\w*\(\s*[^)\s]", text):
        return "Arguments must be named, as in f(x=1); those without a name are dropped."
    return None


def wrong_type(details: ValueDetails, entry: Entry, transcript: Transcript) -> str | None:
    """A value that is right except for its type."""
    called, kind = details.called, str(details.type)
    if entry.language != "python" and isinstance(called, str):
        suffix = _JAVA_SUFFIX.get(kind) if entry.language == "java" else None
        if suffix and not called.lower().endswith(suffix.lower()):
            return f"A {kind} literal needs its suffix: {called}{suffix}." if len(called) < 30 else None
        return _JAVA_FORMS.get(kind.partition(" of ")[0]) if entry.language == "java" else None
    if isinstance(called, str) and kind in ("integer", "float"):
        return "Send the number itself, without quotes." if _is_number(called) else None
    if kind == "boolean" and isinstance(called, str) and called.lower() in ("true", "false"):
        return "Write True or False." if transcript.mode == "prompt" else "Send a JSON boolean, without quotes."
    if kind == "integer" and isinstance(called, float) and called.is_integer():
        return f"Write {int(called)} without a decimal point."
    if kind.startswith("array") and isinstance(called, str) and called.lstrip().startswith("["):
        return "Send the list itself, not its text."
    if kind.startswith("dict") and isinstance(called, str) and called.lstrip().startswith("{"):
        return "Send the object itself, not its text."
    return None


def wrong_element(details: ValueDetails, entry: Entry, transcript: Transcript) -> str | None:
    """A list that is right except for the type of its elements."""
    called, kind = details.called, str(details.type)
    if not isinstance(called, list):
        return None
    classes = {type(element) for element in called}
    if kind.endswith("of float") and int in classes and classes <= {int, float}:
        return "Inside a list an integer is not taken for a float: write 1.0, not 1 (mended by corrected rule C6)."
    if kind.endswith(("of integer", "of float")) and classes == {str} and all(map(_is_number, called)):
        return "Send the elements as numbers, without quotes."
    return None


def quoted_text(details: ValueDetails, entry: Entry, transcript: Transcript) -> str | None:
    """A text in extra quotes."""
    called = details.called
    if isinstance(called, str) and len(called) > 1 and called[0] == called[-1] and called[0] in "\"'`":
        return "The text carries quotes of its own; send it without them."
    return None


def wrong_order(details: ValueDetails, entry: Entry, transcript: Transcript) -> str | None:
    """A list that is right except for its order."""
    called: Any = details.called
    expected: Any = details.expected
    elements = sorted(map(str, called))
    for answer in expected:
        if isinstance(answer, list) and sorted(map(str, answer)) == elements:
            return "The elements are right, their order is not."
    return None


def value_instead_of_text(details: ValueDetails, entry: Entry, transcript: Transcript) -> str | None:
    """A Java or JavaScript value that was not sent as source text."""
    return f'Values of {entry.language.capitalize()} functions travel as source text: send "5", not 5.'


def broken_json(details: CountDetails, entry: Entry, transcript: Transcript) -> str | None:
    """No call at all, because the JSON is broken."""
    if details.called == 0 and entry.return_format == "json" and transcript.first_reply.text:
        return "The JSON did not parse; the reference then sees no call at all."
    return None


def undecoded_turn(details: TurnDetails, entry: Entry, transcript: Transcript) -> str | None:
    """A turn without a call, because its replies do not decode."""
    steps = transcript.turns[details.turn or 0].steps
    replies = [step.reply.text or "" for step in steps]
    if any(strip(text[:_LOOKED_AT]).answer != text[:_LOOKED_AT] for text in replies):
        return _THOUGHTS
    return next((f"The turn's reply did not decode: {step.error[:200]}" for step in steps if step.error), None)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
