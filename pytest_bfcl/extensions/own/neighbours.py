"""Which tools are near to a tool by their words: what a model may take for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.extensions.own.lint import SAME, words


class Neighbours:
    """The tools of a source, compared by the words of names and descriptions; rare words count for more."""

    def __init__(self, functions: Sequence[FunctionDoc]) -> None:
        self._functions = functions
        self._words = [words(f"{each['name']} {each.get('description', '')}") for each in functions]
        seen = Counter(word for told in self._words for word in told)
        self._weights = {word: log(1 + len(functions) / count) for word, count in seen.items()}
        self._with: dict[str, list[int]] = {}
        for number, told in enumerate(self._words):
            for word in told:
                self._with.setdefault(word, []).append(number)

    def of(self, number: int, count: int) -> list[FunctionDoc]:
        """The nearest tools of the one at a place, without those that look the same."""
        mine = self._words[number]
        scores: Counter[int] = Counter()
        for word in mine:
            for other in self._with[word]:
                scores[other] += self._weights[word]  # type: ignore[assignment]
        scores.pop(number, None)
        ranked = sorted(scores, key=lambda other: (-scores[other], other))
        ranked += [other for other in range(len(self._functions)) if other not in scores and other != number]
        found: list[int] = []
        for other in ranked:
            if len(found) >= count:
                break
            if not any(self._are_twins(other, each) for each in (number, *found)):
                found.append(other)
        return [self._functions[other] for other in found]

    def _are_twins(self, one: int, other: int) -> bool:
        first, second = (set(self._functions[each]["parameters"].get("properties") or {}) for each in (one, other))
        mine, theirs = self._words[one], self._words[other]
        return first == second and len(mine & theirs) >= SAME * max(len(mine | theirs), 1)
