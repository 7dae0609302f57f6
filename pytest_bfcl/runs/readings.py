"""How stored replies without a mode are read: as the caller says, else by the evidence of their calls.

A call in a reply proves native mode. The spelling of names is proved by all lines of a model together: a reply with the
other spelling is the model's own mistake (`pytest_bfcl.runs.wire_names`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.runs.wire_names import Names, Spelling
from pytest_bfcl.transcript import Mode, Transcript

LEARNT_FROM = 5_000
"""Lines that are read before the first is judged; the official data has fewer, and one proof is enough."""

Documented = Callable[[Fields], Iterable[str]]
"""A line → the documented names of the functions of its entry."""


class Readings:
    """What is known of each model's replies, and what their calls proved.

    ``mode`` and ``names`` are for lines without them; a ``decoder`` reads their texts.
    """

    def __init__(self, mode: Mode | None = None, names: Names = "auto", decoder: str | None = None) -> None:
        self.mode: Mode | None = "prompt" if mode is None and decoder is not None else mode
        self.names: Names = names
        self._spelled: defaultdict[str, Spelling] = defaultdict(Spelling)
        self._native: set[str] = set()
        self._proved: defaultdict[str, set[str]] = defaultdict(set)
        self._learnt: frozenset[str] = frozenset()

    def learn(self, lines: Iterable[Fields], documented: Documented) -> None:
        """Read lines before they are judged; a model without a proof in them is learnt about later."""
        for line in lines:
            if self._says_all(line):
                continue
            try:
                transcript = transcript_from_line(line, self.mode)
            except UsageError:
                continue  # told when it is judged
            self._see(line, transcript)
            if self.names == "auto" and line.get("underscore_names") is None:
                self._spelling(transcript, documented(line))
        self._learnt = frozenset(self._spelled)

    def transcript(self, line: Fields, documented: Callable[[], Iterable[str]]) -> Transcript:
        """The conversation of a line, ready to be judged. ``documented`` gives the names of the offered functions.
        Raises `UsageError` like `transcript_from_line`.
        """
        transcript = transcript_from_line(line, self.mode)
        if self._says_all(line):
            return transcript
        self._see(line, transcript)
        if line.get("underscore_names") is not None:
            return transcript
        if self.names != "auto":
            transcript.underscore_names = self.names == "underscores"
        elif transcript.mode == "fc":
            model = transcript.model
            own = None if model in self._learnt else self._spelling(transcript, documented())
            known = self._spelled[model].proven if model in self._spelled else None
            transcript.underscore_names = bool(own.proven if own is not None and known is None else known)
        return transcript

    def complete(self, line: Fields) -> Fields:
        """A judged line with the spelling of names by which it was judged."""
        if line.get("underscore_names") is not None or line.get("mode") == "prompt":
            return line
        spelled = self._spelled.get(str(line.get("model") or ""))
        under = self.names == "underscores" if self.names != "auto" else bool(spelled and spelled.proven)
        return {**line, "underscore_names": under}

    def _says_all(self, line: Fields) -> bool:
        return line.get("mode") is not None and line.get("underscore_names") is not None and "proved" not in line

    def _see(self, line: Fields, transcript: Transcript) -> None:
        if line.get("mode") is None and transcript.mode == "fc" and self.mode != "fc":
            self._native.add(transcript.model)
        if proof := line.get("proved"):
            self._proved[transcript.model].add(str(proof))

    def _spelling(self, transcript: Transcript, documented: Iterable[str]) -> Spelling:
        """What one conversation proves, stored for its model."""
        own = Spelling()
        own.add((call.name for step in transcript.steps for call in step.reply.tool_calls), documented)
        if own.dots or own.underscores:
            self._spelled[transcript.model].dots += own.dots
            self._spelled[transcript.model].underscores += own.underscores
        return own

    def sentences(self) -> list[str]:
        """The findings, one sentence a model."""
        models = sorted({*self._spelled, *self._native, *self._proved})
        return [f"{model or 'the lines'}: {found}" for model in models if (found := self.sentence_of(model))]

    def sentence_of(self, model: str) -> str:
        """The findings about one model, without its name; empty if its lines are complete."""
        return "; ".join(self._findings(model))

    def _findings(self, model: str) -> Iterator[str]:
        if model in self._native:
            yield "mode fc (native calls prove it)"
        spelled = self._spelled.get(model)
        if spelled is not None and spelled.proven is not None:
            yield str(spelled)
        yield from sorted(self._proved.get(model, ()))


def documented_names(entry: object) -> list[str]:
    """The names of an entry's functions, from an `Entry` or a line with its own entry."""
    functions = entry.get("function") if isinstance(entry, Mapping) else getattr(entry, "function", None)
    return [str(each.get("name", "")) for each in functions or () if isinstance(each, Mapping)]
