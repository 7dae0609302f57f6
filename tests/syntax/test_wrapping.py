"""Where a call list in a text begins and ends, found in time in proportion to the text."""

from __future__ import annotations

import pytest

from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.syntax import wrapping
from tests.decoding.as_objects import decode

ALL = frozenset({"C1", "C2", "C3", "C4"})


class Counting(str):
    """A text that counts how often the end of a string was looked for in it."""

    asked = 0

    def startswith(self, *arguments: object) -> bool:  # type: ignore[override]
        Counting.asked += 1
        return super().startswith(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("quote", ['\\"', "\\'"])
def test_a_string_that_never_ends_is_searched_once(quote: str) -> None:
    Counting.asked = 0
    assert wrapping._matching(Counting("[" + quote * 5_000), 0) is None
    assert Counting.asked == 1


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("[a]", 3),
        ("[')', \"]\"] and more]", 10),
        ("['it\\'s ]']", 11),
        ("[it's (fine)]", 13),
        ("[it's\n'a]']", 11),
        ("['a\\\n]']", 8),
        ("[(])", None),
        ('["a]', 4),
        ("['a\"]'\"]", 8),
        ("[", None),
    ],
)
def test_closing_bracket(text: str, end: int | None) -> None:
    assert wrapping._matching(text, 0) == end


def test_hostile_wrapping_stays_undecodable() -> None:
    for text in ("[serve(a=" + '\\"' * 20_000, "serve(" * 8_000, "```" + "a" * 49_000 + "(", "[(" * 20_000):
        with pytest.raises(DecodeError):
            decode(text, rules=ALL)
