"""Arguments of pytest that name entries as no file is called: ids, categories, official names, runs, other formats."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, GROUPS, category_of, present_id

_OFFICIAL = re.compile(r"(?:.*/)?(?:BFCL_v\d_)?(?P<name>\w+)(?:\.jsonl?)?", re.IGNORECASE)
_ID = re.compile(r"\w+_\d[\w-]*")
_RUN_FILES = ("results.jsonl", "run.json", "summary.json", "index.html")
_OTHER_FORMATS = (".csv", ".parquet", ".yaml", ".yml", ".toml")


def missing_hint(argument: str, *, active: bool) -> str | None:
    """What an argument that is no file probably means and how that is written; ``None``: nothing is known of it.

    Without a model (not ``active``) only what no other suite would name so: ids, and files of the benchmark.
    """
    path, colons, name = argument.replace("\\", "/").partition("::")
    command = "" if active else "pytest --model PROVIDER:NAME "
    if "\\" in argument and Path(argument.replace("\\", "/").partition("::")[0]).exists():
        return f"the path has backslashes: write {command}{argument.replace(chr(92), '/')}"
    said = path.rpartition("_")[0]
    if _ID.fullmatch(path) and said in EARLIER:
        return f"{path} is an id of V1 to V3: write {command}bfcl/{EARLIER[said]}.jsonl::{present_id(path, said)}"
    if _ID.fullmatch(path) and category_of(path) in CATEGORIES:
        return f"{path} is an entry: write {command}bfcl/{category_of(path)}.jsonl::{path}"
    match = _OFFICIAL.fullmatch(path.rstrip("/"))
    stem = match["name"] if match else ""
    if path.endswith(f"bfcl/{stem}.jsonl"):
        return None
    if stem in CATEGORIES and (path.endswith((".json", ".jsonl")) or colons):
        return f"entries are named bfcl/CATEGORY.jsonl[::ID]: write {command}bfcl/{stem}.jsonl{colons}{name}"
    if active and (stem in CATEGORIES or stem in GROUPS):
        return f"{stem} is no file: choose with -m {stem}"
    if active and path.rstrip("/") == "bfcl":
        return "leave bfcl/ out: without a path all entries run, -m and -k choose among them"
    return None


def run_hint(path: Path) -> str | None:
    """What to do with a run, where its directory or one of its files is named as if it held entries."""
    run = path if path.is_dir() else path.parent
    if not all((run / name).is_file() for name in _RUN_FILES[:2]) or not (path.is_dir() or path.name in _RUN_FILES):
        return None
    return (
        f"{path} belongs to a run and holds no entries: --bfcl-out {run} goes on with it, "
        f"--model replay:{run} judges it again, pytest-bfcl view {run} shows it"
    )


def format_hint(path: Path) -> str | None:
    """How entries are kept, for a file of another format."""
    if path.suffix == ".json" and path.is_file():
        return f"entries are JSON lines in a file .jsonl; of an array: jq -c '.[]' {path} > {path.stem}.jsonl"
    if path.suffix in _OTHER_FORMATS and path.is_file():
        return f"{path} holds no entries: they are JSON lines in a file .jsonl (pytest-bfcl new begins one)"
    return None
