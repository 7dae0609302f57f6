"""A page's source as a model asks for it: raw, Markdown, or its visible text (agentic spec §5)."""

from __future__ import annotations

import time
from typing import Any

MODES = ("raw", "markdown", "truncate")
CONVERSION_S = 5.0
"""Seconds a conversion may take: an honest page of the largest size takes less than one, a page of tags that never end
would take minutes."""


class TooSlow(Exception):
    """A page takes longer to convert than any honest one."""


def page_result(source: str, mode: str, limit_s: float = CONVERSION_S) -> dict[str, Any]:
    """``{"content": text}``, or ``{"error": text}`` for an unknown mode or a page that takes too long to convert.

    ``markdown`` uses html2text with its default options. ``truncate`` keeps the visible text, one stripped text node a
    line, scripts and styles left out; despite its name it cuts nothing.
    """
    if mode == "raw":
        return {"content": source}
    if mode not in MODES:
        return {"error": f"There is no mode {str(mode)[:100]!r}; the modes are {', '.join(MODES)}."}
    try:
        return {"content": markdown(source, limit_s) if mode == "markdown" else visible_text(source, limit_s)}
    except (TooSlow, RecursionError):
        return {"error": f"The page could not be converted within {limit_s:g} seconds; mode raw gives its source."}
    except Exception:  # both libraries give up on some markup, each in its own way
        return {"error": "The page could not be read as HTML; mode raw gives its source."}


def markdown(source: str, limit_s: float = CONVERSION_S) -> str:
    """The page as html2text writes it. Raises `TooSlow`."""
    import html2text

    clock = _Clock(limit_s)

    class Converter(html2text.HTML2Text):
        """Looks at the clock at every piece of the page."""

        def updatepos(self, i: int, j: int) -> int:
            clock.check()
            return int(super().updatepos(i, j))

        def handle_data(self, data: str, entity_char: bool = False) -> None:
            clock.check()
            super().handle_data(data, entity_char)

    return str(Converter().handle(source))


def visible_text(source: str, limit_s: float = CONVERSION_S) -> str:
    """Text nodes outside scripts and styles, stripped, one a line. Raises `TooSlow`."""
    from bs4 import BeautifulSoup

    clock = _Clock(limit_s)

    class Soup(BeautifulSoup):
        """Looks at the clock at every piece of the page."""

        def handle_data(self, data: str) -> None:
            clock.check()
            super().handle_data(data)

        def handle_starttag(self, *args: Any, **kwargs: Any) -> Any:
            clock.check()
            return super().handle_starttag(*args, **kwargs)

    soup = Soup(source, "html.parser")
    for element in soup(["script", "style"]):
        element.decompose()
    return soup.get_text(separator="\n", strip=True)


class _Clock:
    """Raises `TooSlow` when the time is up."""

    def __init__(self, limit_s: float) -> None:
        self._end = time.monotonic() + limit_s

    def check(self) -> None:
        if time.monotonic() > self._end:
            raise TooSlow
