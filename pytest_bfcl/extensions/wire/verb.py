"""List the wire checks (--list), write the wire page of a run again, or test a streaming parser (--parser).

--parser module:callable takes any callable from deltas of a text to events (docs/wire.md); vllm:NAME and sglang:NAME
take the parsers of an installed engine. The texts are cut at every place. Exit code 1 when a rule is broken.

pytest runs the checks: pytest --model openai:NAME --bfcl-base-url URL -m wire
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.plain_text import say, shortened

if TYPE_CHECKING:
    from pytest_bfcl.extensions.wire.cutting import Cut, Written
    from pytest_bfcl.extensions.wire.row import Check

WIDTH = 1_000
SHOWN = 30
"""Deltas of a finding that are printed."""
SUMMARY = "list the wire checks, or write their page again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    from pytest_bfcl.extensions.wire.row import APIS

    parser.add_argument("run", nargs="?", metavar="RUN", help="run directory: write its wire.html again")
    parser.add_argument("--list", action="store_true", help="explain every check")
    parser.add_argument(
        "--parser", metavar="NAME", help="module:callable, vllm:PARSER or sglang:PARSER, under every split of its texts"
    )
    parser.add_argument("--format", metavar="NAME", help="format of the texts (default: those the parser reads)")
    parser.add_argument(
        "--lines", metavar="FILE", help=".jsonl of texts (text or output, tools) instead of the built-in texts"
    )
    parser.add_argument("--api", choices=APIS, help="only the checks of this API (default: of all)")


def run(args: argparse.Namespace) -> int:
    """Print or write; 1 if a run has a fault."""
    if args.list:
        explain(args.api)
        return 0
    if args.parser:
        return cut_everywhere(args.parser, args.format, args.lines)
    if not args.run:
        raise UsageError("name a run directory, or use --list or --parser")
    return _write_again(Path(args.run))


def explain(api: str | None) -> None:
    """Every check: name, APIs, rule, source, dependencies."""
    from pytest_bfcl.extensions.wire.checks import checks_for
    from pytest_bfcl.extensions.wire.row import APIS

    wanted = [each for each in APIS if api in (None, each)]
    checks: dict[str, Check] = {}
    for each in wanted:
        for check in checks_for(each):
            checks.setdefault(check.name, check)  # as the first of the APIs has it written
    group = ""
    for check in checks.values():
        if check.group != group:
            group = check.group
            say(f"{group}\n")
        say(f"  {check.name}  ({', '.join(check.apis)}{'; may be refused' if check.optional else ''})")
        for text in (check.text, f"Written in: {check.where}."):
            say(textwrap.fill(text, 110, initial_indent="      ", subsequent_indent="      "))
        say()
    counts = ", ".join(f"{len(checks_for(each))} over {each}" for each in wanted)
    say(f"{len(checks)} checks ({counts}).")
    say("Reason of a failure: wire:<check>, tag WIRE_FAULT.")


def _write_again(run: Path) -> int:
    from pytest_bfcl.extensions.wire.outcome import PAGE_FILE, read_lines, write_wire_page

    records = read_lines(run)
    if not records:
        raise UsageError(f"no wire checks in {run}: run pytest --model openai:NAME --bfcl-base-url URL -m wire")
    write_wire_page(records, run / PAGE_FILE)
    say(run / PAGE_FILE)
    return int(any(record.state == "broke" for record in records))


def cut_everywhere(name: str, format_name: str | None, lines: str | None) -> int:
    """A parser's texts in every split; 1 if a rule is broken. Raises `UsageError` if no format is read."""
    from pytest_bfcl.extensions.wire.cutting import examined, formats_of, writings, written_in
    from pytest_bfcl.extensions.wire.parser import target_of

    if format_name is not None and format_name not in writings():
        raise UsageError(f"--format {format_name}: {instead_of(format_name, sorted(writings()))}")
    target = target_of(name)
    if lines is not None:
        batteries = {f"texts of {lines}": list(_recorded(Path(lines)))}
        if not any(batteries.values()):
            raise UsageError(f"{lines} holds no texts: lines have text or output")
    else:
        formats = [format_name] if format_name is not None else formats_of(target)
        if not formats:
            raise UsageError(
                f"{name} finds no plain call in any of {len(writings())} formats: name one by --format, or bring "
                "texts of its own by --lines FILE"
            )
        batteries = {each: written_in(each) for each in formats}
    broken = 0
    for what, texts in batteries.items():
        say(f"{what}, in every split: {len(texts)}")
        for cut in examined(target, texts):
            broken += 1
            _tell(cut)
    say(f"rules broken: {broken}" if broken else "every split gives the same result")
    return int(bool(broken))


def _tell(cut: Cut) -> None:
    shown = " | ".join(json.dumps(delta, ensure_ascii=False) for delta in cut.deltas[:SHOWN])
    say(f"  broke {cut.rule}: {shortened(cut.why, WIDTH)}")
    say(f"    rule    {cut.rule_text}")
    say(f"    text    {cut.text.what}; {cut.count} of {cut.tried} splits; the smallest found:")
    say(f"    deltas  {shown}{' …' if len(cut.deltas) > SHOWN else ''}")


def _recorded(path: Path) -> Iterator[Written]:
    """The texts of a file with their tools. Raises `UsageError`."""
    from pytest_bfcl.extensions.wire.cutting import Written
    from pytest_bfcl.extensions.wire.requests import Tool
    from pytest_bfcl.runs.lines import read_json_lines

    try:
        for line in read_json_lines(path):
            text = line.value.get("text", line.value.get("output"))
            listed = line.value.get("tools") or line.value.get("function") or ()
            documents = [each.get("function", each) for each in listed if isinstance(each, dict)]
            tools = tuple(
                Tool(str(each.get("name")), each.get("parameters"), each.get("description", ""))
                for each in documents
                if isinstance(each, dict)
            )
            if isinstance(text, str) and text:
                yield Written(str(line.value.get("id") or f"line {line.number}"), text, (), tools=tools, known=False)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
