"""Writes the reference pages of the documentation site from the code: run by mkdocs (plugin gen-files)."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from inspect import ismodule
from io import StringIO
from itertools import groupby
from pathlib import Path

import mkdocs_gen_files
import yaml

from pytest_bfcl.cli import available, commands, verb_module, verb_parser
from pytest_bfcl.extensions.wire.checks import all_checks
from pytest_bfcl.run_options import GROUPS, OPTIONS, Option
from pytest_bfcl.selection.selection import marks

PYTHON = """# Python

Use this page when your program calls this package. It lists every public name with its signature. The rest of the
package may change in any release.

{modules}

## Simulators

::: pytest_bfcl.simulators
    options: {{members: [create_simulator, register_simulator, Simulator, tool]}}

## Hooks

::: pytest_bfcl.plugin.newhooks
"""
PUBLIC = (
    ("pytest_bfcl", "The package"),
    ("pytest_bfcl.judge", "Judge in your own harness"),
    ("pytest_bfcl.rewards", "Rewards"),
    ("pytest_bfcl.training", "Episodes and tasks for trainers"),
    ("pytest_bfcl.assertions", "Assertions in your own tests"),
    ("pytest_bfcl.splits", "Splits"),
    ("pytest_bfcl.cluster", "Ray"),
)
"""Public modules; each lists its names in ``__all__``."""

LINES = """# Lines and summaries

Use this page when your program reads the files of a run. [Contracts](../contracts.md) explains each field.

::: pytest_bfcl.runs.result_line

::: pytest_bfcl.runs.summary_types
"""


def options_page() -> str:
    """Every option with default and ini twin, by the groups of ``pytest --bfcl-help``."""
    page = StringIO()
    page.write(
        "# Options\n\nUse this page to look up an option. You can set each option on the command line or in the ini\n"
    )
    page.write("file under the name shown below it, or in a [profile](../profiles.md).\n\n")
    for group, about in GROUPS.items():
        page.write(f"## {about[0].upper()}{about[1:]}\n\n")
        _write_options(page, [each for each in OPTIONS if each.group == group])
    return page.getvalue()


def _write_options(page: StringIO, options: list[Option]) -> None:
    for option in options:
        page.write(f"### `--bfcl-{option.name}{' ' + option.metavar if option.metavar else ''}`\n\n")
        page.write(f"{_escaped(option.help)}\n\n")
        page.write(f"Use this when {option.use} ([more](../{option.page}.md)).\n\n")
        page.write(f"{_facts(option)}\n\n")


def _facts(option: Option) -> str:
    facts = [f"ini: `{option.key}`"]
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
        "# Marks\n\nUse this page to look up a mark.\n"
        "`pytest -m EXPRESSION` selects entries by marks; `and`, `or`, `not` and brackets work.\n\n"
        f"| mark | entries |\n|---|---|\n{rows}"
    )


def checks_page() -> str:
    """Every wire check, by group."""
    page = StringIO()
    page.write(
        "# Wire checks\n\nUse this page to look up a check of `-m wire` ([Test a tool-call API](../wire.md)).\n\n"
    )
    for group, checks in groupby(all_checks(), key=lambda check: check.group):
        page.write(f"## {group[0].upper()}{group[1:]}\n\n| check | APIs | rule | source |\n|---|---|---|---|\n")
        for each in checks:
            apis = ", ".join(each.apis) + (", may be refused" if each.optional else "")
            page.write(f"| `{each.name}` | {apis} | {_escaped(each.text)} | {_escaped(each.where)} |\n")
        page.write("\n")
    return page.getvalue()


def cli_page() -> str:
    """The help of every verb, and of every form of one."""
    page = StringIO()
    page.write("# Command line\n\nUse this page to look up a verb. `pytest-bfcl VERB --help` prints the same.\n\n")
    summaries = available()
    for verb in commands():
        module = verb_module(verb)
        assert module is not None
        text = summaries.get(verb) or module.SUMMARY
        help_text = verb_parser(verb, module, width=100).format_help().strip()
        page.write(f"## {verb}\n\n{text[0].upper()}{text[1:]}.\n\n```text\n{help_text}\n```\n\n")
    return page.getvalue()


def python_page() -> str:
    """Public names with their signatures, from the modules' ``__all__``."""
    return PYTHON.format(modules="\n\n".join(_module(name, title) for name, title in PUBLIC))


def _module(name: str, title: str) -> str:
    module = importlib.import_module(name)
    names = [each for each in module.__all__ if not each.startswith("__") and not ismodule(getattr(module, each))]
    return "\n\n".join([f"## {title}: `{name}`", *(f"::: {name}.{each}" for each in names)])


LLMS = """# pytest-bfcl

> The Berkeley Function-Calling Leaderboard (BFCL v1-v4) as a pytest plugin: every benchmark entry is a test.
> `pytest --model openai:gpt-4o -m multi_turn` scores a model, gates decide exit codes, `pytest-bfcl` has verbs.
"""


def llms_page() -> str:
    """llms.txt: every page of the navigation with its address and first sentence, for models that look things up."""
    page = StringIO()
    page.write(LLMS)
    for heading, pages in _navigation():
        page.write(f"\n## {heading}\n\n")
        for title, path in pages:
            file = ROOT / "docs" / path
            about = _first_sentence(file.read_text(encoding="utf-8")) if file.is_file() else ""
            page.write(f"- [{title}]({path.removesuffix('.md')}.html){f': {about}' if about else ''}\n")
    return page.getvalue()


def _navigation() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for section in yaml.safe_load(text[text.index("\nnav:") :])["nav"]:
        ((heading, found),) = section.items()
        yield heading, list(_leaves({heading: found}))


def _leaves(item: object) -> Iterator[tuple[str, str]]:
    """Title and path of pages; the page that opens a section has the section's."""
    if isinstance(item, dict):
        for title, found in item.items():
            if isinstance(found, str):
                yield title, found
            else:
                for each in found:
                    yield from [(title, each)] if isinstance(each, str) else _leaves(each)


def _first_sentence(text: str) -> str:
    """Of the first paragraph that is prose."""
    for block in text.split("\n\n")[1:]:
        if re.match(r"[A-Za-z*`]", block) and not block.startswith("```"):
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(block.split()))
            return re.split(r"(?<=[.:])\s", plain, maxsplit=1)[0].rstrip(":")
    return ""


ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "reference/options.md": options_page,
    "reference/marks.md": marks_page,
    "reference/checks.md": checks_page,
    "reference/cli.md": cli_page,
    "reference/python.md": python_page,
    "reference/lines.md": lambda: LINES,
}

for path, write in PAGES.items():
    with mkdocs_gen_files.open(path, "w") as file:
        file.write(write())
    mkdocs_gen_files.set_edit_path(path, "../scripts/reference_pages.py")

with mkdocs_gen_files.open("llms.txt", "w") as file:
    file.write(llms_page())
