"""Refused options and arguments: contradictions, words of other tools, names that are no files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, GROUPS, category_of, present_id
from pytest_bfcl.failures import UsageError
from pytest_bfcl.run_options.table import OPTIONS
from pytest_bfcl.run_options.values import Parted, PartedReader


def refuse_ineffective(
    typed: Mapping[str, Any], configured: Mapping[str, Any] | None = None, directory: Path = Path()
) -> None:
    """Raise `UsageError` for typed options that are impossible or without effect.

    ``typed``: option → its value on the command line, ``None`` or ``False`` if missing; ``configured``: options and
    values of the ini file. Paths are relative to ``directory``.
    """
    typed, configured = _read(typed), _read(configured or {})
    _refuse_two_modes(typed, configured)
    _refuse_unused_address(typed, configured)
    named = typed.keys()
    for option in OPTIONS:
        if option.name in named and option.needs and option.needs not in named and option.needs not in configured:
            raise UsageError(
                f"--bfcl-{option.name} does nothing without --bfcl-{option.needs}: add it, or leave both out"
            )
    if "sample.precision" in typed and not {"dry-run"} & (named | configured.keys()):
        raise UsageError("--bfcl-sample precision=PTS does nothing without --bfcl-dry-run: add it, or leave both out")
    for way in ("replay", "prune"):
        if (file := typed.get(f"record.{way}")) and not (directory / file).is_file():
            raise UsageError(f"--bfcl-record: there is no recording {file}; --bfcl-record FILE makes one")
    target = typed.get("write-expected")
    if target and (directory / str(target)).is_dir():
        raise UsageError(f"--bfcl-write-expected: {target} is a folder; name the file to write")
    categories = typed.get("categories")
    if isinstance(categories, list) and any(not str(text).replace(",", " ").split() for text in categories):
        raise UsageError("--bfcl-categories names nothing; leave it out for all categories that score")


def _read(said: Mapping[str, Any]) -> dict[str, Any]:
    """Options with their parts as `unfolded` has them; what does not fit was refused where it was read."""
    found: dict[str, Any] = {}
    for option in OPTIONS:
        value = said.get(option.name)
        if isinstance(value, str) and isinstance(option.convert, PartedReader):
            value = option.convert(value)
        if isinstance(value, Parted):
            found |= {f"{option.name}.{name}": part for name, part in value.parts}
            value = value.value
        if value is not None and value is not False:
            found[option.name] = value
    return found


def _refuse_two_modes(typed: Mapping[str, Any], configured: Mapping[str, Any]) -> None:
    """Refuse a mode that contradicts a model's suffix; a typed suffix takes precedence over the ini file's mode."""
    from pytest_bfcl.models import parse_spec

    mode = typed.get("mode") or (None if typed.get("model") else configured.get("mode"))
    for text in typed.get("model") or configured.get("model") or () if mode in ("fc", "prompt") else ():
        if (asked := parse_spec(text).mode) not in (None, mode):
            raise UsageError(f"--model {text} sets mode {asked}, --bfcl-mode sets {mode}: leave one of them out")


def _refuse_unused_address(typed: Mapping[str, Any], configured: Mapping[str, Any]) -> None:
    """Refuse a typed base URL if no model of the run sends requests; the ini file's is for the other models."""
    from pytest_bfcl.models import parse_spec
    from pytest_bfcl.models.registry import WITHOUT_ENDPOINT

    models = (typed.get("model") or configured.get("model") or ()) if typed.get("base-url") else ()
    if models and all(parse_spec(text).provider in WITHOUT_ENDPOINT for text in models):
        raise UsageError(
            f"--bfcl-base-url does nothing with --model {models[0]}, which has no endpoint: "
            "leave it out, or name the server's model (openai:NAME, vllm:NAME)"
        )


_OFFICIAL = re.compile(r"(?:.*/)?(?:BFCL_v\d_)?(?P<name>\w+)(?:\.jsonl?)?", re.IGNORECASE)
_ID = re.compile(r"\w+_\d[\w-]*")
_RUN_FILES = ("results.jsonl", "run.json", "summary.json", "index.html")
_OTHER_FORMATS = (".csv", ".parquet", ".yaml", ".yml", ".toml")


