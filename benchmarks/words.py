"""How rich the words of generated tasks are: the share of 4-grams that recur in other tasks, and what a
nearest-neighbour reader learns from them for official turns. Of twins, which say the same in
opposite worlds, one counts. Needs the fetched set.

python benchmarks/words.py FOLDER [TASKS]        # tasks of `pytest-bfcl new tasks`; 400
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.session.evaluation import open_data

Turn = tuple[list[str], frozenset[str]]
"""The words of a user's turn, and the functions that are due."""


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def turns_of(entry: Entry) -> list[Turn]:
    said = [" ".join(str(each.get("content") or "") for each in turn) for turn in entry.question]
    due = [frozenset(call.partition("(")[0] for call in calls) for calls in entry.possible_answer or ()]
    return [(words(text), names) for text, names in zip(said, due, strict=False) if text and names]


def recurring(entries: Sequence[Entry]) -> float:
    """Share of the 4-grams of all turns that stand in another task, too."""
    grams = []
    for entry in entries:
        tokens = [words(" ".join(str(m.get("content") or "") for m in turn)) for turn in entry.question]
        grams.append([tuple(each[n : n + 4]) for each in tokens for n in range(len(each) - 3)])
    holders = Counter(gram for each in grams for gram in set(each))
    return sum(holders[gram] > 1 for each in grams for gram in each) / max(1, sum(map(len, grams)))


def neighbour_f1(train: Sequence[Turn], test: Sequence[Turn]) -> float:
    """F1 of functions named: those of the training turn whose words are nearest (tf-idf of words and pairs, cosine)."""
    holders = Counter(term for tokens, _ in train for term in set(_terms(tokens)))
    weight = {term: math.log(len(train) / count) + 0.1 for term, count in holders.items()}
    vectors = [_vector(tokens, weight) for tokens, _ in train]
    postings: dict[str, list[tuple[int, float]]] = {}
    for number, vector in enumerate(vectors):
        for term, value in vector.items():
            postings.setdefault(term, []).append((number, value))
    right = named = due = 0
    for tokens, names in test:
        scores: Counter[int] = Counter()
        for term, value in _vector(tokens, weight).items():
            for number, other in postings.get(term, ()):
                scores[number] += value * other  # type: ignore[assignment]
        found = train[max(scores, key=lambda each: scores[each])][1] if scores else frozenset()
        right, named, due = right + len(found & names), named + len(found), due + len(names)
    return 2 * right / (named + due)


def _terms(tokens: Sequence[str]) -> Iterable[str]:
    yield from tokens
    yield from (f"{a} {b}" for a, b in pairwise(tokens))


def _vector(tokens: Sequence[str], weight: dict[str, float]) -> dict[str, float]:
    found = {
        term: (1 + math.log(count)) * weight[term] for term, count in Counter(_terms(tokens)).items() if term in weight
    }
    norm = math.sqrt(sum(value * value for value in found.values())) or 1.0
    return {term: value / norm for term, value in found.items()}


def entries_of(data: DataSet, categories: Iterable[str]) -> list[Entry]:
    return [data.load(ref) for name in categories for ref in data.index(name)]


if __name__ == "__main__":
    made = open_data(sys.argv[1])
    ours = [
        each for each in entries_of(made, made.categories()) if not (each.model_extra or {})["generated"].get("twin")
    ]
    random.Random(0).shuffle(ours)
    ours = ours[: int(sys.argv[2]) if len(sys.argv) > 2 else 400]
    official = entries_of(open_data("official"), ["multi_turn_base"])
    print(f"4-grams in another task: {recurring(ours):.3f} of {len(ours)} tasks; official {recurring(official):.3f}")
    theirs = [turn for entry in official for turn in turns_of(entry)]
    trained = [turn for entry in ours for turn in turns_of(entry)]
    shares = []
    for seed in range(5):
        random.Random(seed).shuffle(theirs)
        shares.append((neighbour_f1(theirs[:100], theirs[100:]), neighbour_f1(trained, theirs[100:])))
    told = [sum(each) / len(shares) for each in zip(*shares, strict=True)]
    print(f"F1 on official turns: {told[0]:.3f} from 100 official turns, {told[1]:.3f} from {len(trained)} made")
