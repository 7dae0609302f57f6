"""How a value of any type differs from the expected one, and where within two values the difference is."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_bfcl.checkers.values import standardise
from pytest_bfcl.extensions.causes.relations import MOST, Relation, of_texts
from pytest_bfcl.plain_text import parse_expression

_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty",
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "〇 一 二 三 四 五 六 七 八 九 十",
)
_TENS = dict(zip(["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(30, 100, 10), strict=True))
_NUMBER_WORDS = {word: n for words in _COUNTED for n, word in enumerate(words.split())} | _TENS
_NO_WORDS = {"no", "false", "off", "0", "none", "n", "f", "disabled", "nein", "non"}
_YES_WORDS = {"yes", "true", "on", "1", "y", "t", "enabled", "ja", "oui", "sí"}
_DEEPEST = 8


class Leaf(NamedTuple):
    """A value that differs from the expected one, by its place in the arguments."""

    path: tuple[Any, ...]
    said: object
    due: object
    relations: list[Relation]


def unequal(
    said: object, due: object, path: tuple[Any, ...] = (), depth: int = 0, *, exact: bool = False
) -> Iterator[Leaf]:
    """The innermost places where two values differ; whole values if their shapes differ."""
    if same(said, due, exact=exact):
        return
    if depth < _DEEPEST and isinstance(said, dict) and isinstance(due, Mapping) and said.keys() == due.keys():
        for key in due:
            yield from unequal(said[key], due[key], (*path, key), depth + 1, exact=exact)
    elif isinstance(said, dict) and isinstance(due, Mapping) and (told := _inner_names(said, due)):
        yield Leaf(path, said, due, [Relation("inner_names", told)])
    elif depth < _DEEPEST and isinstance(said, list) and isinstance(due, list | tuple) and len(said) == len(due) > 0:
        other_order = len(said) > 1 and sorted(map(repr, said)) == sorted(map(repr, due))
        if other_order or due in said:
            yield Leaf(path, said, due, [Relation("listed")] if said == [due] else [])
        else:
            for number, (one, other) in enumerate(zip(said, due, strict=True)):
                yield from unequal(one, other, (*path, number), depth + 1, exact=exact)
    else:
        yield Leaf(path, said, due, of_values(said, due))


def leaves_of(value: object) -> Iterator[object]:
    """The values within a value that are no objects or lists."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from leaves_of(each)
    else:
        yield value


def _inner_names(said: Mapping[str, Any], due: Mapping[str, Any]) -> str:
    """How the names in an object are rewritten; empty if unchanged, or not all alike."""
    if len(said) != len(due):
        return ""
    ways = [of_texts(str(new), str(old))[:1] for new, old in zip(said, due, strict=True) if new != old]
    return f"{ways[0][0].key} {ways[0][0].told}".strip() if ways[0] and all(way == ways[0] for way in ways) else ""


def same(said: object, due: object, *, exact: bool = False) -> bool:
    """Whether two values are equal to a checker: texts without case and separators, unless ``exact``."""
    if isinstance(said, str) and isinstance(due, str):
        return said == due or (not exact and standardise(said) == standardise(due))
    if isinstance(said, bool) or isinstance(due, bool):
        return said is due
    if isinstance(said, int | float) and isinstance(due, int | float):
        wrong_type = type(said) is not type(due) if exact else isinstance(said, float) and isinstance(due, int)
        return said == due and not wrong_type
    if isinstance(said, list) and isinstance(due, list | tuple):
        return len(said) == len(due) and all(same(a, b, exact=exact) for a, b in zip(said, due, strict=True))
    if isinstance(said, Mapping) and isinstance(due, Mapping):
        return said.keys() == due.keys() and all(same(said[key], due[key], exact=exact) for key in due)
    return said == due


def of_values(said: object, due: object) -> list[Relation]:
    """Relations of a value to the expected one, unless both are objects or lists of one shape."""
    if isinstance(said, str) and isinstance(due, str):
        return list(of_texts(said, due))
    return list(filter(None, _of_others(said, due)))


