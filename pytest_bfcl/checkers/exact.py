"""A fast check for calls that are right under every rule set: documented classes, values equal to an acceptable one.

Most calls are of this kind. `exactly_right` is true only if `check_call` would find no problem. For unusual values it
is false, and the full check decides. Documented types have their classes of values here (ast_checker spec §6.1, §8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_bfcl.checkers.details import CallDetails, ValueDetails
from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.schemas import CLASSES
from pytest_bfcl.failures import Reason
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Call

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


_SCALARS = frozenset((str, int, float, bool))
_EXACT_DOUBLES = 2**53
"""Integers below this are the same number as a double."""


def all_exactly_right(
    calls: Sequence[Call],
    answers: object,
    functions: Sequence[Fields],
    rule: str,
    underscore_names: bool,
) -> bool:
    """Whether every call is exactly the answer in the same place: right under each pairing rule."""
    if type(answers) is not list or len(calls) != len(answers) or not functions:
        return False
    if len(calls) == 1:
        document = functions[0] if rule == "simple" else _document(functions, answers[0])
        return document is not None and exactly_right(calls[0], document, answers[0], underscore_names)
    if rule != "parallel" or not calls:
        return False
    for call, answer in zip(calls, answers, strict=True):
        document = _document(functions, answer)
        if document is None or not exactly_right(call, document, answer, underscore_names):
            return False
    return True


def _document(functions: Sequence[Fields], answer: object) -> Fields | None:
    """The first document of the function that an answer names, if both have the usual shape."""
    if type(answer) is dict and answer:
        name = next(iter(answer))
        for document in functions:
            if document.get("name") == name:
                return document
    return None


def exactly_right(
    call: Call,
    document: Fields,
    answer: Fields,
    underscore_names: bool,
) -> bool:
    """Whether a Python (or native) call has the expected name, all expected arguments, and only equal values."""
    try:
        name, arguments = call
        expected = document["name"]
        if underscore_names:
            expected = expected.replace(".", "_")
        if name != expected:
            return False
        parameters = document["parameters"]
        properties = parameters["properties"]
        ((_, accepted),) = answer.items()
        given = 0
        for parameter, values in accepted.items():
            if type(values) is not list:
                return False
            if parameter not in arguments:
                if "" not in values:
                    return False
                continue
            given += 1
            value = arguments[parameter]
            if type(value) is not dict and value not in values:
                return False
            if type(value) is str:
                # The empty text may be the marker for "left out".
                if value == "" or PYTHON_CLASSES.get(properties[parameter]["type"]) is not str:
                    return False
            elif not _same_class(value, values, properties[parameter]):
                return False
        if given != len(arguments):
            return False
        for parameter in parameters.get("required", ()):  # noqa: SIM110 - a generator costs more than the loop
            if parameter not in arguments:
                return False
        return True
    except (KeyError, TypeError, ValueError, AttributeError):  # documents and answers of another shape
        return False


def _same_class(value: Any, values: list[Any], schema: Fields) -> bool:
    """Whether a value equal to one of ``values`` has its class and the documented class; texts are handled earlier."""
    cls = type(value)
    expected = PYTHON_CLASSES.get(schema["type"])
    if cls is list:
        return expected is list and _equal_elements(value, values, schema)
    if cls is dict:
        return expected is dict and "default" not in schema and _equal_object(value, values[0])
    if cls not in _SCALARS or value != value:  # a NaN is found among the values if it is the same object
        return False
    same = type(values[values.index(value)])
    if expected is float and cls is int:
        return (same is int or same is float) and -_EXACT_DOUBLES < value < _EXACT_DOUBLES
    return expected is cls is same


def _equal_object(value: Fields, alternative: object) -> bool:
    """An object of scalars, each with the class of an equal acceptable value; keys may be missing."""
    if type(alternative) is not dict or not value.keys() <= alternative.keys():
        return False
    for key, accepted in alternative.items():
        if type(accepted) is not list:
            return False
        if key not in value:
            if "" not in accepted:
                return False
            continue
        item = value[key]
        if type(item) not in _SCALARS or item == "" or item != item:
            return False
        if type(accepted[accepted.index(item)]) is not type(item):
            return False
    return True


def _equal_elements(value: list[Any], values: list[Any], schema: Fields) -> bool:
    """Lists of scalars of the documented class, among alternatives that are lists; a default is one more (C9)."""
    if "default" in schema:
        return False
    element = PYTHON_CLASSES.get(schema["items"]["type"])
    return element in _SCALARS and _all_of(value, element, values)


def _all_of(value: Sequence[Any], element: type | None, values: list[Any]) -> bool:
    for alternative in values:
        if type(alternative) is not list and alternative != "":
            return False
    for item in value:
        if type(item) is not element or item != item:
            return False
    return {element}.issuperset(map(type, values[values.index(value)]))  # equal numbers of other classes
