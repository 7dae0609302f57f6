"""A proved task: its line, the findings of the proof, and its difficulty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.expansion import build_entry
from pytest_bfcl.extensions.training.generating.proof import Facts
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import documents_of
from pytest_bfcl.simulators.toolkit import copied

DEPENDENCY, SPECIAL, CALL = 2, 3, 1
"""Difficulty of an argument from an earlier result, a turn that cannot be completed at once, and a call."""


@dataclass(frozen=True, slots=True)
class Task:
    """``number``: its position in the set; ``difficulty``: larger is harder, see `difficulty_of`."""

    number: int
    category: str
    kind: str
    difficulty: int
    line: str

    @property
    def entry_id(self) -> str:
        """The id in its line."""
        return str(json.loads(self.line)["id"])


@cache
def _documents(name: str) -> list[Parsed]:
    return documents_of(name)


def entry_of(raw: Mapping[str, Any], entry_id: str, category: str) -> Entry:
    """The entry as the loader reads it. Raises `HarnessError` for an invalid one."""
    return build_entry(
        copied({"id": entry_id, **raw}), entry_id, CATEGORIES[category], texts=Texts.own(),
        documents=lambda name: copied(_documents(name)), official=False, source="generated",
    )  # fmt: skip


def task_of(raw: Mapping[str, Any], entry_id: str, category: str, number: int, facts: Facts) -> Task:
    """The task of a proved entry; its line has its origin under ``generated``."""
    kind = str(raw["generated"]["kind"])
    difficulty = difficulty_of(facts, kind)
    told = {**raw["generated"], **asdict(facts), "difficulty": difficulty}
    line = json.dumps({"id": entry_id, "category": category, **raw, "generated": told}, ensure_ascii=False)
    return Task(number, category, kind, difficulty, line)


def difficulty_of(facts: Facts, kind: str) -> int:
    """From calls, arguments that only a result has, the longest chain of these, and a turn that cannot be completed at
    once."""
    special = kind not in ("plain", "simple", "multiple")
    return CALL * facts.calls + DEPENDENCY * facts.dependencies + facts.depth - 1 + SPECIAL * special


def seed_of(seed: int, number: int, attempt: int) -> str:
    """The seed of one attempt at one task: the same on every machine and at any time."""
    return f"pytest-bfcl new tasks 2/{seed}/{number}/{attempt}"
