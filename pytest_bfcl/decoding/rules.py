"""The corrected rules of decoding (corrected spec), and the meaning of a ``rules`` argument."""

from __future__ import annotations

from collections.abc import Iterable

SIGNS = "C1"
WRAPPING = "C2"
ESCAPES = "C3"
POSITIONAL = "C4"
REFUSAL = "C8"
JAVA = "C13"
JAVASCRIPT = "C14"
FORMATS = "C15"

DECODING_RULES: dict[str, str] = {
    SIGNS: "signs: + keeps, - negates, other operators before a literal do not decode",
    WRAPPING: "wrapping: fences with a language word, prose around one call list, tabs, calls on lines of their own",
    ESCAPES: "escapes: \\_ in names is read as _",
    POSITIONAL: "positional: arguments without a name go to the documented parameters in order",
    REFUSAL: "refusal: a reply that attempts a call is not a refusal",
    JAVA: "Java: read as Java literals, numbers widened and unboxed",
    JAVASCRIPT: "JavaScript: read as JavaScript literals",
    FORMATS: "formats: JSON and XML replies, and models' own formats, decoded as the format means them",
}
"""Corrected rules of decoding → their description in one line."""

_EVERY_TEXT = frozenset({WRAPPING, ESCAPES})
TOUCHING: dict[str, frozenset[str]] = {
    "python": _EVERY_TEXT | {SIGNS, POSITIONAL},
    "java": _EVERY_TEXT | {JAVA},
    "javascript": _EVERY_TEXT | {JAVASCRIPT},
    "json": _EVERY_TEXT | {FORMATS},
    "verbose_xml": _EVERY_TEXT | {FORMATS},
    "concise_xml": _EVERY_TEXT | {FORMATS},
}
"""Return format → the rules that affect how a text decodes; no rule affects native calls."""

OWN_FORMATS: frozenset[str] = frozenset({FORMATS})
"""The rules that affect how a reply in a model's own format decodes."""

NO_RULES: frozenset[str] = frozenset()
_ALL = frozenset(DECODING_RULES)


def active_rules(rules: str | Iterable[str]) -> frozenset[str]:
    """The active corrected rules: none for ``"official"``, all of decoding's for ``"corrected"``, else the given
    names."""
    if rules == "official":
        return NO_RULES
    if rules == "corrected":
        return _ALL
    if isinstance(rules, str):
        raise ValueError(f"rules are 'official', 'corrected' or a set of names, not {rules!r}")
    return rules if isinstance(rules, frozenset) else frozenset(rules)
