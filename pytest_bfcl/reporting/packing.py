"""Packed pages: compressed data in scripts, because a page opened from disk may load nothing else.

``inflate.js`` reads the output of `packed`. A report's shards hold the pages of entries that did not fail
(``packed_entry.js``), which saves thousands of files and nine tenths of the time.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.chat import described
from pytest_bfcl.reporting.rendering import write_page
from pytest_bfcl.tools.schemas import json_text

PAGES_A_SHARD = 200
FIRST_SHARD = "0.js"
QUICKLY = 1
"""Compression level of shards, 1 to 9."""


def packed(value: object, level: int = 9) -> str:
    """A JSON value, compressed, in Base64; ``level`` as in `zlib`."""
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
    return b64encode(deflate.compress(text.encode()) + deflate.flush()).decode("ascii")


class Shards:
    """Writes pages in scripts of `PAGES_A_SHARD` each: ``0.js``, ``1.js`` …; ``names`` are those written so far."""

    def __init__(self, folder: Path) -> None:
        self.names: set[str] = set()
        self._folder = folder
        self._pages: dict[str, Any] = {}
        self._functions: dict[str, tuple[int, object]] = {}

    def add(self, name: str, values: tuple[Any, ...], functions: Iterable[tuple[Fields, str]]) -> None:
        """One page: its values, and its functions with a note each; a shard holds each function once."""
        offered = []
        for document, note in functions:
            key = json_text(document)
            if key not in self._functions:
                self._functions[key] = len(self._functions), described(document)
            offered.append((self._functions[key][0], note))
        self._pages[name] = (*values, offered)
        if len(self._pages) == PAGES_A_SHARD:
            self.write()

    def write(self) -> None:
        """Write the waiting pages, if any."""
        if not self._pages:
            return
        number = len(self.names)
        shown = [function for _, function in self._functions.values()]
        script = f'bfclShard({number},"{packed([self._pages, shown], QUICKLY)}");\n'
        self._folder.mkdir(exist_ok=True)
        write_page(self._folder / f"{number}.js", script)
        self.names.add(f"{number}.js")
        self._pages, self._functions = {}, {}
