"""Corrections of common mistakes on the command line: a table by verb and argparse's message."""

from __future__ import annotations

import re

HABITS: list[tuple[str, str, str]] = [
    # verb (a pattern), what argparse said (a pattern), what to type
    ("run", r"arguments: -m\b", "--categories NAMES selects here, -m is pytest's"),
    ("run", r"arguments: -k\b", "--ids FILE selects here, -k is pytest's"),
    ("run", r"arguments: -n\b", "--concurrency N asks so many at once, -n is pytest's"),
    ("run", r"required: --model", "for instance --model openai:gpt-4o, or --model lexical: to try it"),
    ("compare", r"arguments: --(baseline|against|before|after|run)\b", "name both: pytest-bfcl compare BEFORE AFTER"),
    ("compare", r"arguments: (-o|--out)\b", "--html FILE, --markdown FILE or --json FILE"),
    ("explain", r"arguments: ([^-]|--(against|baseline|base|compare)\b)", "pytest-bfcl compare BEFORE AFTER --causes"),
    ("report", r"arguments: [^-]", "one run at a time; pytest-bfcl compare A B puts two side by side"),
    ("report", r"arguments: (-o|--out)\b", "it stands in the run; pytest-bfcl view site writes elsewhere"),
    ("report", r"arguments: (--open|--serve|--port)\b", "pytest-bfcl view RUN opens it in a browser"),
    ("report", r"arguments: --format\b", "pytest-bfcl export RUN --format NAME -o DIR"),
    ("score", r"arguments: --model\b", "score judges outputs you have; pytest --model SPEC asks a model"),
    ("score", r"required: PATH", "outputs you have: a .jsonl, a run directory or a result/ folder"),
    ("models", r"arguments: [^-]", "--model PROVIDER:NAME shows one"),
    ("models", r"arguments: --list\b", "without an option it lists them"),
    ("doctor", r"arguments: (?!-|https?:|wire|parser)", "--model PROVIDER:NAME names the model"),
    ("doctor", r"arguments: https?:", "--base-url URL, with --model PROVIDER:NAME"),
    ("wire", r"arguments: (--model|--base-url)\b", "write pytest --model PROVIDER:NAME --bfcl-base-url URL -m wire"),
    ("fetch", r"arguments: (official|--data|--offline)", "it fetches the official data alone, or takes it --from PATH"),
    ("merge|leaderboard|site|split", r"required: .*-o", "it is where to write"),
    ("split", r"arguments: --(test|ratio|size)\b", "--train SHARE is the share to train on"),
    ("new", r"(invalid choice|required: what)", "write pytest-bfcl new entry --from-python MODULE:FUNCTION"),
    ("schema", r"invalid choice", "it prints the schema of an entry or of a result line"),
]  # fmt: skip


def usual_way(verb: str, message: str) -> str:
    """The corrected command; empty if argparse's message is enough."""
    return next((told for name, said, told in HABITS if re.fullmatch(name, verb) and re.search(said, message)), "")
