"""A whole set: each place is filled by random numbers of its own, tried until an attempt is proved."""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from pytest_bfcl.dataset import Entry
from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.extensions.training.content import question_key
from pytest_bfcl.extensions.training.generating.graph import CATEGORY, Shape, planned
from pytest_bfcl.extensions.training.generating.official import near_official
from pytest_bfcl.extensions.training.generating.proof import Facts, Unproved, proved
from pytest_bfcl.extensions.training.generating.single import KIND_OF, drafted, proved_single
from pytest_bfcl.extensions.training.generating.task import Task, entry_of, numbers_for, task_of
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.troubles import HarnessTrouble

MOST_ATTEMPTS = 400
"""Attempts at one place, after which the set cannot be made."""
CHUNK = 10
PATTERN: tuple[Shape, ...] = (
    "plain", "held_out", "plain", "missing_value", "wrong_turn",
    "plain", "held_out", "missing_value", "plain", "wrong_turn",
)  # fmt: skip
"""What kinds follow each other: place by place, again and again."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a set is made of: simulators by name, or tools of a user (then every task is one turn)."""

    seed: int
    simulators: tuple[str, ...] = ()
    tools: tuple[FunctionDoc, ...] = ()
    official: bool = True
    """Whether tasks are held against the official set."""


@dataclass(slots=True)
class Place:
    """One place of the set: the task, the attempts it took, and why those before it were refused."""

    task: Task
    question: str
    attempts: int
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)


def filled_places(recipe: Recipe, count: int, processes: int) -> Iterator[Place]:
    """The places in their order, no question twice. Raises `UsageError` where a place cannot be filled."""
    asked: set[str] = set()
    chunks = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    for places in _filled(recipe, chunks, processes):
        for number, found in places:
            place = found
            while place.question in asked:
                again = filled(recipe, number, place.attempts)
                again.refused += place.refused + Counter({(again.task.kind, "said before"): 1})
                place = again
            asked.add(place.question)
            yield place


def _filled(recipe: Recipe, chunks: Sequence[range], processes: int) -> Iterator[list[tuple[int, Place]]]:
    if processes == 1 or len(chunks) < 2:
        yield from (fill(recipe, chunk) for chunk in chunks)
        return
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(chunks)), spawned, _till_the_chunk_ends) as pool:
        try:
            yield from pool.map(fill, [recipe] * len(chunks), chunks)
        except BrokenProcessPool:
            raise HarnessError(
                HarnessTrouble.WORKER_CRASH, "a process that made tasks was ended (out of memory?)"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _till_the_chunk_ends() -> None:
    """Ctrl-C reaches every process of a terminal; these end with their chunk, a second later."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def fill(recipe: Recipe, numbers: range) -> list[tuple[int, Place]]:
    """Several places."""
    return [(number, filled(recipe, number)) for number in numbers]


def filled(recipe: Recipe, number: int, first: int = 0) -> Place:
    """One place, from this attempt on."""
    refused: Counter[tuple[str, str]] = Counter()
    kind = KIND_OF[number % len(KIND_OF)] if recipe.tools else PATTERN[number % len(PATTERN)]
    for attempt in range(first, first + MOST_ATTEMPTS):
        try:
            raw, category = _drafted(recipe, number, attempt)
            entry = entry_of(raw, f"{category}_made_{recipe.seed}_{number}", category)
            facts = facts_of(recipe, entry)
        except Unproved as error:
            refused[kind, error.reason] += 1
            continue
        task = task_of(raw, entry.id, category, number, facts)
        return Place(task, question_key(entry), attempt + 1, refused)
    (_, reason), _ = (refused or Counter({("", "nothing came about"): 1})).most_common(1)[0]
    raise UsageError(f"no {kind} task could be made in {MOST_ATTEMPTS} attempts, mostly for this: {reason}")


def _drafted(recipe: Recipe, number: int, attempt: int) -> tuple[Parsed, str]:
    rng = numbers_for(recipe.seed, number, attempt)
    if recipe.tools:
        return drafted(rng, recipe.tools, KIND_OF[number % len(KIND_OF)])
    shape = PATTERN[number % len(PATTERN)]
    raw = planned(rng, recipe.simulators, shape)
    if raw is None:
        raise Unproved("nothing came about")
    return raw, CATEGORY[shape]


def facts_of(recipe: Recipe, entry: Entry) -> Facts:
    """The facts of an entry that is proved and not near the official set. Raises `Unproved`."""
    facts = proved_single(entry) if recipe.tools else proved(entry)
    if recipe.official and (found := near_official(entry)):
        raise Unproved("near the official set", found)
    return facts