def _of_others(said: object, due: object) -> Iterator[Relation | None]:
    if isinstance(due, list) and len(due) == 1 and same(said, due[0]):
        yield Relation("unlisted")
    if isinstance(due, bool) or isinstance(said, bool):
        words = _YES_WORDS if due else _NO_WORDS
        yield Relation("inverted") if isinstance(said, bool) and isinstance(due, bool) else None
        yield Relation("boolean_text") if isinstance(said, str) and said.strip().casefold() in words else None
    elif isinstance(said, int | float) and isinstance(due, int | float):
        yield from _of_numbers(said, due)
    elif isinstance(said, str) and isinstance(due, int | float):
        yield _number_text(said, due)
    elif isinstance(said, str):
        yield _structure_text(said, due)
    if isinstance(said, dict):
        yield from (Relation("boxed", str(key)[:40]) for key, each in said.items() if same(each, due))
        if isinstance(due, int | float) and not isinstance(due, bool):
            texts = [(str(key)[:40], each) for key, each in said.items() if isinstance(each, str)]
            yield from (Relation("boxed", key) for key, each in texts if _close(_number(each), due))
    if isinstance(said, list) and len(said) == 1 and same(said[0], due):
        yield Relation("listed")
    if isinstance(said, list) and isinstance(due, Mapping) and due:
        pairs = [tuple(each.values()) if isinstance(each, dict) else each for each in said]
        yield Relation("object_list") if same([list(each) for each in due.items()], [*map(_listed, pairs)]) else None


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _number_text(said: str, due: float) -> Relation | None:
    if _NUMBER_WORDS.get(said.strip().casefold()) == due or _joined(said) == due:
        return Relation("number_words")
    if _close(_number(said), due):
        return Relation("number_text")
    for told, digits in (("a comma for the point", said.replace(".", "").replace(",", ".")), *_grouped(said)):
        if _close(_number(digits), due):
            return Relation("number_text", told)
    found = re.search(r"-?\d[\d,]*(?:\.\d+)?", said)
    if found is None or not _close(_number(found.group().replace(",", "")), due):
        return None
    return Relation("number_with_unit", f"{said[: found.start()]}…{said[found.end() :]}"[:40])


def _grouped(said: str) -> Iterator[tuple[str, str]]:
    """A text of a number without the signs between its thousands."""
    return ((f"with `{sign}` between thousands", said.replace(sign, "")) for sign in ",_' " if sign in said)


def _joined(said: str) -> float | None:
    """Two words of a number: twenty-five."""
    parts = [_NUMBER_WORDS.get(each) for each in re.split(r"[\s-]+", said.strip().casefold())]
    known = [each for each in parts if each is not None]
    return sum(known) if len(known) == len(parts) == 2 else None


def _structure_text(said: str, due: object) -> Relation | None:
    if not isinstance(due, list | dict):
        return None
    for parse in (json.loads, literal):
        try:
            if same(parse(said[:MOST]), due):
                return Relation("json_text", "JSON" if parse is json.loads and "'" not in said else "Python")
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError, AttributeError):
            continue
    return None


def literal(text: str) -> Any:
    """A Python literal. Raises what `ast` raises."""
    return ast.literal_eval(parse_expression(text))


def _of_numbers(said: float, due: float) -> Iterator[Relation | None]:
    if said == due:
        yield Relation("number_type", "integer" if isinstance(said, int) else "decimal")
        return
    if re.sub(r"\d", "#", f"{said}") == re.sub(r"\d", "#", f"{due}"):
        yield Relation("digits", "the last ones" if _but_last(said) == _but_last(due) else "")


def _but_last(number: float) -> str:
    """A number's digits without the last one that is not only its type's."""
    return str(number).removesuffix(".0")[:-1]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _close(first: float | None, second: float) -> bool:
    return first is not None and math.isclose(first, second, rel_tol=1e-9)
