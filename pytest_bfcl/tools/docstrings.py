"""Docstrings of tools: a description, a text for each parameter, and the properties of what is returned.

Google style (``Args:``, ``Returns:``) is what our own simulators use; ``:param name:`` lines are read too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from pytest_bfcl.json_types import Parsed

_ITEM = re.compile(r"(\w+(?: \([^()]*\))?): ?(.*)")
_FIELD = re.compile(r":(?:param|parameter|arg|argument)(?: [^:]*?)? (\w+): ?(.*)")
_OTHER_FIELD = re.compile(r":\w+[^:]*:.*")
_SECTIONS = ("Args:", "Arguments:", "Parameters:", "Returns:", "Raises:", "Yields:", "Example:", "Examples:", "Note:")
_ARGUMENTS = ("Args:", "Arguments:", "Parameters:")


class Docstring(NamedTuple):
    """What a docstring says: ``returned`` are property schemas by name."""

    description: str
    arguments: dict[str, str]
    returned: dict[str, Parsed]


def read_docstring(text: str) -> Docstring:
    """A cleaned docstring (`inspect.getdoc`) taken apart."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    arguments: dict[str, str] = {}
    for line in text.splitlines():
        word = line.strip()
        if line == word and word in _SECTIONS:
            current = word
            sections[current] = []
        elif field := _FIELD.fullmatch(word):
            arguments[field[1]] = field[2].replace("``", "`")
            current = f":{field[1]}"
            sections[current] = []
        elif _OTHER_FIELD.fullmatch(word) and line == word:
            current = word
            sections[current] = []
        elif current.startswith(":") and word and current[1:] in arguments:
            arguments[current[1:]] += f" {word}"
        else:
            sections[current].append(word)
    for name in _ARGUMENTS:
        for head, what in _items(sections.get(name, [])).items():
            arguments[head.partition(" (")[0]] = what
    returned: dict[str, Parsed] = {}
    for head, what in _items(sections.get("Returns:", [])).items():
        key, _, kind = head.partition(" (")
        returned[key] = {"type": kind.rstrip(")") or "any", "description": what}
    description = " ".join(" ".join(sections[""]).split())
    return Docstring(description.replace("``", "`"), arguments, returned)


def _items(lines: Sequence[str]) -> dict[str, str]:
    """``head: text`` lines with their continuation lines."""
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        matched = _ITEM.fullmatch(line)
        if matched:
            last = matched[1]
            found[last] = matched[2].replace("``", "`")
        elif line and last:
            found[last] += " " + line.replace("``", "`")
    return found
