"""The outcome of one call: a value, or an error with its kind; stored in transcripts as one JSON text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

KINDS = ("unknown_function", "arguments", "raised", "limit", "refused", "not_recorded")
"""Kinds of errors: unknown function; unusable arguments; refused by the function; time, memory or size exceeded; a
forbidden statement or address; no recording of a network call."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A JSON-able ``value``, or ``error`` (a text for users) of one of `KINDS`."""

    value: Any = None
    error: str | None = None
    kind: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.error is None

    def text(self) -> str:
        """Its form in a transcript: ``{"result": …}`` or ``{"error": …, "kind": …}``."""
        fields = {"result": self.value} if self.error is None else {"error": self.error, "kind": self.kind}
        return json.dumps(fields)

    @classmethod
    def from_text(cls, text: str) -> Outcome:
        """The inverse of `text`. Raises `ValueError` for anything else."""
        try:
            fields = json.loads(text)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        if not isinstance(fields, dict) or ("result" in fields) == ("error" in fields):
            raise ValueError("not the outcome of a call")
        if "error" in fields:
            return cls(None, str(fields["error"]), str(fields.get("kind") or "raised"))
        return cls(fields["result"])
