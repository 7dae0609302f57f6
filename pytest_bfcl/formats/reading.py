"""How recorded texts are to be read: by which decoder, and what becomes of the thoughts in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.families import nearest_families, resembles
from pytest_bfcl.formats.table import find_decoder, guessed_decoder
from pytest_bfcl.formats.thinking import Think, Thinking, read_thinking
from pytest_bfcl.transcript import Mode, Reply, Transcript


@dataclass(frozen=True, slots=True)
class TextReading:
    """``decoder``: a name, ``auto`` (by the model's name) or ``None``; ``think`` as the option.

    Raises `UsageError` for an unknown decoder.
    """

    decoder: str | None = None
    think: Think = "auto"

    def __post_init__(self) -> None:
        if self.decoder not in (None, "auto"):
            find_decoder(str(self.decoder))

    def decoder_for(self, model: str, mode: Mode = "fc") -> str | None:
        """The decoder's name for a model, asked in a mode. Raises `UsageError` when ``auto`` finds none."""
        if self.decoder != "auto":
            return find_decoder(self.decoder).name if self.decoder is not None else None
        name = guessed_decoder(model, mode)
        if name is None:
            near = ", ".join(nearest_families(model))
            raise UsageError(
                f"the call format of {model or 'this model'} is not known: name a decoder, not auto "
                f"(nearest families: {near}; pytest-bfcl models --family NAME shows one)"
            )
        return name

    def decoder_text(self, model: str, mode: Mode = "fc") -> str:
        """Which decoder reads a model's texts and whose reading that is; empty without a decoder."""
        name = self.decoder_for(model, mode)
        if name is None:
            return ""
        served = find_decoder(name).served
        said = f"calls in texts read by {name}, the {'server' if served else 'reference'} reading"
        family = resembles(model) if self.decoder == "auto" else None
        return f"{said}; {model} only resembles the family {family.name}" if family is not None and served else said

    def apply(self, transcript: Transcript) -> Transcript:
        """A recorded conversation read so; the given one stays as it is. What a line says itself counts.

        Thoughts of lines that name their decoder were parted when they were recorded.
        """
        decoder, thinking = transcript.decoder, _NONE
        if decoder is None and self.decoder is not None:
            decoder = self.decoder_for(transcript.model, transcript.mode)
            thinking = find_decoder(str(decoder)).thinking
        if self.think == "auto" and thinking == "none":
            return transcript if decoder == transcript.decoder else replace(transcript, decoder=decoder)
        turns = [
            replace(turn, steps=[replace(s, reply=without_thoughts(s.reply, self.think, thinking)) for s in turn.steps])
            for turn in transcript.turns
        ]
        return replace(transcript, decoder=decoder, turns=turns)


_NONE: Thinking = "none"


def model_name(spec: str) -> str:
    """The model's own name in a spec, without provider and mode."""
    base, found, mode = spec.rpartition("@")
    base = base if found and mode in ("fc", "prompt") else spec
    return base.partition(":")[2] or base


def without_thoughts(reply: Reply, think: Think, thinking: Thinking = "none") -> Reply:
    """A reply whose text is the answer; its reasoning is what came next to the text, else what was found in it."""
    if reply.text is None:
        return reply
    parted = read_thinking(reply.text, think, thinking)
    if parted.answer == reply.text and not parted.reasoning:
        return reply
    nothing = None if parted.answer.strip() else ""  # an empty thought is one where nothing else was said
    return replace(reply, text=parted.answer, reasoning=reply.reasoning or parted.reasoning or nothing)
