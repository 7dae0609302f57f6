"""The table of categories: group, language, checker, weight.

Names and groups: data spec §2; folders: scoring spec §1; weights: scoring spec §5. No code in this package classifies
an entry by a substring of its id; only `category_of` parses ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pytest_bfcl.failures import UsageError, instead_of

Checker = Literal[
    "ast", "relevance", "irrelevance", "state", "answer", "none", "executable", "rest", "sql", "chat", "served"
]
ELSEWHERE = ("executable", "rest", "sql", "chat")
"""Checkers from extensions: the entry point of the category's group in ``pytest_bfcl.categories``."""
Rule = Literal["simple", "multiple", "parallel", ""]
Language = Literal["python", "java", "javascript"]


@dataclass(frozen=True, slots=True)
class Category:
    """One benchmark category.

    ``checker`` names the module that judges it, ``rule`` the pairing rule of AST categories. ``group`` is the primary
    group (its summary table); ``folder`` the sub-folder of the official result layout; ``official_size`` the number of
    scored entries in the official data set. ``scored``: it belongs to ``all_scoring``.
    """

    name: str
    group: str
    checker: Checker
    rule: Rule = ""
    language: Language = "python"
    folder: str = ""
    official_size: int = 0
    scored: bool = True
    backend: str = ""
    multi_step: bool = field(init=False)
    """Whether calls are executed during the conversation: a reply with calls is followed by their results and another
    query.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "multi_step", self.checker in ("state", "answer", "none", "served"))

    @property
    def long_context(self) -> bool:
        """Whether simulators load their long-context state (multi_turn spec §2.5)."""
        return self.name in ("multi_turn_long_context", "multi_turn_composite")


def _table() -> dict[str, Category]:
    rows = [
        Category("simple_python", "non_live", "ast", "simple", folder="non_live", official_size=400),
        Category("simple_java", "non_live", "ast", "simple", "java", "non_live", 100),
        Category("simple_javascript", "non_live", "ast", "simple", "javascript", "non_live", 50),
        Category("multiple", "non_live", "ast", "multiple", folder="non_live", official_size=200),
        Category("parallel", "non_live", "ast", "parallel", folder="non_live", official_size=200),
        Category("parallel_multiple", "non_live", "ast", "parallel", folder="non_live", official_size=200),
        Category("irrelevance", "non_live", "irrelevance", folder="non_live", official_size=240),
        Category("live_simple", "live", "ast", "simple", folder="live", official_size=258),
        Category("live_multiple", "live", "ast", "multiple", folder="live", official_size=1053),
        Category("live_parallel", "live", "ast", "parallel", folder="live", official_size=16),
        Category("live_parallel_multiple", "live", "ast", "parallel", folder="live", official_size=24),
        Category("live_irrelevance", "live", "irrelevance", folder="live", official_size=884),
        Category("live_relevance", "live", "relevance", folder="live", official_size=16),
    ]
    rows += [
        Category(f"multi_turn_{kind}", "multi_turn", "state", folder="multi_turn", official_size=200)
        for kind in ("base", "miss_func", "miss_param", "long_context")
    ]
    rows += [
        Category(f"web_search_{kind}", "web_search", "answer", folder="agentic", official_size=100)
        for kind in ("base", "no_snippet")
    ]
    for backend in ("kv", "vector", "rec_sum"):
        folder = f"agentic/memory/{backend}"
        rows.append(
            Category(f"memory_{backend}", "memory", "answer", folder=folder, official_size=155, backend=backend)
        )
    rows.append(
        Category(
            "format_sensitivity", "format_sensitivity", "ast", folder="format_sensitivity",
            official_size=5200, scored=False,
        )
    )  # fmt: skip
    for backend in ("kv", "vector", "rec_sum"):
        folder = f"agentic/memory/{backend}"
        rows.append(
            Category(f"memory_{backend}_prereq", "memory_prereq", "none", folder=folder, official_size=37,
                     scored=False, backend=backend)
        )  # fmt: skip
    rows += [Category(name, "own", "served", scored=False) for name in ("mcp", "recorded")]
    executable: tuple[tuple[str, Rule, int], ...] = (
        ("simple", "simple", 100),
        ("multiple", "multiple", 50),
        ("parallel", "parallel", 50),
        ("parallel_multiple", "parallel", 40),
    )
    rows += [
        Category(f"exec_{kind}", "retired", "executable", rule, official_size=size, scored=False)
        for kind, rule, size in executable
    ]
    rows += [
        Category("rest", "retired", "rest", "simple", official_size=70, scored=False),
        Category("sql", "retired", "sql", "simple", official_size=100, scored=False),
        Category("chatable", "retired", "chat", official_size=200, scored=False),
        Category("multi_turn_composite", "retired", "state", official_size=200, scored=False),
    ]
    return {row.name: row for row in rows}


CATEGORIES: dict[str, Category] = _table()


def _members(*groups: str) -> tuple[str, ...]:
    return tuple(name for name, row in CATEGORIES.items() if row.group in groups)


def _groups() -> dict[str, tuple[str, ...]]:
    single_turn = _members("non_live", "live")
    non_python = ("simple_java", "simple_javascript")
    scoring = tuple(name for name, row in CATEGORIES.items() if row.scored)
    return {
        "non_live": _members("non_live"),
        "live": _members("live"),
        "single_turn": single_turn,
        "multi_turn": _members("multi_turn"),
        "memory": _members("memory"),
        "web_search": _members("web_search"),
        "agentic": _members("memory", "web_search"),
        "all_scoring": scoring,
        "all": (*scoring, "format_sensitivity"),
        "python": tuple(name for name in single_turn if name not in non_python),
        "non_python": non_python,
        "own": _members("own"),
        "retired": _members("retired"),
    }


GROUPS: dict[str, tuple[str, ...]] = _groups()
"""Group name → member categories (data spec §2, plus ``retired``)."""


def groups_of(category: str) -> tuple[str, ...]:
    """Every group of a category, in table order; the empty tuple for unknown names.

    A memory write stage (``memory_kv_prereq``) has the groups of the questions it serves.
    """
    name = category.removesuffix("_prereq")
    return tuple(group for group, members in GROUPS.items() if name in members)


def resolve_categories(names: Iterable[str]) -> list[str]:
    """Categories named directly or by group, each once, in table order.

    Raises `UsageError` with the unknown word and the existing ones.
    """
    wanted: set[str] = set()
    for name in names:
        if name in GROUPS:
            wanted.update(GROUPS[name])
        elif name in CATEGORIES:
            wanted.add(name)
        else:
            now = f"since V4 it is {EARLIER[name]!r}" if name in EARLIER else instead_of(name, [*GROUPS, *CATEGORIES])
            raise UsageError(f"unknown category or group {name!r}; {now}")
    return [name for name in CATEGORIES if name in wanted]


EARLIER: Mapping[str, str] = {
    "simple": "simple_python",
    "java": "simple_java",
    "javascript": "simple_javascript",
    "relevance": "irrelevance",
    "multiple_function": "multiple",
    "parallel_function": "parallel",
    "parallel_multiple_function": "parallel_multiple",
    "executable_simple": "exec_simple",
    "executable_multiple_function": "exec_multiple",
    "executable_parallel_function": "exec_parallel",
    "executable_parallel_multiple_function": "exec_parallel_multiple",
}
"""Category name of releases V1 to V3 → its present name. Ids begin with the category's name."""


