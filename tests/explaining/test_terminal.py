"""What a person reads: the broken argument is marked, the rule is said, model text cannot touch the terminal."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.transcript import Reply
from tests.checkers.building import entry, function, transcript
from tests.explaining.same_words import failure_lines

SOUP = function("serve_soup", bowls="integer", table_="string", extras_="array<float>")
ANSWER = [{"serve_soup": {"bowls": [2, 3], "table": ["window", ""], "extras": [[1.0, 2.0], ""]}}]


def text(output: Any, answers: Any = ANSWER, functions: Any = None, **values: Any) -> str:
    judged = entry(functions or [SOUP], answers, **values)
    record = transcript(output, category=judged.category)
    verdict = judge(judged, record)
    assert not verdict.valid
    return failure_lines(judged, record, verdict)


def marked(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if "<--" in line]


JAVA = {"category": "simple_java", "language": "java", "return_format": "java"}


TWO = [{"serve_soup": {"bowls": [2]}}, {"serve_soup": {"bowls": [3], "table": ["window"]}}]
POT = function("Pot.fill", liters="long", lid="boolean")


@pytest.mark.parametrize(
    ("output", "answers", "values", "said"),
    [
        ("[serve_soup(bowls=5)]", ANSWER, {"request": "Two or three bowls of soup, please."},
         ["Two or three bowls of soup, please.", "2 or 3", '"window" or (left out)', "must equal an allowed one"]),
        ("[serve_soup(bowls=2, extras=[1, 2.0])]", [{"serve_soup": {"bowls": [2], "extras": [[1.0, 2.0]]}}], {},
         ["element 1 is an integer, not float", "write 1.0, not 1"]),
        ("[serve_soup(bowls=9, table='door'), serve_soup(bowls=2)]", TWO, {"category": "parallel"},
         ["call 2 of 2 has no match", "closest   call 1 of 2"]),
        ("[serve_soup(bowls=2), serve_soup(bowls=3)]", ANSWER, {}, ["expected  1 call:", "called    2 calls:"]),
        ([], ANSWER, {}, ["called    no call"]),
        ("[serve_soup(bowls=2)]", None, {"category": "irrelevance"}, ["expected  no call", "serve_soup(bowls=2)"]),
        ("[Pot.fill(liters=5, lid=true)]", [{"Pot.fill": {"liters": [5], "lid": [True]}}], {"functions": [POT], **JAVA},
         ["not a literal of type long", "needs its suffix: 5L", "lid       true      true"]),
    ],
)  # fmt: skip
def test_both_sides_are_shown(output: Any, answers: Any, values: dict[str, Any], said: list[str]) -> None:
    shown = text(output, answers, **values)
    assert [words for words in said if words not in shown] == [], shown
    assert ("closest" in shown) == (len(marked(shown)) == 2)


def test_model_text_is_escaped_and_bounded() -> None:
    nasty = "\x1b[2J\u202e\x07 \ud800" + "x" * 100_000
    for output in (nasty, f"[serve_soup(bowls=2, table={nasty!r})]", Reply(text=nasty, problem="length")):
        shown = text(output)
        assert not any(character in shown for character in "\x1b\u202e\x07\ud800\r")
        assert len(shown) < 6000
        shown.encode()
