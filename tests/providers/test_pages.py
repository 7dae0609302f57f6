"""Pages of strangers: converted in bounded time, or told not to be."""

from __future__ import annotations

import time

import html2text
import pytest
from bs4 import BeautifulSoup

from pytest_bfcl.providers.pages import MODES, page_result
from tests.patience import patience

HONEST = (
    "<html><head><style>x</style></head><body><h1>Tea</h1><p>Hot &amp; <b>sweet</b>.</p><ul><li>one</ul></body></html>"
)


def test_an_honest_page_is_what_the_libraries_make_of_it() -> None:
    assert page_result(HONEST, "markdown") == {"content": html2text.HTML2Text().handle(HONEST)}
    soup = BeautifulSoup(HONEST, "html.parser")
    for element in soup(["script", "style"]):
        element.decompose()
    assert page_result(HONEST, "truncate") == {"content": soup.get_text(separator="\n", strip=True)}
    assert page_result(HONEST, "raw") == {"content": HONEST}
    assert "no mode 'pdf'" in page_result(HONEST, "pdf")["error"]


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<", "<a ", '<a x="', "&", "<!--", "<div>", "<table><td>", "<![", "<?", "</"])
@pytest.mark.parametrize("mode", MODES[1:])
def test_a_page_that_never_ends_is_given_up(piece: str, mode: str) -> None:
    page = piece * (1_000_000 // len(piece))
    began = time.monotonic()
    result = page_result(page, mode, limit_s=0.1)
    assert time.monotonic() - began < patience(5)  # a single match over such a page takes a while on a busy machine
    assert list(result) in (["content"], ["error"])
    assert "content" in result or "mode raw gives its source" in result["error"]
