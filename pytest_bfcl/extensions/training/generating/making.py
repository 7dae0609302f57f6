"""Makes a whole set: each position has its own random numbers and is tried until an attempt is proved."""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from random import Random

from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.extensions.training.content import question_key
from pytest_bfcl.extensions.training.generating.conditions import CONDITIONS
from pytest_bfcl.extensions.training.generating.graph import CATEGORY, Shape, planned
from pytest_bfcl.extensions.training.generating.policies import cheap
from pytest_bfcl.extensions.training.generating.proof import Facts, Unproved, near_official, proved
from pytest_bfcl.extensions.training.generating.single import KIND_OF, drafted, proved_single
from pytest_bfcl.extensions.training.generating.task import Task, entry_of, seed_of, task_of
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.troubles import HarnessTrouble

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
AHEAD = 4
"""Chunks for each process that start before the first is taken."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The sources of a set: simulators by name, or tools of a user (then every task is one turn)."""

    seed: int
    simulators: tuple[str, ...] = ()
    tools: tuple[FunctionDoc, ...] = ()
    official: bool = True
    """Whether tasks are compared with the official set."""


@dataclass(slots=True)
class Place:
    """One position of the set: the task, its attempts, and why earlier ones were refused."""

    task: Task
    question: str
    attempts: int
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    cheap: dict[str, bool] = field(default_factory=dict)
    """Cheap policy → whether it passes; see `.policies`."""
    twins: bool | None = None
    """Whether the request in the opposite world is equal; ``None`` without one."""


def filled_places(
    recipe: Recipe, first: int, count: int, processes: int, asked: set[int]
) -> Iterator[tuple[int, Place]]:
    """The positions from ``first`` on, with their numbers; no question twice except in twins.

    ``asked`` holds digests of the questions so far. Raises `UsageError` if a position cannot be filled.
    """
    chunks = (range(start, min(start + CHUNK, count)) for start in range(first - first % CHUNK, count, CHUNK))
    for chunk, groups in _filled(recipe, chunks, processes):
        for group in groups:
            places, number = group, chunk.start
            while (key := digest_of(places[0].question)) in asked:
                again = filled(recipe, places[0].task.number, places[0].attempts)
                for place, before in zip(again, places, strict=True):
                    place.refused += before.refused + Counter({(place.task.kind, "said before"): 1})
                places = again
            for place in places:
                number = place.task.number
                if first <= number < count:
                    asked.add(key)
                    yield number, place


def digest_of(question: str) -> int:
    """A question's digest in eight bytes, so that a hundred thousand need little memory."""
    return int.from_bytes(blake2b(question.encode(), digest_size=8).digest(), "big")


def _filled(recipe: Recipe, chunks: Iterator[range], processes: int) -> Iterator[tuple[range, list[list[Place]]]]:
    if processes == 1:
        yield from ((chunk, fill(recipe, chunk)) for chunk in chunks)
        return
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawned, _till_the_chunk_ends) as pool:
        begun = deque((chunk, pool.submit(fill, recipe, chunk)) for chunk in islice(chunks, AHEAD * processes))
        try:
            while begun:
                chunk, due = begun.popleft()
                groups = due.result()
                begun.extend((each, pool.submit(fill, recipe, each)) for each in islice(chunks, 1))
                yield chunk, groups
        except BrokenProcessPool:
            raise HarnessError(
                HarnessTrouble.WORKER_CRASH, "a process that made tasks was ended (out of memory?)"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _till_the_chunk_ends() -> None:
    """Ctrl-C reaches every process of a terminal; these end after their chunk, within a second."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def fill(recipe: Recipe, numbers: range) -> list[list[Place]]:
    """Several positions, twins together."""
    firsts = [number for number in numbers if not _is_second_twin(recipe, number)]
    return [filled(recipe, number) for number in firsts]


def _is_second_twin(recipe: Recipe, number: int) -> bool:
    at = number % len(PATTERN)
    return not recipe.tools and PATTERN[at] in CONDITIONS and PATTERN[at - 1] == PATTERN[at]


def filled(recipe: Recipe, number: int, first: int = 0, kind: str = "") -> list[Place]:
    """One position, or two with twins, from this attempt on: both are proved, or neither counts.

    If the simulators have no condition of a kind, both are plain.
    """
    refused: Counter[tuple[str, str]] = Counter()
    kind = kind or (KIND_OF[number % len(KIND_OF)] if recipe.tools else PATTERN[number % len(PATTERN)])
    twinned = kind in CONDITIONS
    for attempt in range(first, first + MOST_ATTEMPTS):
        try:
            twins = [_proved(recipe, number, attempt, kind, twin) for twin in range(1 + twinned)]
        except Unproved as error:
            refused[kind, error.reason] += 1
            continue
        alike = twins[0][1] == twins[-1][1] if twinned else None
        return [Place(task, question, attempt + 1, Counter(refused), told, alike) for task, question, told in twins]
    if twinned:
        return [place for each in (number, number + 1) for place in filled(recipe, each, kind="plain")]
    (_, reason), _ = (refused or Counter({("", "nothing came about"): 1})).most_common(1)[0]
    raise UsageError(f"no {kind} task could be made in {MOST_ATTEMPTS} attempts, mostly for this: {reason}")


def _proved(recipe: Recipe, number: int, attempt: int, kind: str, twin: int) -> tuple[Task, str, dict[str, bool]]:
    """A task, its question, and the results of cheap policies. Raises `Unproved`."""
    raw, category = _drafted(recipe, number, attempt, kind, twin)
    entry = entry_of(raw, f"{category}_made_{recipe.seed}_{number + twin}", category)
    task = task_of(raw, entry.id, category, number + twin, facts_of(recipe, entry))
    return task, question_key(entry), {} if recipe.tools else cheap(entry)


def _drafted(recipe: Recipe, number: int, attempt: int, kind: str, twin: int) -> tuple[Parsed, str]:
    seed = seed_of(recipe.seed, number, attempt)
    if recipe.tools:
        return drafted(Random(seed), recipe.tools, kind)
    raw = planned(seed, recipe.simulators, kind, twin)
    if raw is None:
        raise Unproved("nothing came about")
    return raw, CATEGORY[kind]


def facts_of(recipe: Recipe, entry: Entry) -> Facts:
    """The facts of a proved entry that is not similar to the official set. Raises `Unproved`."""
    facts = proved_single(entry) if recipe.tools else proved(entry)
    if recipe.official and (found := near_official(entry)):
        raise Unproved("near the official set", found)
    return facts
