"""Results of policies for a task: the honest one, which reads, and cheap ones, which must not pass.

A policy passes if verdict and grade are both 1.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_bfcl.checkers import judge
from pytest_bfcl.checkers.state import executor_of
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.extensions.training.generating.honest import Honest
from pytest_bfcl.extensions.training.generating.play import spoken
from pytest_bfcl.extensions.training.grades import grades_of
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.oracle import CLOSING, QUESTION
from pytest_bfcl.simulators import split_call
from pytest_bfcl.transcript import Reply, ToolCall

Turns = list[list[str]]
FULL = 1 - 1e-9
_DONE, _ASKS = (Reply(text=text, finish_reason="stop") for text in (CLOSING, QUESTION))


def solved(entry: Entry) -> bool:
    """Whether the honest policy passes, played by the conversation engine; it sees only messages and tools."""
    episode, policy, seen = Episode(entry, partial=True, texts=Texts.own()), Honest(), 0
    going = policy.calls("", ())
    while not episode.done:
        fresh, seen = episode.messages[seen:], len(episode.messages)
        users = [str(each.get("content") or "") for each in fresh if each.get("role") == "user"]
        try:
            if users:
                going = policy.calls(users[-1], [str(each["function"]["name"]) for each in episode.tools])
                tool, arguments = next(going)
            else:
                tool, arguments = going.send(str(fresh[-1].get("content")))
        except StopIteration:
            episode.step(_DONE if policy.waiting is None else _ASKS)
            continue
        except (KeyError, TypeError, ValueError, RuntimeError):  # it understood something else than was meant
            return False
        episode.step(Reply(text="", tool_calls=(ToolCall(tool, json.dumps(arguments)),), finish_reason="tool_calls"))
    return episode.verdict == 1.0 and episode.reward >= FULL


def cheap(entry: Entry) -> dict[str, bool]:
    """Cheap policy → whether it passes; policies that only make the expected calls are left out."""
    truth: Turns = [list(calls) for calls in entry.possible_answer or ()]
    told: Parsed = (entry.model_extra or {}).get("generated") or {}
    found: dict[str, bool] = {}
    for name, changed in POLICIES.items():
        turns = changed(entry, truth, told)
        if turns is not None and turns != truth:
            found[name] = passes(entry, turns)
    return found


def passes(entry: Entry, turns: Sequence[Sequence[str]]) -> bool:
    """Whether these calls have verdict and grade 1.0."""
    transcript = spoken(entry, turns)
    return judge(entry, transcript).valid and grades_of(entry, transcript, valid=True).score >= FULL


def _branch(name: str) -> Callable[[Entry, Turns, Parsed], Turns | None]:
    """Always the same branch, with or without the look that the condition needs; after a possible failure only that
    branch."""

    def changed(entry: Entry, truth: Turns, told: Parsed) -> Turns | None:
        turns = [list(calls) for calls in truth]
        for each in told.get("conditions") or ():
            tried = each["kind"] == "if_fails"
            if name == "act":
                turns[each["turn"]] = list(each["first"]) if tried else [*each["first"], *each["act"]]
            else:
                turns[each["turn"]] = list(each["act"]) if tried else [*each["first"], *each["other"]]
        return turns if told.get("conditions") else None

    return changed


def _wait(entry: Entry, truth: Turns, told: Parsed) -> Turns | None:
    """No call where something is open, and none after it."""
    open_turns = {each["turn"] for each in told.get("conditions") or ()}
    open_turns |= {turn + 1 for turn, calls in enumerate(truth) if not calls}
    return [[] if turn in open_turns else calls for turn, calls in enumerate(truth)] if open_turns else None


def _act(entry: Entry, truth: Turns, told: Parsed) -> Turns | None:
    """Always the first branch; a guess for a missing value, a call of a missing function."""
    turns = _branch("act")(entry, truth, told) or [list(calls) for calls in truth]
    for turn, calls in enumerate(truth[:-1]):
        if not calls:
            turns[turn] = [_guessed(call, told) for call in truth[turn + 1]]
    return turns


def _guessed(text: str, told: Parsed) -> str:
    call, missing = split_call(text), (told.get("missing") or {}).get("parameter")
    if call is None or missing not in call.kwargs:
        return text
    value = call.kwargs[missing]
    guess: Any = value + 1 if isinstance(value, int | float) else "something" if isinstance(value, str) else value
    given = {**call.kwargs, missing: guess}
    return f"{call.name}({', '.join(f'{name}={each!r}' for name, each in given.items())})"


def _early(entry: Entry, truth: Turns, told: Parsed) -> Turns | None:
    """Every turn's calls one turn early."""
    return [[*truth[0], *(truth[1] if len(truth) > 1 else ())], *truth[2:], []]


def _reads(entry: Entry, truth: Turns, told: Parsed) -> Turns | None:
    """Every read without arguments, before anything else."""
    simulators = executor_of(entry).simulators.values()
    named = [str(document["name"]) for document in entry.function if not (document["parameters"].get("required") or ())]
    reads = [f"{name}()" for name in named for each in simulators if each.offers(name) and not each.writes(name)]
    return [[*reads, *truth[0]], *truth[1:]]


POLICIES: Mapping[str, Callable[[Entry, Turns, Parsed], Turns | None]] = {
    "always fallback": _branch("other"), "always wait": _wait, "always act": _act, "act before asked": _early,
    "every read first": _reads,
}  # fmt: skip
