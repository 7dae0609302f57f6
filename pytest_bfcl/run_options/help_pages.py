"""The pages of ``--bfcl-help``: all groups, one group, or one option."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from pytest_bfcl.failures import UsageError
from pytest_bfcl.run_options.table import GROUPS, OPTIONS, Option

_INDENT = " " * 24


def help_page(asked: str, options: Sequence[Option] = OPTIONS, width: int = 100) -> str:
    """The page of a group, an option, ``all``, or (empty) of the groups. Raises `UsageError`."""
    asked = asked.removeprefix("--").removeprefix("bfcl-")
    if not asked:
        return _groups(options)
    named = [option for option in options if asked in ("all", option.group, option.name)]
    if not named:
        from pytest_bfcl.suggestions import instead_of

        words = [*GROUPS, *(option.name for option in options)]
        raise UsageError(f"--bfcl-help: there is no group or option {asked!r}; {instead_of(asked, words)}")
    return "\n".join(line for option in named for line in _lines(option, max(60, width)))


def _groups(options: Sequence[Option]) -> str:
    told = ["--bfcl-help GROUP shows the options of a group, --bfcl-help NAME one option, --bfcl-help all everything."]
    for group, about in GROUPS.items():
        names = ", ".join(option.name for option in options if option.group == group)
        told += [f"{group}: {about}", *textwrap.wrap(names, 96, initial_indent="  ", subsequent_indent="  ",
                                                     break_on_hyphens=False)]  # fmt: skip
    told.append("Each is --bfcl-NAME on the command line and bfcl_NAME in the ini file, with _ for -.")
    return "\n".join(told)


def _lines(option: Option, width: int) -> list[str]:
    values = option.metavar or ""
    about = option.help
    if option.default not in (None, "", False) and "default" not in about:
        about += f" (default: {option.default})"
    use = f"Use this when {option.use} (docs/{option.page}.md)."
    return [f"  --bfcl-{option.name} {values}".rstrip(), *_wrapped(about, width), *_wrapped(use, width)]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False)
