import pytest

from pytest_bfcl.decoding import DecodeError, call_texts
from pytest_bfcl.transcript import Reply


def prompt(text):
    return call_texts(Reply(text=text), "prompt")


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
        (None, None),
    ],
)
def test_prompt(text, texts):
    if texts is None:
        with pytest.raises(DecodeError):
            prompt(text)
    else:
        assert prompt(text) == texts
