"""Say why a run lost what it lost: failures clustered into named causes, and what changed against another run.

  pytest-bfcl explain reports/RUN
  pytest-bfcl explain reports/RUN --against reports/BASE
  pytest-bfcl explain reports/RUN --cause date > ids.txt

PATH#MODEL picks one of several models. Exit code 0, also when entries failed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.failures import UsageError
from pytest_bfcl.printed import say

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.diagnosis import Diagnosis

SUMMARY = "why a run failed what it failed, cause by cause"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    from pytest_bfcl.extensions.boards.causes import CAUSES

    parser.add_argument("run", metavar="RUN", help="a run directory or a results.jsonl")
    parser.add_argument("--against", metavar="RUN", help="say what changed since this run, cause by cause")
    parser.add_argument("--cause", choices=sorted(CAUSES), help="print the ids of one cause, for --bfcl-ids FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything for programs")


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis, or the ids of one cause."""
    from pytest_bfcl.cli import write_file
    from pytest_bfcl.extensions.boards.diagnosis import change_lines

    found = _diagnoses(args.run)
    if args.cause:
        for each in found:
            for count in each.counts:
                if count.cause.key == args.cause:
                    say("\n".join(count.ids))
        return 0
    if args.json is not None:
        write_file(args.json, json.dumps([each.to_json() for each in found], indent=1) + "\n")
    if args.against:
        from pytest_bfcl.scoring.comparison import comparison_notes
        from pytest_bfcl.scoring.measurements import open_measurement

        for note in comparison_notes(open_measurement(args.against), open_measurement(args.run)):
            say(note)
        before = _one(_diagnoses(args.against), args.against)
        for line in change_lines(before, _one(found, args.run)):
            say(line)
        return 0
    for each in found:
        for line in each.lines():
            say(line)
    return 0


def _diagnoses(text: str) -> list[Diagnosis]:
    from pytest_bfcl.extensions.boards.diagnosis import diagnose
    from pytest_bfcl.runs.directory import refuse_other_file
    from pytest_bfcl.runs.results import read_results

    name, _, model = text.partition("#")
    path = Path(name)
    file = path / "results.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"{name} is no run: name a run directory (it holds results.jsonl) or such a file")
    refuse_other_file(file)
    last = {(line["model"], line["mode"], line["id"], line["repeat"]): line for line in read_results(file)}
    found = [each for each in diagnose(last.values()) if model in ("", each.model)]
    if not found:
        raise UsageError(f"{text} has no judged entry" + (f" of {model}" if model else ""))
    return found


def _one(found: list[Diagnosis], text: str) -> Diagnosis:
    if len(found) > 1:
        known = ", ".join(each.model for each in found)
        raise UsageError(f"{text} has several models: name one as PATH#MODEL ({known})")
    return found[0]
