import pytest

from pytest_bfcl.decoding import DecodeError
from tests.decoding.as_objects import decode


def value_of(expression):
    return decode(f"[f(x={expression})]")[0]["f"]["x"]


@pytest.mark.parametrize(
    "text",
    [
        "```python\n[f(x=1)]\n```",
        "Here: [f(x=1)]",
        "\t[f(x=1)]",
        "[f(x=1)]\r",
        "'[f(x=1)]'",
        "Sorry",
        "[[f(x=1)]]",
        "[f(x=1)] [g(y=1)]",
        "f(x=1)\ng(y=1)",
        "[get-it(x=1)]",
        "<TOOLCALL>[f(x=1)]</TOOLCALL>",
        "[f(x=1)][0]",
        "f(x=\x00)",
        "f(x='\ud800')",
        "[f(x=1), y]",
        "[f(x=1) for f in g]",
    ],
)
def test_what_does_not_decode(text):
    with pytest.raises(DecodeError):
        decode(text)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'a' 'b'", "ab"),
        ("b'q'", b"q"),
        ("2j", 2j),
        ("1_000", 1000),
        ("0x10", 16),
        ("None", None),
        ("...", "..."),
        ("-40", -40),
        ("+40", -40),
        ("~40", -40),
        ("not True", -1),
        ("-True", -1),
        ("-(5)", -5),
        ("[1, (2, 'x'), {'k': [y]}]", [1, (2, "x"), {"k": ["y"]}]),
        ("true", "true"),
        ("stock", "stock"),
        ('rows["id"]', "rows['id']"),
        ("a[1, 2]", "a[(1, 2)]"),
        ("(a+b)[0]", "a + b[0]"),
        ("a[1:2]", "a[1:2]"),
        ("now(1,2)", "now(1, 2)"),
        ("now()", "now()"),
        ("now(1, z=2)", {"now": {"z": 2}}),
        ("g(h(k=1), y=[i(j=2)])", {"g": {"y": [{"i": {"j": 2}}]}}),
        ("1e999", float("inf")),
    ],
)
def test_values(expression, value):
    decoded = value_of(expression)
    assert decoded == value
    assert type(decoded) is type(value)


@pytest.mark.parametrize(
    "expression",
    [
        "--5",
        "-x",
        "-(1+2)",
        "-'a'",
        "-None",
        "+...",
        "{**x}",
        "{[1]: 2}",
        "{{}: 1}",
        "lambda q: q",
        "a.b",
        "1 < 2",
        "a and b",
        "1 if a else 2",
        "[i for i in j]",
        "{1}",
        "f'x'",
        "[*a]",
        "(y := 1)",
        "await z",
        "9" * 4301,
        "0x" + "f" * 4000,
        "!",
        "",
    ],
)
def test_values_that_do_not_decode(expression):
    with pytest.raises(DecodeError):
        value_of(expression)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "f(" * 50_000,
        "f(x=" + "-" * 100_000 + "1)",
        "f(x=" + "1+" * 100_000 + "1)",
        "f(x=" + "[" * 250 + "]" * 250 + ")",
        "a" + ".b" * 100_000 + "(x=" + "y" * 10 + "+1)",
        "f(x='" + "a" * 1_000_000,
    ],
)
def test_hostile_texts_fail_quickly(text):
    with pytest.raises(DecodeError):
        decode(text)
