"""Formulas in words, printed next to the numbers they give (scoring spec §5)."""

from __future__ import annotations

from pytest_bfcl.dataset.categories import GROUPS
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import Mean, Pooled, Term, Weighted

_NAMES: tuple[tuple[Term, str], ...] = (
    (aggregate.NON_LIVE, "non_live"),
    (aggregate.LIVE, "live"),
    (aggregate.MULTI_TURN, "multi_turn"),
    (aggregate.WEB_SEARCH, "web_search"),
    (aggregate.MEMORY, "memory"),
    (aggregate.AGENTIC, "agentic"),
    (aggregate.IRRELEVANCE, "irrelevance detection"),
)


def formula_text(term: Term, *, whole: bool = True) -> str:
    """A formula in words; parts that are their own groups are named, the outermost is written out."""
    if isinstance(term, str):
        return term
    if not whole:
        named = next((name for known, name in _NAMES if known == term), None)
        if named is not None:
            return named
    if isinstance(term, Weighted):
        return " + ".join(f"{weight:g} % {formula_text(part, whole=False)}" for weight, part in term.weights)
    if isinstance(term, Pooled):
        return f"all entries of {', '.join(term.terms)} together" if len(term.terms) > 1 else term.terms[0]
    return _mean(term)


def _mean(term: Mean) -> str:
    if len(term.terms) == 1:
        return formula_text(term.terms[0], whole=False)
    parts = [formula_text(part, whole=False) for part in term.terms]
    return f"mean of {', '.join(f'({part})' if part.startswith('mean of') else part for part in parts)}"


def group_formula(name: str) -> str:
    """The formula of a group; empty for names that are none."""
    if name not in aggregate.FORMULAS and name not in GROUPS:
        return ""
    return formula_text(aggregate.formula(name))


def overall_formula() -> str:
    """The weights of the overall score."""
    return formula_text(aggregate.OVERALL)


def overall_v3_formula() -> str:
    """The mean the third version of the leaderboard ranked by."""
    return formula_text(aggregate.OVERALL_V3)
