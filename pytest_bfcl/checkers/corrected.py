"""The corrected rules: names, fixes, and selection. The list is the corrected spec's. Decoding and checking receive a
set of rule names. The empty set means the official rules, and each rule can be switched separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pytest_bfcl.failures import UsageError

RuleSet = frozenset[str]
"""Names of the active corrected rules; empty under official rules."""

CORRECTED_RULES: dict[str, str] = {
    "C1": "signs: only a minus sign negates",
    "C2": "wrapping: fences, prose and line breaks around one list of calls are taken off",
    "C3": "escapes: an escaped underscore in a name is an underscore",
    "C4": "positional: arguments without a name are mapped to the documented parameters in order",
    "C5": "names: dotted and underscored spellings are equal when they name one function",
    "C6": "numbers: an integer is accepted for a float at any depth",
    "C7": "pairing: parallel calls are matched by maximum matching, not greedily",
    "C8": "refusal: an attempted call that does not decode is still a call where none was due",
    "C9": "omission: left out and its documented default are the same, the empty marker means nothing else",
    "C10": "nesting: alternatives hold at every depth of an object, and classes are compared",
    "C11": "text as list: a text answer is not a list of its characters",
    "C12": "raising: of mixed alternatives the one that fits decides",
    "C13": "Java: values are read as Java literals, numbers widened and unboxed as a call does",
    "C14": "JavaScript: values are read as JavaScript literals",
    "C15": "formats: JSON and XML replies, and models' own formats, are read as their format means them",
    "C16": "step limit: a conversation ended by the step limit fails in its last turn too",
    "C17": "quiet turns: a call in a turn that should have none fails",
    "C18": "answers: symbols at the edge of an answer are matched; only `answer` is searched in an object",
}
"""Rule name → what it fixes. C19 (leaks) cannot be switched; C20 (partial scores) belongs to no checker."""

OFFICIAL: RuleSet = frozenset()
CORRECTED: RuleSet = frozenset(CORRECTED_RULES)

RULES_OF_CHECKER: dict[str, tuple[str, ...]] = {
    "ast": tuple(f"C{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),
    "irrelevance": ("C1", "C2", "C3", "C4", "C8", "C15"),
    "relevance": ("C1", "C2", "C3", "C4", "C8", "C15"),
    "state": ("C16", "C17"),
    "answer": ("C18",),
}
"""Checker → the rules that can change its verdict, in order."""


def rule_set(rules: str | Iterable[str]) -> RuleSet:
    """``"official"``, ``"corrected"`` or names of rules as a set of names. Raises `UsageError` for unknown names."""
    if rules == "official":
        return OFFICIAL
    if rules == "corrected":
        return CORRECTED
    names = frozenset([rules] if isinstance(rules, str) else rules)
    unknown = sorted(names - CORRECTED)
    if unknown:
        known = "official, corrected, " + ", ".join(CORRECTED_RULES)
        raise UsageError(f"unknown rule {', '.join(map(repr, unknown))}; known: {known}")
    return names


def deciding_rules(candidates: Iterable[str], holds: Callable[[RuleSet], bool]) -> tuple[str, ...]:
    """The smallest set (by dropping one rule after the other) for which ``holds`` is still true.

    ``holds(rules)`` returns whether judging under these rules gives the corrected outcome; it is true for all
    candidates.
    """
    kept = list(candidates)
    for name in list(kept):
        fewer = [other for other in kept if other != name]
        if holds(frozenset(fewer)):
            kept = fewer
    return tuple(kept)
