"""Mutation trial: ``python scripts/mutants.py COUNT --seed N [ROOM or FILE…]`` changes one thing at a time.

Each mutant flips a comparison, drops a condition or half of one, changes a number or a truth value, or deletes a
statement, in a copy of the repository. The tests of the rooms run once, traced (``--wide``: whole runs, too); then a
mutant is tried, in a fork of a session that has everything collected, by the tests that come past its line: those of
its own file first, then of its room, then the fastest. What stands outside of functions is tried in a process of its
own, by all tests of its room. Survivors are listed: what they change is checked by no test.

Not drawn is what no test of behaviour could notice or should repeat: types, docstrings, decorators, the words of
messages (raised errors, f-strings, texts added to a text), comparisons with a clock, and a named limit of a hundred or
more that would be larger by one.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("models", "endpoints", "session", "conversation", "runs")
ACROSS = ("test_endings.py", "test_echoed_secrets.py", "test_records.py")
"""Tests of several rooms: they come past most of what a model says."""
WIDE = (*ROOMS, "plugin", "cli", "damage", "agentic", "multi_turn", "rescoring", "scoring", *ACROSS)
LONGEST_S = 300
TRACED = "MUTANTS_TRACED"
"""Environment variable: the rooms whose lines are traced."""
LEAST_LIMIT = 100
MOST_TESTS = 400
"""Tests that are asked of one mutant."""
Traced = dict[str, dict[str, list[str]]]
FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: a file, a place in it, the text there and what takes its place."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str
    function: str | None  # the outermost that holds it
    place: str  # that function, and how many lines below its first

    def changed(self, whole: bytes) -> bytes:
        """The file's text with it."""
        return whole[: self.start] + self.after.encode() + whole[self.end :]

    @property
    def room(self) -> str:
        """Where its tests are."""
        return f"tests/{room_of(self.path)}/"

    def __str__(self) -> str:
        told = f"{' '.join(self.before.split())[:70]!r} → {self.after[:70]!r}"
        return f"{self.path.relative_to(ROOT)}:{self.line} {told}"


def busy() -> float:
    """How much longer something takes here than on an idle machine, at most: no test may seem to hang for that."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def room_of(path: Path) -> str:
    """The folder of a module, below the package's."""
    return path.parent.relative_to(ROOT / "pytest_bfcl").as_posix()


def mutants(path: Path) -> list[Mutant]:
    """All single changes of a file, in order."""
    text = path.read_bytes()
    tree = ast.parse(text)
    starts = [0]
    for each in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(each))
    functions = {line: pair for pair in outermost(tree) for line in range(pair[1], pair[2] + 1)}
    found = []
    for node, changed in _changes(tree):
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        function, first, _ = functions.get(node.lineno, (None, 0, 0))
        place = f"{function or '<module>'}+{node.lineno - first}"
        found.append(Mutant(path, node.lineno, start, end, text[start:end].decode(), changed, function, place))
    return found


