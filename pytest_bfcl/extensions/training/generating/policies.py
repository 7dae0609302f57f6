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
from pytest_bfcl.decoding.ground_truth import parse_ground_truth_call
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.extensions.training.generating.honest import Honest
from pytest_bfcl.extensions.training.rewards import grades_of
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.oracle import CLOSING, QUESTION
from pytest_bfcl.models.source_text import reply_with_calls
from pytest_bfcl.simulators import split_call
from pytest_bfcl.syntax.python_syntax import exact_text
from pytest_bfcl.transcript import Call, Reply, Step, ToolCall, Transcript, Turn

Turns = Sequence[Sequence[str]]
FULL = 1 - 1e-9
_DONE, _ASKS = (Reply(text=text, finish_reason="stop") for text in (CLOSING, QUESTION))


def transcript_of(entry: Entry, *replies: Reply | None) -> Transcript:
    """A conversation with these replies, one a turn at most, as a transcript to judge: nothing is executed."""
    turns = [Turn(steps=[] if reply is None else [Step(reply)]) for reply in replies]
    return Transcript(entry.id, entry.category, mode="fc", underscore_names=True, turns=turns)


def spoken(entry: Entry, turns: Turns) -> Transcript:
    """These calls as a transcript to judge."""
    return transcript_of(entry, *(_reply(entry, texts) for texts in turns))


def _reply(entry: Entry, texts: Sequence[str]) -> Reply | None:
    calls = [call for text in texts if (call := parse_ground_truth_call(text, entry)) is not None]
    return reply_with_calls(calls, entry, "fc") if texts else None


def played(entry: Entry, turns: Turns) -> Transcript:
    """The conversation in which each turn makes these calls, in one reply."""
    episode = Episode(entry, texts=Texts.own())
    while not episode.done:
        fresh = not episode.transcript.turns[-1].steps
        episode.step((_reply(entry, turns[episode.user_turn]) if fresh else None) or _DONE)
    return episode.transcript


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
    truth = [list(calls) for calls in entry.possible_answer or ()]
    told: Parsed = (entry.model_extra or {}).get("generated") or {}
    found: dict[str, bool] = {}
    for name, changed in POLICIES.items():
        turns = changed(entry, truth, told)
        if turns is not None and turns != truth:
            found[name] = passes(entry, turns)
    return found


def passes(entry: Entry, turns: Turns) -> bool:
    """Whether these calls have verdict and grade 1.0."""
    transcript = spoken(entry, turns)
    return judge(entry, transcript).valid and grades_of(entry, transcript, valid=True).score >= FULL


def _fallback(entry: Entry, truth: Turns, told: Parsed) -> Turns | None:
    """Always the last branch, with the look that the condition needs; of an attempt that may fail only that branch."""
    turns = [*truth]
    for each in told.get("conditions") or ():
        turns[each["turn"]] = each["act"] if each["kind"] == "if_fails" else [*each["first"], *each["other"]]
    return turns if told.get("conditions") else None


def _wait(entry: Entry, truth: Turns, told: Parsed) -> Turns | None:
    """No call where something is open, and none after it."""
    open_turns = {each["turn"] for each in told.get("conditions") or ()}
    open_turns |= {turn + 1 for turn, calls in enumerate(truth) if not calls}
    return [[] if turn in open_turns else calls for turn, calls in enumerate(truth)] if open_turns else None


def _act(entry: Entry, truth: Turns, told: Parsed) -> Turns | None:
    """Always the first branch; a guess for a missing value, a call of a missing function."""
    turns = [*truth]
    for each in told.get("conditions") or ():
        turns[each["turn"]] = each["first"] if each["kind"] == "if_fails" else [*each["first"], *each["act"]]
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
    return exact_text(Call(call.name, {**call.kwargs, missing: guess}))


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
    "always fallback": _fallback, "always wait": _wait, "always act": _act, "act before asked": _early,
    "every read first": _reads,
}  # fmt: skip
