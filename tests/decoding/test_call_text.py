import pytest

from pytest_bfcl.decoding import DecodeError, call_texts, is_empty
from pytest_bfcl.transcript import Reply, ToolCall


def native(*pairs):
    return call_texts(Reply(tool_calls=tuple(ToolCall(name, arguments) for name, arguments in pairs)), "fc")


def prompt(text):
    return call_texts(Reply(text=text), "prompt")


def test_native():
    assert native(("cd", '{"folder": "it\'s"}'), ("pwd", "{}")) == ['cd(folder="it\'s")', "pwd()"]
    assert native(("f", '{"a": {"b": {"c": 1}}, "d": [true, null]}')) == ["f(a={'b': {'c': 1}},d=[True, None])"]
    assert native(("f", '{"a b": NaN, "e": {}}')) == ["f(a b=nan,e={})"]
    assert call_texts(Reply(text=""), "fc") == []


@pytest.mark.parametrize("arguments", ["", '""', "[]", "null", "{x", '{"a": 1} '[:-2]])
def test_one_broken_native_call_spoils_the_step(arguments):
    with pytest.raises(DecodeError):
        native(("pwd", "{}"), ("f", arguments))


def test_native_text_ends_the_turn():
    for text in (None, "Done."):
        with pytest.raises(DecodeError):
            call_texts(Reply(text=text), "fc")


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("[ls(a=True), pwd()]", ["ls(a=True)", "pwd()"]),
        ("ls(),pwd()", ["ls()", "pwd()"]),
        ("(ls())", ["ls()"]),
        ("[]", []),
        ("", []),
        ("cd('x')", ["cd()"]),
        ("f(x=doc, y=true)", ["f(x='doc', y='true')"]),
        ("f(x=not True, y=1+2)", ["f(x=-1, y=3)"]),
        ("f(x=g(y=1), z=2)", ["f(x=g(y=1), z=2)"]),
        ("f(x=g(y=h(z=1)))", ["f(x=g(y=h(z=1)))"]),
        ("f(x=g(), y=g(1))", ["f(x='g()', y='g(1)')"]),
        ("f(x=[g(y=1)])", ["f(x=[{'g': {'y': 1}}])"]),
        ("f(x={'a': {'b': 1}})", ["f(x=a(b=1))"]),
        ("f(x={'a': {'b': 1}, 'c': {'d': 2}})", ["f(x=a(b=1))"]),
        ("f(x={'a': {'b': {'c': 1}}})", ["f(x=a(b={'c': 1}))"]),
        ("f(x={1: [{2: 3}], 'k': {}})", None),
        ("f(x={1: [{2: 3}], 'k': 4})", ["f(x={'1': [{2: 3}], 'k': 4})"]),
        ("f(x={})", None),
        ("f(x=[{}])", ["f(x=[{}])"]),
        ("f(**{'a': 1})", ["f(None={'a': 1})"]),
        ("a.b.c(x=0x10, y=1e3, z='a' 'b', w=...)", ["a.b.c(x=16, y=1000.0, z='ab', w='...')"]),
        ("f(x=a[0])", ["f(x='a[0]')"]),
        ("f(x=-(-1))", None),
        ("f(x=a.b)", None),
        ("Done", None),
        ("```python\n[ls()]\n```", None),
        ("ls()\npwd()", None),
        ("[ls()] ok", None),
        ("<TOOLCALL>[ls()]</TOOLCALL>", None),
    ],
)
def test_prompt(text, texts):
    if texts is None:
        with pytest.raises(DecodeError):
            prompt(text)
    else:
        assert prompt(text) == texts


def test_missing_text_does_not_decode():
    with pytest.raises(DecodeError):
        call_texts(Reply(text=None), "prompt")


def test_emptiness():
    assert is_empty([])
    assert is_empty([""])
    assert not is_empty(["ls()"])
    assert not is_empty(["", ""])
