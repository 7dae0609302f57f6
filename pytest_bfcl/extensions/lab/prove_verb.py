"""Judge an official result folder again and compare every verdict with the folder's score files.

  pytest-bfcl score prove bfcl-run/ -o proof.md

The folder has result/ and score/ of any BFCL release. One result file next to its score/ is enough. Archives (.zip,
.tar, .tar.gz, .tar.bz2, .tar.xz) and revisions of a git repository work too: REPO@REVISION, or REPO for the newest
commit with results.

It prints what was compared, how much is equal, and each difference with its cause. Exit code 0 when every difference
has a known cause, 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    from pytest_bfcl.extensions.lab.proof import Part

SUMMARY = "judge an official folder again and compare with its scores"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    from pytest_bfcl.runs.wire_names import NAMES

    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="holds result/ and score/; also one result file, a .zip or .tar.*, or REPO@REVISION of a git history",
    )  # fmt: skip
    parser.add_argument("--data", default="official", help="data of the folder (default: %(default)s)")
    parser.add_argument(
        "--names", choices=NAMES, default="auto",
        help="native names in the results: with dots, with underscores, or as the calls prove it",
    )  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write Markdown here instead of printing it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything for programs")


def run(args: argparse.Namespace) -> int:
    """Print or write the proof; 1 if a difference is unexplained."""
    from pytest_bfcl.cli import tell_left_out
    from pytest_bfcl.extensions.lab.official_folder import prove_folder
    from pytest_bfcl.extensions.lab.proof import proof_markdown
    from pytest_bfcl.rescoring import open_data
    from pytest_bfcl.runs.lines import LeftOut
    from pytest_bfcl.runs.unpacked import is_packed, unpacked

    for folder in args.folders:
        if not folder.exists() and not is_packed(folder):
            raise UsageError(f"{folder} does not exist: name a folder with result/ and score/, an archive, or REPO@REV")
    data = open_data(args.data)
    parts: list[Part] = []
    left_out = LeftOut()
    for folder in args.folders:
        with unpacked(folder) as opened:
            found = prove_folder(opened, data, args.names, left_out)
        for part in found if len(args.folders) > 1 else ():
            part.name = f"{folder.name}: {part.name}"
        parts += found
    text = proof_markdown(parts, "Recorded verdicts judged again", [f"Data: {data.name} {data.version}."])
    if args.output is None:
        say(text.rstrip())
    else:
        _write(args.output, text)
    if args.json is not None:
        _write(args.json, json.dumps([part.to_dict() for part in parts], indent=1) + "\n")
    lines, equal = sum(part.lines for part in parts), sum(part.equal for part in parts)
    open_ones = [(part, each) for part in parts for each in part.unexplained]
    if args.output is not None or open_ones:
        say(f"{equal:,} of {lines:,} verdicts are equal; {len(open_ones):,} differences are not explained")
    for part, each in open_ones[:3]:
        say(f"  {part.name}, {each.text}")
    tell_left_out("prove", left_out)
    return 1 if open_ones or not lines else 0


def _write(path: Path, text: str) -> None:
    from pytest_bfcl.cli import write_file

    write_file(path, text)
    say(f"written: {path}")
