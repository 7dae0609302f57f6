import pytest

from pytest_bfcl.syntax.java import java_value
from pytest_bfcl.syntax.javascript import javascript_value
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.python_syntax import python_literal


def typed(kind, items=None):
    return {"type": kind} | ({"items": {"type": items}} if items else {})


@pytest.mark.parametrize(
    ("source", "schema", "value"),
    [
        ("5", typed("integer"), 5),
        ("-5", typed("short"), -5),
        ("0xFF", typed("integer"), 255),
        ("1_000", typed("byte"), 1000),
        ("5L", typed("long"), 5),
        ("5", typed("long"), 5),
        ("-0x1F", typed("long"), -31),
        ("5L", typed("integer"), "5L"),
        ("5", typed("float"), 5.0),
        ("5L", typed("float"), 5.0),
        ("5L", typed("double"), 5.0),
        ("1.5f", typed("double"), 1.5),
        ("0x1f", typed("float"), 31.0),
        ("1.5", typed("long"), "1.5"),
        ("1.5f", typed("long"), "1.5f"),
        ("Integer.valueOf(5)", typed("integer"), 5),
        ("Integer.valueOf(5)", typed("long"), 5),
        ("Long.valueOf(5)", typed("long"), 5),
        ("Long.valueOf(5)", typed("integer"), "Long.valueOf(5)"),
        ("Integer.valueOf(5L)", typed("long"), "Integer.valueOf(5L)"),
        ("new Double(2)", typed("double"), 2.0),
        ("Boolean.valueOf(true)", typed("boolean"), True),
        ("Boolean.valueOf(1)", typed("boolean"), "Boolean.valueOf(1)"),
        ("Integer(5)", typed("integer"), "Integer(5)"),
        ("(long) 5", typed("long"), 5),
        ("(float) 1.5", typed("float"), 1.5),
        ("(int) 1.5", typed("integer"), 1),
        ("(long) x", typed("long"), "(long) x"),
        ("9" * 400, typed("double"), "9" * 400),
        ("1e999", typed("double"), float("inf")),
        ("(int) 1e999", typed("integer"), "(int) 1e999"),
        ("new long[]{1, 2L}", typed("Array", "long"), [1, 2]),
        ("new ArrayList<>(Arrays.asList(1, Integer.valueOf(2)))", typed("ArrayList", "long"), [1, 2]),
        ("1.5f", typed("float"), 1.5),
        ("1.5", typed("float"), "1.5"),
        ("1.5", typed("double"), 1.5),
        ("1.5d", typed("double"), 1.5),
        ("3", typed("double"), 3.0),
        ("abc", typed("integer"), "abc"),
        ("true", typed("boolean"), True),
        ("True", typed("boolean"), "True"),
        ("9" * 5000, typed("integer"), "9" * 5000),
        ('"Main"', typed("String"), "Main"),
        ("Main", typed("String"), "Main"),
        (r'"a\tbA"', typed("String"), "a\tbA"),
        ("'q'", typed("char"), "q"),
        ("'several words'", typed("String"), "several words"),
        ("new String[]{'ab', 'cd'}", typed("Array", "String"), ["ab", "cd"]),
        ("new Gear(2)", typed("any"), "new Gear(2)"),
        ('"a" + "b"', typed("String"), '"a" + "b"'),
        ('new String[]{"x", "y, z", w}', typed("Array", "String"), ["x", "y, z", "w"]),
        ("new int[]{1, 2,}", typed("Array", "integer"), [1, 2]),
        ("new char[]{'a'}", typed("Array", "char"), ["a"]),
        ("new int [] {}", typed("Array", "integer"), []),
        ("{1, 2}", typed("Array", "integer"), "{1, 2}"),
        ('new ArrayList<String>(Arrays.asList("a, b", "c"))', typed("ArrayList", "String"), ["a, b", "c"]),
        ('new ArrayList<String>() {{ add("x");\n add("y"); }}', typed("ArrayList", "String"), ["x", "y"]),
        ('new ArrayList<Object>(Arrays.asList("u", 42, true, -1.5))', typed("ArrayList", "any"), ["u", 42, True, -1.5]),
        ("new ArrayList<Long>(List.of(1L, 2L))", typed("ArrayList", "long"), [1, 2]),
        ("new ArrayList<>()", typed("ArrayList"), []),
        ("List.of(1)", typed("ArrayList", "integer"), "List.of(1)"),
        ("ids", typed("ArrayList", "integer"), "ids"),
        (
            "new ArrayList<List<Integer>>(Arrays.asList(Arrays.asList(1), List.of()))",
            {"type": "ArrayList", "items": {"type": "ArrayList", "items": {"type": "integer"}}},
            [[1], []],
        ),
        (
            'new HashMap<String, Object>() {{ put("k", "v)"); put("n", 5); put("t", true); }}',
            typed("HashMap"),
            {"k": "v)", "n": 5, "t": True},
        ),
        ('new HashMap<>(Map.of("k", new int[]{1}))', typed("HashMap"), {"k": [1]}),
        ("new HashMap<>()", typed("HashMap"), {}),
        (
            'new HashMap<String, Map<String, Integer>>() {{ put("a", new HashMap<>() {{ put("b", 1); }}); }}',
            typed("HashMap"),
            {"a": {"b": 1}},
        ),
        ("new HashMap<>() {{ clear(); }}", typed("HashMap"), "new HashMap<>() {{ clear(); }}"),
        ("a), g(b", typed("HashMap"), "a), g(b"),
        ("(" * 5000, typed("HashMap"), "(" * 5000),
        ("", typed("HashMap"), ""),
        ("\ud800", typed("Array"), "\ud800"),
        ('new String[]{"né", "zz"}', typed("Array", "String"), ["né", "zz"]),
    ],
)
def test_java(source, schema, value):
    result = java_value(source, schema)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("source", "schema", "value"),
    [
        ("5", typed("integer"), 5),
        ("5.0", typed("integer"), "5.0"),
        ("5", typed("float"), 5.0),
        ("5e2", typed("float"), 500.0),
        (".5", typed("float"), 0.5),
        ("5n", typed("Bigint"), 5),
        ("5", typed("Bigint"), "5"),
        ("true", typed("Boolean"), True),
        ('"5"', typed("String"), "5"),
        ("`main`", typed("String"), "main"),
        ("`${x}`", typed("String"), "`${x}`"),
        (r"'it\'s'", typed("String"), "it's"),
        ("myVar", typed("any"), "myVar"),
        (r"'\u{1F600}\x41'", typed("any"), "\U0001f600A"),
        ("[\"a, b\", 'c', d]", typed("array", "String"), ["a, b", "c", "d"]),
        ("[1, 2]", typed("array", "float"), [1.0, 2.0]),
        ("new Array(1, - 2)", typed("array", "integer"), [1, -2]),
        ("[\n1,\n]", typed("array", "integer"), [1]),
        ('[{"k": 1, "m": 2}]', typed("array", "dict"), [{"k": 1, "m": 2}]),
        ("[[1], [2]]", typed("array"), [[1], [2]]),
        ("{k: {m: 1},\n n: '1'}", typed("dict"), {"k": {"m": 1}, "n": "1"}),
        ("{'a b': [1.5, null, f(x)]}", typed("dict"), {"a b": [1.5, None, "f(x)"]}),
        ("{a, b: true}", typed("dict"), {"a": "a", "b": True}),
        (" {} ", typed("dict"), {}),
        (" opts ", typed("dict"), "opts"),
        ("{...rest}", typed("dict"), "{...rest}"),
        ("list", typed("array"), "list"),
        ("[1].concat(x)", typed("array"), "[1].concat(x)"),
        ("[1], [2]", typed("array"), "[1], [2]"),
        ("{k: 1}", typed("array"), "{k: 1}"),
        ("[1]) (", typed("array"), "[1]) ("),
        ("[" * 5000, typed("array"), "[" * 5000),
        ("{é: 'né', b: 'zz'}", typed("dict"), {"é": "né", "b": "zz"}),
    ],
)
def test_javascript(source, schema, value):
    result = javascript_value(source, schema)
    assert result == value
    assert type(result) is type(value)


def test_what_is_wrong_is_said_without_addresses():
    """Equal replies have equal lines."""
    with pytest.raises(DecodeError, match="not a Python literal") as found:
        python_literal("-'a'")
    assert "ast.Constant" in str(found.value)
    assert "0x" not in str(found.value)
