"""One table on a terminal, in Markdown and on a page: the same words, empty columns nowhere but on the terminal."""

from __future__ import annotations

import html
import re

import pytest

from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import macro
from pytest_bfcl.reporting.tables import Cell, Table

TABLE = Table(
    ("name", "what", "share", "none", "spare"),
    [("a|<b>", "words", Cell("50.0 %", 0.5, below=["of 4"], mark="down"), "–", "x" * 60),
     ("both", "more words", Cell("7.5 %", 0.075, beside=["soft"]), "", "")],
    texts=(0, 1), kinds=("category", "group"), spare=("spare", "none"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "head"), [("200", "name   what         share  none"), ("60", "name   what         share  none"),
                          ("20", "name   what         share")],
)  # fmt: skip
def test_a_terminal_goes_without_spare_columns(
    columns: str, head: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    Printer().table(TABLE)
    _, first, rule, *rows, _ = capsys.readouterr().out.split("\n")[:-1]
    assert re.match(re.escape(head) + (r" +spare$" if columns == "200" else "$"), first)
    assert set(rule) == {"─"}
    assert [re.match(r"(\S+) +(words|more words) +(\S+ %)", row) is not None for row in rows] == [True, True]


def test_a_page_has_the_same_words() -> None:
    page = str(macro("parts.html.jinja", "shown", TABLE, kind="scores"))
    assert "none" not in page
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.replace("<wbr>", ""))).split())
    assert words == f"name what share spare a|<b> words 50.0 % of 4 {'x' * 60} both more words 7.5 % soft"
    assert '<tr class="group"><th scope="row">both</th><td>more words</td><td class="num">7.5 %' in page
    assert '<td class="num down">50.0 %' in page
