import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape
from tests.decoding.as_objects import decode


def java(text, rules="official"):
    return decode(text, return_format="java", rules=rules)


def value_of(expression, rules="official"):
    return java(f"[svc.configure(setting={expression});]", rules)[0]["svc.configure"]["setting"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('"main"', "main"),
        ("'q'", "q"),
        (r'"a\"b"', r"a\"b"),
        ("Modes.FAST", "Modes.FAST"),
        ("5L", "5L"),
        ("- 5", "-5"),
        ("new int[]{1, 2 , 3}", "new int[]{1,2,3}"),
        ('new String[] {"x", }', 'new String[]{"x",}'),
        ('new ArrayList<String>(Arrays.asList("x",  "y"))', 'new ArrayList<String>(Arrays.asList("x",  "y"))'),
        ('new ArrayList<String>() {{ add("x"); }}', "new ArrayList<String>()"),
        ("x -> x + 1", "x->x+1"),
        ("new Foo<A, B>(x,y)", "new Foo<A,B>(x, y)"),
        ("(f(1, 2))", "(f(1, 2))"),
        ("!new T(1,2)", "!new T(1, 2)"),
        ("g(new T() { int q; }) + 1", "g(new T() { int q; })+1"),
        ("Foo.class", "Foo.class"),
        ('"a" + "b"', '"a"+"b"'),
        ("/* why */ 1", "/* why */"),
        ("new T(/* a */ 1)", "new T(/* a */, 1)"),
        ("new int[][]{{1}}", "new int[]{{1}}"),
    ],
)
def test_values_are_text(expression, value):
    assert value_of(expression) == value


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[configure(setting=5)]", [{"configure": {"setting": "5"}}]),
        ("[f(a=5);]", [{"f": {"a": "5"}}]),
        ("[Foo.<T>make(a=1, b=2);]", [{"Foo.make": {"a": "1", "b": "2"}}]),
        ('[configure("value");]', [{"configure": {}}]),
        ("[configure(ident, a=1);]", [{"configure": {None: "ident", "a": "1"}}]),
        ("[configure(a=1); other(b=2);]", [{"configure": {"a": "1"}}]),
        ("[configure(a += 1, /* c */ b=2);]", [{"configure": {"a": "1", "b": "2"}}]),
    ],
)
def test_calls(text, calls):
    assert java(text) == calls


@pytest.mark.parametrize(
    "text",
    [
        "[f(a=5)]",
        "I am unable to do that.",
        "[configure(a=1), configure(a=2)]",
        "[configure(a=1, a=2);]",
        "[configure(x, y);]",
        "[configure(a: 1);]",
        "[configure(a=new int[3]);]",
        "Use this: [configure(a=1);]",
        "[configure(a=1",
        "configure(a='\ud800');",
    ],
)
def test_what_does_not_decode(text):
    with pytest.raises(DecodeError) as caught:
        java(text)
    assert not isinstance(caught.value, WrongShape)


def test_bytes_are_taken_for_characters():
    assert java('[svc.configure(a="né", b="zz");]') == [{"svc.configure": {"a": 'né"', "=": 'z"'}}]


@pytest.mark.parametrize(
    "text",
    [
        "a<" * 60_000,
        "[" * 100_000,
        "|(int)x=" * 300,
        pytest.param("|(int)x=" * 1_200, marks=pytest.mark.slow),
        "/*" * 30_000,
        "??:++" * 1_900,
    ],
)
def test_hostile_texts_fail(text):
    for language in ("java", "javascript"):
        with pytest.raises(DecodeError):
            decode(text, return_format=language, rules="corrected")
