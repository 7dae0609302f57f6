"""What options must not say: what would change nothing, what excludes each other, what is not there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.run_options.table import OPTIONS
from pytest_bfcl.run_options.values import Parted, PartedReader


def refuse_ineffective(
    typed: Mapping[str, Any], configured: Mapping[str, Any] | None = None, directory: Path = Path()
) -> None:
    """Raise `UsageError` for what was typed and would change nothing, or cannot be.

    ``typed``: option → its value on the command line, ``None`` or ``False`` where it is not there; ``configured``: the
    options that the ini file sets, with their values. Paths count from ``directory``.
    """
    typed, configured = _read(typed), _read(configured or {})
    _refuse_two_modes(typed, configured)
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
    """Refuse a mode that contradicts a model's suffix; a suffix that was typed counts before the ini file's mode."""
    from pytest_bfcl.models import parse_spec

    mode = typed.get("mode") or (None if typed.get("model") else configured.get("mode"))
    for text in typed.get("model") or configured.get("model") or () if mode in ("fc", "prompt") else ():
        if (asked := parse_spec(text).mode) not in (None, mode):
            raise UsageError(f"--model {text} asks for mode {asked}, --bfcl-mode for {mode}: leave one of them out")
