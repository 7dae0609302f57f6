import pytest

from pytest_bfcl.decoding import DecodeError
from tests.decoding.as_objects import decode


def value_of(expression):
    return decode(f"[f(x={expression})]")[0]["f"]["x"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("8*5", 40),
        ("-1 + 2", 1),
        ("+1 + +2", 3),
        ("~1 + 0", -2),
        ("(not True) + 1", 1),
        ("2**10", 1024),
        ("7 // 2", 3),
        ("1/4", 0.25),
        ("2 ** -1", 0.5),
        ("1 << 4", 16),
        ("6 ^ 3", 5),
        ("6 & 3 | 8", 10),
        ("1 + 2j", 1 + 2j),
        ("True + True", 2),
        ("'a' + 'b'", "ab"),
        ("'ab' * 3", "ababab"),
        ("3 * [0]", [0, 0, 0]),
        ("[1] + [2, [3]]", [1, 2, [3]]),
        ("(1,) + (2,)", (1, 2)),
        ("'%s-%03d' % ('a', 7)", "a-007"),
        ("'%(k)s' % {'k': 1}", "1"),
        ("'%5.1f' % 2.25", "  2.2"),
        ("1 ** 99999999", 1),
        ("'' * 99999999999", ""),
        ("[] * -5", []),
        ("10 ** 4299", 10**4299),
        ("'100%' + 's'", "100%s"),
    ],
)
def test_folded(expression, value):
    assert value_of(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "1/0",
        "1 % 0",
        "a + b",
        "1 + None",
        "'a' - 'b'",
        "[1] @ [2]",
        "'%d' % 'x'",
        "'%s %s' % 1",
        "1 << -1",
        "10.0 ** 400",
        "2 ** 2 ** 2 ** 2 ** 2 ** 2",
        "9 ** 999999999",
        "1 << 999999999",
        "'a' * 10**9",
        "[0] * 10**9",
        "10 ** 4300",
        "[[[[0] * 999] * 999] * 999] * 999",
        "'%999999999d' % 1",
        "'%*d' % (999999999, 1)",
        "'%.999999999f' % 1.0",
        "('a' * 99999 + 'b') * 99999",
        "open('x') + 1",
        "str(1) + 'a'",
        "(1).real + 1",
        "[i for i in [1]] + [1]",
        "f'{1}' + 'a'",
        "1 + (lambda: 1)",
        "... + 1",
        "'x'.join([]) + 'a'",
        "-'a' + 'b'",
        "1 + x[0]",
        "2.0 ** 9999",
    ],
)
def test_refused(expression):
    with pytest.raises(DecodeError):
        value_of(expression)


def test_the_work_of_one_text_is_bounded():
    many = " + ".join(["'a' * 99000"] * 60)
    with pytest.raises(DecodeError):
        value_of(many)
    with pytest.raises(DecodeError):
        decode(", ".join(["f(x='a' * 99000)"] * 60))
