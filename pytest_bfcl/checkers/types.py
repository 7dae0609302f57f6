"""Documented types → classes of values (ast_checker spec §6.1, §8), and the parsed type of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pytest_bfcl.checkers.details import CallDetails, ValueDetails
from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.schemas import CLASSES
from pytest_bfcl.failures import Reason
from pytest_bfcl.json_types import Fields

PYTHON_CLASSES = CLASSES["python"]
JSON_SCHEMA_WORDS: dict[str, type] = {"number": float, "object": dict}
"""JSON Schema's type words in users' documents; the reference raises for them."""


class ParameterType(NamedTuple):
    """A parameter's documented type.

    ``word`` as documented; ``expected`` the class a value must have, ``None`` for words outside the table (then the
    answers decide); ``element`` the class of list elements, ``None`` when there is no list or no documented element
    type. ``schema`` is the property schema itself.
    """

    word: str
    expected: type | None
    element: type | None
    schema: Fields

    @property
    def element_word(self) -> str:
        """The documented type word of list elements, or the empty text."""
        items = self.schema.get("items")
        word = items.get("type") if isinstance(items, Mapping) else None
        return word if isinstance(word, str) else ""

    @property
    def words(self) -> str:
        """The type in words: ``array of float``."""
        return f"{self.word} of {self.element_word}" if self.element_word and self.expected is list else self.word


def class_of(word: object, language: Language) -> type | None:
    """The class of a type word; ``None`` for undocumented words."""
    if not isinstance(word, str):
        return None
    found = CLASSES[language].get(word)
    return found if found is not None else JSON_SCHEMA_WORDS.get(word)


def parameter_type(schema: object, language: Language = "python") -> ParameterType:
    """The type of one property schema; a schema that is no object has no documented type."""
    if not isinstance(schema, Mapping):
        schema = {}
    word = schema.get("type")
    expected = class_of(word, language)
    element = None
    if expected is list:
        items = schema.get("items")
        element = class_of(items.get("type"), language) if isinstance(items, Mapping) else None
    return ParameterType(word if isinstance(word, str) else "any", expected, element, schema)


@dataclass(slots=True)
class BrokenRule:
    """One broken rule; value, argument and call add their details in this order.

    ``raises`` marks input for which the reference raises and gives no verdict; under official rules such an entry
    fails.
    """

    reason: Reason
    details: CallDetails
    raises: bool = False


@dataclass(slots=True)
class BrokenValue(BrokenRule):
    """A broken rule about one argument's value."""

    details: ValueDetails
