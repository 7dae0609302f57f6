"""How pages are put together: hidden characters, frames, documentation kept for other pages, files."""

from __future__ import annotations

import html
import sys

import pytest

from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.chat import Documentation

RAIN = {
    "name": "rain",
    "description": "Says <when> it rains.",
    "parameters": {
        "type": "dict",
        "properties": {"town": {"type": "string", "description": "A & B", "enum": ["<b>"]}, "odd": 1},
        "required": ["town"],
    },
}


def test_no_character_that_hides_counts_as_printable() -> None:
    """`visible` leaves printable texts alone without looking further."""
    printable = "".join(filter(str.isprintable, map(chr, range(sys.maxunicode + 1))))
    assert len(printable) > 100_000
    assert rendering._HIDDEN.findall(printable) == []


def test_documentation_is_escaped_and_shared() -> None:
    documentation = Documentation()
    offered = documentation.of([(RAIN, ""), (dict(RAIN), ""), (RAIN, "from <turn> 2 on")])
    assert (offered.number, offered.names) == (3, "rain, rain, rain")
    assert documentation(RAIN) is documentation(dict(RAIN))
    markup = str(documentation(RAIN))
    assert "Says &lt;when&gt; it rains." in markup
    assert "A &amp; B" in markup
    assert '{"enum": ["<b>"]}' in html.unescape(markup)
    assert markup.count('title="required"') == 1
    assert "from &lt;turn&gt; 2 on" in offered.markup
    assert "<b>]" not in markup


@pytest.mark.parametrize("name", ["a\ud800", "x" * 30_000])
def test_odd_and_huge_functions_are_documented_but_not_kept(name: str) -> None:
    documentation = Documentation()
    first = documentation({"name": name})
    assert rendering.visible(name) in first
    assert documentation({"name": name}) is not first


def test_the_functions_kept_are_bounded() -> None:
    documentation = Documentation(size=2)
    first, second = ({"name": name} for name in "ab")
    kept = documentation(first)
    documentation(second)
    assert documentation(first) is kept  # used again: the other one goes
    documentation({"name": "c"})
    assert documentation(first) is kept
    assert len(documentation._kept) == 2


def test_a_frame_is_filled_and_allows_only_its_own_code() -> None:
    from markupsafe import escape

    page = rendering.framed("entry", "<title> \\1 {{ 1 }}\u202e", escape("<body> ✓")).decode()
    assert "<title>&lt;title&gt; \\1 {{ 1 }}\\u202e</title>" in page
    assert "\n&lt;body&gt; ✓<script>" in page
    assert rendering.assets("entry").policy in html.unescape(page)
    assert page.count("</html>") == page.count("<style>") == 1
