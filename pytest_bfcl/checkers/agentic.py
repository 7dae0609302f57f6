"""Agentic entries: the final message must contain an accepted answer (agentic spec §6); corrected rule C18.

`RecordedWeb` is the web as a conversation saw it: recorded results answer the same searches during judging, because a
checker reaches no network. A page that only the ground truth reads is unknown, and counts as a missing result.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import AnswerDetails, TroubleDetails
from pytest_bfcl.checkers.entries import step_calls
from pytest_bfcl.failures import HarnessError, Verdict
from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.plain_text import read_literal
from pytest_bfcl.transcript import CALLS_A_STEP
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.simulators import CallExecutor
    from pytest_bfcl.transcript import Transcript


_IGNORED = str.maketrans("", "", ",./-_*^()")
_OBJECT_LIMIT = 20_000
"""Longest message that is parsed as an object, in characters."""
WEB = "WebSearchAPI"
_TOOLS = ("search_engine_query", "fetch_url_content")


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


class NotLookedUp(LookupError):
    """The conversation has no result for this call."""


class RecordedWeb:
    """The results of the web tools in one conversation, by their arguments; each replay starts again.

    It serves `WebSearchAPI` as a provider. A repeated call gets its results in order.
    """

    def __init__(self, results: Mapping[tuple[str, str], list[str]]) -> None:
        self._results = {key: list(texts) for key, texts in results.items()}

    def search(self, keywords: str, max_results: int, region: str) -> list[Parsed] | Parsed:
        """The recorded result of a search. Raises `NotLookedUp`, and the search's recorded error."""
        arguments = {"keywords": keywords, "max_results": max_results, "region": region}
        found: list[Parsed] | Parsed = self._value("search_engine_query", arguments)
        return found

    def fetch(self, url: str, mode: str) -> JsonObject:
        """The recorded page. Raises likewise."""
        found: JsonObject = self._value("fetch_url_content", {"url": url, "mode": mode})
        return found

    def _value(self, tool: str, arguments: Fields) -> Any:
        from pytest_bfcl.simulators import ERROR_PREFIX

        texts = self._results.get((tool, _key(arguments)))
        if not texts:
            raise NotLookedUp(f"this was not looked up in the conversation: {str(dict(arguments))[:200]}")
        text = texts.pop(0) if len(texts) > 1 else texts[0]
        if text.startswith(ERROR_PREFIX):
            raise RuntimeError(text.removeprefix(ERROR_PREFIX))
        for read in (json.loads, read_literal):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                return read(text)
        return {"content": text}


def recorded_results(entry: Entry, transcript: Transcript, executor: CallExecutor) -> dict[tuple[str, str], list[str]]:
    """Tool and arguments → result texts of every plain call of a web tool. ``executor`` knows the tools' names.

    Raises `HarnessError` (kind ``search``) for a conversation without stored results.
    """
    from pytest_bfcl.simulators.execution import split_call

    found: dict[tuple[str, str], list[str]] = {}
    for step in transcript.steps:
        for number, text in enumerate((step_calls(step, transcript) or ())[:CALLS_A_STEP]):
            if (call := split_call(text)) is None:
                continue
            tool = executor.tool_name(call.name)
            if tool not in _TOOLS:
                continue
            if number >= len(step.results):
                raise HarnessError(
                    HarnessTrouble.SEARCH,
                    f"{entry.id}: the results of its searches are not recorded, so it cannot be judged",
                    advice="add tool_results to the line",
                )
            arguments = _bound(tool, call.args, call.kwargs)
            if arguments is not None:
                found.setdefault((tool, _key(arguments)), []).append(step.results[number])
    return found


def _bound(tool: str, args: tuple[Any, ...], kwargs: Fields) -> Parsed | None:
    """All arguments by name, with defaults; ``None`` for arguments that the tool does not have."""
    from pytest_bfcl.agentic.web_search import WebSearchAPI

    try:
        bound = inspect.signature(WebSearchAPI.tools_by_name()[tool]).bind(None, *args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name != "self"}


def _key(arguments: Fields) -> str:
    return repr(sorted(arguments.items()))
