"""Draft entries from recorded conversations, for your review.

  pytest-bfcl new log conversations.jsonl -o candidates.jsonl

It reads messages and tools, and requests with responses (OpenAI, Responses, Anthropic, Gemini, litellm, stored
completions); spans (OpenTelemetry, Phoenix, OpenLLMetry, Vercel's AI SDK); exports of Langfuse, LangSmith, MLflow and
Helicone; rows of xLAM and ACEBench. Every answered request becomes an entry, with the recorded calls as the answer. A
conversation with tool results becomes an entry with recorded results. All entries are marked as not reviewed, because
a recorded call can be wrong.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_bfcl.cli import write_file
from pytest_bfcl.plain_text import say, say_data

SUMMARY = "turn recorded conversations into entries"
SHOWN = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("path", help="a .jsonl or .json file of conversations in a known format")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this new file instead of printing")
    parser.add_argument("--prefix", default="log", help="what ids begin with (default: %(default)s)")
    parser.add_argument("--turns", choices=["both", "single", "multi"], default="both",
                        help="single: an entry for each request; multi: for each conversation whose tools answered "
                        "(default: %(default)s)")  # fmt: skip
    parser.add_argument("--skip", action="store_true", help="leave out what cannot be read, and say what it is")


def run(args: argparse.Namespace) -> int:
    """Print or write the entries; 1 when there are none."""
    from pytest_bfcl.extensions.own.log_entries import entries_of_log
    from pytest_bfcl.extensions.own.skeletons import line_of

    left_out: list[str] = []
    made = list(entries_of_log(Path(args.path), args.prefix, args.turns, left_out.append if args.skip else None))
    text = "".join(line_of(entry) + "\n" for entry in made)
    if args.output:
        if Path(args.output).exists():
            raise FileExistsError(errno.EEXIST, "File exists", args.output)
        write_file(Path(args.output), text)
    else:
        say_data(text)
    for told in _by_cause(left_out):
        say(f"left out: {told}", file=sys.stderr)
    told = f"{len(made)} entries, none of them reviewed" if made else "no request with tools was answered in this log"
    say(f"{args.path}: {told}{f'; {len(left_out)} left out' if left_out else ''}", file=sys.stderr)
    return 0 if made else 1


def _by_cause(left_out: list[str]) -> Iterator[str]:
    """Causes, most frequent first, each with its number and its first place."""
    causes: dict[str, list[str]] = {}
    for told in left_out:
        place, _, cause = told.partition(": ")
        causes.setdefault(cause, []).append(place)
    listed = sorted(causes.items(), key=lambda each: -len(each[1]))
    for cause, places in listed[:SHOWN]:
        yield f"{cause} ({len(places)} times, first {places[0]})" if len(places) > 1 else f"{places[0]}: {cause}"
    if rest := sum(len(places) for _, places in listed[SHOWN:]):
        yield f"{rest} for {len(listed) - SHOWN} other causes"
