"""One defect of one entry with what proves it, and defects as rows of the list of known issues."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_bfcl.extensions.lab.auditing.item_fit import ItemFit
from pytest_bfcl.extensions.lab.auditing.rules import RULES, Rule


@dataclass(frozen=True, slots=True)
class Defect:
    """``field`` is the place in the entry; ``proof`` lines show it; ``others`` are ids of further entries in it."""

    rule_name: str
    id: str
    message: str
    field: str = ""
    proof: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """The kind of defect."""
        return RULES[self.rule_name]

    def __str__(self) -> str:
        place = f" ({self.field})" if self.field else ""
        return f"{self.id}: {self.rule.name}: {self.message}{place}"


def known_issues_toml(defects: Iterable[Defect], dataset: str) -> str:
    """One table an entry and rule, as `pytest_bfcl/dataset/known_issues.toml` has them; readings are comments.

    ``dataset`` is the version the entries were seen in. The sentences are the rules': no text of the data is in them.
    """
    lines = ["# Found by `pytest-bfcl validate audit`; review each before it becomes a known issue."]
    told: set[str] = set()
    for defect in defects:
        for entry_id in (defect.id, *defect.others):
            if defect.rule.level == "reading":
                lines.append(f"# to read: {_line(entry_id)}: {defect.rule.title}")
            elif entry_id not in told:
                told.add(entry_id)
                lines += [
                    "",
                    "[[issues]]",
                    f"id = {_quoted(entry_id)}",
                    'modes = ["fc", "prompt"]',
                    f"kind = {_quoted(defect.rule.kind)}",
                    f"why = {_quoted(defect.rule.title + (f' ({defect.field})' if defect.field else ''))}",
                    f"dataset = {_quoted(dataset)}",
                ]
    return "\n".join(lines) + "\n"


def items_csv(fits: Iterable[ItemFit]) -> str:
    """One row an entry: how many judged and passed it, its difficulty and discrimination (logits)."""
    lines = ["id,judged,passed,families_judged,families_passed,difficulty,discrimination,standard_error"]
    for fit in fits:
        counts = f"{fit.judged},{fit.passed},{fit.families_judged},{fit.families_passed}"
        lines.append(f"{_line(fit.id)},{counts},{fit.difficulty:.3f},{fit.discrimination:.3f},{fit.error:.3f}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=True)


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