def present_id(entry_id: str, said: str) -> str:
    """The present id of an entry in a file of the category ``said``, which may be an earlier name."""
    return (
        f"{EARLIER[said]}{entry_id[len(said) :]}" if said in EARLIER and entry_id.startswith(f"{said}_") else entry_id
    )


def category_of(entry_id: str) -> str:
    """The category an expanded id belongs to: the text before ``:``, then left of the last ``_`` (data spec §5).

    If that is no category, the longest category that begins the id before a sign (``irrelevance_ace_0``). Otherwise the
    text itself.
    """
    head = entry_id.split(":", 1)[0]
    name = head.rpartition("_")[0]
    return name if name in CATEGORIES else max(_begun(head), key=len, default=name)


def _begun(head: str) -> Iterator[str]:
    return (name for name in CATEGORIES if head.startswith(name) and not head[len(name) : len(name) + 1].isalnum())


def is_write_stage(category: str) -> bool:
    """Whether a category's entries only fill a memory: they run and are never judged."""
    row = CATEGORIES.get(category)
    return row is not None and row.group == "memory_prereq"


FILE = Path(__file__).with_name("domains.json")


@lru_cache(maxsize=1)
def domains() -> dict[str, str]:
    """Id of a single-turn entry → domain; conversations use their classes instead."""
    listed: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return {entry_id: domain for domain, ids in listed.items() for entry_id in ids.split()}
