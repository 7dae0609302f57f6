"""Plain call lists read without a parser are what the parser reads; everything else is left to it."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_bfcl.syntax.call_parsing import read_plain_calls
from pytest_bfcl.syntax.python_syntax import PythonCalls


def parsed(text: str) -> list[Any]:
    """What the parser reads, under rules C1 and C4 as well."""
    calls = PythonCalls.__new__(PythonCalls)
    calls._plain, calls._nodes = None, ast.parse(text, mode="eval").body.elts  # type: ignore[attr-defined]
    plain = calls.calls()
    assert repr(plain) == repr(calls.calls(strict_signs=True, positional=lambda name: ["a", "b", "c"]))
    return plain


def same(text: str) -> bool:
    """Whether the text is a plain call list; then both ways give the same, classes and order included."""
    calls = read_plain_calls(text)
    if calls is None:
        return False
    assert repr(calls) == repr(parsed(text)), text
    return True


pieces = st.sampled_from(
    ["f(", "a.b(", "print(", "match(", "if(", ")", ",", ", ", "x=", "y = ", "z==", "None=", "__debug__=", "[", "]", "(",
     "{", "}", "1", "-1", "- 1", "+1", "01", "0", "-0", "1_0", "1.5", "-0.0", "1.", ".5", "1e5", "0x1", "1j", "9" * 16,
     "True", "False", "None", "true", "...", "'a'", '"a"', "'a b, (c=1)]'", "''", '""', "'''", "'é'", "'\\n'", "'\n'",
     "'\r'", "'\0'", "'\ud800'", "'\x0c'", "'\u2028'", "f'a'", "r'a'", "b'a'", "'", '"', "\\", " ", "\n", "\t", "#",
     "é=", "*", "**", ":", ";", "lambda", "not ", "-"]
)  # fmt: skip
literals = st.sampled_from(["1", "-1", "0", "1.5", "-0.0", "True", "None", "'a'", '"b c"', "''", "[1, 'x']", "[]", "x"])
arguments = st.tuples(st.sampled_from(["x", "y", "_z1", "if"]), st.sampled_from(["=", " = ", "= "]), literals)
calls = st.builds(
    lambda name, given, separator: f"{name}({separator.join(map(''.join, given))})",
    st.sampled_from(["f", "a.b", "a.if", "print", "True", "is"]),
    st.lists(arguments, max_size=3),
    st.sampled_from([", ", ",", " ,"]),
)
lists = st.builds(
    lambda made, separator: f"[{separator.join(made)}]", st.lists(calls, max_size=3), st.sampled_from([", ", ",\n"])
)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(st.lists(pieces, max_size=14).map(lambda found: f"[f({''.join(found)})]"), lists, st.text(max_size=20))
)
@example("[f(x='a' 'b')]")
@example("[f(x='a', x='b')]")
@example("[f(x=1)]]")
def test_plain_calls_are_read_as_the_parser_does(text: str) -> None:
    same(text)


@pytest.mark.parametrize(
    "text",
    [
        "[serve(dish='soup', size=2)]",
        '[kitchen.serve(dish="it\'s soup"), kitchen.wait(minutes=-1.5, hot=True, note=None)]',
        "[serve(with=[1, 'a', 2.5, False]),\n serve()]".replace("with", "extras"),
        "[serve(dish='f(x=1), g(y=2)]')]",
        "[serve(dish = 'crème brûlée')]",
    ],
)
def test_plain_lists_are_recognised(text: str) -> None:
    assert same(text)


@pytest.mark.parametrize(
    "text",
    [
        "[serve('soup')]", "[serve(dish='so' 'up')]", "[serve(dish='so\\'up')]", "[serve(dish=f'soup')]",
        "[serve(size=007)]", "[serve(size=1_000)]", "[serve(size=+1)]", "[serve(size=1e3)]",
        "[serve(size=1" + "0" * 15 + ")]",
        "[serve(dish='a', dish='b')]", "[serve(class=1)]", "[serve.if(x=1)]", "[None(x=1)]", "[serve(__debug__=1)]",
        "[serve(größe=1)]", "[serve(dish='a\nb')]", "[serve(dish='a\rb')]", "[serve(dish='\0')]",
        "[serve(dish='\ud800')]",
        "[serve(dish={'a': 1})]", "[serve(dish=[[1]])]", "[serve(dish=soup)]", "[serve(**x)]", "[serve(size=1,)]",
        "serve(size=1)", "[]", "", "[serve(size=1)] # note]",
    ],
)  # fmt: skip
def test_anything_else_is_left_to_the_parser(text: str) -> None:
    assert read_plain_calls(text) is None


def test_a_long_text_that_breaks_off_is_given_up_at_once() -> None:
    assert read_plain_calls("[" + "serve(size=1, dish='soup'), " * 35_000) is None
    assert read_plain_calls("[serve(size=[" + "1, " * 300_000) is None
