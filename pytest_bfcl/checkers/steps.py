"""What a conversation's steps called and got: decoded call texts, results of calls (multi_turn spec §4.2, point f)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.decoding import DecodeError, call_texts, is_empty
from pytest_bfcl.transcript import CALLS_A_STEP

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Step, Transcript, Turn

STEP_LIMIT = 20
"""Executed steps a turn may have; one more is executed and ends the conversation (multi_turn spec §2.1)."""


def step_calls(step: Step, transcript: Transcript) -> list[str] | None:
    """The call texts of one step; ``None`` when its reply does not decode, decodes to nothing, or is text only."""
    calls = None if step.calls is None else step.call_texts
    if calls is None and step.error is None and not transcript.decoded:
        try:
            calls = call_texts(step.reply, transcript.mode, transcript.decoder, transcript.functions)
        except DecodeError:
            return None
    return None if calls is None or is_empty(calls) else calls


def turn_calls(turn: Turn, transcript: Transcript) -> list[list[str]]:
    """The steps of one turn that called something; others are dropped as a whole (multi_turn spec §4.1)."""
    return [calls for step in turn.steps if (calls := step_calls(step, transcript)) is not None]


def ran_away(transcript: Transcript) -> bool:
    """Whether a step makes more calls than are carried out."""
    return any(len(calls) > CALLS_A_STEP for turn in transcript.turns for calls in turn_calls(turn, transcript))


def was_forced(transcript: Transcript) -> bool:
    """Whether the step limit ended the conversation; told from the number of steps where it was not recorded."""
    if transcript.forced_quit:
        return True
    return bool(transcript.decoded and transcript.turns) and (
        len(turn_calls(transcript.turns[-1], transcript)) > STEP_LIMIT
    )


def missing_results(expected: Iterable[str], obtained: Iterable[str]) -> list[str]:
    """Expected results that are not among the obtained ones, each obtained one counting once (multiset inclusion)."""
    held = Counter(obtained)
    missing = []
    for result in expected:
        if held[result] > 0:
            held[result] -= 1
        else:
            missing.append(result)
    return missing


def calls_behind(missing: Sequence[str], calls: Sequence[str], results: Sequence[str]) -> list[str]:
    """The expected calls whose results are missing, in order."""
    wanted = Counter(missing)
    found = []
    for call, result in zip(calls, results, strict=True):
        if wanted[result] > 0:
            wanted[result] -= 1
            found.append(call)
    return found


def is_error(result: str) -> bool:
    """Whether a result text tells of a failed call: an exception, or an object (or list of one) with ``error``."""
    from pytest_bfcl.simulators import ERROR_PREFIX

    return result.startswith((ERROR_PREFIX, "[{'error'")) or (result.startswith("{") and '"error": ' in result[:60])
