"""What differs, and whether the difference carries a server's mark."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from pytest_bfcl.extensions.wire.differences import difference
from pytest_bfcl.extensions.wire.replies import loads, split_events


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ("Grüße", "Gr\ufffd\ufffde"), ("😀", "\ud83d"), ("a\nb", "a\\nb"), ("a\\b", "ab"), ("1 < 2", "1 &lt; 2"),
        ("1 &lt; 2", "1 < 2"), ("Grüße", "GrÃ¼Ã\x9fe"), ("ab", "abab"), ("a long text", "a long"), ("the end", "end"),
        ("a  b", "a b"), ('say "no"', "say 'no'"), ("Grüße", "Gre"), ("e\u0301", "\u00e9"), (None, "None"), (True,
        "True"),
        (7, "7"), ("7", 7), ([1], "[1]"), ({"a": 1}, '{"a": 1}'), (9007199254740993, 9007199254740992.0),
        ({"a": None}, {}), ({"a": 1}, {"arguments": {"a": 1}}), (True, 1), (0, False), ({"a": "b", "n": 1}, {"a": "b"}),
        ("", None), ({"a": "", "b": 1}, {"b": 1}), ([7], 7), (7, [7]), (0.125, 0.12), ("50%20", "50 "),
        ('{"k": [1]}', {"k": [1]}),
        ("a\u200db", "ab"), ("2026-02-03", "2026-02-03T00:00:00"), ("x <|im_end|> y", "x  y"),
    ],
)  # fmt: skip
def test_marks_of_servers(wanted: object, got: object) -> None:
    assert difference({"x": wanted}, {"x": got}).kind == "damaged"


@pytest.mark.parametrize(
    ("wanted", "got"),
    [("Oslo", "Bergen"), (7, 8), (True, False), ([1, 2], [1]), ({"a": 1}, {"b": 1}), ("x", None), (2, True), ({}, [])],
)
def test_what_a_model_may_do(wanted: object, got: object) -> None:
    assert difference({"x": wanted}, {"x": got}).kind == "other"


def drawn(dice: random.Random, depth: int = 0) -> object:
    """Some JSON value."""
    kinds: list[Callable[[], object]] = [
        lambda: None, lambda: dice.random() < 0.5, lambda: dice.randint(-(10**18), 10**18), dice.random,
        lambda: "".join(dice.choices("aé世😀\\\"\n\ufffd {<&%0", k=dice.randint(0, 6))),
    ]  # fmt: skip
    if depth < 3:
        kinds.append(lambda: [drawn(dice, depth + 1) for _ in range(dice.randint(0, 3))])
        kinds.append(lambda: {key: drawn(dice, depth + 1) for key in dice.sample("abcé", dice.randint(0, 3))})
    return dice.choice(kinds)()


def test_any_two_values_can_be_compared_and_each_is_itself() -> None:
    dice = random.Random(7)
    for _ in range(400):
        wanted, got = drawn(dice), drawn(dice)
        assert difference({"x": wanted}, {"x": got}).kind in ("exact", "damaged", "other")
        for text in (json.dumps(wanted), json.dumps(wanted, ensure_ascii=False, indent=1)):
            assert difference({"x": wanted}, {"x": json.loads(text)}).kind == "exact"


def test_events_are_taken_apart_as_browsers_do() -> None:
    data = b": hello\n\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\ndata: 3\rid: 7\r\rdata: torn"
    assert [(e.name, e.data, e.ended) for e in split_events(data)] == [
        ("a", "1\n2", True),
        ("", "3", True),
        ("", "torn", False),
    ]


def test_any_bytes_are_some_events() -> None:
    dice = random.Random(7)
    for _ in range(200):
        data = bytes(dice.choices(b"data:evnt \n\r\x00\xff{}", k=dice.randint(0, 60)))
        assert all(isinstance(event.data, str) for event in split_events(data))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "[" * 100_000, "9" * 5_000, "{'a': 1}", ""])
def test_what_is_no_json(text: str) -> None:
    assert loads(text) is None
