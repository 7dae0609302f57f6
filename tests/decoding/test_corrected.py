"""Every corrected rule with a part in decoding: official result against corrected result, and the rule alone."""

import pytest

from pytest_bfcl.decoding import DecodeError, ReplyDecoder
from pytest_bfcl.decoding.reply import DECODING_RULES, active_rules
from pytest_bfcl.transcript import Reply
from tests.decoding.as_objects import decode

DOCUMENTS = [{"name": "f", "parameters": {"properties": {"x": {}, "y": {}}}}]
X1 = [{"f": {"x": 1}}]
FAILS = None


def outcome(text, rules, return_format):
    try:
        return decode(text, return_format=return_format, rules=rules, functions=DOCUMENTS)
    except DecodeError:
        return FAILS


def json_text(value):
    return '[{"function": "f", "parameters": {"x": ' + value + "}}]"


def xml_text(value, kind="array"):
    return f'<functions><function name="f"><param name="x" value="{value}" type="{kind}"/></function></functions>'


def concise_text(value, kind="array"):
    return f'<functions><function name="f"><param name="x" type="{kind}">{value}</param></function></functions>'


CASES = [
    # rule, format, text, official, corrected
    ("C1", "python", "f(x=+1)", [{"f": {"x": -1}}], X1),
    ("C1", "python", "f(x=~1)", [{"f": {"x": -1}}], FAILS),
    ("C1", "python", "f(x=not True)", [{"f": {"x": -1}}], FAILS),
    ("C1", "python", "f(x=-1)", [{"f": {"x": -1}}], [{"f": {"x": -1}}]),
    ("C2", "python", "```python\n[f(x=1)]\n```", FAILS, X1),
    ("C2", "python", "I'll do it: [f(x=1)]. Fine?", FAILS, X1),
    ("C2", "python", "\t[f(x=1)]\r\n", FAILS, X1),
    ("C2", "python", "f(x=1)\nf(y=[2,\n 3])", FAILS, [{"f": {"x": 1}}, {"f": {"y": [2, 3]}}]),
    ("C2", "python", "So:\n```\nf(x=1)\n```\nDone", FAILS, X1),
    ("C2", "python", "[f(x=1)] or [f(x=2)]", FAILS, FAILS),
    ("C2", "python", "Either [f(x=1)], I mean [f(x=1)]!", FAILS, X1),
    ("C2", "python", "Call g(y=[f(x=1)]) now", FAILS, FAILS),
    ("C2", "python", "<TOOLCALL>[f(x=1)]</TOOLCALL>", FAILS, FAILS),
    ("C2", "python", "See [1] and [f(x='a]b')] ok", FAILS, [{"f": {"x": "a]b"}}]),
    ("C2", "java", "Use this: [configure(x=1);]", FAILS, [{"configure": {"x": "1"}}]),
    ("C2", "javascript", "Use this: [f(x='1')]", FAILS, [{"f": {"x": "1"}}]),
    ("C3", "python", r"[get\_it(my\_x=1)]", FAILS, [{"get_it": {"my_x": 1}}]),
    ("C3", "python", r"[f(x='a\_b')]", [{"f": {"x": r"a\_b"}}], [{"f": {"x": r"a\_b"}}]),
    ("C3", "javascript", r"[get\_it(x=1)]", FAILS, [{"get_it": {"x": "1"}}]),
    ("C3", "json", r'[{"function": "get\_it", "parameters": {}}]', [], [{"get_it": {}}]),
    ("C3", "verbose_xml", r'<functions><function name="a\_b"/></functions>', [{r"a\_b": {}}], [{"a_b": {}}]),
    ("C4", "python", "f(1)", [{"f": {}}], X1),
    ("C4", "python", "f(1, y=2)", [{"f": {"y": 2}}], [{"f": {"x": 1, "y": 2}}]),
    ("C4", "python", "f(1, x=2)", [{"f": {"x": 2}}], [{"f": {"x": 2}}]),
    ("C4", "python", "f(1, 2, 3)", [{"f": {}}], [{"f": {}}]),
    ("C4", "python", "g(1)", [{"g": {}}], [{"g": {}}]),
    ("C13", "java", "[f(x=5)]", FAILS, [{"f": {"x": "5"}}]),
    (
        "C13",
        "java",
        '[svc.f(x="né", y="zz")]',
        [{"svc.f": {"x": 'né"', "=": 'z"'}}],
        [{"svc.f": {"x": "né", "y": "zz"}}],
    ),
    (
        "C13",
        "java",
        '[svc.f(x=new A<B>() {{ add("q"); }});]',
        [{"svc.f": {"x": "new A<B>()"}}],
        [{"svc.f": {"x": 'new A<B>() {{ add("q"); }}'}}],
    ),
    (
        "C13",
        "java",
        "[svc.f(x=new int[][]{{1}});]",
        [{"svc.f": {"x": "new int[]{{1}}"}}],
        [{"svc.f": {"x": "new int[][]{{1}}"}}],
    ),
    ("C13", "java", r'[svc.f(x="a\"b");]', [{"svc.f": {"x": r"a\"b"}}], [{"svc.f": {"x": 'a"b'}}]),
    ("C13", "java", "[svc.f(x='a text');]", [{"svc.f": {"x": "a text"}}], [{"svc.f": {"x": "a text"}}]),
    ("C14", "javascript", '[f(x="a" + "b")]', [{"f": {"x": 'a" + "b'}}], [{"f": {"x": '"a" + "b"'}}]),
    ("C14", "javascript", r"[f(x='it\'s')]", [{"f": {"x": r"it\'s"}}], [{"f": {"x": "it's"}}]),
    ("C14", "javascript", "[f(x=/* c */ 1)]", [{"f": {"x": "/* c */"}}], [{"f": {"x": "1"}}]),
    ("C15", "json", json_text('[{"b": 1}]'), [], [{"f": {"x": [{"b": 1}]}}]),
    ("C15", "json", json_text('"}]"'), [], [{"f": {"x": "}]"}}]),
    ("C15", "json", f"So: {json_text('[[{}]]')} - done", [], [{"f": {"x": [[{}]]}}]),
    ("C15", "verbose_xml", xml_text("[{&quot;b&quot;: true}]"), FAILS, [{"f": {"x": [{"b": True}]}}]),
    ("C15", "verbose_xml", xml_text('[{"b": null}]'), FAILS, [{"f": {"x": [{"b": None}]}}]),
    ("C15", "concise_xml", concise_text('[{"b": false}]'), FAILS, [{"f": {"x": [{"b": False}]}}]),
    ("C15", "concise_xml", concise_text("(1, 2)"), [{"f": {"x": (1, 2)}}], [{"f": {"x": [1, 2]}}]),
]


