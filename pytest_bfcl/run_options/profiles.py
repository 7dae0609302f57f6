"""Options from TOML: a project's table ``[tool.pytest-bfcl]``, the named profiles (`profiles.toml`), a user's file. A
profile has ``about``, ``source`` and a table ``options``; a project's table has the options directly. A value is the
text of the command line, a number, a list for a repeatable option, or true for a switch. Precedence: command line, ini
file, project's table, profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError, instead_of, of_option
from pytest_bfcl.run_options.table import OPTIONS, Option
from pytest_bfcl.spread_json import toml_file

MOST_BYTES = 100_000
TABLE = "pytest-bfcl"
_OWN = frozenset({"model", "profile", "out", "dry-run", "write-expected"})
"""Options of a single run, which profiles and projects cannot set."""


@dataclass(frozen=True, slots=True)
class Profile:
    """``options``: option → its value, converted."""

    name: str
    about: str
    source: str
    options: Mapping[str, Any]


@cache
def read_profile(text: str) -> Profile:
    """The profile of a name, or of a ``.toml`` file. Raises `UsageError`."""
    import tomllib

    if text.endswith(".toml"):
        with of_option("profile"):
            content = toml_file(Path(text), most=MOST_BYTES)
        return _profile(text, content, Path(text).parent)
    known = tomllib.loads(Path(__file__).with_name("profiles.toml").read_text(encoding="utf-8"))
    if text not in known:
        raise UsageError(f"--bfcl-profile: no profile {text!r}; {instead_of(text, sorted(known))}, or FILE.toml")
    return _profile(text, known[text], Path())


@cache
def read_project(folder: Path) -> Mapping[str, Any]:
    """The table ``[tool.pytest-bfcl]`` of a folder's ``pyproject.toml``: option → its converted value; else nothing.

    Raises `UsageError` for a mistake in the table; other tools report other mistakes of the file.
    """
    path = folder / "pyproject.toml"
    try:
        tools = toml_file(path, most=10 * MOST_BYTES).get("tool")
    except UsageError:
        return {}
    table = tools.get(TABLE) if isinstance(tools, Mapping) else None
    where = f"{path}: [tool.{TABLE}]"
    if table is not None and not isinstance(table, Mapping):
        raise UsageError(f"{where} is no table of options")
    return _options(table or {}, where, folder)


def fallback_of(option: Option, folder: Path, profile: str | None) -> Any:
    """The value of an option that is neither typed nor in an ini file: the project's, the profile's, the default.
    Raises `UsageError`.
    """
    said = read_project(folder)
    if option.name not in said and profile and option.name != "profile":
        said = read_profile(profile).options
    return said.get(option.name, False if option.flag else option.default)


def profile_text(values: Mapping[str, Any]) -> str:
    """The profile in words: name, digest of a user's file, and which of its options have other values."""
    import hashlib

    name = values["profile"]
    if not name:
        return ""
    changed = [option for option, value in read_profile(name).options.items() if values[option] != value]
    if name.endswith(".toml"):
        name = f"{Path(name).name} ({hashlib.sha256(Path(name).read_bytes()).hexdigest()[:8]})"
    return f"{name}, but for {', '.join(changed)}" if changed else str(name)


def _profile(name: str, content: Mapping[str, Any], folder: Path) -> Profile:
    given = content.get("options")
    if not isinstance(given, Mapping) or content.keys() - {"about", "source", "options"}:
        raise UsageError(f"--bfcl-profile: {name}: a profile has about, source and a table [options], nothing else")
    options = _options(given, f"--bfcl-profile: {name}", folder)
    return Profile(name, str(content.get("about", "")), str(content.get("source", "")), options)


def _options(given: Mapping[str, Any], where: str, folder: Path) -> Mapping[str, Any]:
    """Option → its converted value; paths are relative to ``folder``. Raises `UsageError` that begins with
    ``where``."""
    named = {option.name: option for option in OPTIONS if option.name not in _OWN}
    if unknown := [key for key in given if key not in named]:
        advice = "it is said where the run is started" if unknown[0] in _OWN else instead_of(unknown[0], sorted(named))
        raise UsageError(f"{where}: no option {unknown[0]!r} here; {advice}")
    return {key: _value(where, named[key], value, folder) for key, value in given.items()}


def _value(where: str, option: Option, value: object, folder: Path) -> Any:
    if option.flag:
        if not isinstance(value, bool):
            raise UsageError(f"{where}: {option.name} is true or false, not {value!r:.80}")
        return value
    if option.many:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise UsageError(f"{where}: {option.name} takes a list of texts, not {value!r:.80}")
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{where}: {option.name} takes a text, not {value!r:.80}")
    text = str(value)
    text = option.placed(text, folder)
    try:
        converted = option.convert(text)
    except ValueError as error:
        raise UsageError(f"{where}: {option.name}: {text!r:.80} is not valid: {error}") from None
    return converted
