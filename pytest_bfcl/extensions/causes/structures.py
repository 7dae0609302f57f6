"""What servers, templates and models do to lists, objects and arguments of calls: forward functions, by their names.

As in `primitives`, a function may raise: then it does not apply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from pytest_bfcl.extensions.causes.primitives import Change


def _in_go(value: Any) -> str:
    """As Go's `%v` prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_in_go(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_in_go, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")


_LIST_SIGNS = (", ", ",", " ", "; ", ";", "|", "\n", " and ", "/", "", " | ", " or ", "-")


LISTS: Mapping[str, Change] = {
    "in reverse order": lambda some: list(some)[::-1],
    "sorted": sorted,
    "sorted downwards": lambda some: sorted(some, reverse=True),
    "sorted as texts": lambda some: sorted(some, key=str),
    "with the first at the end": lambda some: some[1:] + some[:1],
    "with the last at the beginning": lambda some: some[-1:] + some[:-1],
    "without what comes twice": lambda some: [each for n, each in enumerate(some) if each not in some[:n]],
    "only the first": lambda some: some[:1],
    "only the last": lambda some: some[-1:],
    "the first, without a list": lambda some: some[0],
    "the last, without a list": lambda some: some[-1],
    "without the first": lambda some: some[1:],
    "without the last": lambda some: some[:-1],
    **{f"only the first {n}": lambda some, n=n: some[:n] for n in (2, 3)},
    "only the first half": lambda some: some[: (len(some) + 1) // 2],
    "only every second": lambda some: some[::2],
    "twice": lambda some: some * 2,
    "each element twice": lambda some: [each for one in some for each in (one, one)],
    "with the first twice": lambda some: some[:1] + some,
    "with the last twice": lambda some: some + some[-1:],
    "as their length": len,
    "as their sum": sum,
    "as their mean": lambda some: sum(some) / len(some),
    "as their largest": max,
    "as their smallest": min,
    "empty": lambda some: [],
    "in one more list": lambda some: [some],
    "each in a list": lambda some: [[each] for each in some],
    "flattened": lambda some: [each for one in some for each in one],
    "as an object with numbers": lambda some: {str(n): each for n, each in enumerate(some)},
    "as an object with numbers from one": lambda some: {str(n): each for n, each in enumerate(some, 1)},
    "as an object with the elements for names": lambda some: {str(each): True for each in some},
    "in an object under `items`": lambda some: {"items": some},
    "as objects with an index": lambda some: [{"index": n, "value": each} for n, each in enumerate(some)],
    "as texts of JSON": json.dumps,
    "as texts of Python": str,
    "as texts of Go": _in_go,
    "with every element as a text": lambda some: [str(each) for each in some],
    "as texts with commas and `and`": lambda some: (
        f"{', '.join(map(str, some[:-1]))} and {some[-1]}" if len(some) > 1 else str(some[0])
    ),
    **{f"as texts joined by `{sign}`": lambda some, sign=sign: sign.join(map(str, some)) for sign in _LIST_SIGNS},
}  # fmt: skip
"""What may be said in place of a list."""

OBJECTS: Mapping[str, Change] = {
    "only their values": lambda held: list(held.values()),
    "only their names": list,
    "as a list of assignments": lambda held: [f"{key}={each}" for key, each in held.items()],
    "as a list of texts `name: value`": lambda held: [f"{key}: {each}" for key, each in held.items()],
    "as objects of one name": lambda held: [{key: each} for key, each in held.items()],
    "names and values by turns": lambda held: [each for pair in held.items() for each in pair],
    "the names under `keys`, the values under `values`": lambda held: {
        "keys": list(held),
        "values": list(held.values()),
    },
    "with numbers for names": lambda held: {str(n): each for n, each in enumerate(held.values())},
    "as pairs": lambda held: [list(each) for each in held.items()],
    "as objects of name and value": lambda held: [{"name": key, "value": each} for key, each in held.items()],
    "as objects of key and value": lambda held: [{"key": key, "value": each} for key, each in held.items()],
    "in a list": lambda held: [held],
    "in one more object": lambda held: {"value": held},
    "empty": lambda held: {},
    "without the first name": lambda held: dict(list(held.items())[1:]),
    "without the last name": lambda held: dict(list(held.items())[:-1]),
    "only the first value": lambda held: next(iter(held.values())),
    "with names for values": lambda held: {str(each): key for key, each in held.items()},
    "with the values in their order, but the names in that of the alphabet": lambda held: dict(
        zip(sorted(held), held.values(), strict=True)
    ),
    "with values sorted": lambda held: dict(zip(held, sorted(held.values(), key=str), strict=True)),
    "with values in reverse order": lambda held: dict(zip(held, [*held.values()][::-1], strict=True)),
    "with every value at the next name": lambda held: dict(zip([*held][1:] + [*held][:1], held.values(), strict=True)),
    "with every value at the name before": lambda held: dict(
        zip([*held][-1:] + [*held][:-1], held.values(), strict=True)
    ),
    "as texts of JSON": json.dumps,
    "as texts of Python": str,
    "as texts of Go": _in_go,
    "as texts of lines": lambda held: "\n".join(f"{key}: {each}" for key, each in held.items()),
    "as texts of assignments": lambda held: ", ".join(f"{key}={each}" for key, each in held.items()),
    "as the query of an address": urlencode,
    "with texts for values": lambda held: {key: str(each) for key, each in held.items()},
}
"""What may be said in place of an object."""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lines(form: str, join: str = "\n") -> Change:
    return lambda held: join.join(form.format(key, _plain(each)) for key, each in held.items())


WRITERS: Mapping[str, Change] = {
    "": lambda held: json.dumps(held, ensure_ascii=False),
    "without spaces": lambda held: json.dumps(held, ensure_ascii=False, separators=(",", ":")),
    "in ASCII": json.dumps,
    "as literals of Python": repr,
    "as the query of an address": urlencode,
    "as the query of an address, with JSON inside": lambda held: urlencode({k: _plain(v) for k, v in held.items()}),
    "as XML": lambda held: "".join(f"<{key}>{_plain(each)}</{key}>" for key, each in held.items()),
    "as XML of parameters": lambda held: "".join(
        f'<parameter name="{key}">{_plain(each)}</parameter>' for key, each in held.items()
    ),
    "as lines of YAML": _lines("{}: {}"),
    "as assignments": _lines("{}={}"),
    "as options of a command": _lines("--{} {}", " "),
    "as a list of Markdown": _lines("- {}: {}"),
    "as values parted by commas": lambda held: ",".join(map(_plain, held.values())),
    "as values parted by commas and spaces": lambda held: ", ".join(map(_plain, held.values())),
    "as values parted by spaces": lambda held: " ".join(map(_plain, held.values())),
    "as values on lines": lambda held: "\n".join(map(_plain, held.values())),
    "as JSON of the names only": lambda held: json.dumps(list(held)),
    "as JSON lines": lambda held: "\n".join(json.dumps({key: each}) for key, each in held.items()),
    "as objects in a row": lambda held: "".join(json.dumps({key: each}) for key, each in held.items()),
}
"""How the arguments of a call may be written."""
