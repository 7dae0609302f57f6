"""Execution of call texts (multi_turn spec §3)."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.simulators import (
    ERROR_PREFIX,
    CallExecutor,
    CallRefused,
    ParsedCall,
    Simulator,
    split_call,
    tool,
)
from pytest_bfcl.simulators import toolkit as toolkit_module
from pytest_bfcl.syntax.call_parsing import MAX_CALLS, MAX_TEXT_CHARS, parse


class Shelf(Simulator):
    """A list that notes what was put on it."""

    name = "Shelf"
    summary = "A shelf."

    def load(self, config: dict[str, Any], **context: Any) -> None:
        self.items = list(config.get("items", []))

    @tool(writes=True)
    def put(self, item: Any, place: int = -1) -> dict[str, Any]:
        """Put something on the shelf.

        Args:
            item: What to put there.
            place: Where.
        """
        self.items.append(item)
        return {"count": len(self.items), "item": item, "place": place}

    @tool(writes=False)
    def count(self) -> int:
        """Count what is on the shelf."""
        return len(self.items)

    @tool(writes=True)
    def burn(self) -> None:
        """Raise an error."""
        raise KeyError("fire")

    def secret(self) -> str:
        return "not a tool"


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def executor(shelf: Shelf) -> CallExecutor:
    return CallExecutor({"Shelf": shelf}, {"shelf_put": "put", "Shelf.count": "count"})


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("put(item='a')", "a"),
        ("put('a')", "a"),
        ("put(item=-1)", -1),
        ("put(item=+2.5)", 2.5),
        ("put(item=- -3)", 3),
        ("put(item=0x10)", 16),
        ("put(item=1_000)", 1000),
        ("put(item=1e3)", 1000.0),
        ("put(item=.5)", 0.5),
        ("put(item=None)", None),
        ("put(item=True)", True),
        ("put(item=[1, (2, 'x'), {'k': {3}}])", [1, (2, "x"), {"k": {3}}]),
        ("put(item={})", {}),
        ("put(item=())", ()),
        ("put(item='it''s')", "its"),
        ("put(item='a' \"b\")", "ab"),
        ("put(item='''two\nlines''')", "two\nlines"),
        (r"put(item='\d \n \u00e9')", "\\d \n é"),
        (r"put(item=r'\n')", "\\n"),
        ("put(item='call(me) # not a comment')", "call(me) # not a comment"),
        ("put(item='ünïcödé ” 漢')", "ünïcödé ” 漢"),
        (" put ( item = 'a' , ) # note", "a"),
        ("put(\n  item='a',\n)", "a"),
        ("put(item=[1, 2, 3][1])", 2),
    ],
)
def test_accepted_arguments(shelf: Shelf, executor: CallExecutor, text: str, stored: Any) -> None:
    result = executor.execute(text)
    assert not result.startswith(ERROR_PREFIX), result
    assert shelf.items == [stored]
    assert type(shelf.items[0]) is type(stored)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("plain", "plain"),
        (None, "None"),
        (True, "True"),
        (["a", 1], "['a', 1]"),
        ((1,), "(1,)"),
        ({"a": "é", "b": None}, '{"a": "\\u00e9", "b": null}'),
        ({"a": {1}}, "{'a': {1}}"),
        ({1: "x"}, '{"1": "x"}'),
    ],
)
def test_result_texts(result: Any, text: str) -> None:
    assert toolkit_module.serialise(result) == text


def test_an_unknown_name_is_met_in_reading_order(shelf: Shelf, executor: CallExecutor) -> None:
    assert executor.execute("put(item=put(1), place=nan)").startswith(ERROR_PREFIX)
    assert shelf.items == [1], "the inner call had run, as in Python"
    assert executor.execute("missing(put(2))").startswith(ERROR_PREFIX)
    assert shelf.items == [1], "a missing function is met before its arguments"


def test_refused_syntax_is_met_before_anything_runs(shelf: Shelf, executor: CallExecutor) -> None:
    assert executor.execute("put(item=put(1), place=1 + 1)").startswith(ERROR_PREFIX)
    assert executor.execute("put(item=put(1), place=put(2).x)").startswith(ERROR_PREFIX)
    assert shelf.items == []


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("count()", False),
        ("[count(), count()]", False),
        ("Shelf.count()", False),
        ("put(1)", True),
        ("put(item=count())", True),
        ("missing()", True),
        ("count(", True),
        ("'text'", True),
    ],
)
def test_only_calls_of_known_read_only_tools_do_not_write(executor: CallExecutor, text: str, writes: bool) -> None:
    assert executor.writes(text) is writes


def test_split_call() -> None:
    assert split_call("a.b(1, 'x', k=-2, l=[None])") == ParsedCall("a.b", (1, "x"), {"k": -2, "l": [None]})
    for text in ("f(g())", "f(x)", "[f()]", "f()[0]", "f(", "", "f(a=1, a=2)", "1"):
        assert split_call(text) is None


def test_bounds_on_the_text() -> None:
    assert parse("f(x='" + "a" * (MAX_TEXT_CHARS - 10) + "')")
    for text in (
        "f(x='" + "a" * MAX_TEXT_CHARS + "')",
        "[" + "f()," * (MAX_CALLS + 1) + "]",
        "f(" * 80 + ")" * 80,
        "f(x=" + "1" * 5000 + ")",
        "f()" + "[0]" * 100,
    ):
        with pytest.raises(CallRefused):
            parse(text)
    assert parse("f(x=[" + "'AAPL'," * 10_000 + "])")


def test_results_above_the_bound_become_an_error_text(monkeypatch: pytest.MonkeyPatch, executor: CallExecutor) -> None:
    monkeypatch.setattr(toolkit_module, "MAX_RESULT_CHARS", 50)
    assert executor.execute("put(item='" + "a" * 100 + "')").startswith(ERROR_PREFIX)
