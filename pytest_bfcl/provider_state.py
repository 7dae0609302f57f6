"""What a provider shows with a reply next to text and calls: what it wants to see again, and who answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_bfcl.json_types import Fields, Parsed


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What a provider sent next to text and calls and wants to see again, unchanged, in later requests.

    ``api`` says whose shapes these are: ``chat``, ``responses`` or ``anthropic``. Of a chat message: the name of the
    field that held the reasoning, its further ``fields``, and per call the further fields of that call (thought
    signatures). ``parts`` are whole: output items of Responses (with encrypted reasoning), content blocks of Anthropic
    (with signatures), or the parts of a chat message whose content was a list.
    """

    api: str
    reasoning_field: str | None = None
    fields: Fields = field(default_factory=dict)
    call_fields: tuple[Fields, ...] = ()
    parts: tuple[Fields, ...] = ()

    def to_dict(self) -> Parsed:
        """As in the journal and in result lines: only what is there."""
        found: Parsed = {"api": self.api}
        if self.reasoning_field:
            found["reasoning_field"] = self.reasoning_field
        if self.fields:
            found["fields"] = dict(self.fields)
        if any(self.call_fields):
            found["call_fields"] = [dict(each) for each in self.call_fields]
        if self.parts:
            found["parts"] = [dict(part) for part in self.parts]
        return found

    @classmethod
    def from_dict(cls, values: Fields) -> ProviderState:
        """The inverse of `to_dict`; parts of other shapes are left out."""
        name, fields = values.get("reasoning_field"), values.get("fields")
        return cls(
            str(values.get("api") or "chat"),
            name if isinstance(name, str) else None,
            dict(fields) if isinstance(fields, Mapping) else {},
            _objects(values.get("call_fields")),
            _objects(values.get("parts")),
        )


def _objects(values: object) -> tuple[Fields, ...]:
    listed = values if isinstance(values, list | tuple) else ()
    return tuple(dict(each) for each in listed if isinstance(each, Mapping))


@dataclass(frozen=True, slots=True)
class Served:
    """Who answered, by its own words: the model, the state of the server (``system_fingerprint``), the reply's id."""

    model: str | None = None
    fingerprint: str | None = None
    id: str | None = None

    def to_dict(self) -> Parsed:
        """As in the journal and in result lines: only given fields."""
        told = {"model": self.model, "fingerprint": self.fingerprint, "id": self.id}
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def from_dict(cls, values: object) -> Served | None:
        """The inverse of `to_dict`; what is no text is not taken, and ``None`` where nothing is left."""
        if not isinstance(values, Mapping):
            return None
        told = [value if isinstance(value := values.get(n), str) else None for n in ("model", "fingerprint", "id")]
        return cls(*told) if any(told) else None
