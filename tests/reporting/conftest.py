"""A browser for the tests of this room, where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reporting.browser import Browser, chromium, find_chromium


@pytest.fixture(scope="session")
def _browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium here (install chromium, or name one with PYTEST_BFCL_CHROMIUM)")
    with chromium(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(_browser: Browser) -> Iterator[Browser]:
    """A clean tab; whatever a page complains about fails the test."""
    _browser.errors.clear()
    _browser.requests.clear()
    _browser.size(1200, 900)
    _browser.scheme("light")
    yield _browser
    assert _browser.errors == []
    assert [url for url in _browser.requests if not url.startswith(("file:", "about:", "data:"))] == []
