"""The folder of a set: a file a category, the order from easy to hard, and the counts of tasks and refusals.

Tasks are written one by one. A journal records the valid length of each file, so that an interrupted set can be
resumed. A damaged line is removed, and existing tasks are not made again. The journal is deleted when the set is
complete.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_bfcl.extensions.training.generating.making import Task, digest_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs.lines import DamagedLine, LineAppender, read_json_lines

RECORD = "requests.recorded.jsonl"
"""A model's replies, kept for later sets: it may be in the folder already."""
CURRICULUM = "curriculum.txt"
MANIFEST = "generation.json"
JOURNAL = "generation.journal"
_MEANS = ("turns", "calls", "dependencies", "depth", "tools", "difficulty")


@dataclass(slots=True)
class Tally:
    """The results for one kind: how many positions, and sums over them."""

    proved: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    facts: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    """Passes of cheap policies; those that were tried have one, if only of 0."""
    tried: Counter[str] = field(default_factory=Counter)
    twins: Counter[bool] = field(default_factory=Counter)
    """Twins by whether their words are the same."""

    def add(self, told: Parsed) -> None:
        """One position, in the journal's form."""
        self.proved += 1
        self.refused.update(told["refused"])
        self.facts.update(told["facts"])
        self.passed.update(told["cheap"])
        self.tried.update(told["cheap"].keys())
        self.twins.update([told["twins"]] if told["twins"] is not None else [])

    def told(self) -> Parsed:
        """For the manifest."""
        found: Parsed = {
            "proved": self.proved, "attempts": self.proved + self.refused.total(),
            "refused": dict(sorted(self.refused.items())),
            "means": {name: round(self.facts[name] / self.proved, 2) for name in _MEANS},
        }  # fmt: skip
        if self.tried:
            found["policies"] = {"honest": {"passes": self.proved, "of": self.proved}} | {
                name: {"passes": int(self.passed[name]), "of": count} for name, count in sorted(self.tried.items())
            }
        if self.twins:
            found["twins"] = {"tasks": self.twins.total(), "same words": self.twins[True]}
        return found


class Folder:
    """A set in progress. Raises `UsageError` if the folder has another set, or anything else."""

    def __init__(self, path: Path, recipe: Parsed) -> None:
        self.path = path
        self.done = 0
        """Existing positions."""
        self.asked: set[int] = set()
        self.tallies: dict[str, Tally] = {}
        self._ends: dict[str, int] = {}
        self._files: dict[str, LineAppender] = {}
        path.mkdir(parents=True, exist_ok=True)
        journal = path / JOURNAL
        if journal.exists():
            self._go_on(journal, recipe)
        elif any(each.name != RECORD for each in path.iterdir()):
            raise UsageError(f"{path} is there already: name a new folder with -o, or delete it")
        self._journal = self._file(JOURNAL)
        if not self._journal.size:
            self._journal.append({"recipe": recipe})

    def _go_on(self, journal: Path, recipe: Parsed) -> None:
        """Read existing tasks and remove a damaged line."""
        whole = 0
        damaged: list[DamagedLine] = []
        for number, offset, length, told in read_json_lines(journal, damaged.append):
            if number == 1 and told.get("recipe") != recipe:
                raise UsageError(
                    f"{self.path} holds a set that was begun with other options: "
                    f"{json.dumps(told.get('recipe'))[:300]}; "
                    "repeat those to resume it, name another folder with -o, or delete it"
                )
            try:
                if number > 1:
                    self._take(told)
            except (ValueError, KeyError, TypeError) as error:
                damaged.append(DamagedLine(journal, number, str(error)))
            if damaged:
                raise UsageError(f"{journal}:{damaged[0].line} is damaged: delete {self.path} and start again")
            whole = offset + length
        os.truncate(journal, whole)
        for name, end in self._ends.items():
            os.truncate(self.path / name, end)
        for file in self.path.glob("*.jsonl"):
            if file.name not in (*self._ends, RECORD):
                file.unlink()  # begun, and not in the journal yet

    def _take(self, told: Parsed) -> None:
        self.tallies.setdefault(str(told["kind"]), Tally()).add(told)
        self.asked.add(int(told["question"]))
        self._ends[str(told["file"])] = int(told["end"])
        self.done = int(told["number"]) + 1

    def write(self, task: Task) -> None:
        """Write one task."""
        made, name = task.entry["generated"], f"{task.entry['category']}.jsonl"
        file = self._file(name)
        file.append_bytes(f"{json.dumps(task.entry, ensure_ascii=False)}\n".encode())
        told: Parsed = {
            "number": task.number, "kind": made["kind"], "id": task.entry["id"], "file": name, "end": file.size,
            "difficulty": made["difficulty"], "question": digest_of(task.question), "refused": dict(task.refused),
            "cheap": task.cheap, "twins": task.twins, "facts": {each: made[each] for each in _MEANS},
        }  # fmt: skip
        self._journal.append(told)
        self._take(told)

    def _file(self, name: str) -> LineAppender:
        if name not in self._files:
            self._files[name] = LineAppender(self.path / name)
        return self._files[name]

    def finish(self, told: Parsed) -> dict[str, Parsed]:
        """Write the order and the manifest; returns the counts of all kinds."""
        self.close()
        kinds = {kind: self.tallies[kind].told() for kind in sorted(self.tallies)}
        with (self.path / CURRICULUM).open("w", encoding="utf-8") as order:
            for level in sorted({level for level, _ in self._levels()}):
                order.writelines(f"{entry_id}\n" for found, entry_id in self._levels() if found == level)
        digests = {}
        for name in sorted(self._ends):
            with (self.path / name).open("rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        manifest = {**told, "kinds": kinds, "tasks": self.done, "files": digests}
        (self.path / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        (self.path / JOURNAL).unlink()
        return kinds

    def _levels(self) -> Iterator[tuple[int, str]]:
        """Difficulty and id of every task, read again, because a set may be larger than memory."""
        for line in read_json_lines(self.path / JOURNAL):
            if line.number > 1:
                yield int(line.value["difficulty"]), str(line.value["id"])

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()


def table(found: dict[str, Parsed]) -> list[str]:
    """The counts in words."""
    head = f"{'kind':<14}{'proved':>8}{'attempts':>10}{'turns':>7}{'calls':>7}{'deps':>7}{'depth':>7}  refused for"
    lines = [head]
    for kind, each in found.items():
        means = each["means"]
        refused = ", ".join(f"{reason} {count}" for reason, count in each["refused"].items())
        numbers = "".join(f"{means[name]:>7.1f}" for name in ("turns", "calls", "dependencies", "depth"))
        lines.append(f"{kind:<14}{each['proved']:>8}{each['attempts']:>10}{numbers}  {refused or 'nothing'}")
    return lines
