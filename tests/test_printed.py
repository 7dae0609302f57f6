"""The sink of lines: nothing that others wrote steers a terminal or a CI runner, wherever it is printed."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest

from pytest_bfcl import plain_text as printed
from pytest_bfcl.cli import main
from pytest_bfcl.failures import AdapterError, Failure, FailureTag, HarnessError, UsageError
from pytest_bfcl.plain_text import printable
from pytest_bfcl.plugin.failure_repr import FailureRepr
from pytest_bfcl.plugin.pytest_internals import Sink
from pytest_bfcl.reporting.printing import Printer

OBEYED = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
"""What runners of GitHub, Azure and TeamCity take for a command."""
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07", "\n::error::seen", "  ::set-output name=x::1", "\t::warning::x", "a ##[error]b",
    "##vso[task.setvariable]x", "##teamcity[x]", "\r::error::x", "\u2028::error::x", "\x85::error::x", "\x9b2J",
    "\u202eevil", "\ud800", "\x00", "\ufeff::error::x", "\u00a0::error::x", "x" * 99_999, "::" * 9_999, "\b\b\bgone",
)  # fmt: skip


def harmless(text: str) -> bool:
    return not OBEYED.search(text) and not STEERS.search(text) and max(map(len, text.split("\n"))) <= 4_100


class Reporter:
    """As much of pytest's as the sink uses."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write_line(self, line: str) -> None:
        """Kept."""
        self.lines.append(line)

    def write_sep(self, sign: str, title: str) -> None:
        """Kept."""
        self.lines.append(title)

    def ensure_newline(self) -> None:
        """Nothing."""


@pytest.mark.parametrize("text", HOSTILE)
def test_every_sink_makes_it_harmless(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter()
    sink = Sink(reporter)
    sink.write_line(text)
    sink.write_sep("=", text)
    printed.say(text)
    printed.say(text, file=sys.stderr)
    Printer({}).line(text)
    out, err = capsys.readouterr()
    shown = FailureRepr(text, text)
    errors = [UsageError(text), HarnessError("x", text, advice=text), AdapterError("x", text),
              Failure(FailureTag.WRONG_ANSWER, "x", text)]  # fmt: skip
    for told in (*reporter.lines, out, err, str(shown), shown.reprcrash.message, *map(str, errors), errors[1].advice):
        assert harmless(told), told[:200]
    assert printable(printable(text)) == printable(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_data_stays_the_same_data(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = json.dumps({"a": text}, ensure_ascii=False)
    printed.say_data(f"{line}\n")
    told = capsys.readouterr().out
    assert json.loads(told) == {"a": text}
    assert not OBEYED.search(told)
    assert not STEERS.search(told)


def test_a_terminal_of_few_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(kept, encoding="ascii"))
    printed.say("ü – 🔑")
    sys.stdout.flush()
    assert kept.getvalue() == b"\\xfc \\u2013 \\U0001f511\n"
    monkeypatch.setattr(sys, "stdout", None)
    printed.say("nobody reads this")


RAISES = r"raise_exception('\x1b[31mred\n::error::seen ##[error]too')"
WHILE_ASKED = f"{{% if messages[0].content != 'Hello.' %}}{{{{ {RAISES} }}}}{{% endif %}}"
"""It is harmless when the template is tried."""


@pytest.mark.parametrize("template", [f"{{{{ {RAISES} }}}}", WHILE_ASKED])
@pytest.mark.parametrize("door", ["plugin", "verb"])
def test_what_a_template_says_reaches_no_terminal_raw(
    door: str, template: str, pytester: pytest.Pytester, capfd: pytest.CaptureFixture[str]
) -> None:
    (pytester.path / "own.jinja").write_text(template)
    options = {"base-url": "http://127.0.0.1:9/v1", "template": "own.jinja", "decoder": "hermes", "api": "completions",
               "data": "bundled", "sample": "1", "report": "none", "out": "run"}  # fmt: skip
    if door == "verb":
        code = main(["run", "--model=openai:m", *(f"--{name}={value}" for name, value in options.items())])
    else:
        named = [f"--bfcl-{name}={value}" for name, value in options.items()]
        code = pytester.runpytest_inprocess("-rA", "--model=openai:m", *named, "-p", "no:cacheprovider").ret
    shown = "".join(capfd.readouterr())
    assert code, shown
    assert r"[31mred\n::error::seen ##\x5berror]too" in shown
    assert "Traceback" not in shown
    assert "INTERNALERROR" not in shown
    assert harmless(shown), shown
