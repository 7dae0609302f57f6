"""BFCL-Verified: the official data with a reviewed list of corrections and exclusions (``verified.toml``).

A correction names an entry, a field of its question or answer line, the digest of its content and the change. It
contains only facts, is applied to the fetched files, and is refused if the digest differs. Where no correction is
certain the entry is excluded, not repaired. Scores on verified data have their own name and never appear in an official
column.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.fetching.texts import digest
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.transcript import Mode
from pytest_bfcl.troubles import HarnessTrouble

Kind = Literal["wrong_answer", "narrow", "ambiguous", "unpassable", "schema", "duplicate"]

NAME = "verified"
DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True)
class Correction:
    """One change of one field. ``field`` is ``question/…`` or ``answer/…`` with the path of keys and positions; ``was``
    is the first `DIGEST_CHARS` characters of the old value's digest. Exactly one of the others is set. ``to`` is the
    new value, ``replace`` a text in it and its replacement, ``add`` further items. ``reordered`` adds the first item, a
    list, in this order of its positions.
    """

    id: str
    kind: Kind
    field: str
    was: str
    reason: str
    evidence: str
    to: Any = None
    replace: tuple[str, str] | None = None
    add: Sequence[Any] = ()
    reordered: Sequence[int] = ()
    remove: bool = False

    @property
    def of_answer(self) -> bool:
        """Whether only the expected answer changes: then it also judges replies to the official question."""
        return self.field.startswith("answer/")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An entry without a certain correction."""

    id: str
    kind: Kind
    reason: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Everything that makes the official data of one version the verified data.

    ``kept``: reviewed entries that few models pass and that stay unchanged, with the reason.
    """

    corrections: Mapping[str, tuple[Correction, ...]] = field(default_factory=dict)
    exclusions: Mapping[str, Exclusion] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self.corrections or entry_id in self.exclusions

    @property
    def ids(self) -> frozenset[str]:
        """Ids that the verified data changes or excludes."""
        return frozenset(self.corrections) | frozenset(self.exclusions)

    @property
    def sha256(self) -> str:
        """Digest of the list, for the fingerprint."""
        rows = [
            [c.id, c.field, c.was, c.to, c.replace, c.add, c.reordered, c.remove]
            for rows in self.corrections.values()
            for c in rows
        ]
        return digest([sorted(rows, key=str), sorted(self.exclusions)])

    def corrected(
        self, entry_id: str, question: Parsed, answer: Parsed | None, *, answers_only: bool = False
    ) -> tuple[Parsed, Parsed | None]:
        """New question and answer lines of an entry with its corrections. Raises `HarnessError` (kind ``data``) if a
        field differs from the one that the correction was written for.
        """
        changes = [c for c in self.corrections.get(entry_id, ()) if c.of_answer or not answers_only]
        if not changes:
            return question, answer
        changed = question if answers_only else copy.deepcopy(question)
        lines = {"question": changed, "answer": copy.deepcopy(answer)}
        for change in changes:
            apply(change, lines)
        return lines["question"] or {}, lines["answer"]


def apply(change: Correction, lines: Parsed) -> None:
    """Apply one correction to ``{"question": …, "answer": …}``."""
    *path, last = [int(part) if part.isdecimal() else part for part in change.field.split("/")]
    try:
        holder: Any = lines
        for part in path:
            holder = holder[part]
        value = holder[last]
    except (KeyError, IndexError, TypeError) as error:
        raise _foreign(change, "the field is not there") from error
    if digest(value)[:DIGEST_CHARS] != change.was:
        raise _foreign(change, "the field holds another value")
    if change.remove:
        del holder[last]
    elif change.replace is not None:
        holder[last] = value.replace(*change.replace)
    elif change.add:
        holder[last] = [*value, *change.add]
    elif change.reordered:
        holder[last] = [*value, [value[0][position] for position in change.reordered]]
    else:
        holder[last] = change.to


def _foreign(change: Correction, why: str) -> HarnessError:
    return HarnessError(
        HarnessTrouble.DATA,
        f"{change.id}: the correction of {change.field} was written for other data: {why}",
        advice="fetch the official data again (pytest-bfcl fetch --force), or run --bfcl-data official",
    )


@cache
def verification(version: str) -> Verification:
    """The list for a version of the official data; empty for versions without a review."""
    listed = tomllib.loads(Path(__file__).with_name("verified.toml").read_text(encoding="utf-8"))
    if listed["dataset"] != version:
        return Verification()
    corrections: dict[str, list[Correction]] = {}
    for row in listed["corrections"]:
        given = {**row, "replace": tuple(row["replace"])} if "replace" in row else row
        corrections.setdefault(row["id"], []).append(Correction(**given))
    exclusions = {name: Exclusion(name, **row) for row in listed["exclusions"] for name in row.pop("ids")}
    kept = {name: row["reason"] for row in listed["kept"] for name in row["ids"]}
    return Verification({name: tuple(rows) for name, rows in corrections.items()}, exclusions, kept)


IssueKind = Literal["unpassable", "ambiguous", "wrong_answer"]


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """One known issue: the entry, its modes, its kind, the reason, and the data version.

    ``unpassable``: no correct reply passes the official rules; ``ambiguous``: a correct reply may fail;
    ``wrong_answer``: the expected answer is wrong.
    """

    id: str
    modes: tuple[Mode, ...]
    kind: IssueKind
    why: str
    dataset: str


def known_issues(dataset_version: str) -> list[KnownIssue]:
    """The issues of a data version; none for versions without a review (and for our own data)."""
    return [issue for issue in _issues() if issue.dataset == dataset_version]


@cache
def _issues() -> tuple[KnownIssue, ...]:
    text = Path(__file__).with_name("known_issues.toml").read_text(encoding="utf-8")
    issues = tomllib.loads(text).get("issues", [])
    return tuple(KnownIssue(**{**issue, "modes": tuple(issue["modes"])}) for issue in issues)
