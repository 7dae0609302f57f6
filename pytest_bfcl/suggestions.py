"""Suggestions for a misspelt name: at most three similar names, else a short list of all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST = 3
"""Names a message suggests."""

_SHOWN = 24
_LIKENESS = 0.6


def close_names(name: str, known: Iterable[str], most: int = MOST) -> list[str]:
    """The known names most like this one, best first; case, dashes and underscores do not matter."""
    plain: dict[str, str] = {}
    for each in known:
        plain.setdefault(_plain(each), each)
    wanted = _plain(name[:200])
    found = difflib.get_close_matches(wanted, plain, most, _LIKENESS)
    begun = [each for each in plain if len(wanted) >= 3 and each.startswith(wanted) and each not in found]
    return [plain[each] for each in [*found, *begun]][:most]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean 'a', 'b' or 'c'?``; empty if no name is similar."""
    return _did_you_mean(close_names(name, known))


def instead_of(name: str, known: Iterable[str]) -> str:
    """The text after "unknown …": similar names, else all names."""
    names = list(dict.fromkeys(known))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return did_you_mean(name, names) or f"known: {', '.join(names[:_SHOWN]) or 'none'}{more}"


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def _did_you_mean(names: list[str]) -> str:
    if not names:
        return ""
    *first, last = map(repr, names)
    return f"did you mean {', '.join(first)} or {last}?" if first else f"did you mean {last}?"
