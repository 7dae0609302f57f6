"""A page's source as a model asks for it: raw, Markdown, or its visible text (agentic spec §5)."""

from __future__ import annotations

from pytest_bfcl.json_types import Parsed

MODES = ("raw", "markdown", "truncate")


def page_result(source: str, mode: str) -> Parsed:
    """``{"content": text}``, or ``{"error": text}`` for an unknown mode.

    ``markdown`` uses html2text with its default options. ``truncate`` keeps the visible text, one stripped text node a
    line, scripts and styles left out; despite its name it cuts nothing.
    """
    if mode == "raw":
        return {"content": source}
    if mode == "markdown":
        import html2text

        return {"content": html2text.HTML2Text().handle(source)}
    if mode == "truncate":
        return {"content": visible_text(source)}
    return {"error": f"There is no mode {str(mode)[:100]!r}; the modes are {', '.join(MODES)}."}


def visible_text(source: str) -> str:
    """Text nodes outside scripts and styles, stripped, one a line."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(source, "html.parser")
    for element in soup(["script", "style"]):
        element.decompose()
    return soup.get_text(separator="\n", strip=True)
