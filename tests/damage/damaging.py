"""Runs to damage, and the damage: what disks, editors, transfers and spiteful people do to files."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, ToolCall

CATEGORIES = (
    "simple_python", "parallel_multiple", "irrelevance", "live_simple", "format_sensitivity", "multi_turn_base",
    "multi_turn_miss_func", "memory_kv", "web_search_base",
)  # fmt: skip

ODD_VALUES: tuple[Any, ...] = (
    None, "", "x", "abc\x1b[31m", "../../x", "\ud800", "=1+1", 0, -1, 7, 1.5, 1e999, float("nan"), 10**400, True, [],
    {},
    [[]], [[["x"]]], [None], {"a": {"b": [1, {"c": None}]}}, [[-1]], "passed", "multi_turn_base", "fc", ["x", 1],
    {"turn": "x", "expected": 7, "called": [7], "sub_errors": [7]}, 2**63, "9" * 5000, {"name": 7, "arguments": []},
)  # fmt: skip


def make_run(path: Path) -> Path:
    """A small finished run of everything a run directory can hold: right and wrong answers, errors, memory, pages.

    Of a run that is there already, what it lacks is asked.
    """
    data = open_data("bundled")
    entries = [data.load(ref) for name in CATEGORIES for ref in data.index(name)[:3]]

    async def reply(request: Any) -> Reply:
        number = sum(map(ord, request.entry.id))
        if request.entry.category == "web_search_base" and request.step == 0:
            return Reply(tool_calls=(ToolCall("search_engine_query", '{"keywords": "lighthouse"}'),), latency_s=0.1)
        if number % 3 == 0:
            return Reply(text="I cannot say.", input_tokens=3, output_tokens=4, latency_s=0.5)
        if number % 7 == 0:
            raise RuntimeError("a mistake in the caller's function")
        if number % 5 == 0 and request.entry.row.checker == "ast":
            calls = answer(request.entry, "fc").tool_calls
            return Reply(tool_calls=tuple(ToolCall(call.name, '{"odd": [1]}') for call in calls), latency_s=0.2)
        return answer(request.entry, "fc", request.turn, request.step)

    reply.mode = "fc"  # type: ignore[attr-defined]
    run(entries, reply, out=path, settings=Settings(search="record"))
    return path


GARBAGE = (b"{\n", b"\x00" * 50, b"[1]\n", b"null\n", b"\xff\xfe\n", b"[" * 5000 + b"\n", b'{"id":1}\n')

VERBS = {
    "report": "export report RUN --markdown",
    "merge": "merge RUN -o OUT",
    "leaderboard": "leaderboard RUN GOOD -o OUT",
    "leaderboard --allow-missing": "leaderboard RUN GOOD -o OUT --official --allow-missing",
    "compare": "compare GOOD RUN",
    "compare --allow-missing": "compare RUN GOOD --allow-missing --shared --json OUT/c.json",
    "export": "export RUN -o OUT",
    "export --official": "export RUN -o OUT --layout csv --official",
    "score": "score RUN --data bundled -o OUT/verdicts.jsonl",
    "score results.jsonl": "score RUN/results.jsonl --data bundled -o OUT/verdicts.jsonl",
}
"""Every verb that reads a run, with its command line."""

PAGES = {
    "report index": "export report RUN --level index",
    "stability": "compare stability RUN GOOD --html OUT/s.html --json OUT/s.json --never OUT/n.json",
    "site": "view site RUN GOOD -o OUT",
    "export --table": "export RUN --table OUT/t.csv",
    "leaderboard --history": "leaderboard RUN GOOD --history -o OUT",
    "compare --html": "compare GOOD RUN --allow-missing --html OUT/c.html --markdown OUT/c.md",
    "audit --runs": "validate audit bundled --runs RUN GOOD --categories memory_kv,live_simple -o OUT",
}
"""Verbs that make pages and tables of what the others read."""


def words(verb: str, run_dir: Path, good: Path, out: Path) -> list[str]:
    """The command line of a verb."""
    places = {"RUN": run_dir, "GOOD": good, "OUT": out}
    found = []
    for word in {**VERBS, **PAGES}[verb].split():
        head, slash, tail = word.partition("/")
        found.append(f"{places[head]}{slash}{tail}" if head in places else word)
    return found


def damage(run_dir: Path, choice: random.Random) -> str:
    """Damage one file of a run in a random way; returns what was done, for the message of a failing test."""
    files = sorted(p for p in run_dir.rglob("*") if p.is_file() and not p.is_symlink() and p.name != ".lock")
    weights = [8 if path.name == "results.jsonl" else 4 if path.suffix == ".json" else 2 for path in files]
    path = choice.choices(files, weights)[0]
    kinds: list[str | Callable[[Path, random.Random], str]] = [*BYTES, *[_replace] * 4, _exchange]
    if path.suffix in (".json", ".jsonl"):
        kinds += [_field] * 12 + [_drop] * 4 + ["without a line"] * 2
    kind = choice.choice(kinds)
    if isinstance(kind, str):
        path.write_bytes(BYTES[kind](path.read_bytes(), choice))
    return f"{path.relative_to(run_dir)}: {kind if isinstance(kind, str) else kind(path, choice)}"


def _encoded(raw: bytes, choice: random.Random) -> bytes:
    encoding = choice.choice(["utf-16", "utf-32-be", "utf-8-sig", "latin-1", "cp037"])
    return raw.decode("utf-8", "replace").encode(encoding, "replace")


def _flipped(raw: bytes, choice: random.Random) -> bytes:
    changes = {choice.randrange(len(raw) or 1): choice.randrange(256) for _ in range(choice.randint(1, 5))}
    return bytes(changes.get(place, byte) for place, byte in enumerate(raw))


def _lines(raw: bytes, choice: random.Random, *, without: int = 0) -> bytes:
    lines = raw.splitlines(keepends=True)
    return b"".join(choice.sample(lines, max(0, len(lines) - without)))


BYTES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": lambda raw, choice: raw[: choice.randrange(len(raw) + 1)],
    "empty": lambda raw, choice: b"",
    "other bytes": _flipped,
    "garbage appended": lambda raw, choice: raw + choice.choice(GARBAGE),
    "shuffled": _lines,
    "without a line": lambda raw, choice: _lines(raw, choice, without=1),
    "another encoding": _encoded,
    "other ends of lines": lambda raw, choice: raw.replace(
        b"\n", choice.choice([b"\r\n", b"\r", b"\n\n", b"\0\n", b""])
    ),
    "several times over": lambda raw, choice: raw * choice.randint(2, 4),
    "a huge line": lambda raw, choice: raw + b'{"id": "' + b"x" * choice.choice([100_000, 12_000_000]) + b'"}\n',
    "a huge torn line": lambda raw, choice: raw + b'{"id": "' + b"x" * choice.choice([100_000, 12_000_000]),
    "packed": lambda raw, choice: gzip.compress(raw),
    "packed and cut": lambda raw, choice: gzip.compress(raw)[:-9],
    "an odd value": lambda raw, choice: json.dumps(choice.choice(ODD_VALUES)).encode(),
}
"""What is done to the bytes of a file."""


def _replace(path: Path, choice: random.Random) -> str:
    """Put something else in the place of a file."""
    path.unlink()
    target = choice.choice([Path("/etc/hostname"), path.parent / "nowhere", Path("/dev/zero"), path])
    put = choice.choice([lambda: path.symlink_to(target), path.mkdir, lambda: os.mkfifo(path), lambda: None])
    put()
    return "something else in its place"


def _exchange(path: Path, choice: random.Random) -> str:
    others = sorted(other for other in path.parent.rglob("*") if other.is_file() and other.name != ".lock")
    other = choice.choice(others)
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)
    return f"exchanged with {other.name}"


def _field(path: Path, choice: random.Random) -> str:
    return _edit(path, choice, lambda holder, key: holder.__setitem__(key, choice.choice(ODD_VALUES)))


def _drop(path: Path, choice: random.Random) -> str:
    return _edit(path, choice, lambda holder, key: holder.__delitem__(key))


def _edit(path: Path, choice: random.Random, change: Callable[[Any, Any], None]) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    whole = path.suffix == ".json"
    lines = [text] if whole else text.splitlines()
    if not lines:
        return "nothing"
    number = choice.randrange(len(lines))
    try:
        value = json.loads(lines[number])
    except ValueError:
        return "nothing"
    holder, key = value, None
    where = []
    while isinstance(holder, dict | list) and holder:
        key = choice.choice(list(holder)) if isinstance(holder, dict) else choice.randrange(len(holder))
        where.append(str(key))
        if not isinstance(holder[key], dict | list) or not holder[key] or choice.random() < 0.4:
            break
        holder = holder[key]
    if key is None:
        return "nothing"
    change(holder, key)
    lines[number] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"line {number + 1}, {'.'.join(where)} now {json.dumps(holder[key] if _has(holder, key) else 'gone')[:60]}"


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)
