"""Texts of the distribution that are taken one by one: instructions of family templates, some sentences of tools.

``format_texts.toml`` names each text, the module that holds it and the SHA-256 of its literals; a literal is found by
its digest wherever it is in the module, so nothing is imported or executed and a changed text is not taken.
"""

from __future__ import annotations

import ast
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from pytest_bfcl.failures import UsageError

FILE = "format_texts.json"
"""Next to ``texts.json`` in a fetched folder."""
FOLDER = "model_handler/local_inference"
COMMAND = "pytest-bfcl fetch"


TABLE = "table"
"""Key of the file next to the texts: the digest of the table by which they were taken."""


def table_digest() -> str:
    """Digest of ``format_texts.toml``."""
    return hashlib.sha256(Path(__file__).with_name("format_texts.toml").read_bytes()).hexdigest()


@cache
def _wanted() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name of a text → its module's path below ``bfcl_eval/`` and its parts: digests of literals, and placeholders."""
    table = tomllib.loads(Path(__file__).with_name("format_texts.toml").read_text(encoding="utf-8"))
    return {name: (row.get("path") or f"{FOLDER}/{row['module']}", tuple(row["sha256"])) for name, row in table.items()}


def are_all_in(folder: Path) -> bool:
    """Whether a fetched folder has every text of this release's table that its distribution has."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and bool(found.get(TABLE) == table_digest())


def format_sources() -> frozenset[str]:
    """Paths below ``bfcl_eval/`` that hold such texts."""
    return frozenset(path for path, _ in _wanted().values())


def extract_format_texts(sources: Mapping[str, str]) -> dict[str, str]:
    """The texts found in source text by path; those that are missing or changed are left out."""
    literals = {path: dict(_literals(source)) for path, source in sources.items() if path in format_sources()}
    found = {}
    for name, (path, digests) in _wanted().items():
        known = literals.get(path, {})
        parts = [digest if digest.startswith("{") else known.get(digest) for digest in digests]
        if all(part is not None for part in parts):
            found[name] = "".join(part for part in parts if part is not None)
    return found


def _literals(source: str) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield hashlib.sha256(node.value.encode("utf-8", "surrogatepass")).hexdigest(), node.value


class FormatTexts:
    """The fetched texts by name; asking for one that is not there says which command brings it."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = dict(texts or {})

    @classmethod
    def beside(cls, folder: Path | None) -> FormatTexts:
        """Those of a fetched folder (``None``: nothing was fetched). Each is checked against its digest."""
        path = folder / FILE if folder is not None else None
        if path is None or not path.is_file():
            return cls()
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            texts = {name: text for name, text in values.items() if isinstance(text, str)}
        except (OSError, ValueError, AttributeError) as error:
            raise UsageError(f"cannot read {path}: {error}; run `{COMMAND} --force`") from error
        return cls(texts)

    def sentences(self) -> dict[str, dict[str, str]]:
        """Simulator class → place → template; those of the class ``*`` apply to all."""
        found: dict[str, dict[str, str]] = {}
        for name, text in self._texts.items():
            kind, _, rest = name.partition(".")
            if kind == "say":
                owner, _, place = rest.partition(".")
                found.setdefault(owner, {})[place] = text
        return found

    def __getitem__(self, name: str) -> str:
        """A text; raises `UsageError` with the one command to run."""
        if name not in self._texts:
            raise UsageError(
                f"the family's template needs the benchmark's text {name!r}, which is not fetched: "
                f"run `{COMMAND}`, or give the model's own template, --bfcl-template DIR"
            )
        return self._texts[name]