def outermost(tree: ast.AST, within: str = "") -> Iterator[tuple[str, int, int]]:
    """Functions that no function holds: names, first and last lines of their bodies."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield f"{within}{node.name}", node.body[0].lineno, node.end_lineno
        elif isinstance(node, ast.ClassDef):
            yield from outermost(node, f"{within}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from outermost(node, within)


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Nodes, and texts to put in their place."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop(0)
        yield from _changed(node)
        waiting += [each for each in ast.iter_child_nodes(node) if not _is_told(node, each)]


def _is_told(parent: ast.AST, node: ast.AST) -> bool:
    """What is for people and type checkers: annotations, decorators, docstrings, raised errors, texts, limits."""
    if isinstance(parent, ast.ClassDef) and node in parent.decorator_list:
        return True
    if isinstance(node, ast.AugAssign) and _is_text(node.value):
        return True
    if isinstance(node, ast.Compare) and any("monotonic()" in ast.unparse(each) for each in ast.walk(node)):
        return True
    if isinstance(parent, ast.Module) and isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        return isinstance(node.value.value, int | float) and node.value.value >= LEAST_LIMIT
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arguments | ast.Assert):
        return True
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and node in (parent.returns, *parent.decorator_list):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.keyword) and node.arg in ("strict", "total", "stacklevel"):  # asserted, a type, a word
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    return isinstance(parent, ast.AnnAssign) and node is parent.annotation


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _changed(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = copy.deepcopy(node)
        other.ops = [FLIPPED[type(node.ops[0])]()]
        yield node, f"({ast.unparse(other)})"
    elif isinstance(node, ast.BoolOp):
        for position in range(len(node.values)):
            rest = [value for number, value in enumerate(node.values) if number != position]
            yield node, f"({ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.If | ast.IfExp):
        yield node.test, "True"
        yield node.test, "False"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield node, repr(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Expr | ast.AugAssign | ast.Delete | ast.Continue | ast.Break) and not _waits(node):
        yield node, "pass"


def _waits(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom)


class Bench:
    """A copy of the repository, and a session in it that has collected the tests and forks for every mutant."""

    def __init__(self, folder: Path, tests: Sequence[str], rooms: Sequence[str], seconds: int) -> None:
        self._copied = folder / "copy"
        shutil.copytree(ROOT, self._copied, ignore=shutil.ignore_patterns(".venv*", ".*_cache", ".git", "build"))
        self._environment = os.environ | {
            "PYTHONPATH": f"{self._copied}:{self._copied / 'scripts'}", "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
            TRACED: ",".join(rooms),
        }  # fmt: skip
        self._clock = int(time.time())
        self._traced: Traced = {}
        self._seconds = seconds
        present = [f"tests/{each}" for each in tests if (ROOT / "tests" / each).exists()]
        self._session = self._start("-p", "mutant_session", f"--basetemp={folder / 'base'}", *present)
        self._hear("ready")

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=no", *arguments]
        return subprocess.Popen(
            command, cwd=self._copied, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _hear(self, *words: str) -> str:
        """The session's next answer, whatever else is printed."""
        assert self._session.stdout is not None
        for line in self._session.stdout:
            if line.strip() in {f"mutant: {word}" for word in words}:
                return line.split()[1]
            if line.startswith("mutant: "):
                print(line.strip(), file=sys.stderr)
        raise SystemExit("the session of the tests ended; see: PYTHONPATH=scripts python -m pytest -p mutant_session")

    def _ask(self, *words: object) -> None:
        assert self._session.stdin is not None
        self._session.stdin.write(json.dumps(words) + "\n")
        self._session.stdin.flush()

    def trace(self, part: int, parts: int, found: Path) -> None:
        """Run a part of the tests; what they come past is in a file then."""
        self._ask("trace", part, parts, str(found))
        self._hear("traced")

    def know(self, traced: Traced) -> None:
        """Take what all parts found."""
        self._traced = traced
        self._ask("know", sorted({name for places in traced.values() for names in places.values() for name in names}))

    def survives(self, mutant: Mutant) -> bool:
        """Whether the tests that come past it pass with it."""
        place = self._copied / mutant.path.relative_to(ROOT)
        whole = place.read_bytes()
        try:
            self._write(place, mutant.changed(whole))
            tests = self._tests(mutant)
            if mutant.function is None:
                return self._passes_apart(mutant.room)
            self._ask("try", str(mutant.path.relative_to(ROOT)), tests, self._seconds, mutant.room)
            heard = self._hear("found", "passed", "apart")
            return self._passes_apart(mutant.room) if heard == "apart" else heard == "passed"
        finally:
            self._write(place, whole)

    def _write(self, place: Path, text: bytes) -> None:
        """Two changes of one length within a second look alike to what is compiled: each has a time of its own."""
        place.write_bytes(text)
        self._clock += 2
        os.utime(place, (self._clock, self._clock))

    def _tests(self, mutant: Mutant) -> list[str]:
        """Those that come past its line (or else its function, or its file), the nearest and fastest first."""
        lines = self._traced.get(str(mutant.path.relative_to(ROOT)), {})
        met = lines.get(mutant.place, [])
        if not met:
            within = [key for key in lines if key.rpartition("+")[0] == (mutant.function or "<module>")]
            met = [name for key in within or lines for name in lines[key]]
        room = mutant.room
        own = f"{room}test_{mutant.path.stem}.py"
        near = sorted(dict.fromkeys(met), key=lambda name: (not name.startswith(own), not name.startswith(room)))
        return near[:MOST_TESTS]

    def _passes_apart(self, room: str) -> bool:
        """By all tests of its room, as no line shows who uses a constant and some are part of a test's name."""
        process = self._start("tests/test_records.py", room)  # the first says what records are like
        try:
            process.communicate(timeout=LONGEST_S * busy())
        except subprocess.TimeoutExpired:  # it hangs: it was noticed
            process.kill()
            return False
        return process.returncode in (0, 5)

    def close(self) -> None:
        """End the session."""
        self._session.kill()
        self._session.wait()


