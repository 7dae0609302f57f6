"""Split data into entries for training and entries for tests. Related entries stay together.

  pytest-bfcl new split mine.jsonl --train 0.8 --seed 7 -o mine.split.json
  pytest-bfcl new split bundled -o bundled.split.json
  pytest --model vllm:mine --bfcl-data bundled --bfcl-split bundled.split.json

Entries that share a base, a scenario, a question or a function are one family. A family is never divided.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.selection.splits import Split


SUMMARY = "split entries into a training part and a test part"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    from pytest_bfcl.selection.splits import KINDS

    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="bundled, official, a folder, or .jsonl files of your own"
    )
    parser.add_argument("--train", type=float, default=0.8, metavar="SHARE", help="share to train on (default: 0.8)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same split (default: 0)")
    parser.add_argument(
        "--by", choices=KINDS, default="family",
        help="content: also by questions that are nearly the same and by calls; strict: also by the functions of "
        "simulated systems, and by a function's name alone",
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help="the file to write")


def run(args: argparse.Namespace) -> int:
    """Write the split and print its content."""
    from pytest_bfcl.extensions.training.splits import make_split

    data = _opened(args.data)
    split = make_split(data, train=args.train, seed=args.seed, by=args.by).write(args.output)
    for line in _table(split, data):
        say(line)
    say(_leak(split, data))
    say(f"written: {args.output} ({split.sha256[:8]})")
    if data.name in ("official", "verified"):
        say(f"trained on this part, a model has no BFCL score: run it with --bfcl-split trained-on={args.output}")
    return 0


def _leak(split: Split, data: DataSet) -> str:
    """How much training on one part affects the other."""
    from pytest_bfcl.extensions.training.splits import alike, entries_of
    from pytest_bfcl.extensions.training.training_rows import NEAR

    pairs = [(one.id, other.id) for one, other in alike(list(entries_of(data)))]
    parted = ((one, other) for one, other in pairs if split.part_of(one) != split.part_of(other))
    leaked = {each for pair in parted for each in pair if split.part_of(each) == "test"}
    told = f"{len(leaked)} test entries are nearly the same as one to train on (words at cosine {NEAR:g}, or all calls)"
    return told if not leaked else f"{told}: {sorted(leaked)[0]} …; --by content keeps these together"


def _opened(names: list[str]) -> DataSet:
    from pytest_bfcl.dataset.opening import open_files
    from pytest_bfcl.session.evaluation import open_data
    from pytest_bfcl.simulators import documents_of

    return open_data(names[0]) if len(names) == 1 else open_files(list(map(Path, names)), documents_of)


def _table(split: Split, data: DataSet) -> list[str]:
    from pytest_bfcl.selection.splits import PARTS

    rows = [("category", "train", "test", "")]
    for name in data.categories():
        train, test = (len(split.parts[part].get(name, ())) for part in PARTS)
        if train + test:
            share = train / (train + test)
            far = abs(share - split.train) * (train + test) > 2
            rows.append((name, str(train), str(test), f"{100 * share:.0f} %, its families are large" if far else ""))
    train, test = (len(split.ids(part)) for part in PARTS)
    rows.append(("all", str(train), str(test), f"{100 * train / (train + test):.1f} %, {split.families} families"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        f"{name:<{widths[0]}}  {train:>{widths[1]}}  {test:>{widths[2]}}  {note}".rstrip()
        for name, train, test, note in rows
    ]
