"""Find data defects and prove each: impossible answers, calls that fail, values without a source, contradictions.

The entry itself proves a defect. Doubtful readings are listed for a person and do not count. With --runs it also lists
entries that no run passed, and entries for which the runs agree on another answer. -o writes a page for each finding,
and rows for the list of known issues; `pytest-bfcl view` shows such a folder. Exit code 1 when there are defects.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.own.validate_verb import add_server_arguments, server_settings
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.extensions.lab.pages import FindingPage
    from pytest_bfcl.extensions.lab.rules import Defect
    from pytest_bfcl.extensions.lab.run_rules import Attempts

TOML = "known_issues.toml"
ITEMS = "items.csv"
SHOWN = 40
"""Findings printed; the pages list all."""

SUMMARY = "find data defects and prove each"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("data", nargs="?", default="auto", metavar="DATA",
                        help="auto, bundled, official, verified, or a path (default: %(default)s)")  # fmt: skip
    parser.add_argument("--runs", nargs="+", type=Path, default=[], metavar="RUN",
                        help="run directories, result lines, official result folders")  # fmt: skip
    parser.add_argument("--categories", metavar="NAMES", help="only these, separated by commas (groups too)")
    parser.add_argument("--rules", metavar="NAMES", help="only findings of these rules, separated by commas")
    parser.add_argument("--words", action=argparse.BooleanOptionalAction, default=None,
                        help="rules that compare words (default: for all but the official data)")  # fmt: skip
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help=f"write pages and {TOML} there")
    add_server_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Audit, print, write; 1 if there are defects."""
    from pytest_bfcl.cli import tell_left_out
    from pytest_bfcl.dataset.categories import resolve_categories
    from pytest_bfcl.extensions.lab.audit import audit
    from pytest_bfcl.extensions.lab.rules import RULES
    from pytest_bfcl.extensions.lab.run_rules import read_attempts, too_few
    from pytest_bfcl.rescoring import open_data
    from pytest_bfcl.runs.lines import LeftOut

    wanted = args.rules.split(",") if args.rules else list(RULES)
    if unknown := [name for name in wanted if name not in RULES]:
        raise UsageError(f"--rules: unknown rule {unknown[0]!r}; known: {', '.join(RULES)}")
    dataset = open_data(args.data)
    chosen = resolve_categories(args.categories.split(",")) if args.categories else None
    left_out = LeftOut()
    runs = [read_attempts(path, dataset, left_out) for path in args.runs]
    settings = server_settings(args) if "unearned" in wanted else None
    found = audit(dataset, chosen, runs, words=args.words, settings=settings)
    found = [defect for defect in found if defect.rule_name in wanted]
    if args.out is not None:
        _write(args.out, dataset, found, runs)
    _print(found)
    if said := too_few(runs):
        say(said)
    if args.out is not None:
        say(f"written: {args.out / 'index.html'}, {args.out / TOML}")
    tell_left_out("audit", left_out)
    return 1 if any(defect.rule.level == "defect" for defect in found) else 0


def _print(found: Sequence[Defect]) -> None:
    from pytest_bfcl.extensions.lab.rules import RULES
    from pytest_bfcl.reporting.printing import Printer
    from pytest_bfcl.reporting.tables import Table

    printer = Printer()
    counted = Counter(defect.rule_name for defect in found)
    if counted:
        rows = [(name, RULES[name].title, RULES[name].level, str(counted[name])) for name in RULES if counted[name]]
        printer.table(Table(("rule", "what it is", "level", "findings"), rows, (0, 1, 2)))
    ordered = sorted(found, key=lambda defect: defect.rule.level == "reading")
    for defect in ordered[:SHOWN]:
        printer.line(str(defect))
    if len(found) > SHOWN:
        printer.line(f"… and {len(found) - SHOWN} more (-o DIR writes all)")
    defects = sum(defect.rule.level == "defect" for defect in found)
    printer.line(f"{defects} defects, {len(found) - defects} to read, by {len(RULES)} rules")


def _write(folder: Path, dataset: DataSet, found: Sequence[Defect], runs: Sequence[Attempts]) -> None:
    from pytest_bfcl.extensions.lab.pages import write_audit_pages
    from pytest_bfcl.extensions.lab.rules import items_csv, known_issues_toml
    from pytest_bfcl.extensions.lab.run_rules import item_fits
    from pytest_bfcl.runs.directory import is_run
    from pytest_bfcl.runs.lines import staged
    from pytest_bfcl.runs.paths import write_here

    if is_run(folder):
        raise UsageError(f"{folder} is a run directory: the pages would replace its report; name another folder")
    entries: dict[str, Entry] = {}
    for entry_id in {name for defect in found for name in (defect.id, *defect.others)}:
        ref = dataset.find(entry_id)
        try:
            if ref is not None:
                entries[entry_id] = dataset.unchecked(ref)
        except (HarnessError, UsageError):
            continue  # its page shows what could be told
    with staged(folder) as beside:
        write_audit_pages([_page(defect, entries, runs) for defect in found], beside, dataset.name)
        write_here(beside / TOML, known_issues_toml(found, dataset.version).encode())
        if fits := item_fits(runs):
            write_here(beside / ITEMS, items_csv(fits).encode())


def _page(defect: Defect, entries: Mapping[str, Entry], runs: Sequence[Attempts]) -> FindingPage:
    from pytest_bfcl.extensions.lab.pages import FindingPage

    rule = defect.rule
    return FindingPage(
        rule.name,
        rule.title,
        rule.why,
        rule.advice,
        rule.level,
        defect.id,
        defect.message,
        defect.field,
        defect.proof,
        [entries[name] for name in (defect.id, *defect.others) if name in entries],
        [(run.label, each.passed, each.reason, each.calls) for run in runs for each in run.by_id.get(defect.id, ())],
    )
