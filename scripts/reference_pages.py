"""Writes the reference pages of the documentation site from the code: run by mkdocs (plugin gen-files)."""

from __future__ import annotations

import argparse
import re
from io import StringIO

import mkdocs_gen_files

from pytest_bfcl.cli import available, verb_module
from pytest_bfcl.plugin.marks import marks
from pytest_bfcl.run_options import GROUPS, OPTIONS, Option

PYTHON = """# Python

What other programs may import. Everything else is the package's own and may change.

## The package

{package}

## Rewards and episodes

::: pytest_bfcl.rewards
    options: {{members: [reward, rewards]}}

::: pytest_bfcl.extensions.training.episode.Episode

## Simulators

::: pytest_bfcl.simulators
    options: {{members: [create_simulator, register_simulator, Simulator, tool]}}

## Hooks

::: pytest_bfcl.plugin.newhooks
"""

LINES = """# Lines and summaries

The types of what a run writes. Their meaning, field by field, is in [Contracts](../contracts.md).

::: pytest_bfcl.runs.result_line

::: pytest_bfcl.runs.summary_types
"""


def options_page() -> str:
    """Every option with default and ini twin: those of ``pytest --help`` in its order, then those that few use."""
    page = StringIO()
    page.write("# Options\n\nGiven on the command line, in the ini file under the name that stands beside each, in a\n")
    page.write("[table of the project or a profile](../profiles.md).\n\n")
    for group, about in GROUPS.items():
        page.write(f"## {about[0].upper()}{about[1:]}\n\n")
        _write_options(page, [each for each in OPTIONS if each.group == group and each.listed])
    page.write("## What few need\n\n`pytest --help` leaves these out; they are given in the same ways.\n\n")
    _write_options(page, [each for each in OPTIONS if not each.listed])
    return page.getvalue()


def _write_options(page: StringIO, options: list[Option]) -> None:
    for option in options:
        page.write(f"### `--bfcl-{option.name}{' ' + option.metavar if option.metavar else ''}`\n\n")
        page.write(f"{_escaped(option.help)}\n\n")
        page.write(f"{_facts(option)}\n\n")


def _facts(option: Option) -> str:
    facts = [f"ini: `{option.key}`"]
    if option.choices:
        facts.append("one of " + ", ".join(f"`{choice}`" for choice in option.choices))
    if option.default is not None:
        facts.append(f"default: `{option.default}`")
    if option.many:
        facts.append("may be repeated; a list in the ini file")
    return " · ".join(facts)


def _escaped(text: str) -> str:
    return re.sub(r"([<>{}*_|])", r"\\\1", text)


def marks_page() -> str:
    """Marks of entries and of the wire checks."""
    rows = "".join(f"| `{name}` | {_escaped(text)} |\n" for name, text in marks())
    return (
        "# Marks\n\n`pytest -m EXPRESSION` chooses entries by them; `and`, `or`, `not` and brackets work.\n\n"
        f"| mark | what carries it |\n|---|---|\n{rows}"
    )


def cli_page() -> str:
    """The help of every verb."""
    page = StringIO()
    page.write("# Command line\n\n`pytest-bfcl VERB --help` prints the same.\n\n")
    for verb, text in available().items():
        module = verb_module(verb)
        parser = argparse.ArgumentParser(
            prog=f"pytest-bfcl {verb}",
            description=module.__doc__,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100),
        )
        module.add_arguments(parser)
        page.write(f"## {verb}\n\n{text[0].upper()}{text[1:]}.\n\n```text\n{parser.format_help().strip()}\n```\n\n")
    return page.getvalue()


def python_page() -> str:
    """Public names, from their docstrings."""
    import pytest_bfcl

    names = [name for name in pytest_bfcl.__all__ if not name.startswith("__")]
    return PYTHON.format(package="\n\n".join(f"::: pytest_bfcl.{name}" for name in names))


PAGES = {
    "reference/options.md": options_page,
    "reference/marks.md": marks_page,
    "reference/cli.md": cli_page,
    "reference/python.md": python_page,
    "reference/lines.md": lambda: LINES,
}

for path, write in PAGES.items():
    with mkdocs_gen_files.open(path, "w") as file:
        file.write(write())
    mkdocs_gen_files.set_edit_path(path, "../scripts/reference_pages.py")
