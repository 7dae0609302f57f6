"""Pages of strangers: converted in bounded time, or told not to be."""

from __future__ import annotations

import time

import pytest

from pytest_bfcl.providers.pages import MODES, page_result
from tests.patience import patience


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