@pytest.mark.parametrize(("rule", "return_format", "text", "official", "corrected"), CASES)
def test_rule(rule, return_format, text, official, corrected):
    assert outcome(text, "official", return_format) == official
    assert outcome(text, frozenset({rule}), return_format) == corrected
    assert outcome(text, "corrected", return_format) == corrected
    others = frozenset(DECODING_RULES) - {rule}
    if official != corrected and rule != "C3":
        assert outcome(text, others, return_format) == official
    reader = ReplyDecoder(Reply(text=text), "prompt", return_format=return_format, functions=DOCUMENTS)
    for rules in ("corrected", "official", "corrected"):  # one reader says the same in any order
        try:
            found = [call.as_object() for call in reader.calls(rules)]
        except DecodeError:
            found = FAILS
        assert found == (official if rules == "official" else corrected)


def test_every_rule_has_three_examples():
    for rule in set(DECODING_RULES) - {"C8"}:  # C8 has a test file of its own
        assert sum(case[0] == rule for case in CASES) >= 3


def test_rule_names():
    assert active_rules("official") == frozenset()
    assert active_rules("corrected") == frozenset(DECODING_RULES)
    assert active_rules(["C1", "C6"]) == {"C1", "C6"}
    with pytest.raises(ValueError):
        active_rules("C1")
