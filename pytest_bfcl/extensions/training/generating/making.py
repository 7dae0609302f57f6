"""Makes a whole set: each position has its own random numbers and is tried until an attempt is proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from hashlib import blake2b
from random import Random
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.dataset.expansion import build_entry
from pytest_bfcl.extensions.training.generating.conditions import CONDITIONS
from pytest_bfcl.extensions.training.generating.graph import CATEGORY, Shape, planned
from pytest_bfcl.extensions.training.generating.policies import cheap
from pytest_bfcl.extensions.training.generating.proof import Facts, Unproved, near_official, proved
from pytest_bfcl.extensions.training.generating.single import KIND_OF, drafted, proved_single
from pytest_bfcl.extensions.training.processes import spread
from pytest_bfcl.extensions.training.training_rows import question_key
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import documents_of
from pytest_bfcl.simulators.toolkit import copied

MOST_ATTEMPTS = 250
"""Attempts at one position after which the set cannot be made."""
PATTERN: tuple[Shape, ...] = (
    "plain", "held_out", "if_fails", "if_fails", "missing_value", "plain", "if_less", "if_less", "held_out", "plain",
    "missing_value", "plain", "unless", "unless", "held_out", "missing_value", "whichever", "whichever", "plain",
    "missing_value",
)  # fmt: skip
"""The sequence of kinds; two positions of a condition are twins, in opposite worlds."""
CHUNK = len(PATTERN)
"""Positions that a process makes at a time."""
DEPENDENCY, SPECIAL, CALL = 2, 3, 1
"""Difficulty of an argument from an earlier result, a turn that cannot be completed at once, and a call."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The sources of a set: simulators by name, or tools of a user (then every task is one turn)."""

    seed: int
    simulators: tuple[str, ...] = ()
    tools: tuple[FunctionDoc, ...] = ()
    official: bool = True
    """Whether tasks are compared with the official set."""


@dataclass(slots=True)
class Task:
    """A proved task at one position of the set (``number``), its attempts, and why earlier ones were refused."""

    number: int
    entry: Parsed
    """Its line, with its origin and the findings of the proof under ``generated``."""
    question: str
    cheap: dict[str, bool]
    """Cheap policy → whether it passes; see `.policies`."""
    attempts: int = 1
    refused: Counter[str] = field(default_factory=Counter)
    twins: bool | None = None
    """Whether the request in the opposite world is equal; ``None`` without one."""


@cache
def _documents(name: str) -> list[Parsed]:
    return documents_of(name)


def entry_of(raw: Mapping[str, Any]) -> Entry:
    """The entry as the loader reads it. Raises `HarnessError` for an invalid one."""
    given = copied({name: each for name, each in raw.items() if name != "category"})
    return build_entry(
        given, given["id"], CATEGORIES[raw["category"]], texts=Texts.own(),
        documents=lambda name: copied(_documents(name)), official=False, source="generated",
    )  # fmt: skip


def with_facts(raw: Parsed, facts: Facts) -> Parsed:
    """A proved entry with its facts and its difficulty, which is larger for harder ones.

    It comes from its calls, arguments that only a result has, the longest chain of these, and a turn that cannot be
    completed at once.
    """
    special = raw["generated"]["kind"] not in ("plain", "simple", "multiple")
    difficulty = CALL * facts.calls + DEPENDENCY * facts.dependencies + facts.depth - 1 + SPECIAL * special
    return {**raw, "generated": {**raw["generated"], **asdict(facts), "difficulty": difficulty}}


def filled_places(recipe: Recipe, first: int, count: int, processes: int, asked: set[int]) -> Iterator[Task]:
    """The positions from ``first`` on; no question twice except in twins.

    ``asked`` holds digests of the questions so far. Raises `UsageError` if a position cannot be filled.
    """
    chunks = (range(start, min(start + CHUNK, count)) for start in range(first - first % CHUNK, count, CHUNK))
    for groups in spread(partial(fill, recipe), chunks, processes):
        for tasks in groups:
            while (key := digest_of(tasks[0].question)) in asked:
                again = filled(recipe, tasks[0].number, tasks[0].attempts)
                for task, before in zip(again, tasks, strict=True):
                    task.refused += before.refused + Counter({"said before": 1})
                tasks = again
            for task in tasks:
                if first <= task.number < count:
                    asked.add(key)
                    yield task


def digest_of(question: str) -> int:
    """A question's digest in eight bytes, so that a hundred thousand need little memory."""
    return int.from_bytes(blake2b(question.encode(), digest_size=8).digest(), "big")


def fill(recipe: Recipe, numbers: range) -> list[list[Task]]:
    """Several positions, twins together."""
    return [filled(recipe, number) for number in numbers if recipe.tools or not _is_second_twin(number % len(PATTERN))]


def _is_second_twin(at: int) -> bool:
    return PATTERN[at] in CONDITIONS and PATTERN[at - 1] == PATTERN[at]


def filled(recipe: Recipe, number: int, first: int = 0, kind: str = "") -> list[Task]:
    """One position, or two with twins, from this attempt on: both are proved, or neither counts.

    If the simulators have no condition of a kind, both are plain.
    """
    refused: Counter[str] = Counter()
    kinds = KIND_OF if recipe.tools else PATTERN
    kind = kind or kinds[number % len(kinds)]
    twinned = kind in CONDITIONS
    for attempt in range(first, first + MOST_ATTEMPTS):
        try:
            twins = [_proved(recipe, number, attempt, kind, twin) for twin in range(1 + twinned)]
        except Unproved as error:
            refused[error.reason] += 1
            continue
        alike = twins[0].question == twins[-1].question if twinned else None
        return [replace(task, attempts=attempt + 1, refused=Counter(refused), twins=alike) for task in twins]
    if twinned:
        return [task for each in (number, number + 1) for task in filled(recipe, each, kind="plain")]
    ((reason, _),) = refused.most_common(1)
    raise UsageError(f"no {kind} task could be made in {MOST_ATTEMPTS} attempts, mostly for this: {reason}")


def _proved(recipe: Recipe, number: int, attempt: int, kind: str, twin: int) -> Task:
    """One attempt. Raises `Unproved`. Its seed is the same on every machine and at any time."""
    seed = f"pytest-bfcl new tasks 2/{recipe.seed}/{number}/{attempt}"
    if recipe.tools:
        draft, category = drafted(Random(seed), recipe.tools, kind)
    else:
        draft, category = planned(seed, recipe.simulators, kind, twin), CATEGORY[kind]
    raw = {"id": f"{category}_made_{recipe.seed}_{number + twin}", "category": category, **draft}
    entry = entry_of(raw)
    made = with_facts(raw, facts_of(recipe, entry))
    return Task(number + twin, made, question_key(entry), {} if recipe.tools else cheap(entry))


def facts_of(recipe: Recipe, entry: Entry) -> Facts:
    """The facts of a proved entry that is not similar to the official set. Raises `Unproved`."""
    facts = proved_single(entry) if recipe.tools else proved(entry)
    if recipe.official and (found := near_official(entry)):
        raise Unproved("near the official set", found)
    return facts
