"""An entry with given calls, one message of them a turn: held by the conversation engine, or only judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_bfcl.conversation.dialogue import Dialogue
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding.ground_truth import parse_ground_truth_call
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.models.oracle import CLOSING
from pytest_bfcl.models.source_text import reply_with_calls
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Call, Mode, Reply, Step, Transcript, Turn

_DONE = Reply(text=CLOSING, finish_reason="stop")


@dataclass(slots=True)
class _Speaker:
    spec: str = "proof:"
    mode: Mode = "fc"
    underscore_names: bool = True


_SETTINGS, _SPEAKER = Settings(), _Speaker()


def spoken(entry: Entry, turns: Sequence[Sequence[str]]) -> Transcript:
    """These calls as a transcript to judge: nothing is executed and no message is made."""
    made = [Turn(steps=[Step(reply_with_calls(_calls(entry, texts), entry, "fc"))] if texts else []) for texts in turns]
    return Transcript(entry.id, entry.category, mode="fc", underscore_names=True, turns=made)


def transcript_of(entry: Entry, reply: Reply) -> Transcript:
    """A single reply as a transcript."""
    return Transcript(entry.id, entry.category, mode="fc", underscore_names=True, turns=[Turn(steps=[Step(reply)])])


def _calls(entry: Entry, texts: Sequence[str]) -> list[Call]:
    return [call for text in texts if (call := parse_ground_truth_call(text, entry)) is not None]


def played(entry: Entry, turns: Sequence[Sequence[str]]) -> Transcript:
    """The conversation in which each turn makes these calls, in one reply."""
    dialogue = Dialogue(entry, _SPEAKER, _SETTINGS, Texts.own())
    dialogue.open(None, None)
    while not dialogue.ended:
        turn = dialogue.transcript.turns[-1]
        texts = turns[len(dialogue.transcript.turns) - 1] if not turn.steps else ()
        calls = _calls(entry, texts)
        step = dialogue.hear(reply_with_calls(calls, entry, "fc") if calls else _DONE)
        for due in dialogue.due_calls(step):
            step.results.append(dialogue.world.execute_now(due))
        dialogue.go_on(step)
    return dialogue.transcript
