"""Formulas from category accuracies to group scores and the overall score (scoring spec §5).

The formulas are data (`Mean`, `Pooled`, `Weighted` over categories), evaluated in two ways. In the reference's a
missing category counts as 0 with its full size. In ours it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pytest_bfcl.dataset.categories import GROUPS


@dataclass(frozen=True, slots=True)
class CategoryScore:
    """One category: accuracy as a fraction, and its number of entries."""

    accuracy: float
    total: int


@dataclass(frozen=True, slots=True)
class Mean:
    """Unweighted mean of its terms, in the order listed."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Pooled:
    """Mean weighted by the categories' sizes."""

    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Weighted:
    """Sum of terms by fixed weights in percent."""

    weights: tuple[tuple[float, Term], ...]


Term: TypeAlias = "str | Mean | Pooled | Weighted"

SIMPLE = Mean(("simple_python", "simple_java", "simple_javascript"))
NON_LIVE = Mean((SIMPLE, "multiple", "parallel", "parallel_multiple"))
LIVE = Pooled(("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"))
MULTI_TURN = Mean(tuple(GROUPS["multi_turn"]))
WEB_SEARCH = Mean(tuple(GROUPS["web_search"]))
MEMORY = Mean(tuple(GROUPS["memory"]))
AGENTIC = Mean((WEB_SEARCH, MEMORY))
IRRELEVANCE = Mean(("irrelevance", "live_irrelevance"))
RELEVANCE = Mean(("live_relevance",))
OVERALL = Weighted(((10, NON_LIVE), (10, LIVE), (10, IRRELEVANCE), (30, MULTI_TURN), (40, AGENTIC)))
OVERALL_V3 = Mean((NON_LIVE, LIVE, MULTI_TURN))

FORMULAS: dict[str, Term] = {
    "non_live": NON_LIVE,
    "live": LIVE,
    "multi_turn": MULTI_TURN,
    "web_search": WEB_SEARCH,
    "memory": MEMORY,
    "agentic": AGENTIC,
    "irrelevance": IRRELEVANCE,
    "relevance": RELEVANCE,
}
"""Groups with their own formula; every other group pools its members' entries."""
ROW_OF_A_GROUP = " detection"
"""Suffix of a comparison's group row if a category has the same name."""


def formula(group: str) -> Term:
    """The formula of a group. Raises `KeyError` for unknown groups. ``all`` as a score is ``all_scoring``, because
    format sensitivity repeats the same questions 26 times.
    """
    return FORMULAS.get(group) or Pooled(GROUPS["all_scoring" if group == "all" else group])


def name_of(term: Term) -> str:
    """The group of a formula; empty for others."""
    return next((name for name, known in FORMULAS.items() if known == term), "")


def categories_in(term: Term) -> Iterator[str]:
    """The categories of a formula, in order."""
    if isinstance(term, str):
        yield term
    elif isinstance(term, Weighted):
        for _, part in term.weights:
            yield from categories_in(part)
    else:
        for part in term.terms:
            yield from categories_in(part)


def missing(term: Term, present: Mapping[str, object]) -> list[str]:
    """Categories of a formula that a run does not have."""
    return [name for name in categories_in(term) if name not in present]


def value(term: Term, scores: Mapping[str, CategoryScore]) -> float | None:
    """The formula over the categories that ran: missing terms are left out and weights rescaled. ``None`` if all are
    missing. With all categories this is the reference's number.
    """
    weights = category_weights(term, {name: score.total for name, score in scores.items()})
    return math.fsum(weight * scores[name].accuracy for name, weight in weights.items()) if weights else None


def category_weights(term: Term, sizes: Mapping[str, int]) -> dict[str, float]:
    """The weight of each present category in the formula's value: Σ weight·accuracy = `value`.

    ``sizes``: the categories that ran, with the sizes by which `Pooled` weighs them.
    """
    if isinstance(term, str):
        return {term: 1.0} if term in sizes else {}
    if isinstance(term, Pooled):
        entries = sum(sizes[name] for name in term.terms if name in sizes)
        return {name: sizes[name] / entries for name in term.terms if name in sizes} if entries else {}
    weighted = term.weights if isinstance(term, Weighted) else tuple((1.0, part) for part in term.terms)
    parts = [(weight, category_weights(part, sizes)) for weight, part in weighted]
    whole = sum(weight for weight, part in parts if part)
    weights: dict[str, float] = {}
    for weight, part in parts:
        for name, inner in part.items():
            weights[name] = weights.get(name, 0.0) + weight / whole * inner
    return weights
