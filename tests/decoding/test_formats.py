import pytest

from pytest_bfcl.decoding import DecodeError, WrongShape
from tests.decoding.as_objects import decode

F = '{"function": "f", "parameters": {"a": 1}}'


def call(arguments):
    return [{"f": arguments}]


def test_json_errors():
    assert decode("[not json]", return_format="json") == []
    assert decode("prose", return_format="json") == []
    for text in ('[{"function": "f"}]', '[{"parameters": {}}]', '[{"function": ["f"], "parameters": {}}]'):
        with pytest.raises(DecodeError):
            decode(text, return_format="json")
    with pytest.raises(WrongShape):
        decode('[{"function": "f", "parameters": 5}]', return_format="json")


def test_json_in_a_tag():
    def tagged(inside):
        return decode(f"<TOOLCALL>{inside}</TOOLCALL>", return_format="json", tool_call_tag=True)

    assert tagged(f"[{F}]") == call({"a": 1})
    assert tagged(F) == tagged('"text"') == []
    for inside in ("5", "null"):
        with pytest.raises(DecodeError):
            tagged(inside)


def verbose(value, kind, **options):
    param = f'<param name="a" value="{value}" type="{kind}"/>'
    text = f'<functions><function name="f"><params>{param}</params></function></functions>'
    return decode(text, return_format="verbose_xml", **options)[0]["f"]["a"]


@pytest.mark.parametrize(
    ("value", "kind", "decoded"),
    [
        (" x ", "string", " x "),
        ("5", "integer", 5),
        ("1_0", "integer", 10),
        ("2", "float", 2.0),
        ("TRUE", "boolean", True),
        ("yes", "boolean", False),
        ("x", "null", None),
        ("[1, 'b']", "array", [1, "b"]),
        ("(1, 2)", "array", (1, 2)),
        ("{'k': None}", "dict", {"k": None}),
        ("5", "number", "5"),
        ("5", "Integer", "5"),
    ],
)
def test_xml_conversion(value, kind, decoded):
    result = verbose(value, kind)
    assert result == decoded
    assert type(result) is type(decoded)


@pytest.mark.parametrize(("value", "kind"), [("x", "integer"), ("", "float"), ("[true]", "array"), ("f(x)", "object")])
def test_xml_conversion_failures(value, kind):
    with pytest.raises(DecodeError):
        verbose(value, kind)


def test_verbose_xml_structure():
    def decoded(inside):
        return decode(f"So: <functions>{inside}</functions> .", return_format="verbose_xml")

    assert decoded("") == []
    assert decoded('<function name="f"><param name="a" value="1"/></function>') == call({"a": "1"})
    assert decoded('<function name="f"><params><param value="1"/></params></function>') == call({None: "1"})
    assert decoded('<function name="f"><params/><param name="a" value="1"/></function>') == call({})
    assert decoded('<x><function name="f"/></x>') == []
    for inside in ("<function/>", "<function>", "&nbsp;", '<function name="f"><params><param value="&x;"/></params>'):
        with pytest.raises(DecodeError):
            decoded(inside)


@pytest.mark.parametrize(
    "text",
    [
        "no xml",
        "<Functions></Functions>",
        "<functions >x</functions>",
        '<!DOCTYPE x [<!ENTITY a "aaaa">]><functions>&a;</functions>',
        "<functions>" + "<a>" * 100_000 + "</functions>",
        "<functions>" * 90_000,
    ],
)
def test_xml_that_does_not_decode(text):
    for return_format in ("verbose_xml", "concise_xml"):
        with pytest.raises(DecodeError):
            decode(text, return_format=return_format)


def test_unknown_format_is_the_callers_mistake():
    with pytest.raises(ValueError, match="unknown return format"):
        decode("[]", return_format="yaml")