def missing_hint(argument: str, *, active: bool) -> str | None:
    """The probable meaning of an argument that is no file, in its correct form; ``None`` if unknown. Without a model
    (not ``active``) only names that no other suite would use: ids, and files of the benchmark.
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
        missing = f"{path} does not exist; " if active else ""  # else pytest has said so
        return f"{missing}entries are named bfcl/CATEGORY.jsonl[::ID]: write {command}bfcl/{stem}.jsonl{colons}{name}"
    if active and (stem in CATEGORIES or stem in GROUPS):
        return f"{path} does not exist; the entries of {stem} are selected with -m {stem}"
    if active and path.rstrip("/") == "bfcl":
        return "leave bfcl/ out: without a path all entries run, -m and -k choose among them"
    return None


def run_hint(path: Path) -> str | None:
    """Advice if a run, or one of its files, is named like a file of entries."""
    run = path if path.is_dir() else path.parent
    if not all((run / name).is_file() for name in _RUN_FILES[:2]) or not (path.is_dir() or path.name in _RUN_FILES):
        return None
    return (
        f"{path} belongs to a run and holds no entries: --bfcl-out {run} resumes it, "
        f"--model replay:{run} judges it again, pytest-bfcl view {run} shows it"
    )


def format_hint(path: Path) -> str | None:
    """How entries are kept, for a file of another format."""
    if path.suffix == ".json" and path.is_file():
        return f"entries are JSON lines in a file .jsonl; of an array: jq -c '.[]' {path} > {path.stem}.jsonl"
    if path.suffix in _OTHER_FORMATS and path.is_file():
        return f"{path} holds no entries: they are JSON lines in a file .jsonl (pytest-bfcl new begins one)"
    return None


OTHER_WORDS = {
    "--test-category": "-m CATEGORY, or --bfcl-categories NAMES",
    "--num-threads": "--bfcl-concurrency N",
    "--num-gpus": "--bfcl-serve-args '--tensor-parallel-size N', with --model vllm:NAME --bfcl-serve",
    "--gpu-memory-utilization": "--bfcl-serve-args '--gpu-memory-utilization X', with --bfcl-serve",
    "--backend": "--model vllm:NAME or sglang:NAME, with --bfcl-serve to have it started",
    "--skip-server-setup": "--bfcl-base-url URL of the server that runs",
    "--local-model-path": "--model vllm:PATH --bfcl-serve",
    "--enable-lora": "--bfcl-serve-args '--enable-lora --lora-modules NAME=PATH', with --model vllm:NAME --bfcl-serve",
    "--max-lora-rank": "--bfcl-serve-args '--max-lora-rank N', with --bfcl-serve",
    "--lora-modules": "--bfcl-serve-args '--lora-modules NAME=PATH', with --bfcl-serve",
    "--include-input-log": "nothing: every run keeps its requests (an entry's page shows them)",
    "--exclude-state-log": "nothing: states stand in the entries' pages alone (--bfcl-report index writes none)",
    "--run-ids": "--bfcl-ids test_case_ids_to_generate.json",
    "--result-dir": "--bfcl-out DIR",
    "--score-dir": "--bfcl-out DIR",
    "--allow-overwrite": "--bfcl-out with a new directory; an existing one is gone on with",
    "--partial-eval": "nothing: what did not run is said, and not counted",
    "--temperature": "--bfcl-temperature T",
    "--models": "--model SPEC, once for each",
    "--resume": "--bfcl-out DIR of the run to resume",
    "--continue": "--bfcl-out DIR of the run to resume",
    "--threads": "--bfcl-concurrency N",
    "--workers": "--bfcl-concurrency N (or pytest's -n N for processes)",
    "--limit": "--bfcl-sample N",
    "--subset": "--bfcl-sample N",
    "--wandb": "--bfcl-report wandb",
    "--api-key": "the environment variable of the provider (pytest-bfcl models lists them)",
    "--key": "the environment variable of the provider (pytest-bfcl models lists them)",
    "--verbose": "-v",
}
"""Option, without ``bfcl-`` → what to write instead, ready to follow "here:"."""


def written_here(option: str, ours: Sequence[str] = ()) -> str | None:
    """The correct form of an option: from `OTHER_WORDS`, or our option without ``bfcl-``; else ``None``."""
    name = "--" + option.lstrip("-").removeprefix("bfcl-").replace("_", "-")
    if found := OTHER_WORDS.get(name):
        return found
    return f"--bfcl-{name[2:]}" if name[2:] in ours and not option.startswith("--bfcl-") else None
