"""Agentic entries: the final message must contain an accepted answer (agentic spec §6); corrected rule C18."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import AnswerDetails, TroubleDetails
from pytest_bfcl.checkers.entries import step_calls
from pytest_bfcl.failures import HarnessError, Verdict
from pytest_bfcl.plain_text import read_literal
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

_IGNORED = str.maketrans("", "", ",./-_*^()")
_OBJECT_LIMIT = 20_000
"""Longest message that is parsed as an object, in characters."""


def check_answer(entry: Entry, transcript: Transcript, rules: RuleSet = OFFICIAL) -> Verdict:
    """The verdict of one agentic conversation. Raises `HarnessError` if the entry has no list of answers."""
    answers = entry.possible_answer
    if not isinstance(answers, list) or not answers:
        raise HarnessError(HarnessTrouble.DATA, f"{entry.id}: there is no list of accepted answers")
    if len(transcript.turns) != 1:
        trouble = TroubleDetails(error=f"{len(transcript.turns)} turns recorded instead of one")
        return Verdict.wrong(reasons.AGENTIC_INFERENCE, trouble)
    message = last_message(transcript)
    if not message:
        return Verdict.wrong(reasons.NO_MESSAGE, AnswerDetails(expected=answers, steps=len(transcript.turns[0].steps)))
    if contains_answer(message, answers, rules):
        return Verdict.passed()
    return Verdict.wrong(reasons.NO_ANSWER, AnswerDetails(expected=answers, called=message))


def last_message(transcript: Transcript, turn: int | None = None) -> str | None:
    """The raw reply of the last step (of one turn) without a call, as text; ``None`` if there is none or it is
    empty."""
    for step in reversed(transcript.steps if turn is None else transcript.turns[turn].steps):
        if step_calls(step, transcript) is None:
            raw: Any = step.reply.output
            if isinstance(raw, list):  # calls that do not decode: the first one's text is the message
                raw = {raw[0]["name"]: raw[0]["arguments"]} if raw else None
            return str(raw) if raw else None
    return None


def contains_answer(message: str, answers: Sequence[Any], rules: RuleSet = OFFICIAL) -> bool:
    """Whether the message contains an accepted answer as whole words, after normalising both."""
    if "C18" in rules:
        message = _answer_part(message)
        return any(_contains_word(normalise(message), normalise(str(answer)), free_edges=True) for answer in answers)
    text = normalise(message)
    return any(_contains_word(text, normalise(str(answer))) for answer in answers)


def normalise(text: str) -> str:
    """Without ``, . / - _ * ^ ( )``, lower-case, single quotes as double ones; white space stays."""
    return text.translate(_IGNORED).lower().replace("'", '"')


def _contains_word(text: str, answer: str, *, free_edges: bool = False) -> bool:
    r"""The result of ``re.search(r"\b" + re.escape(answer) + r"\b", text)``, in linear time.

    ``free_edges`` (C18): a symbol at the edge of the answer needs no word boundary there.
    """
    size = len(answer)
    free_start = free_edges and size > 0 and not _is_word(answer[0])
    free_end = free_edges and size > 0 and not _is_word(answer[-1])
    position = text.find(answer)
    while position >= 0:
        if (free_start or _boundary(text, position)) and (free_end or _boundary(text, position + size)):
            return True
        position = text.find(answer, position + 1)
    return False


def _boundary(text: str, index: int) -> bool:
    before = index > 0 and _is_word(text[index - 1])
    after = index < len(text) and _is_word(text[index])
    return before != after


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _answer_part(message: str) -> str:
    """The value of ``answer`` if the message is the required object (JSON or Python notation), else the message."""
    text = message.strip().strip("`").strip()
    for word in ("json", "python"):
        text = text.removeprefix(word)
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")) or len(text) > _OBJECT_LIMIT:
        return message
    for read in (json.loads, read_literal):
        try:
            value = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(value, dict) and "answer" in value:
            return str(value["answer"])
    return message
