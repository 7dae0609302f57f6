"""How an entry's single reply is read: its language, its notation, its calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.expansion import typed_as_sent
from pytest_bfcl.decoding import DecodeError, ReplyDecoder, call_texts, is_empty
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.transcript import CALLS_A_STEP, Call, Reply
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Step, Transcript, Turn


def language_of(entry: Entry) -> Language:
    """The language of the type rules: the entry's own, or its category's."""
    return entry.language if entry.language != "python" else entry.row.language


def reply_of(transcript: Transcript) -> Reply:
    """The only reply; the text of a recorded inference error counts as the model's output (official rules)."""
    if transcript.inference_error is not None:
        return Reply(text=transcript.inference_error or "inference error")
    return transcript.first_reply


def single_turn_calls(entry: Entry, transcript: Transcript, rules: RuleSet = OFFICIAL) -> list[Call]:
    """The calls of a single-turn conversation. Raises `DecodeError` if none can be read."""
    stored = stored_calls(transcript)
    return single_turn_decoder(entry, transcript).calls(rules) if stored is None else stored


def stored_calls(transcript: Transcript) -> list[Call] | None:
    """The calls of a transcript that was stored decoded; ``None`` if the reply must be read."""
    if not transcript.decoded or not transcript.steps or transcript.steps[0].calls is None:
        return None
    if transcript.steps[0].call_texts:
        raise HarnessError(HarnessTrouble.DATA, f"{transcript.entry_id}: call texts, where output is needed")
    return transcript.steps[0].decoded_calls


def single_turn_decoder(entry: Entry, transcript: Transcript) -> ReplyDecoder:
    """Reads the only reply of a single-turn conversation, under any rules."""
    if transcript.mode == "fc" and transcript.decoder is None:  # nothing below matters to native calls
        return ReplyDecoder(reply_of(transcript), "fc")
    own_format = entry.return_format != "python" or entry.config  # else the notation is that of its language
    return ReplyDecoder(
        reply_of(transcript),
        transcript.mode,
        return_format=entry.return_format if own_format else language_of(entry),
        tool_call_tag=entry.tool_call_tag,
        functions=entry.function if transcript.decoder is None else typed_as_sent(entry.function, entry.language),
        decoder=transcript.decoder,
    )


STEP_LIMIT = 20
"""Executed steps of a turn; one more is executed and ends the conversation (multi_turn spec §2.1)."""


def step_calls(step: Step, transcript: Transcript) -> list[str] | None:
    """The call texts of one step; ``None`` if its reply does not decode, decodes to nothing, or is text only."""
    calls = None if step.calls is None else step.call_texts
    if calls is None and step.error is None and not transcript.decoded:
        try:
            calls = call_texts(step.reply, transcript.mode, transcript.decoder, transcript.functions)
        except DecodeError:
            return None
    return None if calls is None or is_empty(calls) else calls


def turn_calls(turn: Turn, transcript: Transcript) -> list[list[str]]:
    """The steps of one turn with calls; others are dropped completely (multi_turn spec §4.1)."""
    return [calls for step in turn.steps if (calls := step_calls(step, transcript)) is not None]


def ran_away(transcript: Transcript) -> bool:
    """Whether a step has more calls than are executed."""
    return any(len(calls) > CALLS_A_STEP for turn in transcript.turns for calls in turn_calls(turn, transcript))


def was_forced(transcript: Transcript) -> bool:
    """Whether the step limit ended the conversation; if not recorded, by the number of steps."""
    if transcript.forced_quit:
        return True
    return bool(transcript.decoded and transcript.turns) and (
        len(turn_calls(transcript.turns[-1], transcript)) > STEP_LIMIT
    )


def missing_results(expected: Iterable[str], obtained: Iterable[str]) -> list[str]:
    """Expected results that are missing among the obtained ones, each of which counts once (multiset inclusion)."""
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
    """Whether a result text reports a failed call: an exception, or an object (or list of one) with ``error``."""
    from pytest_bfcl.simulators import ERROR_PREFIX

    return result.startswith((ERROR_PREFIX, "[{'error'")) or (result.startswith("{") and '"error": ' in result[:60])
