"""Changes of a conversation outside its entry's expectations, which the entry must allow. A place is a path in the
trial's directory (``notes/b.txt``), a table (``shop.db#orders``), or a part of a call's or resource's value
(``$.items[2]``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pytest_bfcl.dataset.expectation import Expectation, State
from pytest_bfcl.dataset.likeness import contained, same, steps_of

MOST_TOLD = 50
"""Most places that are stored for one conversation."""
_BESIDE = ("-wal", "-shm", "-journal")
"""Files that SQLite keeps next to a database."""

_NAMING = re.compile(r"(?i)id|.*_id|.*Id|name|key|title|path|slug|uid|uuid|number")

Files = Mapping[str, str]
"""Path in the trial's directory, or ``file.db#table`` → digest."""


def states_of(expectations: Iterable[Expectation]) -> list[tuple[Expectation, State]]:
    """Every expectation of the state, alternatives included."""
    each = (one for expectation in expectations for one in expectation.alternatives)
    return [(one, one.looked_at) for one in each if one.looked_at is not None]


def changed_files(before: Files, after: Files, looks: Sequence[State], seeded: Iterable[str]) -> list[str]:
    """New, missing and changed files and tables that no expectation names. Without an expectation about files only the
    entry's own files and folders (``seeded``) count, because a server keeps other files. A pattern (``files``) covers
    new and missing files, not their contents.
    """
    named = {str(look.file) for look in looks if look.file is not None}
    patterns = [look.files for look in looks if look.files is not None]
    all_count = bool(named or patterns)
    own = tuple(seeded)

    def covered(name: str) -> bool:
        file, _, table = name.partition("#")
        if table:
            return any(
                look.file == file and re.search(rf"(?i)\b{re.escape(table)}\b", look.sql or "") for look in looks
            )
        if file in named or any(file.removesuffix(end) in named for end in _BESIDE if file.endswith(end)):
            return True
        moved = (name in before) != (name in after)
        return moved and any(_matches(file, pattern) for pattern in patterns)

    changed = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return [
        name
        for name in changed
        if not covered(name) and (all_count or any(name == each or name.startswith(f"{each}/") for each in own))
    ]


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) or (pattern.startswith("**/") and fnmatchcase(path, pattern[3:]))


def changed_places(before: Any, after: Any, looks: Sequence[Expectation], last: int = 0) -> list[str]:
    """The changed places of one reported state that none of its expectations names. ``last`` is the last turn: an
    expectation after an earlier turn does not apply to the end.
    """
    if any(says_all(each, last) for each in looks):
        return []
    whole = [each for each in looks if _path(each) is None]
    wanted = [each.contains if "contains" in each.model_fields_set else each.equals for each in whole]
    paths = [steps_of(path) for each in looks if (path := _path(each)) is not None]
    return list(_changed(before, after, wanted, paths, "$"))


def says_all(each: Expectation, last: int = 0) -> bool:
    """Whether it fixes the whole final value, or a part from which the rest is unknown."""
    return _path(each) is None and "contains" not in each.model_fields_set and each.turn in (None, last)


def _path(each: Expectation) -> str | None:
    return each.looked_at.path if each.looked_at is not None else None


def _changed(before: Any, after: Any, wanted: list[Any], paths: list[list[str | int]], place: str) -> Iterator[str]:
    if [] in paths or same(before, after) or (paths and None in (before, after)):
        return  # a thing that comes or goes is what a look into it is about
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            inside = [each[name] for each in wanted if isinstance(each, dict) and name in each]
            step = f".{name}" if re.fullmatch(r"[A-Za-z_]\w*", str(name)) else f'["{name}"]'
            rest = [steps[1:] for steps in paths if steps[0] in ("*", str(name))]
            yield from _changed(before.get(name), after.get(name), inside, rest, place + step)
    elif isinstance(before, list) and isinstance(after, list):
        if paths:
            for number in range(max(len(before), len(after))):
                old, new = (side[number] if number < len(side) else None for side in (before, after))
                rest = [steps[1:] for steps in paths if steps[0] in ("*", number)]
                yield from _changed(old, new, [], rest, f"{place}[{number}]")
        else:
            items = [one for each in wanted for one in (each if isinstance(each, list) else [each])]
            yield from _changed_items(before, after, items, place)
    elif isinstance(before, str) and isinstance(after, str):
        lines = [line for each in wanted if isinstance(each, str) for line in each.splitlines()]
        if lines:
            yield from _changed_items(before.splitlines(), after.splitlines(), lines, place)
        elif place != "$":
            yield place
    elif not any(contained(each, after) for each in wanted):
        yield place


def _changed_items(before: list[Any], after: list[Any], wanted: list[Any], place: str) -> Iterator[str]:
    """New and missing items; an expected one may be new, and its earlier form missing."""
    gone = [(number, each) for number, each in enumerate(before) if not any(same(each, one) for one in after)]
    come = [(number, each) for number, each in enumerate(after) if not any(same(each, one) for one in before)]
    expected = [each for _, each in come if any(_is_about(one, each) for one in wanted)]
    for number, each in gone:
        replaced = next((one for one in expected if isinstance(each, str) or _is_same_thing(each, one)), None)
        if replaced is None:
            yield f"{place}[{number}] (gone)"
        else:
            expected.remove(replaced)
    for number, each in come:
        if not any(_is_about(one, each) for one in wanted):
            yield f"{place}[{number}] (new)"


def _is_about(wanted: Any, told: Any) -> bool:
    if isinstance(wanted, str) and isinstance(told, str):
        return wanted in told or (told.strip() != "" and told.strip() in wanted)
    return contained(wanted, told)


def _is_same_thing(one: Any, other: Any) -> bool:
    """Whether two objects have the same identity: by ids or names, else by their first plain value."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    plain = [name for name, value in one.items() if isinstance(value, str | int)]
    called = [name for name in plain if _NAMING.fullmatch(str(name))] or plain[:1]
    return any(same(one[name], other.get(name)) for name in called)


def not_allowed(places: Iterable[str], only: Iterable[str]) -> list[str]:
    """The places that no pattern of ``only`` allows to change; a pattern covers everything below it."""
    allowed = list(only)
    return [
        place
        for place in places
        if not any(
            fnmatchcase(place, each) or place == each or re.match(re.escape(each.rstrip("/")) + r"[/.\[#( ]", place)
            for each in allowed
        )
    ]
