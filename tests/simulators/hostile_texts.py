"""Call texts as a hostile model would write them: `REFUSED` by hand, `generated` from a grammar."""

from __future__ import annotations

import random
from collections.abc import Iterator

REFUSED = [
    "__import__('os').system('true')",
    "().__class__.__bases__[0].__subclasses__()",
    "''.__class__.__mro__[1].__subclasses__()",
    "pwd.__globals__['__builtins__']",
    "pwd().__class__",
    "getattr(pwd, '__func__')",
    "eval('pwd()')",
    "open('/etc/passwd').read()",
    "compile('1', '', 'eval')",
    "globals()['__builtins__']",
    "(lambda: pwd())()",
    "[pwd() for _ in range(9)]",
    "sum(x for x in (1, 2))",
    "f'{pwd()}'",
    "f'{__import__(\"os\")}'",
    "echo(content=f'{pwd()}')",
    "(x := pwd())",
    "echo(content=(x := 'a'))",
    "pwd(*[1])",
    "pwd(**{})",
    "echo(content='a', content='b')",
    "echo('a', content='b')",
    "echo()",
    "echo('a', 'b', 'c')",
    "echo(text='a')",
    "echo(content='a' + 'b')",
    "echo(content='a' * 10**9)",
    "echo(content=10**10**10)",
    "add(a=1, b=2) + 1",
    "9**9**9",
    "not pwd()",
    "pwd() and ls()",
    "await pwd()",
    "yield",
    "(yield pwd())",
    "pwd(); ls()",
    "import os",
    "x = pwd()",
    "def f(): pass",
    "raise SystemExit",
    "exit()",
    "exit.__call__()",
    "echo(content=b'bytes')",
    "echo(content=1j)",
    "echo(content=...)",
    "echo(content=nan)",
    "add(a=-'x', b=1)",
    "add(a=--[1], b=1)",
    "add(a={[]: 1}, b=1)",
    "add(a={[1]}, b=1)",
    "nothing()",
    "GorillaFileSystem.pwd()",
    "load(config={})",
    "invoke('pwd')",
    "public_state()",
    "pwd()()",
    "pwd[0]()",
    "",
    "\n",
    "#",
    "pwd)",
    "pwd('",
    "pwd('''",
    'pwd("\\',
    "pwd(\x00)",
    "\x00",
    "echo(content='\x00')\x00",
    "pwd(\ud800)",
    "pwd() ls()",
    "`pwd()`",
    "pwd()?",
    "pwd(1 2)",
    "echo(content=0777)",
    "echo(content=1__0)",
    "echo(content=" + "9" * 5_000 + ")",
    "echo(content=0x" + "f" * 5_000 + ")",
    "echo(content='" + "a" * 300_000 + "')",
    "(" * 300 + ")" * 300,
    "[" * 100_000,
    "-" * 100_000 + "1",
    "not " * 40_000 + "1",
    "lambda:" * 20_000 + "1",
    "1 if 1 else " * 15_000 + "1",
    "a" + ".b" * 90_000,
    "pwd" + "()" * 90_000,
    "pwd()" + "[0]" * 60_000,
    "1" + "+1" * 90_000,
    "1" + "**1" * 60_000,
    "f'" + "{f'" * 1_000,
    "add(a=" * 70 + "1" + ", b=1)" * 70,
    "[" + "pwd()," * 100 + "]",
    "power(base=10, exponent=10**9)",
    "power(" * 3 + "10, 10)['result'], 10)['result'], 10**10)",
]
"""Every one of these must give one error text, without any effect."""

BOUNDED = [
    "power(base=power(base=power(base=9, exponent=9)['result'], exponent=9)['result'], exponent=999999999)",
    "power(base=7, exponent=300000000)",
    "logarithm(value=10, base=2, precision=300000000)",
    "square_root(number=2, precision=300000000)",
    "find(name=[])",
    "multiply(a=" + "9" * 4_000 + ", b=" + "9" * 4_000 + ")",
]
"""Honest syntax asking for too much: one text, soon."""

_WORDS = """
pwd ls cd cat echo find mv cp rm mkdir touch add power logarithm mean post_tweet mention send_message eval exec open
__import__ getattr print type object len str int range input exit lambda not if for None True nan
"""
_KEY_WORDS = "content file_name folder source destination a b base exponent numbers precision tags tweet_id path name"
_VALUES = r"""
1 -1 2.5 1e308 -1e-9 10**9 0xff 1_000 True None '' 'a' "d" '.' '..' 'f' '''x''' f'{1}' b'x' r'\d' u'é' 1j ... []
{} () (1,) {1} {'a':1} [1,'a'] *a **k x:=1 a.b a[0] __class__ \ # ' " ( ) [ ] { } , : = + - ~ @ ! ;
"""
_NAMES, _KEYS = _WORDS.split(), _KEY_WORDS.split()
_ATOMS = [*_VALUES.split(), "", "\x00", "\n", "\t"]
_SUFFIXES = ("", "", "", "", "[0]", "['result']", ".x", "()", "[::2]", "[1:]", ".__class__", " + 1", " if 1 else 2")


def generated(count: int, seed: int = 0) -> Iterator[str]:
    """Random texts that mix accepted and refused syntax, some of them cut, doubled or with a character replaced."""
    rng = random.Random(f"hostile {seed}")
    for _ in range(count):
        text = _expression(rng, rng.randint(0, 5))
        if rng.random() < 0.3:
            text = _damaged(rng, text)
        yield text


def _expression(rng: random.Random, depth: int) -> str:
    form = rng.random()
    if depth == 0 or form < 0.15:
        return rng.choice(_ATOMS)
    if form < 0.75:
        inner = [_argument(rng, depth - 1) for _ in range(rng.randint(0, 3))]
        return f"{rng.choice(_NAMES)}({', '.join(inner)}){rng.choice(_SUFFIXES)}"
    left, right = rng.choice(("[]", "()", "{}"))
    inner = [_expression(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    if left == "{" and rng.random() < 0.5:
        inner = [f"{rng.choice(_ATOMS)}: {item}" for item in inner]
    return left + ", ".join(inner) + right


def _argument(rng: random.Random, depth: int) -> str:
    value = _expression(rng, depth)
    return f"{rng.choice(_KEYS)}={value}" if rng.random() < 0.7 else value


def _damaged(rng: random.Random, text: str) -> str:
    place = rng.randrange(len(text) + 1)
    return rng.choice(
        (
            text[:place],
            text[place:],
            text + text,
            text[:place] + rng.choice("\x00'\"\\()[]{}=,:.*-+ \n\ud800é") + text[place + 1 :],
            text[:place] + text[place : place + 3] * rng.choice((2, 50, 3_000)) + text[place + 3 :],
        )
    )
