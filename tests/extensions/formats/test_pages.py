"""The pages of docs/families are what the table says."""

from __future__ import annotations

from pathlib import Path

from pytest_bfcl.extensions.formats.pages import family_pages

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "families"


def test_every_page_is_up_to_date():
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    assert written == family_pages(), "run: python -m pytest_bfcl.extensions.formats.pages docs/families"