def traced_by(benches: list[Bench], kept: Path, pool: ThreadPoolExecutor) -> Traced:
    """Every file's places with the names of the tests that come past them, the fastest first."""
    if not kept.exists():
        parts = [kept.with_suffix(f".{number}") for number in range(len(benches))]
        list(pool.map(lambda part: benches[part].trace(part, len(benches), parts[part]), range(len(benches))))
        spent: dict[str, float] = {}
        found: Traced = {}
        for part in parts:
            times, met = json.loads(part.read_text())
            spent |= times
            for file, places in met.items():
                for place, names in places.items():
                    found.setdefault(file, {}).setdefault(place, []).extend(names)
        for places in found.values():
            for names in places.values():
                names.sort(key=spent.__getitem__)
        kept.write_text(json.dumps(found))
    traced: Traced = json.loads(kept.read_text())
    return traced


def files_of(names: Sequence[str]) -> list[Path]:
    """Modules of rooms, and those named by their file."""
    found: list[Path] = []
    for name in names:
        found += [ROOT / name] if name.endswith(".py") else sorted((ROOT / "pytest_bfcl" / name).glob("*.py"))
    return found


def main(asked: argparse.Namespace) -> int:
    """Try so many; exit code 1 when more than one in twenty survives."""
    files = files_of(asked.names)
    every = [mutant for path in files for mutant in mutants(path)]
    rooms = list(dict.fromkeys(map(room_of, files)))
    tests = asked.tests or (WIDE if asked.wide else [*rooms, *ACROSS])
    chosen = random.Random(asked.seed).sample(every, min(asked.count, len(every)))
    free: SimpleQueue[Bench] = SimpleQueue()
    left = 0

    def tried(mutant: Mutant) -> bool:
        bench = free.get()
        try:
            return bench.survives(mutant)
        finally:
            free.put(bench)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.processes) as pool:
        places = [Path(folder) / str(number) for number in range(asked.processes)]
        benches = list(pool.map(lambda place: Bench(place, tests, rooms, asked.seconds), places))
        traced = traced_by(benches, Path(asked.map or f"{folder}/traced.json"), pool)
        for bench in benches:
            bench.know(traced)
            free.put(bench)
        for number, (mutant, lives) in enumerate(zip(chosen, pool.map(tried, chosen), strict=True), 1):
            left += lives
            print(f"{number:3} {'SURVIVES' if lives else 'found   '} {mutant}", flush=True)
        for bench in benches:
            bench.close()
    print(f"{left} of {len(chosen)} survive ({len(every)} possible)")
    return int(left * 20 > len(chosen))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("names", nargs="*", default=ROOMS, help="rooms, or files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="+", help="folders and files of tests/ that are asked, not the rooms' own")
    parser.add_argument("--wide", action="store_true", help="ask whole runs, too")
    parser.add_argument("--map", default="", help="where to keep which tests come past which lines, for the next trial")
    parser.add_argument("--seconds", type=int, default=60, help="processor time that tests of one mutant take")
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 4))
    sys.exit(main(parser.parse_intermixed_args()))
