"""The place of an entry's page, and the command that runs only this entry again."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from urllib.parse import quote

from pytest_bfcl.json_types import Fields

ENTRIES = "entries"
"""Folder of the entry pages inside a run directory."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
MAX_STEM = 90


def safe_id(entry_id: str) -> str:
    """An entry id as a file name: unusual characters become ``_`` and a short hash keeps ids apart."""
    stem = _UNSAFE.sub("_", entry_id).strip(".")
    if stem == entry_id and len(stem) <= MAX_STEM:
        return stem
    return f"{stem[:MAX_STEM]}-{hashlib.sha256(entry_id.encode('utf-8', 'replace')).hexdigest()[:8]}"


_safe_model = lru_cache(maxsize=64)(safe_id)


def models_apart(counts: Mapping[str, int], models: Sequence[object]) -> list[str]:
    """The models whose pages need distinct names; ``counts``: model → lines, ``models`` are those of the fingerprint.

    Results may name another model than the run's spec: a replay names the recorded one, and a run may have changed to
    prompting. In a run of one model, the one with most results has plain names.
    """
    return list(counts) if len(models) > 1 or not counts else [max(counts, key=lambda name: counts[name])]


def model_suffix(model: str, models: Sequence[str]) -> str:
    """The part of page names that distinguishes models in one run; empty for a single model."""
    return "" if list(models) == [model] else f"-{_safe_model(model)}"


def page_name(record: Fields, models: Sequence[str]) -> str:
    """File name of a record's page in the folder `ENTRIES`; ``models`` are those of the run's fingerprint."""
    repeat = record.get("repeat") or 1
    number = f"-r{repeat}" if repeat != 1 else ""
    return f"{safe_id(str(record['id']))}{model_suffix(str(record.get('model') or ''), models)}{number}.html"


def is_packed(outcome: object) -> bool:
    """Whether an entry's page is packed with others: only failed ones are files."""
    return outcome in ("passed", "skipped")


def page_link(record: Fields, models: Sequence[str]) -> str:
    """The link to a record's page from the run's folder: a file, or a place in ``index.html``."""
    name = page_name(record, models)
    return f"index.html{place_in_index(name)}" if is_packed(record.get("outcome")) else f"{ENTRIES}/{quote(name)}"


def place_in_index(name: str) -> str:
    """The place in ``index.html`` of the packed page with that name (`page_name`)."""
    return f"#entry={quote(name.removesuffix('.html'))}"


def relative_link(there: Path, folder: Path) -> str:
    """The link to a file from a page in ``folder``, also on another drive."""
    try:
        return quote(Path(os.path.relpath(there.resolve(), folder.resolve())).as_posix())
    except ValueError:
        return there.resolve().as_uri()


@cache
def documentation_of(page: str) -> str:
    """The address of a documentation page for this release; empty for a build without addresses (a checkout)."""
    try:
        addresses = metadata("pytest-bfcl").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    found = dict(str(address).split(", ", 1) for address in addresses if ", " in str(address))
    place = found.get("Documentation", "")
    return f"{place.rstrip('/')}/{page}" if place.startswith("https://") else ""


def rerun_command(record: Fields, model: str, *, data: str, base_url: str | None = None) -> str:
    """The shell command that runs one entry with ``model`` again; ``data`` in the form of ``--bfcl-data``.

    A recorded name does not show the provider, so the command has the placeholder ``PROVIDER``.
    """
    model = model if ":" in model else f"PROVIDER:{model}"
    words = ["pytest", "--model", model, "--bfcl-data", data]
    if base_url:
        words += ["--bfcl-base-url", base_url]
    words.append(f"bfcl/{record['category']}.jsonl::{record['id']}")
    return shlex.join(words)
