import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape
from tests.decoding.as_objects import decode


def javascript(text, rules="official"):
    return decode(text, return_format="javascript", rules=rules)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[apply(setting='main')]", [{"apply": {"setting": "main"}}]),
        ("[apply(setting=`main`)]", [{"apply": {"setting": "`main`"}}]),
        ('[apply(setting="a" + "b")]', [{"apply": {"setting": 'a" + "b'}}]),
        ("[a.b(x=[1, {k: 2}], y=z => z)]", [{"a.b": {"x": "[1, {k: 2}]", "y": "z => z"}}]),
        ('[apply(setting="x"); other(z="y");]', [{"apply": {"setting": "x"}}]),
        ("[apply({setting: 1}, 5, name, x=é)]", [{"apply": {None: "name", "x": "é"}}]),
        ("[apply(true, x+=1)]", [{"apply": {None: "true"}}]),
        ("[f?.(x=1)]", [{"f": {}}]),
        ("[f`x=1`]", [{"f": {}}]),
        ("[f(x=/* c */ 1)]", [{"f": {"x": "/* c */"}}]),
        ("let q = 1; f(x=1)", [{"f": {"x": "1"}}]),
        ('[f(x=")]', None),
    ],
)
def test_calls(text, calls):
    if calls is None:
        with pytest.raises(DecodeError):
            javascript(text)
    else:
        assert javascript(text) == calls


@pytest.mark.parametrize("text", ["[f(x: 1)]", "[f(x=1, x=2)]", "[f(a, b)]", "Sorry, I cannot", "[f(x=1"])
def test_what_does_not_decode(text):
    with pytest.raises(DecodeError) as caught:
        javascript(text)
    assert not isinstance(caught.value, WrongShape)
